"""Gaussian-process regression (lecture, part 2), with hyperparameters fixed, optimised or drawn."""

from numbers import Integral

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.linalg import lapack

from bayeskernels.inputs import as_inputs, as_targets
from bayeskernels.kernels.argument import CovarianceKernel, read_inputs
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.kernels.features import FixedInputs
from bayeskernels.models.parts.hyperparameter import REAL, Hyperparameter, refuse_foreign
from bayeskernels.models.parts.kernel_classifier import add_inputs
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.process import GaussianProcessSpecification

__all__ = ["gp_regression"]

#: Relative to its scale, by how much a kernel matrix may fail to be positive semidefinite.
TOLERANCE = 1e-8

#: Added to the kernel matrix of inducing points, relative to the variance of the targets.
JITTER = 1e-6

#: Sparse approximations, all of ``pm.gp.MarginalApprox``.
APPROXIMATIONS = ("VFE", "FITC")


def gp_regression(
    X, y, *, kernel=None, noise=None, mean=0.0, ard=False, inducing=None, approximation=None
):
    r"""Gaussian-process regression with Gaussian noise.

    Targets are :math:`t_i = f(x_i) + \epsilon_i`, f a Gaussian process with the covariance function
    k and a constant mean, noise independent with the standard deviation ``noise``. The process is
    integrated out: what is left to draw, or to optimise, are hyperparameters, by three ways with
    the same call of :func:`bayeskernels.predict`:

    * nothing is random: ``bk.predict(model, None, X_new)``;
    * type-II maximum likelihood: ``best = bk.gp.maximise_evidence(model)`` and
      ``bk.predict(model, best, X_new)``;
    * full Bayes: ``idata = pm.sample()`` (NUTS), or ``bk.gp.sample_hyperparameters(model)``, which
      is faster from some hundred points on, and ``bk.predict(model, idata, X_new)``.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (n,)
        Targets.
    kernel : pm.gp.cov.Covariance, callable or array of shape (n, n), optional
        Fixed, or with random hyperparameters (build inside ``with pm.Model()``). By default
        ``amplitude**2 * ExpQuad(ls)`` with priors, see the notes.
    noise : float or prior, optional
        Standard deviation of the noise. By default half-normal, scaled by the targets.
    mean : float or prior, default 0
        Mean of the process.
    ard : bool
        Whether the default kernel has a length scale for each column (automatic relevance
        determination).
    inducing : int or array of shape (m, p), optional
        Use a sparse process with these inducing points, or with so many that are chosen by k-means,
        see the notes. For more than some thousand points.
    approximation : {"VFE", "FITC"}, optional
        Which, where there are inducing points; VFE by default.

    Returns
    -------
    pm.Model
        With ``noise`` and, for the default kernel, ``amplitude`` and ``ls`` (dim ``feature`` with
        ``ard``); inputs ``X`` as data, targets ``y`` observed.

    Notes
    -----
    Priors of the default kernel, with s the standard deviation of the targets around the mean:
    ``amplitude`` half-normal with scale 2 s, ``noise`` half-normal with scale s, ``ls`` log-normal
    with median :math:`s_x \sqrt p` and scale 1, :math:`s_x` the standard deviation of its column
    (root mean square of all columns without ``ard``).

    New values of the data ``X`` do not turn draws into predictions: the process has been integrated
    out, and has to be conditioned on the targets, which :func:`bayeskernels.predict` does. For the
    same reason ``pm.sample_posterior_predictive`` replicates targets of the prior, and
    ``pm.compute_log_likelihood`` gives one number for all targets; of sparse processes neither
    works. :func:`bayeskernels.gp.posterior_predictive` draws functions and targets given the data,
    for posterior predictive checks, and :func:`bayeskernels.gp.loo` leaves targets out.

    *Sparse processes.* With m inducing points an evaluation takes O(n m^2) instead of O(n^3)
    operations. The model is that of ``pm.gp.MarginalApprox``, a potential instead of observed
    targets. Evidence of VFE and all predictions are computed in blocks of points: no n x m matrix
    is whole in memory. VFE (variational free energy) is a lower bound
    of the exact evidence and grows towards it with m; FITC changes the model and may underestimate
    the noise.

    A Gram matrix given as kernel knows nothing of k(x, x) at new points: predictions then have
    a mean only.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
       Press, 2006, chapters 2 and 5.
    .. [2] M. Titsias, "Variational Learning of Inducing Variables in Sparse Gaussian Processes",
       AISTATS, 2009.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(size=(30, 1))
    >>> t = np.sin(2 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=30)
    >>> model = bk.models.gp_regression(X, t, kernel=pm.gp.cov.ExpQuad(1, ls=0.2), noise=0.1)
    >>> prediction = bk.predict(model, None, [[0.25], [0.75]])
    >>> prediction["mean"].values.round(1), prediction.sd.values.round(1)
    (array([ 1., -1.]), array([0.1, 0.1]))

    Hyperparameters with priors of one's own:

    >>> with pm.Model() as model:
    ...     width = pm.LogNormal("width", 0, 1)
    ...     kernel = pm.gp.cov.Matern52(1, ls=width)
    ...     model = bk.models.gp_regression(X, t, kernel=kernel, noise=pm.HalfNormal.dist(0.5))
    >>> best = bk.gp.maximise_evidence(model, random_seed=1)
    >>> sorted(best.point)
    ['noise', 'width']
    """
    if not isinstance(ard, bool | np.bool_):
        raise TypeError(f"ard must be True or False, got {ard!r}.")
    is_default = kernel is None
    if is_default:
        X, columns = as_inputs(X)
    else:
        if ard:
            raise ValueError(
                "ard is for the default kernel; give your kernel a vector of length scales."
            )
        X, columns, kernel = read_inputs(X, kernel, 0.0)
    y = as_targets(y, len(X))
    noise = Hyperparameter("noise", noise, words=(None,))
    mean = Hyperparameter("mean", mean, REAL)
    inducing = _read_inducing(inducing, approximation, X, kernel)
    if inducing is not None:
        approximation = approximation or "VFE"
    model = open_model()
    if isinstance(kernel, CovarianceKernel):
        refuse_foreign(kernel.symbolic[2], "kernel")
    if not is_default:
        _refuse_indefinite(kernel, X)
    with model:
        second = "support" if not is_default and kernel.is_precomputed else "feature"
        if is_default or isinstance(kernel, CovarianceKernel):
            inputs = pm.Data("X", X, dims=("obs", second), coords={second: columns})
        else:
            inputs = FixedInputs.create(model.name_for("X"), X)
            add_inputs(model, inputs, second, columns)
        fixed_mean = mean.number
        centre = float(y.mean()) if fixed_mean is None else fixed_mean
        spread = float(np.sqrt(np.mean((y - centre) ** 2))) or 1.0
        if is_default:
            kernel = CovarianceKernel(_default_covariance(X, spread, ard), X.shape[1])
        noise = noise.add(pm.HalfNormal, spread)
        # The mean is data of no model: prediction has it from the specification.
        mean = mean.add() if fixed_mean is None else pt.as_tensor(np.float64(fixed_mean))
        observed = pm.Data("y_data", y)
        jitter = JITTER * spread**2
        if inducing is None:
            _add_targets(kernel, X, inputs, noise, mean, observed)
        else:
            process = pm.gp.MarginalApprox(
                approximation, mean_func=pm.gp.mean.Constant(mean), cov_func=kernel.covariance
            )
            process.marginal_likelihood("y", inputs, inducing, observed, noise, jitter=jitter)
        specify(
            GaussianProcessSpecification,
            kind="gp_regression",
            training=X,
            kernel=kernel,
            fixed_mean=fixed_mean,
            approximation=approximation,
            inducing=inducing,
            jitter=jitter,
        )
    return model


def _add_targets(kernel, X, inputs, noise, mean, observed):
    """Targets with the process integrated out."""
    n = inputs.shape[0]
    if isinstance(kernel, CovarianceKernel):
        gram = kernel.graph(inputs) + pt.zeros((n, n))
    else:
        gram = pt.as_tensor(kernel.gram(X))
    covariance = gram + pt.diag(pt.full((n,), pt.sqr(noise)))
    pm.MvNormal("y", pt.full((n,), mean), covariance, observed=observed, dims="obs")


def _read_inducing(inducing, approximation, X, kernel):
    """Inducing points, or None where the process is exact."""
    if approximation is not None and approximation not in APPROXIMATIONS:
        raise ValueError(
            f"approximation must be one of {', '.join(APPROXIMATIONS)}, got {approximation!r}."
        )
    if inducing is None:
        if approximation is not None:
            raise ValueError(
                f"approximation={approximation!r} needs inducing points: give inducing=, a number "
                "or an array of them."
            )
        return None
    if kernel is not None and not isinstance(kernel, CovarianceKernel):
        raise ValueError("inducing needs a kernel of pm.gp.cov, or the default one.")
    if np.ndim(inducing) == 0:
        if isinstance(inducing, bool) or not isinstance(inducing, Integral) or inducing < 1:
            raise ValueError(
                "inducing must be a whole number of at least 1, or an array of points; got "
                f"{inducing!r}."
            )
        return _choose_inducing(X, min(int(inducing), len(X)))
    points, _ = as_inputs(inducing, name="inducing")
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"inducing has {points.shape[1]} columns, X has {X.shape[1]}.")
    return points


def _choose_inducing(X, m):
    """Centres of k-means: they cover the inputs as densely as these lie."""
    from sklearn.cluster import MiniBatchKMeans

    unique = np.unique(X, axis=0)
    if len(unique) <= m:
        return unique
    scales = X.std(axis=0)
    scales = np.where(scales > 0, scales, 1.0)
    found = MiniBatchKMeans(m, n_init=1, batch_size=max(1024, 2 * m), random_state=0)
    return found.fit(unique / scales).cluster_centers_ * scales


def _default_covariance(X, spread, ard):
    """Gaussian kernel with an amplitude and length scales; added to the model in context."""
    p = X.shape[1]
    scales = X.std(axis=0)
    scales = np.where(scales > 0, scales, 1.0)
    amplitude = pm.HalfNormal("amplitude", 2.0 * spread)
    if ard:
        ls = pm.LogNormal("ls", np.log(scales * np.sqrt(p)), 1.0, dims="feature")
    else:
        ls = pm.LogNormal("ls", np.log(np.sqrt(np.mean(scales**2) * p)), 1.0)
    return amplitude**2 * pm.gp.cov.ExpQuad(p, ls=ls)


def _refuse_indefinite(kernel, X):
    """Refuse kernel values that no positive semidefinite function has."""
    if isinstance(kernel, CovarianceKernel):
        refuse_indefinite_kernel(kernel, X)
        return
    gram = kernel.gram(X)
    if not np.isfinite(gram).all():
        raise ValueError("The kernel has NaN or infinite values.")
    scale = np.abs(gram).max()
    asymmetry = np.abs(gram - gram.T).max()
    if asymmetry > TOLERANCE * scale:
        raise ValueError(
            f"The kernel is not symmetric: k(x, z) and k(z, x) differ by up to {asymmetry:.3g}."
        )
    shifted = np.array(gram, order="F")
    shifted.flat[:: len(gram) + 1] += TOLERANCE * max(scale, np.finfo(float).tiny) * len(gram)
    if lapack.dpotrf(shifted, lower=1, overwrite_a=1)[1]:
        raise ValueError(
            "The kernel is not positive semidefinite on the training points. "
            "bk.testing.check_kernel says by how much."
        )
