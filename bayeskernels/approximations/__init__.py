"""Posteriors of any PyMC model by Laplace's method and by quadrature."""
