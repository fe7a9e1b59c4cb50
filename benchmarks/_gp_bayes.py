"""Full Bayes of one Gaussian process by several samplers, whole calls as users would make them."""

import numpy as np
import pymc as pm
from _contest import QUIET, bulk_ess, clock

import bayeskernels as bk

__all__ = ["CONTENDERS", "slowest"]

CHAINS = 2


def ours(model, draws):
    return bk.gp.sample_hyperparameters(model, draws=draws, chains=CHAINS, quiet=True, **QUIET)


def pymcs(model, draws):
    return pm.sample(draws, chains=CHAINS, model=model, nuts_sampler="pymc", quiet=True, **QUIET)


def nutpies(model, draws):
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    return nutpie.sample(compiled, draws=draws, chains=CHAINS, cores=1, seed=1, progress_bar=False)


#: By name a function of a model and a number of draws for each of two chains.
CONTENDERS = {"ours": ours, "PyMC NUTS": pymcs, "nutpie": nutpies}


def slowest(sample, model, draws):
    """Effective draws of the slowest hyperparameter, CPU seconds, and means of the logarithms."""
    began = clock()
    posterior = sample(model, draws)["posterior"]
    seconds = clock() - began
    names = [v.name for v in model.free_RVs]
    logs = [np.log(posterior[name].values).reshape(CHAINS, draws, -1) for name in names]
    logs = np.concatenate(logs, axis=2)
    ess = min(bulk_ess(logs[..., k]) for k in range(logs.shape[2]))
    return ess, seconds, logs.mean(axis=(0, 1)), logs.std(axis=(0, 1))
