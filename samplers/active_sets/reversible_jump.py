"""PyMC step for the active set of a generalized kernel model, with all that belongs to it.

The sampler is in :mod:`bayeskernels.samplers.active_sets.chain`. Active set, coefficients, offset
and precisions have to move together: births and deaths are accepted with the coefficients
integrated out, which then have to be drawn anew.
"""

import numpy as np
import pymc as pm
from pytensor.graph.basic import Constant

from bayeskernels.distributions import (
    ActiveSetRV,
    NoiseScaleRV,
    OffsetRV,
    OwnedWidth,
    PrecisionRV,
    SilvermanGRV,
)
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler, move_probabilities
from bayeskernels.samplers.active_sets.dense_probit import DenseProbitSampler
from bayeskernels.samplers.active_sets.kernel_move import PAPER_SCALE, KernelMove
from bayeskernels.samplers.active_sets.learned_kernel import LearnedKernel
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels
from bayeskernels.samplers.active_sets.moves import BIRTH, DEATH, SWAP, WINDOW
from bayeskernels.samplers.block_step import BlockStep
from bayeskernels.samplers.compiled import one_blas_thread
from bayeskernels.specification.base import GeneralizedKernelSpecification, specification_of

__all__ = ["ReversibleJump"]

_OWNED = (ActiveSetRV, SilvermanGRV, OffsetRV, PrecisionRV, NoiseScaleRV, OwnedWidth)

#: Numbers that may be fixed, ours, or a user's own variable with any transform.
_SCALES = ("g", "eta", "noise")

#: Up to this size the kernel matrix is stored; beyond, columns are computed when they are needed.
MAX_GRAM_BYTES = 2**28


class ReversibleJump(BlockStep):
    """Step method for the active set of a generalized kernel model, its coefficients and scales.

    Births, deaths and swaps of active points by reversible jumps, several in each sweep; the
    working response of a probit or logistic model is part of the step's state and of nothing else.

    Parameters
    ----------
    vars : list, optional
        All variables of the model that belong together by default: ``gamma``, ``beta``, ``u``,
        ``g`` and ``eta``, the ``noise`` of a regression and widths of a kernel that are
        ``bk.distributions.KernelWidth`` variables. Precisions and noise that have a prior of your
        own are left to other steps.
    sweeps : int, default 1
        Sweeps per recorded draw.
    proposals : int, default 10
        Births, deaths and swaps of single points in each sweep.
    windows : int, default 4
        Moves of the size of the active set within a window of sizes, in each sweep.
    width : int, default 64
        Further sizes in the widest of them.
    birth, death : float, default 0.3
        Probabilities of these moves, as in the paper; swaps take the rest.
    start_active : int, optional
        Active points with which a chain starts, drawn at random; by default those of the initial
        point, which has none.
    kernel_move : {"slice", "random_walk"}
        How widths of the kernel are learned: by slices on their logarithms, or by the paper's
        random walk, both given the working response with the coefficients integrated out.
    kernel_moves : int, default 4
        So many widths, drawn at random, are moved by slices in each sweep.
    kernel_scale : float, default sqrt(0.2)
        Standard deviation of the random walk; the paper has the variance 0.2.
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    A dense model (``sparse=False``) with a probit link and a fixed kernel is sampled in the
    eigenbasis of its kernel matrix, at O(n^2) a sweep; other dense models cost O(n^3).

    Sampler statistics: ``rj_active``, the number of active points; ``rj_log_likelihood``;
    ``rj_birth``, ``rj_death``, ``rj_swap`` and ``rj_window``, accepted shares of the moves since
    the draw before (NaN where none was proposed); ``rj_kernel``, the same of a kernel's widths, for
    slices moves by evaluations of the density.

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan, "Bayesian Generalized Kernel Mixed Models", JMLR
       12:111-139, 2011.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> model = bk.models.generalized_kernel_model(X, y, max_active=10)
    >>> with model:
    ...     idata = pm.sample(20, tune=20, chains=1, quiet=True, reversible_jump={"sweeps": 2})
    >>> bool((idata.sample_stats["rj_active"] <= 10).all())
    True
    """

    name = "reversible_jump"
    stat_prefix = "rj"
    default_tune_steps = 1000
    stats_dtypes_shapes = {
        "rj_active": (int, []),
        "rj_log_likelihood": (float, []),
        "rj_birth": (float, []),
        "rj_death": (float, []),
        "rj_swap": (float, []),
        "rj_window": (float, []),
        "rj_kernel": (float, []),
    }
    progress_columns = {
        "rj_active": "Active",
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
        windows=4,
        width=64,
        birth=0.3,
        death=0.3,
        start_active=None,
        kernel_move="slice",
        kernel_moves=4,
        kernel_scale=PAPER_SCALE,
        model=None,
        **kwargs,
    ):
        model = pm.modelcontext(model)
        specification = specification_of(model)
        if not isinstance(specification, GeneralizedKernelSpecification):
            raise TypeError(
                f"ReversibleJump samples generalized kernel models; this is a {specification.kind}."
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
        self.n_points = len(specification.training)
        self._read_model(model, specification)
        options = {"proposals": proposals, "windows": windows, "width": width}
        options["moves"] = move_probabilities(self.n_points, specification.max_active, birth, death)
        log_prior = None if self.kernel is None else self.kernel.log_prior
        move = KernelMove(
            log_prior,
            None if self.kernel is None else self.kernel.coordinates,
            kind=kernel_move,
            moves=kernel_moves,
            scale=kernel_scale,
        )
        if self.kernel is not None:
            options["theta"] = self.kernel.start
            options["kernel_move"] = move if len(self.kernel.coordinates) else None
        self._specification, self._options = specification, options
        self._observed = None
        self._read_data()
        self._forget()

    def _read_model(self, model, specification):
        """Names of the values by role, priors of the precisions, and how to read the latter."""
        prefix = specification.prefix
        self._names, self._priors = {}, {}
        roles = _SCALES if specification.link == "identity" else _SCALES[:2]
        self._scales = {role: self.read(model[f"{prefix}{role}"]) for role in roles}
        for role in ("gamma", "beta", "u", *roles):
            variable = model[f"{prefix}{role}"]
            value = model.rvs_to_values.get(variable)
            if value is None or variable not in model.free_RVs:
                continue
            if value in self.vars:
                self._names[role] = value.name
                if role in ("g", "eta"):
                    self._priors[role] = _shape_and_rate(variable)
                elif role == "noise":
                    self._priors[role] = _number(variable.owner.inputs[3])
            elif role not in _SCALES:
                raise ValueError(f"ReversibleJump moves {variable.name} too: pass it in vars.")
        self.kernel = None
        if specification.family is not None:
            self.kernel = LearnedKernel(specification.family, model, self.vars, self.read)

    def _read_data(self):
        """Make the sampler of the data as they are now, unless there is one."""
        specification = self._specification
        specification.require_training_inputs("ReversibleJump")
        specification.require_paired_data()
        is_regression = specification.link == "identity"
        observed = specification.targets if is_regression else specification.codes
        if self._observed is None or not np.array_equal(observed, self._observed):
            self._observed = observed.copy()
            self._make_sampler(specification, self._options)

    def _make_sampler(self, specification, options):
        X, kernel = specification.training, specification.kernel
        n = len(X)
        priors = {"g_prior": self._priors.get("g"), "eta_prior": self._priors.get("eta")}
        is_eigen = specification.link == "probit" and self.kernel is None
        if is_eigen and not specification.is_sparse:
            self.sampler = DenseProbitSampler(kernel.gram(X), self._observed == 1, **priors)
            return
        if self.kernel is not None:
            family = specification.family

            def columns(points, theta):
                return np.ascontiguousarray(family.at(theta)(X[points], X))

            def diagonal(theta):
                return family.at(theta).diagonal(X)

        elif 8 * n * n <= MAX_GRAM_BYTES or kernel.is_precomputed:
            gram = kernel.gram(X)
            columns, diagonal = gram.__getitem__, np.diag(gram).copy()
        else:
            diagonal = kernel.diagonal(X)

            def columns(points):
                return np.ascontiguousarray(kernel(X[points], X))

        self.sampler = ActiveSetSampler(
            columns,
            diagonal,
            self._response(specification),
            specification.max_active,
            set_prior=specification.inclusion,
            is_sparse=specification.is_sparse,
            **priors,
            **options,
        )

    def _response(self, specification):
        if specification.link == "identity":
            return GaussianTargets.of(self._observed, 1.0, self._priors.get("noise"))
        positive = self._observed == 1
        return LogisticLabels.of(positive) if specification.link == "logistic" else positive

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
            if self.kernel is not None:
                self.sampler.kernel_counts[:] = 0
            for _ in range(self.sweeps):
                self.sampler.sweep(self.rng)
            new = self._values()
        self.last_values = new
        stats = {
            "rj_active": len(self.sampler.points),
            "rj_log_likelihood": self.sampler.log_likelihood,
            "rj_birth": share(counts[BIRTH]),
            "rj_death": share(counts[DEATH]),
            "rj_swap": share(counts[SWAP]),
            "rj_window": share(counts[WINDOW]),
            "rj_kernel": np.nan,
        }
        if self.kernel is not None:
            stats["rj_kernel"] = share(self.sampler.kernel_counts)
        return {**point, **new}, [stats]

    def _values(self):
        """Values of the owned variables in the space in which PyMC samples."""
        n = self.n_points
        points = self.sampler.points
        beta = np.zeros(n)
        beta[points] = self.sampler.beta
        now = {"beta": beta, "u": np.asarray(self.sampler.u)}
        if "gamma" in self._names:
            gamma = np.zeros(n, dtype=np.int64)
            gamma[points] = 1
            now["gamma"] = gamma
        for role in self._priors:
            value = getattr(self.sampler, role)
            now[role] = np.asarray(np.log(value))
        values = {self._names[role]: value for role, value in now.items()}
        return values if self.kernel is None else values | self.kernel.values(self.sampler.theta)

    def _adapt_to(self, point):
        """Bring the sampler to where the model's variables are now."""
        is_ours = self.last_values is not None and all(
            point[name] is value or np.array_equal(point[name], value)
            for name, value in self.last_values.items()
        )
        # Other steps may have moved hyperparameters of the kernel that have a prior of their own.
        has_kernel = self.kernel is None or not self.kernel.has_moved(point, self.sampler.theta)
        others = [role for role in self._scales if role not in self._priors]
        if is_ours and has_kernel:
            has_noise = "noise" in others and self.sampler.noise != self._scale("noise", point)
            for role in others:
                setattr(self.sampler, role, self._scale(role, point))
            if has_noise:
                self.sampler.refresh(self.rng)
            return
        if "gamma" in self._names:
            active = np.flatnonzero(point[self._names["gamma"]])
        else:
            active = np.arange(self.n_points)
        beta = np.asarray(point[self._names["beta"]])[active]
        if self.start_active is not None and self.last_values is None:
            active = np.sort(self.rng.choice(self.n_points, self.start_active, replace=False))
            beta = np.zeros(len(active))
        if self.kernel is not None:
            self.sampler.theta = self.kernel.read(point)
        if "noise" in self._scales:
            self.sampler.noise = self._scale("noise", point)
        self.sampler.place(
            active,
            float(point[self._names["u"]]),
            beta,
            self._scale("g", point),
            self._scale("eta", point),
            self.rng,
        )

    def _scale(self, role, point):
        return float(self._scales[role](point))


def share(counts):
    """Accepted of the proposed moves."""
    proposed, accepted = counts.tolist()
    return accepted / proposed if proposed else np.nan


def _shape_and_rate(variable):
    """Parameters of a precision's Gamma prior, which must be numbers."""
    shape, scale = map(_number, variable.owner.inputs[2:4])
    return shape, 1.0 / scale


def _number(parameter):
    """Value of a parameter that does not depend on other variables."""
    return float(parameter.data if isinstance(parameter, Constant) else parameter.eval())
