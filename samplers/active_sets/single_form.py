"""Models of two classes or a regression, with one kernel, as ``ReversibleJump`` sees them."""

import numpy as np

from bayeskernels.kernels.columns import MAX_GRAM_BYTES
from bayeskernels.samplers.active_sets.active_set_chain import share
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler
from bayeskernels.samplers.active_sets.dense_probit import DenseProbitSampler
from bayeskernels.samplers.active_sets.kernel_move import PAPER_SCALE, KernelMove
from bayeskernels.samplers.active_sets.learned_kernel import LearnedKernel
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels
from bayeskernels.samplers.active_sets.moves import KERNEL

__all__ = ["SingleForm"]


class SingleForm:
    """A model in which a point brings one column, and the chain for it.

    A form makes the chain, sets it down at values of the model's variables, and reads these values
    off again. :class:`~bayeskernels.samplers.active_sets.groups.grouped_form.GroupedForm` is the
    other one.

    Parameters
    ----------
    specification : GeneralizedKernelSpecification
    values : list of TensorVariable
        Value variables of the step.
    read : GraphReader
    kernel_options : dict
        Those of ``kernel_move``, ``kernel_moves`` and ``kernel_scale`` that were given.

    Attributes
    ----------
    scales : tuple of str
        Roles of the numbers that may be fixed, the step's own, or left to other steps.
    windows : int
        Default number of windows in a sweep.
    statistics, progress_columns : dict
        What only this form has of them.
    kernel : LearnedKernel or None
    """

    windows = 4
    statistics = {"rj_kernel": (float, [])}
    progress_columns = {}

    def __init__(self, specification, values, read, kernel_options):
        self.specification = specification
        self.scales = ("g", "eta", "noise")[: 3 if specification.link == "identity" else 2]
        self.kernel = None
        if specification.family is not None:
            self.kernel = LearnedKernel(specification.family, read.model, values, read)
        self._move = KernelMove(
            None if self.kernel is None else self.kernel.log_prior,
            None if self.kernel is None else self.kernel.coordinates,
            kind=kernel_options.get("kernel_move", "slice"),
            moves=kernel_options.get("kernel_moves", 4),
            scale=kernel_options.get("kernel_scale", PAPER_SCALE),
        )

    @property
    def observed(self):
        """Targets, or numbers of the classes, as the model has them now."""
        specification = self.specification
        return specification.targets if specification.link == "identity" else specification.codes

    def chain(self, observed, priors, options):
        """Chain for these observations; ``priors`` has the parameters of the scales' priors."""
        specification = self.specification
        X, kernel = specification.training, specification.kernel
        n = len(X)
        scale_priors = {"g_prior": priors.get("g"), "eta_prior": priors.get("eta")}
        is_fixed_probit = specification.link == "probit" and self.kernel is None
        if is_fixed_probit and not specification.is_sparse:
            return DenseProbitSampler(kernel.gram(X), observed == 1, **scale_priors)
        if self.kernel is not None:
            family = specification.family
            options = options | {"theta": self.kernel.start}
            options["kernel_move"] = self._move if len(self.kernel.coordinates) else None

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

        response = observed == 1
        if specification.link == "identity":
            response = GaussianTargets.of(observed, 1.0, priors.get("noise"))
        elif specification.link == "logistic":
            response = LogisticLabels.of(response)
        return ActiveSetSampler(
            columns,
            diagonal,
            response,
            specification.max_active,
            set_prior=specification.inclusion,
            is_sparse=specification.is_sparse,
            **scale_priors,
            **options,
        )

    def has_moved(self, chain, point):
        """Whether another step has moved a hyperparameter of the kernel."""
        return self.kernel is not None and self.kernel.has_moved(point, chain.theta)

    def set_scales(self, chain, scales, rng):
        """Tell a chain the scales that are not its own."""
        has_noise = "noise" in scales and chain.noise != float(scales["noise"])
        for role, value in scales.items():
            setattr(chain, role, float(value))
        if has_noise:
            chain.renew(rng)

    def place(self, chain, active, values, scales, point, rng):
        """Set a chain down at active points and values of the model's variables, by role."""
        if self.kernel is not None:
            chain.theta = self.kernel.read(point)
        if "noise" in scales:
            chain.noise = float(scales["noise"])
        beta = values["beta"][active]
        chain.place(active, float(values["u"]), beta, scales["g"], scales["eta"], rng)

    def values(self, chain):
        """Values of the model's variables by role."""
        beta = np.zeros(len(self.specification.training))
        beta[chain.points] = chain.beta
        scales = {role: getattr(chain, role) for role in self.scales}
        return {"beta": beta, "u": np.asarray(chain.u)} | scales

    def kernel_values(self, chain):
        """Values of the owned hyperparameters of the kernel, by name."""
        return {} if self.kernel is None else self.kernel.values(chain.theta)

    def own_statistics(self, chain):
        """What the chain did to the kernel since its counts were set to zero."""
        return {"rj_kernel": share(chain.counts[KERNEL])}
