"""A generalized kernel model as ``ReversibleJump`` sees it: its chain, values of its variables."""

import numpy as np

from bayeskernels.kernels.columns import MAX_GRAM_BYTES
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler
from bayeskernels.samplers.active_sets.dense_probit import DenseProbitSampler
from bayeskernels.samplers.active_sets.kernel_move import PAPER_SCALE, KernelMove
from bayeskernels.samplers.active_sets.learned_kernel import LearnedKernel
from bayeskernels.samplers.active_sets.links.classes import ClassLabels
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels
from bayeskernels.samplers.active_sets.moves import KERNEL, share

__all__ = ["ModelForm"]


class ModelForm:
    """Makes the chain of a model, sets it down at values of the variables, and reads them off.

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
        What only models like this one have of them.
    kernel : LearnedKernel or None
    """

    def __init__(self, specification, values, read, kernel_options):
        self.specification = specification
        self.scales = ("g", "eta", "noise")[: 3 if specification.link == "identity" else 2]
        self.windows = 2 if specification.is_grouped else 4
        self.statistics, self.progress_columns = {"rj_kernel": (float, [])}, {}
        if specification.is_grouped:
            self.statistics = {"rj_kernels": (int, [])}
            self.progress_columns = {"rj_kernels": "Kernels"}
            if kernel_options:
                raise TypeError(
                    f"{', '.join(kernel_options)} of ReversibleJump tell how to learn the widths of"
                    " a single kernel. This model has several classes or kernels, whose widths are "
                    "fixed: leave them out."
                )
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

    def _response(self, observed, noise_prior):
        """Data of the link."""
        specification = self.specification
        if specification.link == "identity":
            return GaussianTargets.of(observed, 1.0, noise_prior)
        if specification.by_class:
            return ClassLabels.of(observed, specification.n_classes)
        return (
            LogisticLabels.of(observed == 1) if specification.link == "logistic" else observed == 1
        )

    def _kernels(self):
        """Functions that give columns and diagonals of the kernels."""
        specification = self.specification
        X, kernels = specification.training, specification.kernels
        n = len(X)
        if self.kernel is not None:
            family = specification.family

            def columns(points, theta):
                return family.at(theta)(X[points], X)

            return columns, lambda theta: family.at(theta).diagonal(X)
        if 8 * n * n * len(kernels) <= MAX_GRAM_BYTES or kernels[0].is_precomputed:
            grams = np.stack([kernel.gram(X) for kernel in kernels], axis=1)
            return grams.__getitem__, grams[np.arange(n), :, np.arange(n)].T
        diagonal = np.stack([kernel.diagonal(X) for kernel in kernels])
        return lambda points: np.stack([k(X[points], X) for k in kernels], axis=1), diagonal

    def chain(self, observed, priors, options):
        """Chain for these observations; ``priors`` has the parameters of the scales' priors."""
        specification = self.specification
        scale_priors = {"g_prior": priors.get("g"), "eta_prior": priors.get("eta")}
        is_plain = specification.link == "probit" and not specification.is_grouped
        if is_plain and self.kernel is None and not specification.is_sparse:
            gram = specification.kernel.gram(specification.training)
            return DenseProbitSampler(gram, observed == 1, **scale_priors)
        if self.kernel is not None:
            options = options | {"theta": self.kernel.start}
            options["kernel_move"] = self._move if len(self.kernel.coordinates) else None
        return ActiveSetSampler(
            *self._kernels(),
            self._response(observed, priors.get("noise")),
            specification.max_active,
            kernel_off=specification.kernel_off,
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
        chain.set_scales(scales.get("g"), scales.get("eta"))
        if "noise" in scales and chain.noise != float(scales["noise"]):
            chain.noise = float(scales["noise"])
            chain.renew(rng)

    def place(self, chain, active, values, scales, point, rng):
        """Set a chain down at active points and values of the model's variables, by role."""
        if self.kernel is not None:
            chain.theta = self.kernel.read(point)
        if "noise" in scales:
            chain.noise = float(scales["noise"])
        beta = values["beta"] if self.specification.by_kernel else values["beta"][None]
        beta = self._by_contrast(chain, beta[:, active]).transpose(2, 0, 1)
        u = self._by_contrast(chain, values["u"])
        switches = {"is_on": values["kernel_on"]} if "kernel_on" in values else {}
        chain.place(active, u, beta, scales["g"], scales["eta"], rng, **switches)

    def values(self, chain):
        """Values of the model's variables by role."""
        coefficients = chain.beta
        beta = np.zeros((*coefficients.shape[:2], len(self.specification.training)))
        beta[:, :, chain.points] = coefficients
        beta = self._by_class(chain, beta.transpose(1, 2, 0))
        by_kernel = self.specification.by_kernel
        scales = {role: getattr(chain, role) for role in self.scales}
        return scales | {
            "beta": beta if by_kernel else beta[0],
            "u": np.asarray(self._by_class(chain, chain.u)),
            "g": chain.g if by_kernel else chain.g[0],
            "kernel_on": chain.is_on.astype(np.int64),
        }

    def _by_class(self, chain, values):
        """From the chain's coordinates, (..., c - 1), to those of the model."""
        if not self.specification.by_class:
            return values[..., 0]
        values = values @ chain.response.contrasts.T
        # Once more, against rounding errors.
        return values - values.mean(axis=-1, keepdims=True)

    def _by_contrast(self, chain, values):
        """From the model's coordinates to those of the chain."""
        if not self.specification.by_class:
            return np.asarray(values)[..., None]
        return values @ chain.response.contrasts

    def kernel_values(self, chain):
        """Values of the owned hyperparameters of the kernel, by name."""
        return {} if self.kernel is None else self.kernel.values(chain.theta)

    def own_statistics(self, chain):
        """Accepted moves of the kernel since counts were set to zero, or kernels that are on."""
        if self.specification.is_grouped:
            return {"rj_kernels": int(chain.is_on.sum())}
        return {"rj_kernel": share(chain.counts[KERNEL])}
