"""PyMC step for generalized kernel models of several classes or kernels.

The sampler is in :mod:`bayeskernels.samplers.active_sets.groups.chain`. All unknowns have to move
together.
"""

import numpy as np
import pymc as pm
from pytensor.graph.basic import Constant

from bayeskernels.distributions import (
    ClassOffsetsRV,
    GroupedActiveSetRV,
    GroupedOffsetRV,
    GroupedPrecisionRV,
    GroupedSilvermanGRV,
    KernelOnRV,
)
from bayeskernels.samplers.active_sets.chain import move_probabilities
from bayeskernels.samplers.active_sets.groups.chain import GroupedSampler
from bayeskernels.samplers.active_sets.moves import BIRTH, DEATH, SWAP, WINDOW
from bayeskernels.samplers.active_sets.reversible_jump import MAX_GRAM_BYTES, share
from bayeskernels.samplers.block_step import BlockStep
from bayeskernels.samplers.compiled import one_blas_thread
from bayeskernels.specification.base import GroupedKernelSpecification, specification_of

__all__ = ["GroupedReversibleJump"]

_OWNED = (
    ClassOffsetsRV,
    GroupedActiveSetRV,
    GroupedOffsetRV,
    GroupedPrecisionRV,
    GroupedSilvermanGRV,
    KernelOnRV,
)


class GroupedReversibleJump(BlockStep):
    """Step method for generalized kernel models of several classes or kernels.

    Births, deaths and swaps of active points by reversible jumps; kernels are switched on and off
    together with their precisions. The working response is part of the step's state and of nothing
    else.

    Parameters
    ----------
    vars : list, optional
        All variables of the model that belong together by default: ``gamma``, ``beta``, ``u``,
        ``g``, ``eta`` and ``kernel_on``. Precisions that have a prior of your own are left to other
        steps.
    sweeps : int, default 1
        Sweeps per recorded draw.
    proposals : int, default 10
        Births, deaths and swaps of single points in each sweep.
    windows : int, default 2
        Moves of the size of the active set within a window of sizes, in each sweep.
    width : int, default 64
        Further sizes in the widest of them.
    birth, death : float, default 0.3
        Probabilities of these moves, as in the paper; swaps take the rest.
    start_active : int, optional
        Active points with which a chain starts, drawn at random; by default those of the initial
        point, which has none.
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    Sampler statistics: ``rj_active``, the number of active points; ``rj_kernels``, the number of
    kernels that are on; ``rj_log_likelihood``; ``rj_birth``, ``rj_death``, ``rj_swap`` and
    ``rj_window``, accepted shares of the moves since the draw before (NaN where none was proposed).

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan, "Bayesian Generalized Kernel Mixed Models", JMLR
       12:111-139, 2011, section 6.

    Examples
    --------
    >>> import pymc as pm
    >>> from sklearn.datasets import load_iris
    >>> import bayeskernels as bk
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bk.models.generalized_kernel_model(X[::5], y[::5], max_active=10)
    >>> with model:
    ...     options = {"grouped_reversible_jump": {"sweeps": 2}}
    ...     idata = pm.sample(20, tune=20, chains=1, quiet=True, random_seed=1, **options)
    >>> bool((idata.sample_stats["rj_active"] <= 10).all())
    True
    """

    name = "grouped_reversible_jump"
    stat_prefix = "rj"
    default_tune_steps = 1000
    stats_dtypes_shapes = {
        "rj_active": (int, []),
        "rj_kernels": (int, []),
        "rj_log_likelihood": (float, []),
        "rj_birth": (float, []),
        "rj_death": (float, []),
        "rj_swap": (float, []),
        "rj_window": (float, []),
    }
    progress_columns = {
        "rj_active": "Active",
        "rj_kernels": "Kernels",
        "rj_log_likelihood": "Log-lik.",
        "rj_birth": "Birth",
        "rj_death": "Death",
        "rj_swap": "Swap",
        "rj_window": "Window",
    }
    owned = _OWNED

    def __init__(
        self,
        vars=None,
        *,
        sweeps=1,
        proposals=10,
        windows=2,
        width=64,
        birth=0.3,
        death=0.3,
        start_active=None,
        model=None,
        **kwargs,
    ):
        model = pm.modelcontext(model)
        specification = specification_of(model)
        if not isinstance(specification, GroupedKernelSpecification):
            raise TypeError(
                "GroupedReversibleJump samples generalized kernel models of several classes or "
                f"kernels; this is a {specification.kind} of another form."
            )
        if min(sweeps, proposals, width) < 1 or windows < 0:
            raise ValueError("sweeps, proposals and width must be at least 1, windows at least 0.")
        if start_active is not None and not 0 <= start_active <= specification.max_active:
            raise ValueError(
                f"start_active must be between 0 and max_active = {specification.max_active}, got "
                f"{start_active}."
            )
        super().__init__(vars, model=model, **kwargs)
        self.sweeps, self.start_active = sweeps, start_active
        self.by_kernel, self.by_class = specification.by_kernel, specification.by_class
        self._read_model(model, specification)
        options = {"proposals": proposals, "windows": windows, "width": width}
        options["moves"] = move_probabilities(
            len(specification.training), specification.max_active, birth, death
        )
        self._specification, self._options = specification, options
        self._observed = None
        self._read_data()
        self._forget()

    def _read_model(self, model, specification):
        """Names of the values by role, priors of the precisions, and how to read the latter."""
        prefix = specification.prefix
        self._names, self._priors = {}, {}
        self._scales = {role: self.read(model[f"{prefix}{role}"]) for role in ("g", "eta")}
        for role in ("gamma", "beta", "u", "g", "eta", "kernel_on"):
            variable = model.named_vars.get(f"{prefix}{role}")
            value = model.rvs_to_values.get(variable)
            if value is None or variable not in model.free_RVs:
                continue
            if value in self.vars:
                self._names[role] = value.name
                if role in ("g", "eta"):
                    self._priors[role] = _shape_and_rate(variable)
            elif role not in ("g", "eta"):
                raise ValueError(
                    f"GroupedReversibleJump moves {variable.name} too: pass it in vars."
                )

    def _read_data(self):
        """Make the sampler of the data as they are now, unless there is one."""
        specification = self._specification
        specification.require_training_inputs("GroupedReversibleJump")
        specification.require_paired_data()
        observed = specification.codes
        if self._observed is None or not np.array_equal(observed, self._observed):
            self._observed = observed
            self._make_sampler(specification, self._options)

    def _make_sampler(self, specification, options):
        X, kernels = specification.training, specification.kernels
        n, q = len(X), len(kernels)
        if 8 * n * n * q <= MAX_GRAM_BYTES or kernels[0].is_precomputed:
            grams = np.stack([kernel.gram(X) for kernel in kernels], axis=1)
            columns = grams.__getitem__
            diagonal = grams[np.arange(n), :, np.arange(n)].T
        else:
            diagonal = np.stack([kernel.diagonal(X) for kernel in kernels])

            def columns(points):
                return np.stack([kernel(X[points], X) for kernel in kernels], axis=1)

        self.sampler = GroupedSampler(
            columns,
            diagonal,
            self._observed,
            specification.n_classes,
            specification.max_active,
            g_prior=self._priors.get("g"),
            eta_prior=self._priors.get("eta"),
            kernel_off=specification.kernel_off,
            set_prior=specification.inclusion,
            is_sparse=specification.is_sparse,
            **options,
        )

    def _forget(self):
        self.last_values = None

    def setup_chain(self, rng, tune, draws):
        """Start a chain, with the data as they are now."""
        super().setup_chain(rng, tune, draws)
        self._read_data()

    @property
    def state(self):
        """State of the sampler, and the values for which it holds; None before the first step."""
        if self.last_values is None:
            return None
        return {"sampler": self.sampler.state, "last_values": self.last_values}

    @state.setter
    def state(self, state):
        self._forget()
        if state is not None:
            self.sampler.state, self.last_values = state["sampler"], state["last_values"]

    def step(self, point):
        """Make the sweeps of one draw."""
        with one_blas_thread():
            self._adapt_to(point)
            counts = self.sampler.counts
            counts[:] = 0
            for _ in range(self.sweeps):
                self.sampler.sweep(self.rng)
            new = self._values()
        self.last_values = new
        stats = {
            "rj_active": len(self.sampler.points),
            "rj_kernels": int(self.sampler.is_on.sum()),
            "rj_log_likelihood": self.sampler.log_likelihood,
            "rj_birth": share(counts[BIRTH]),
            "rj_death": share(counts[DEATH]),
            "rj_swap": share(counts[SWAP]),
            "rj_window": share(counts[WINDOW]),
        }
        return {**point, **new}, [stats]

    def _by_class(self, values):
        """From the sampler's coordinates, (..., c - 1), to those of the model."""
        if not self.by_class:
            return values[..., 0]
        values = values @ self.sampler.contrasts.T
        # Once more, against rounding errors.
        return values - values.mean(axis=-1, keepdims=True)

    def _by_contrast(self, values):
        """From the model's coordinates to those of the sampler."""
        return values @ self.sampler.contrasts if self.by_class else values[..., None]

    def _values(self):
        """Values of the owned variables in the space in which PyMC samples."""
        sampler = self.sampler
        n, points = len(sampler.labels), sampler.points
        coefficients = sampler.beta
        beta = np.zeros((len(coefficients), n, coefficients.shape[2]))
        beta[:, points] = coefficients
        beta = self._by_class(beta)
        now = {
            "beta": beta if self.by_kernel else beta[0],
            "u": np.asarray(self._by_class(sampler.u)),
            "kernel_on": sampler.is_on.astype(np.int64),
        }
        if "gamma" in self._names:
            now["gamma"] = np.zeros(n, dtype=np.int64)
            now["gamma"][points] = 1
        if "g" in self._priors:
            now["g"] = np.asarray(np.log(sampler.g if self.by_kernel else sampler.g[0]))
        if "eta" in self._priors:
            now["eta"] = np.asarray(np.log(sampler.eta))
        return {name: now[role] for role, name in self._names.items()}

    def _adapt_to(self, point):
        """Bring the sampler to where the model's variables are now."""
        g, eta = (self._scales[role](point) for role in ("g", "eta"))
        if self.last_values is not None and all(
            point[name] is value or np.array_equal(point[name], value)
            for name, value in self.last_values.items()
        ):
            # Precisions with a prior of the user's own may have been moved by another step.
            self.sampler.set_scales(
                self.sampler.g if "g" in self._priors else g,
                self.sampler.eta if "eta" in self._priors else eta,
            )
            return
        n, q = len(self.sampler.labels), len(self.sampler.diagonal)
        active = np.arange(n)
        if "gamma" in self._names:
            active = np.flatnonzero(point[self._names["gamma"]])
        beta = np.asarray(point[self._names["beta"]])
        beta = self._by_contrast(beta if self.by_kernel else beta[None])[:, active]
        if self.start_active is not None and self.last_values is None:
            active = np.sort(self.rng.choice(n, self.start_active, replace=False))
            beta = None
        is_on = np.ones(q)
        if "kernel_on" in self._names:
            is_on = point[self._names["kernel_on"]]
        u = self._by_contrast(np.asarray(point[self._names["u"]]))
        self.sampler.place(active, u, beta, g, is_on, eta, self.rng)


def _shape_and_rate(variable):
    """Parameters of the Gamma prior of a precision, or of all kernels' precisions alike."""
    numbers = [
        np.unique(p.data if isinstance(p, Constant) else p.eval())
        for p in variable.owner.inputs[2:4]
    ]
    if any(len(values) != 1 for values in numbers):
        raise ValueError(f"All entries of {variable.name} must have the same prior.")
    return float(numbers[0][0]), 1.0 / float(numbers[1][0])
