"""Several estimates of the same evidence as one, with their spread in the error."""

import math
from dataclasses import replace

import numpy as np

__all__ = ["combine"]


def combine(results, *, is_independent=True):
    """Mean of repeated estimates of a log evidence.

    Parameters
    ----------
    results : list of Evidence
        Of the same model and method.
    is_independent : bool, default True
        False where repetitions share draws: averaging then leaves the errors that come from these.

    Returns
    -------
    Evidence
        Its error is the larger of what the estimates claim for their mean and what their spread
        says. ``diagnostics`` are those of the first, with ``repetitions`` (all values) and
        ``repetition_mcse``; a warning of any of them stays.

    Examples
    --------
    >>> both = combine([bk.evidence.Evidence(value, 0.01, "smc") for value in (-10.0, -11.0)])
    >>> both.log_evidence, both.mcse
    (-10.5, 0.5)
    """
    first = results[0]
    if len(results) == 1:
        return first
    values = np.array([result.log_evidence for result in results])
    errors = np.array([result.mcse for result in results])
    n = len(results)
    mean = float(values.mean())
    claimed = math.sqrt(float(np.mean(errors**2)) / (n if is_independent else 1))
    # Minus infinity and NaN have no spread: the mean shows them, and `estimate` looks at it.
    with np.errstate(invalid="ignore"):
        spread = float(values.std(ddof=1)) / math.sqrt(n)
    error = max(claimed, spread) if not math.isnan(claimed) else math.nan
    diagnostics = {**first.diagnostics, "repetitions": values, "repetition_mcse": errors}
    warnings = list(dict.fromkeys(r.warning for r in results if r.warning))
    if warnings:
        diagnostics["warning"] = " ".join(warnings)
    if hasattr(first, "_combined"):
        return first._combined(results, mean, error, diagnostics)
    return replace(
        first,
        log_evidence=mean,
        mcse=error,
        n_evaluations=sum(result.n_evaluations for result in results),
        diagnostics=diagnostics,
    )
