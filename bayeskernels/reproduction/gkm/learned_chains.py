"""Sparse chains that learn a width for each input: FBGKM+KL and SGPC+KL (GKM, section 5.3)."""

from time import process_time

import pymc as pm

from bayeskernels.models import generalized_kernel_model
from bayeskernels.prediction.predict import predict
from bayeskernels.reproduction.gkm.chains import FEW, convergence, error_rate
from bayeskernels.samplers import ReversibleJump

__all__ = ["run_sparse_learned"]

#: Widths, drawn at random, that a sweep moves.
WIDTHS_A_SWEEP = 4


def run_sparse_learned(partition, max_active, *, draws, tune, seeds):
    """Chains of FBGKM+KL and SGPC+KL: one from few, one from as many active points as may be.

    Takes and returns what :func:`~bayeskernels.reproduction.gkm.chains.run_sparse` does, by the
    names ``fbgkm_kl`` and ``sgpc_kl`` and without ``sizes``.
    """
    records, sizes = {}, []
    for method in ("fbgkm_kl", "sgpc_kl"):
        begin = process_time()
        seed = int(seeds[method].generate_state(1)[0])
        start = min(FEW, max_active) if method == "fbgkm_kl" else max_active
        X, y = partition.X, partition.y
        with generalized_kernel_model(
            X, y, theta="learn", ard=True, max_active=max_active
        ) as model:
            step = ReversibleJump(start_active=start, kernel_moves=WIDTHS_A_SWEEP)
            idata = pm.sample(
                draws, tune=tune, step=step, chains=1, cores=1, quiet=True, random_seed=seed
            )
        p = predict(model, idata, partition.X_test, progressbar=False).probability.values[:, 1]
        sizes.append(idata.sample_stats["rj_active"].values[0])
        records[method] = {
            "error": error_rate(p, partition),
            "seconds": process_time() - begin,
            "size": float(sizes[-1].mean()),
        }
    both = convergence(sizes)
    return {method: record | both for method, record in records.items()}
