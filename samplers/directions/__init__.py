"""Directions of linear classifiers in feature space: Kernel Gibbs Sampler and billiards.

The posterior of a direction under label noise is constant between the walls of the training points.
The steps that PyMC sees are in files of their names (``kernel_gibbs``, ``refractive_billiard``,
``billiard``) and share ``sphere_step``. ``label_noise_target`` reads walls and noise from a model,
``flip_rate_gibbs`` draws the noise. How balls move is in the folder ``billiards``.
"""
