r"""An ensemble of consistent classifiers for large data: perceptrons on permuted samples.

Section 3.2 of Herbrich, Graepel and Campbell (2001): the perceptron finds another classifier in
version space for every order in which it sees the training points, and the mean of such classifiers
is close to the Bayes point, at a cost that allows for tens of thousands of points. This is **not a
Markov chain**: the classifiers are independent given the data, their distribution is only similar
to the uniform one on version space, and convergence diagnostics do not apply.
"""

import re
from numbers import Integral, Real

import numpy as np
import pandas as pd
import xarray as xr
from joblib import effective_n_jobs
from pymc.util import get_random_generator

from bayeskernels.inputs import as_classes, as_count
from bayeskernels.kernels.argument import CallableKernel, GramKernel, read_inputs
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.samplers.approximations.kernel_rows import KernelRows
from bayeskernels.samplers.approximations.lockstep_perceptrons import learn_perceptrons
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.directions import DirectionSpecification
from bayeskernels.specification.draws import read_posterior

__all__ = ["PermutationPerceptron", "most_used"]

_NOTE = (
    "Consistent classifiers found by perceptron learning on random permutations of the training "
    "sample, not draws of a Markov chain: convergence diagnostics do not apply."
)

_UNITS = {"": 1, "b": 1} | {
    f"{prefix}{unit}".lower(): base ** (power + 1)
    for unit, base in (("iB", 1024), ("B", 1000))
    for power, prefix in enumerate("KMGT")
}


class PermutationPerceptron:
    r"""Classifiers without training errors, learnt by perceptrons on permutations of the data.

    For each of L permutations and each class against the rest (once for two classes) the dual
    perceptron learns until it makes no mistake (Herbrich, Graepel and Campbell 2001, Algorithm 1).
    It is not an MCMC sampler: the L classifiers come from version space, but by no known
    distribution; their mean is an approximate Bayes point. The cost is that of the kernel values
    of all points with those that are ever mistaken, which suits tens of thousands of points.

    Parameters
    ----------
    X : array_like or DataFrame of shape (m, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (m,)
        Labels of two or more classes, of any type.
    kernel : pm.gp.cov.Covariance, callable or array of shape (m, m), optional
        A covariance function, a function ``k(X, Z)`` of two arrays, or a precomputed Gram matrix.
        A function is the fastest, since it is called with arrays of the given ``dtype``, by several
        threads at a time if there are several ``jobs``. By default a Gaussian kernel whose width is
        the median distance between the inputs.
    bias : float, default 0
        Constant added to the kernel, which gives the classifiers an offset.
    softness : float, default 0
        The lambda of the paper's equation (27): in training, k(x, x) is multiplied by 1 + softness.
        With enough of it every set of labels can be learnt, since training errors are allowed.
    dtype : {"float32", "float64"}
        Precision of the kernel values. Sums of them are always in double precision. A classifier
        whose ``margin`` (see :meth:`sample`) is near the rounding errors, 1e-6 in single precision,
        may err on a training point when its outputs are computed anew.

    Attributes
    ----------
    X : array of shape (m, p)
        Training inputs in the precision in which the kernel is called, or the Gram matrix.
    codes : array of int, shape (m,)
        Labels as numbers of classes.
    class_names : array of shape (K,)
        Labels in sorted order; of two, the second is the positive class.
    kernel : Kernel
        Without softness.
    softness : float

    References
    ----------
    .. [1] R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", JMLR 1:245-279, 2001.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, scatter=0.1, random_seed=1)
    >>> ensemble = bk.samplers.PermutationPerceptron(X, y, kernel=lambda X, Z: (X @ Z.T + 1) ** 5)
    >>> idata = ensemble.sample(permutations=20, random_seed=1, progressbar=False)
    >>> idata.posterior.alpha.dims, idata.posterior.sizes["draw"]
    (('chain', 'draw', 'support'), 20)
    >>> idata.attrs["is_mcmc"]
    0
    >>> bk.predict(ensemble, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """

    def __init__(self, X, y, *, kernel=None, bias=0.0, softness=0.0, dtype="float32"):
        if dtype not in ("float32", "float64", np.float32, np.float64):
            raise ValueError(f'dtype must be "float32" or "float64", got {dtype!r}.')
        dtype = np.dtype(dtype)
        if not isinstance(softness, Real) or not np.isfinite(softness) or softness < 0:
            raise ValueError(f"softness must be a number >= 0, got {softness!r}.")
        X, _, kernel = read_inputs(X, kernel, bias)
        classes = as_classes(y, len(X))
        if not kernel.is_random:
            refuse_indefinite_kernel(kernel, X)
        if softness == 0 and not isinstance(kernel, GramKernel):
            _refuse_conflicts(X, classes.codes)
        self._rows = KernelRows(kernel, X, softness=softness, dtype=dtype)
        self.codes, self.class_names = classes.codes, classes.names
        self.X, self.kernel, self.softness = self._rows.X, kernel, float(softness)
        self._is_positive = classes.is_positive
        self._model = None

    @classmethod
    def of_model(cls, model):
        """Ensemble for a model of :mod:`bayeskernels.models`, in the model's own coordinates.

        Parameters
        ----------
        model : pm.Model
            Whose labels have no noise and whose kernel is fixed.

        Returns
        -------
        PermutationPerceptron
            Its :meth:`sample` returns directions ``w`` as ``pm.sample`` does.

        Examples
        --------
        >>> X, y = bk.data.make_two_moons(40, scatter=0.1, random_seed=1)
        >>> kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
        >>> model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0)
        >>> ensemble = bk.samplers.PermutationPerceptron.of_model(model)
        >>> idata = ensemble.sample(permutations=50, random_seed=1, progressbar=False)
        >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
        [-1, 1]
        """
        specification = specification_of(model)
        specification.require_directions("PermutationPerceptron")
        if specification.feature_map is None:
            raise TypeError(
                "The model's kernel or softness is random, so its classifiers have no coordinates "
                "in common. Build it with fixed values."
            )
        if specification.noise is None or any(specification.noise):
            found = "random" if specification.noise is None else f"{specification.noise}"
            raise ValueError(
                "Perceptrons find classifiers without errors, so the model's noise must be 0; "
                f"it is {found}. Build it with noise=0, or sample it by pm.sample."
            )
        specification.require_training_inputs("PermutationPerceptron")
        features = specification.feature_map.at_training
        self = cls.__new__(cls)
        # Softness and a low rank are in the model's coordinates already.
        self._rows = KernelRows(CallableKernel(_inner_products), features)
        self.codes, self.class_names = specification.codes, specification.class_names
        self.X, self.kernel = specification.X, specification.kernel
        self.softness = specification.softness
        self._is_positive = specification.is_positive
        self._model = model
        return self

    @property
    def bayeskernels_specification(self):
        """What the tools need of a model, in whose place the ensemble can be given to them."""
        if self._model is not None:
            return specification_of(self._model)
        return DirectionSpecification(
            kind="permutation_perceptron",
            class_names=self.class_names,
            model={"X": self.X, "y_data": self.codes},
            training=self.X,
            kernel=self.kernel,
            feature_map=None,
            flip_rate=0.0,
            softness=self.softness,
        )

    def sample(
        self,
        *,
        permutations=10,
        memory_limit="4 GiB",
        jobs=1,
        max_passes=1000,
        random_seed=None,
        progressbar=True,
    ):
        r"""Learn perceptrons on random permutations of the training points.

        Parameters
        ----------
        permutations : int
            How many, L. All classes use the same permutations.
        memory_limit : int or str
            Bytes, or a number with a unit such as "4 GiB" or "500 MB", for everything that grows
            with the data: inputs, permutations, outputs, rows of the Gram matrix. Python and its
            libraries take some 0.3 GiB besides. With less memory rows are computed repeatedly; the
            result is the same up to rounding.
        jobs : int
            Threads, -1 for all cores; they share the memory, and do not change the result.
        max_passes : int
            Passes after which a perceptron that still errs gives up.
        random_seed : int, optional
        progressbar : bool

        Returns
        -------
        DataTree
            With the groups ``posterior`` and ``sample_stats``. The posterior has ``alpha``, dims
            (chain, draw, support), for more than two classes (chain, draw, class, support): the
            coefficients of unit-length classifiers :math:`f(x) = \sum_i \alpha_i k(x_i, x)`, where
            ``support`` numbers the rows of X that any of them uses. For :meth:`of_model` it has
            ``w``. The statistics are ``updates`` (mistakes made), ``passes`` and ``margin``
            (smallest :math:`y_i f(x_i) / \|x_i\|`, softness included).

        Raises
        ------
        ValueError
            If a perceptron gives up; the message names points that are not separated.
        """
        perceptrons = self._learn(
            as_count(permutations, "permutations"),
            random_seed,
            memory_limit=memory_limit,
            jobs=_threads(jobs),
            max_passes=max_passes,
            progressbar=progressbar,
        )
        return self._as_tree(perceptrons)

    def consistent_direction(self, *, memory_limit="4 GiB", max_passes=1000, random_seed=None):
        """One classifier that is right at every training point, for example as a start.

        Parameters
        ----------
        memory_limit, max_passes, random_seed
            As for :meth:`sample`.

        Returns
        -------
        array
            Of unit length: for :meth:`of_model` the direction ``w``, shape (r,), or (K, r) for more
            than two classes; else coefficients alpha of all training points, (m,) or (K, m).

        Examples
        --------
        >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
        >>> ensemble = bk.samplers.PermutationPerceptron(X, ["a", "b"], kernel=lambda X, Z: X @ Z.T)
        >>> bool(X[1] @ (ensemble.consistent_direction(random_seed=1) @ X) > 0)
        True
        """
        perceptrons = self._learn(1, random_seed, memory_limit=memory_limit, max_passes=max_passes)
        alpha = self._coefficients(perceptrons, np.arange(len(self._rows)))[0]
        found = alpha if self._model is None else alpha @ self._rows.X
        return found if len(self.class_names) > 2 else found[0]

    def _learn(self, permutations, random_seed, *, memory_limit, max_passes, **options):
        """Perceptrons by permutation and class."""
        # One generator for each, so that more permutations only add to the first ones.
        rngs = get_random_generator(random_seed).spawn(permutations)
        return learn_perceptrons(
            self._rows,
            np.where(np.atleast_2d(self._is_positive.T), 1, -1),
            np.stack([rng.permutation(len(self._rows)).astype(np.int32) for rng in rngs]),
            memory_limit=_as_bytes(memory_limit),
            max_passes=as_count(max_passes, "max_passes"),
            class_names=self.class_names if len(self.class_names) > 2 else None,
            **options,
        ).perceptrons

    @staticmethod
    def _coefficients(perceptrons, support):
        """Coefficients of unit-length classifiers, shape (L, K, len(support))."""
        alpha = np.zeros((len(perceptrons), len(perceptrons[0]), len(support)))
        for by_class, values in zip(perceptrons, alpha, strict=True):
            for perceptron, row in zip(by_class, values, strict=True):
                row[np.searchsorted(support, perceptron.points)] = (
                    perceptron.alpha / perceptron.norm
                )
        return alpha

    def _as_tree(self, perceptrons):
        several = len(self.class_names) > 2
        used = [p.points for by_class in perceptrons for p in by_class]
        support = np.unique(np.concatenate(used))
        values = self._coefficients(perceptrons, support)
        coords = {"chain": [0], "draw": np.arange(len(perceptrons))}
        if self._model is None:
            name, dims = "alpha", ("class", "support") if several else ("support",)
            coords["support"] = support
        else:
            name = f"{specification_of(self._model).prefix}w"
            dims = self._model.named_vars_to_dims[name]
            values = values @ self._rows.X[support]
            coords[dims[-1]] = np.arange(values.shape[-1])
        if several:
            coords[dims[0]] = self.class_names
        else:
            values = values[:, 0]
        statistics = {
            statistic: np.array([[getattr(p, statistic) for p in row] for row in perceptrons])
            for statistic in ("updates", "passes", "margin")
        }
        by_perceptron = ("chain", "draw", dims[0]) if several else ("chain", "draw")
        attributes = {"sampler": "PermutationPerceptron", "is_mcmc": 0, "note": _NOTE}
        posterior = xr.Dataset(
            {name: (("chain", "draw", *dims), values[None])}, coords=coords, attrs=attributes
        )
        stats = xr.Dataset(
            {
                statistic: (by_perceptron, (found if several else found[:, 0])[None])
                for statistic, found in statistics.items()
            },
            coords={dim: coords[dim] for dim in by_perceptron},
        )
        return xr.DataTree.from_dict(
            {"/": xr.Dataset(attrs=attributes), "posterior": posterior, "sample_stats": stats}
        )


def most_used(idata, n=25):
    """Training points that most classifiers of an ensemble use (the paper's Figure 10).

    They are the hard ones: atypical, ambiguous, or wrongly labelled.

    Parameters
    ----------
    idata : DataTree
        From :meth:`PermutationPerceptron.sample`.
    n : int
        How many points.

    Returns
    -------
    DataFrame
        Sorted by ``classifiers``, how many use the point ``point`` (a row of X) with a coefficient
        that is not zero, then by ``share``, the mean over classifiers of its share of the sum of
        all absolute coefficients.

    Examples
    --------
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 2.0]], ["a", "a", "b"]
    >>> ensemble = bk.samplers.PermutationPerceptron(X, y, kernel=lambda X, Z: X @ Z.T)
    >>> idata = ensemble.sample(permutations=4, random_seed=1, progressbar=False)
    >>> bk.samplers.most_used(idata, 1).columns.tolist()
    ['point', 'classifiers', 'share']
    """
    n = as_count(n, "n")
    posterior = read_posterior(idata)["posterior"]
    if "alpha" not in posterior.data_vars:
        raise ValueError(
            "idata has no coefficients alpha of training points. PermutationPerceptron(X, y).sample"
            "() returns them; of_model has directions w instead."
        )
    alpha = np.abs(posterior["alpha"])
    points = alpha["support"].values
    alpha = alpha.transpose(..., "support").values.reshape(-1, len(points))
    table = pd.DataFrame(
        {
            "point": points,
            "classifiers": np.count_nonzero(alpha, axis=0),
            "share": (alpha / alpha.sum(axis=1, keepdims=True)).mean(axis=0),
        }
    )
    order = ["classifiers", "share", "point"]
    return table.sort_values(order, ascending=[False, False, True], ignore_index=True).head(n)


def _inner_products(X, Z):
    return X @ Z.T


def _refuse_conflicts(X, codes):
    """Equal points with different labels leave no classifier without errors."""
    first = {}
    for i, x in enumerate(X):
        # Hashes rather than the bytes themselves, which would be another copy of X.
        j = first.setdefault(hash(x.tobytes()), i)
        if codes[i] != codes[j] and np.array_equal(x, X[j]):
            raise ValueError(
                f"Points {j} and {i} are equal but their labels differ, so no classifier is right "
                "at both. Drop one of them or use softness > 0."
            )


def _threads(jobs):
    """Number of threads, as joblib counts: -1 is one for each core."""
    if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs == 0:
        raise ValueError(f"jobs must be a whole number of at least 1, or -1, got {jobs!r}.")
    return effective_n_jobs(int(jobs))


def _as_bytes(limit):
    """Bytes of a limit such as 500_000_000, "500 MB" or "4 GiB"."""
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", limit)
        if found and found[2].lower() in _UNITS:
            return int(float(found[1]) * _UNITS[found[2].lower()])
    elif isinstance(limit, Real) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    raise ValueError(
        f'memory_limit must be a number of bytes or a text such as "4 GiB", got {limit!r}.'
    )
