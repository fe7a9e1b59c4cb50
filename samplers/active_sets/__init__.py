"""Active sets of generalized kernel models (GKM).

``reversible_jump`` is the step that PyMC sees, ``single_form`` what it asks of a model, and
``chain`` the sampler without PyMC. ``moves`` proposes and accepts births, deaths and swaps;
``columns`` keeps the factor of the covariance up to date. What depends on the link is in the folder
``links``, and what several kernels or classes add in ``groups``.
"""
