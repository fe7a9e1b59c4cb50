"""Columns of the tables, and what is run for them on one partition.

Some columns come from one run: FBGKM and SGPC are two chains that are judged together. Such a run
is a job, and what it returned is stored as a whole.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from bayeskernels.reproduction.gkm import chains, comparators
from bayeskernels.reproduction.gkm.laplace_evidence import run_gp
from bayeskernels.reproduction.gkm.learned_chains import run_sparse_learned
from bayeskernels.reproduction.gkm.partitions import CASES, draw_partition, seeds_of

__all__ = ["JOB_OF", "METHODS", "run_unit"]

#: Titles of the columns. A method's place is part of its seed: add at the end.
METHODS = {
    "bsvm": "BSVM",
    "csvm": "CSVM",
    "bgkm": "BGKM",
    "sgpc": "SGPC",
    "fbgkm": "FBGKM",
    "svm": "SVM, tuned",
    "fic": "SGP+FIC+MCMC",
    "fgp_kl": "FGP+KL",
    "fbgkm_kl": "FBGKM+KL",
    "sgpc_kl": "SGPC+KL",
}

#: The job of each column.
JOB_OF = {
    "bsvm": "bsvm",
    "csvm": "csvm",
    "bgkm": "bgkm",
    "sgpc": "sparse",
    "fbgkm": "sparse",
    "svm": "svm",
    "fic": "fic",
    "fgp_kl": "fgp_kl",
    "fbgkm_kl": "sparse_kl",
    "sgpc_kl": "sparse_kl",
}

#: Columns of the paper that we have no method for.
PAPER_ONLY = {"ivm": "IVM", "fic_ep": "SGP+FIC+EP", "fic_kl": "SGP+FIC+KL"}


def run_unit(unit, *, seed, draws, tune, nuts_draws, nuts_tune, data_dir=None):
    """Run one job on one random partition of one case.

    Parameters
    ----------
    unit : str
        Case, number of the partition, and job: ``"thyroid/17/sparse"``.
    seed : int
    draws, tune : int
        Sweeps of a chain that are kept, and that are thrown away before.
    nuts_draws, nuts_tune : int
        The same for the methods that NUTS samples.
    data_dir : path, optional
        See :func:`bayeskernels.data.load`.

    Returns
    -------
    dict
        ``methods``: for each column ``error``, the share of wrong test points, ``seconds`` of the
        processor, and what the job adds; besides ``n_train``, ``n_test`` and ``max_active``.
    """
    name, number, job = unit.split("/")
    partition_seed, others = seeds_of(name, int(number), seed, len(METHODS))
    seeds = dict(zip(METHODS, others, strict=True))
    partition = draw_partition(name, np.random.default_rng(partition_seed), data_dir)
    max_active = CASES[name].max_active
    nuts = {"draws": nuts_draws, "tune": nuts_tune, "seeds": seeds}
    gibbs = {"draws": draws, "tune": tune, "seeds": seeds}
    with threadpool_limits(limits=1):
        if job == "sparse":
            records = chains.run_sparse(partition, max_active, **gibbs)
        elif job == "bgkm":
            records = chains.run_dense(partition, **gibbs)
        elif job in ("bsvm", "csvm"):
            records = comparators.run_bayesian_svm(job, partition, **nuts)
        elif job == "fic":
            records = comparators.run_fic(partition, max_active, **nuts)
        elif job == "sparse_kl":
            records = run_sparse_learned(partition, max_active, **gibbs)
        elif job == "fgp_kl":
            records = run_gp(partition)
        else:
            records = comparators.run_svm(partition, seeds=seeds)
    sizes = {"n_train": len(partition.y), "n_test": len(partition.y_test)}
    return {"methods": records, **sizes, "max_active": max_active}
