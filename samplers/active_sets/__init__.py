"""Active sets of generalized kernel models (GKM).

``reversible_jump`` is the step that PyMC sees and ``chain`` the sampler without PyMC. ``moves``
proposes and accepts births, deaths and swaps; ``columns`` keeps the factor of the covariance up to
date. What depends on the link is in the folder ``links``.
"""
