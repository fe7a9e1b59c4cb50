r"""Leave-one-out cross-validation of a Gaussian process.

Given the hyperparameters a target and the others are jointly normal, so that its distribution given
the others is known in closed form (Rasmussen and Williams, 2006, equations 5.10 to 5.12): with
:math:`C = K + \sigma^2 I` and :math:`a = C^{-1} (t - \mu)`,

.. math:: t_i \mid t_{-i}, \theta \sim N\bigl(t_i - a_i / (C^{-1})_{ii},\; 1 / (C^{-1})_{ii}\bigr).

Draws of the hyperparameters know all targets. As
:math:`p(\theta \mid t_{-i}) \propto p(\theta \mid t) / p(t_i \mid t_{-i}, \theta)`, these densities
take the place of the likelihoods of independent targets in importance sampling (Bürkner, Gabry and
Vehtari, 2021).
"""

from bayeskernels.diagnostics.leave_one_out import held_out_likelihood
from bayeskernels.diagnostics.leave_one_out import loo as any_loo
from bayeskernels.specification.process import process_of

__all__ = ["loo", "pointwise_log_likelihood"]


def pointwise_log_likelihood(model, idata=None, *, progressbar=True):
    """Log density of each target given all others, by draw of the hyperparameters.

    ``pm.compute_log_likelihood`` gives one number for all targets together, since the process has
    been integrated out of the model. It takes what :func:`loo` takes.

    Returns
    -------
    DataTree
        With the groups ``posterior``, where there are draws, and ``log_likelihood``: ``y``, dims
        (chain, draw, obs). ``az.loo`` and ``az.compare`` take it where there are draws.
    """
    process_of(model)
    return held_out_likelihood(model, idata, progressbar=progressbar)


def loo(model, idata=None, *, progressbar=True):
    """Expected log predictive density of a target given all others.

    Exact where the hyperparameters are fixed, by Pareto-smoothed importance sampling over their
    draws where not.

    Parameters
    ----------
    model : pm.Model
        An exact Gaussian process made by :func:`bayeskernels.models.gp_regression`.
    idata : DataTree, EvidenceMaximum or None
        Where the hyperparameters have their values from; None where nothing is random. At the
        maximum of the evidence all targets have had their say in the hyperparameters.
    progressbar : bool

    Returns
    -------
    ELPDDataLOO
        As ``az.compare`` takes it. Its number of parameters counts hyperparameters only.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> t = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=30)
    >>> elpds = [
    ...     bk.gp.loo(bk.models.gp_regression(X, t, kernel=pm.gp.cov.ExpQuad(1, ls=ls), noise=0.1))
    ...     for ls in (0.01, 0.3)
    ... ]
    >>> bool(elpds[0].elpd < elpds[1].elpd)
    True
    """
    process_of(model)
    return any_loo(model, idata, progressbar=progressbar)
