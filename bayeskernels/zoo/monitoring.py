"""Whether the chains of a zoo entry have converged, and how well it predicts.

The specification of a model says which quantities count: outputs at test points, the number of
training errors of a classifier, and unknowns whose single entries mean something.
"""

import arviz as az
import numpy as np

from bayeskernels.diagnostics.monitoring import monitor

__all__ = ["measure_convergence", "monitor_model", "prediction_error"]

#: Outputs are watched at this many test points.
N_POINTS = 25


def monitor_model(model, idata, problem):
    """Quantities of a model that are watched, a Dataset with the dims ``chain`` and ``draw``.

    They are ``output`` (dim ``point``: some test points; by class where there are more than two),
    ``errors`` on the training points where the model has labels, and every scalar or short unknown
    of the model.
    """
    watched = monitor(model, idata, problem.X_test, max_points=N_POINTS, progressbar=False)
    return watched["posterior"].to_dataset()


def measure_convergence(watched):
    """Largest R-hat of all quantities of :func:`monitor_model`, and effective sample sizes.

    A dict with ``r_hat``; ``ess``, the median over the outputs; ``ess_errors``, that of the error
    count. None where a quantity does not exist or does not vary (no errors in a version space).
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


def prediction_error(prediction, problem):
    """Share of the test points that are predicted wrongly.

    Of a regression the mean squared error over the variance of the test targets.
    """
    if "label" in prediction:
        return float(np.mean(prediction["label"].values != problem.y_test))
    error = np.mean((prediction["mean"].values - problem.y_test) ** 2)
    return float(error / np.var(problem.y_test))
