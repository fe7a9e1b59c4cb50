"""One call for every picture of evidence."""

from importlib import import_module

from matplotlib.axes import Axes

from bayeskernels.evidence.result import Evidence
from bayeskernels.plots.evidence_dots import evidence_dots

__all__ = ["evidence"]


def evidence(what, *, ax=None, **options) -> Axes:
    """Plot evidences: of several models, over noise levels, or over a grid of kernels.

    Parameters
    ----------
    what : dict, DataFrame, Evidence or scan
        A dict of results or a table of :func:`bayeskernels.evidence.compare` are drawn as dots with
        error bars; a result of tempering as a curve over noise levels; a scan as a curve or a heat
        map over its grid.
    **options
        For dots ``relative``, whether to show differences to the best.

    Examples
    --------
    >>> x = [1.2, 0.8, 1.1, 1.4]
    >>> models = {sd: bk.models.gaussian_mean(x, prior_sd=sd) for sd in (1.0, 10.0)}
    >>> evidences = {sd: bk.evidence.estimate(model) for sd, model in models.items()}
    >>> ax = bk.plots.evidence(bk.evidence.compare(evidences), relative=True)
    """
    if getattr(what, "is_scan", False):
        return _curves().scan_map(what, ax=ax, **options)
    if isinstance(what, Evidence):
        if not what.has_curve:
            raise TypeError(
                f"A single result of the method {what.method!r} is one number; plot a dict of "
                "several."
            )
        return _curves().noise_curve(what, ax=ax, **options)
    if isinstance(what, dict) or hasattr(what, "columns"):
        return evidence_dots(what, ax=ax, **options)
    raise TypeError(
        "evidence plots a dict of results, a table of bk.evidence.compare, a result with a curve "
        f"or a scan; got {type(what).__name__}."
    )


def _curves():
    return import_module("bayeskernels.plots.evidence_curves")
