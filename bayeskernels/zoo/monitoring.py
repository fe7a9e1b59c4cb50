"""Which quantities tell whether the chains of a zoo entry have converged.

The coordinates of a direction depend on the order of the training points, so nobody looks at them.
What counts are outputs at test points, the number of training errors, and the scalar unknowns.
"""

import arviz as az
import numpy as np

from bayeskernels.diagnostics.monitoring import monitor

__all__ = ["error_rate", "measure_convergence", "monitor_classifier"]

#: Outputs are watched at this many test points.
N_POINTS = 25


def monitor_classifier(model, idata, problem):
    """Quantities of a classifier that are watched.

    Parameters
    ----------
    model : pm.Model
    idata : DataTree
    problem : Problem

    Returns
    -------
    xarray.Dataset
        With the dims ``chain`` and ``draw``: ``output`` (dim ``point``: some test points; by class
        where there are more than two), ``errors`` on the training points, and every scalar or short
        unknown of the model.
    """
    watched = monitor(model, idata, problem.X_test, max_points=N_POINTS, progressbar=False)
    return watched["posterior"].to_dataset()


def measure_convergence(watched):
    """Largest R-hat of all watched quantities, and effective sample sizes.

    Parameters
    ----------
    watched : xarray.Dataset
        As :func:`monitor_classifier` returns it.

    Returns
    -------
    dict
        ``r_hat``; ``ess``, the median over the outputs; ``ess_errors``, that of the error count.
        None where a quantity does not exist or does not vary (no errors in a version space).
    """
    varying = watched[[name for name in watched if _varies(watched[name])]]
    if not varying.data_vars:
        return {"r_hat": None, "ess": None, "ess_errors": None}
    with np.errstate(invalid="ignore"):  # NaN for entries that never change, and left out below
        r_hat = az.rhat(varying)
    ess = az.ess(varying)
    return {
        "r_hat": float(max(r_hat[name].max() for name in varying)),
        "ess": float(ess["output"].median()) if "output" in ess else None,
        "ess_errors": float(ess["errors"]) if "errors" in ess else None,
    }


def _varies(values):
    return bool(float(values.max()) > float(values.min()))


def error_rate(prediction, problem):
    """Share of the test points that are predicted wrongly."""
    return float(np.mean(prediction["label"].values != problem.y_test))
