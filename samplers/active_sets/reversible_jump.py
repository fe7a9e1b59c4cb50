"""PyMC step for the active set of a generalized kernel model, with all that belongs to it.

Active set, coefficients, offset and precisions have to move together: births and deaths are
accepted with the coefficients integrated out, which then have to be drawn anew. The chain that does
this, without PyMC, is in :mod:`bayeskernels.samplers.active_sets.chain`, and how its numbers become
values of the model's variables in :mod:`bayeskernels.samplers.active_sets.model_form`.
"""

import numpy as np
import pymc as pm
from pytensor.graph.basic import Constant

from bayeskernels.distributions import (
    ActiveSetRV,
    ClassOffsetsRV,
    GroupedActiveSetRV,
    GroupedOffsetRV,
    GroupedPrecisionRV,
    GroupedSilvermanGRV,
    KernelOnRV,
    NoiseScaleRV,
    OffsetRV,
    OwnedWidth,
    PrecisionRV,
    SilvermanGRV,
)
from bayeskernels.samplers.active_sets.model_form import ModelForm
from bayeskernels.samplers.active_sets.moves import (
    BIRTH,
    DEATH,
    SWAP,
    WINDOW,
    move_probabilities,
    share,
)
from bayeskernels.samplers.block_step import BlockStep
from bayeskernels.samplers.compiled import one_blas_thread
from bayeskernels.specification.base import specification_of

__all__ = ["ReversibleJump"]


class ReversibleJump(BlockStep):
    """Step method for the active set of a generalized kernel model, its coefficients and scales.

    Births, deaths and swaps of active points by reversible jumps, several in each sweep. Of several
    kernels each is switched on and off together with its precision. The working response of a
    model of classes is part of the step's state and of nothing else.

    Parameters
    ----------
    vars : list, optional
        All variables of the model that belong together by default: ``gamma``, ``beta``, ``u``,
        ``g`` and ``eta``, the ``noise`` of a regression, ``kernel_on`` of several kernels, and
        widths of a kernel that are ``bk.distributions.KernelWidth`` variables. Precisions and noise
        that have a prior of your own are left to other steps.
    sweeps : int, default 1
        Sweeps per recorded draw.
    proposals : int, default 10
        Births, deaths and swaps of single points in each sweep.
    windows : int, optional
        Moves of the size of the active set within a window of sizes, in each sweep; by default 4,
        and 2 in models of several classes or kernels, where they cost more.
    width : int, default 64
        Further sizes in the widest of them.
    birth, death : float, default 0.3
        Probabilities of these moves, as in the paper; swaps take the rest.
    start_active : int, optional
        Active points with which a chain starts, drawn at random; by default those of the initial
        point, which has none.
    kernel_move : {"slice", "random_walk"}, optional
        How widths of a single kernel are learned: by slices on their logarithms, which is the
        default, or by the paper's random walk, both given the working response with the
        coefficients integrated out.
    kernel_moves : int, default 4
        So many widths, drawn at random, are moved by slices in each sweep.
    kernel_scale : float, default sqrt(0.2)
        Standard deviation of the random walk; the paper has the variance 0.2.
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    A dense model (``sparse=False``) with a probit link, two classes and one fixed kernel is sampled
    in the eigenbasis of its kernel matrix, at O(n^2) a sweep; other dense models cost O(n^3).

    Sampler statistics: ``rj_active``, the number of active points; ``rj_log_likelihood``;
    ``rj_birth``, ``rj_death``, ``rj_swap`` and ``rj_window``, accepted shares of the moves since
    the draw before (NaN where none was proposed). With one kernel and two classes, or targets,
    ``rj_kernel``: the same of the kernel's widths, for slices moves by evaluations of the density.
    With several kernels or classes ``rj_kernels``, the number of kernels that are on.

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
    owned = (
        *(ActiveSetRV, SilvermanGRV, OffsetRV, PrecisionRV, NoiseScaleRV, OwnedWidth),
        *(GroupedActiveSetRV, GroupedSilvermanGRV, GroupedOffsetRV, GroupedPrecisionRV),
        *(ClassOffsetsRV, KernelOnRV),
    )
    #: Of all models; those that depend on the form come to them.
    stats_dtypes_shapes = {
        "rj_active": (int, []),
        "rj_log_likelihood": (float, []),
        "rj_birth": (float, []),
        "rj_death": (float, []),
        "rj_swap": (float, []),
        "rj_window": (float, []),
    }
    progress_columns = {
        "rj_active": "Active",
        "rj_log_likelihood": "Log-lik.",
        "rj_birth": "Birth",
        "rj_death": "Death",
        "rj_swap": "Swap",
        "rj_window": "Window",
    }

    def __init__(
        self,
        vars=None,
        *,
        sweeps=1,
        proposals=10,
        windows=None,
        width=64,
        birth=0.3,
        death=0.3,
        start_active=None,
        kernel_move=None,
        kernel_moves=None,
        kernel_scale=None,
        model=None,
        **kwargs,
    ):
        model = pm.modelcontext(model)
        specification = specification_of(model)
        if specification.indicators is None:
            raise specification.refusal("ReversibleJump", "generalized kernel models")
        super().__init__(vars, model=model, **kwargs)
        kernel_options = {
            **{"kernel_move": kernel_move, "kernel_moves": kernel_moves},
            **{"kernel_scale": kernel_scale},
        }
        given = {name: value for name, value in kernel_options.items() if value is not None}
        self.form = ModelForm(specification, self.vars, self.read, given)
        windows = self.form.windows if windows is None else windows
        if min(sweeps, proposals, width) < 1 or windows < 0:
            raise ValueError("sweeps, proposals and width must be at least 1, windows at least 0.")
        if start_active is not None and not 0 <= start_active <= specification.max_active:
            raise ValueError(
                f"start_active must be between 0 and max_active = {specification.max_active}, got "
                f"{start_active}."
            )
        self._declare(self.stats_dtypes_shapes | self.form.statistics)
        self.progress_columns = self.progress_columns | self.form.progress_columns
        self.sweeps, self.start_active = sweeps, start_active
        self.n_points = len(specification.training)
        self._read_model(specification.prefix)
        self._options = {"proposals": proposals, "windows": windows, "width": width}
        self._options["moves"] = move_probabilities(
            self.n_points, specification.max_active, birth, death
        )
        self._observed = None
        self._read_data()
        self._forget()

    def _read_model(self, prefix):
        """Names of the values by role, priors of the scales, and how to read the latter."""
        model, scales = self.read.model, self.form.scales
        self._names, self._priors = {}, {}
        self._scales = {role: self.read(model[f"{prefix}{role}"]) for role in scales}
        for role in ("gamma", "beta", "u", "kernel_on", *scales):
            variable = model.named_vars.get(f"{prefix}{role}")
            value = model.rvs_to_values.get(variable)
            if value is None or variable not in model.free_RVs:
                continue
            if value in self.vars:
                self._names[role] = value.name
                if role in scales:
                    self._priors[role] = _prior_of(variable, role)
            elif role not in scales:
                raise ValueError(f"ReversibleJump moves {variable.name} too: pass it in vars.")

    def _read_data(self):
        """Make the sampler of the data as they are now, unless there is one."""
        specification = self.form.specification
        specification.require_training_inputs("ReversibleJump")
        specification.require_paired_data()
        observed = self.form.observed
        if self._observed is None or not np.array_equal(observed, self._observed):
            self._observed = observed.copy()
            self.sampler = self.form.chain(self._observed, self._priors, self._options)

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
            self.last_values = self._values()
        stats = {
            "rj_active": len(self.sampler.points),
            "rj_log_likelihood": self.sampler.log_likelihood,
            "rj_birth": share(counts[BIRTH]),
            "rj_death": share(counts[DEATH]),
            "rj_swap": share(counts[SWAP]),
            "rj_window": share(counts[WINDOW]),
        }
        return {**point, **self.last_values}, [stats | self.form.own_statistics(self.sampler)]

    def _values(self):
        """Values of the owned variables in the space in which PyMC samples."""
        now = self.form.values(self.sampler)
        now |= {role: np.asarray(np.log(now[role])) for role in self._priors}
        if "gamma" in self._names:
            now["gamma"] = np.zeros(self.n_points, dtype=np.int64)
            now["gamma"][self.sampler.points] = 1
        values = {name: now[role] for role, name in self._names.items()}
        return values | self.form.kernel_values(self.sampler)

    def _adapt_to(self, point):
        """Bring the sampler to where the model's variables are now."""
        is_ours = self.last_values is not None and all(
            point[name] is value or np.array_equal(point[name], value)
            for name, value in self.last_values.items()
        )
        # Other steps may have moved what has a prior of the user's own.
        if is_ours and not self.form.has_moved(self.sampler, point):
            others = [role for role in self._scales if role not in self._priors]
            self.form.set_scales(self.sampler, self._scales_at(point, others), self.rng)
            return
        values = {role: np.asarray(point[name]) for role, name in self._names.items()}
        active = np.flatnonzero(values["gamma"]) if "gamma" in values else np.arange(self.n_points)
        if self.start_active is not None and self.last_values is None:
            active = np.sort(self.rng.choice(self.n_points, self.start_active, replace=False))
            values["beta"] = np.zeros_like(values["beta"])
        scales = self._scales_at(point, self._scales)
        self.form.place(self.sampler, active, values, scales, point, self.rng)

    def _scales_at(self, point, roles):
        return {role: self._scales[role](point) for role in roles}


def _prior_of(variable, role):
    """Scale of the noise, or shape and rate of a precision: numbers, the same for all entries."""
    numbers = [
        np.unique(p.data if isinstance(p, Constant) else p.eval())
        for p in variable.owner.inputs[2:4]
    ]
    if any(len(values) != 1 for values in numbers):
        raise ValueError(f"All entries of {variable.name} must have the same prior.")
    first, scale = (float(values[0]) for values in numbers)
    return scale if role == "noise" else (first, 1.0 / scale)
