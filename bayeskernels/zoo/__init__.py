"""The zoo: every model on a small data set, sampled, diagnosed and compared.

``bayeskernels zoo`` runs it. A model joins by :func:`register`, in a file of this package that is
imported below; table, JSON and report follow from its entry.
"""

# Entries register themselves, in the order of their sources.
from bayeskernels.zoo.entries import label_noise  # noqa: F401, I001
from bayeskernels.zoo.entries import bayes_point  # noqa: F401
from bayeskernels.zoo.entries import generalized_kernel  # noqa: F401
from bayeskernels.zoo.entries import gaussian_process  # noqa: F401
from bayeskernels.zoo.entries import bayesian_learning  # noqa: F401
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import ZooEntry, all_entries, find_entry, register
from bayeskernels.zoo.running import ZooResult, run_entry, run_zoo

__all__ = [
    "Problem",
    "ZooEntry",
    "ZooResult",
    "all_entries",
    "find_entry",
    "register",
    "run_entry",
    "run_zoo",
]
