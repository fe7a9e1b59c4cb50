"""The dense generalized kernel model for NUTS: whitened, as its users would write it."""

import numpy as np
import pymc as pm
from _contest import clock
from pymc.distributions.dist_math import normal_lcdf

__all__ = ["run_nuts"]


def run_nuts(gram, positive, engine, *, draws, tune=500, chains=2):
    """Draws of f, (chains, draws, n), and the CPU seconds of sampling, tuning left out.

    Parameters
    ----------
    gram : array of shape (n, n)
    positive : array of bool, shape (n,)
    engine : str
        "nutpie" or "pymc".
    draws, tune, chains : int
    """
    n = len(gram)
    factor = np.linalg.cholesky(gram + 1e-8 * np.eye(n))
    with pm.Model() as model:
        eta = pm.Gamma("eta", 0.5, 0.05)
        g = pm.Gamma("g", 2.0, 0.05)
        u = pm.Normal("u") / pm.math.sqrt(eta)
        z = pm.Normal("z", shape=n)
        f = pm.Deterministic("f", u + pm.math.dot(factor, z) / pm.math.sqrt(g))
        # Not pm.Bernoulli(p=invprobit(f)): beyond f = 8 its gradient is lost, NUTS diverges there
        # and never sees the posterior's tail.
        signs = np.where(positive, 1.0, -1.0)
        pm.Potential("y", normal_lcdf(0.0, 1.0, signs * f).sum())
    if engine == "nutpie":
        import nutpie

        compiled = nutpie.compile_pymc_model(model)

        def sample(n_draws):
            began = clock()
            idata = nutpie.sample(
                compiled,
                draws=n_draws,
                tune=tune,
                chains=chains,
                cores=1,
                seed=1,
                progress_bar=False,
            )
            return idata, clock() - began

        sample(1)  # the first call compiles
        # The same seed tunes in the same way, so what sampling takes is the difference; it must not
        # be small against the noise of the clock.
        tuning = min(sample(1)[1] for _ in range(3))
        idata, seconds = sample(draws)
        if seconds <= tuning:
            raise RuntimeError("Tuning alone took longer than tuning and sampling: run it again.")
        return idata.posterior["f"].values, seconds - tuning
    ticks = []

    def tick(trace, draw):
        if draw.draw_idx in (tune - 1, tune + draws - 1):
            ticks.append(clock())

    with model:
        idata = pm.sample(
            draws,
            tune=tune,
            chains=chains,
            cores=1,
            nuts_sampler="pymc",
            random_seed=1,
            callback=tick,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )
    seconds = float(np.sum(np.diff(np.reshape(ticks, (chains, 2)), axis=1)))
    return idata.posterior["f"].values, seconds
