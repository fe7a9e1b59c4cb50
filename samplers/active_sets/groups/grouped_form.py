"""Models of several classes or kernels as ``ReversibleJump`` sees them."""

import numpy as np

from bayeskernels.kernels.columns import MAX_GRAM_BYTES
from bayeskernels.samplers.active_sets.groups.chain import GroupedSampler

__all__ = ["GroupedForm"]


class GroupedForm:
    """A model in which a point brings a column for each kernel, and the chain for it.

    The parameters, attributes and methods are those of
    :class:`~bayeskernels.samplers.active_sets.single_form.SingleForm`.
    """

    scales = ("g", "eta")
    windows = 2
    statistics = {"rj_kernels": (int, [])}
    progress_columns = {"rj_kernels": "Kernels"}

    def __init__(self, specification, values, read, kernel_options):
        if kernel_options:
            raise TypeError(
                f"{', '.join(kernel_options)} of ReversibleJump tell how to learn the widths of a "
                "single kernel. This model has several classes or kernels, whose widths are fixed: "
                "leave them out."
            )
        self.specification = specification

    @property
    def observed(self):
        """Numbers of the classes as the model has them now."""
        return self.specification.codes

    def chain(self, observed, priors, options):
        """Chain for these observations; ``priors`` has the parameters of the scales' priors."""
        specification = self.specification
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

        return GroupedSampler(
            columns,
            diagonal,
            observed,
            specification.n_classes,
            specification.max_active,
            g_prior=priors.get("g"),
            eta_prior=priors.get("eta"),
            kernel_off=specification.kernel_off,
            set_prior=specification.inclusion,
            is_sparse=specification.is_sparse,
            **options,
        )

    def has_moved(self, chain, point):
        """Kernels are fixed."""
        return False

    def set_scales(self, chain, scales, rng):
        """Tell a chain the scales that are not its own."""
        chain.set_scales(scales.get("g", chain.g), scales.get("eta", chain.eta))

    def place(self, chain, active, values, scales, point, rng):
        """Set a chain down at active points and values of the model's variables, by role."""
        beta = values["beta"] if self.specification.by_kernel else values["beta"][None]
        chain.place(
            active,
            self._by_contrast(chain, values["u"]),
            self._by_contrast(chain, beta)[:, active],
            scales["g"],
            values.get("kernel_on", np.ones(len(chain.diagonal()))),
            scales["eta"],
            rng,
        )

    def values(self, chain):
        """Values of the model's variables by role."""
        coefficients = chain.beta
        beta = np.zeros((len(coefficients), len(chain.labels), coefficients.shape[2]))
        beta[:, chain.points] = coefficients
        beta = self._by_class(chain, beta)
        by_kernel = self.specification.by_kernel
        return {
            "beta": beta if by_kernel else beta[0],
            "u": np.asarray(self._by_class(chain, chain.u)),
            "g": chain.g if by_kernel else chain.g[0],
            "eta": chain.eta,
            "kernel_on": chain.is_on.astype(np.int64),
        }

    def _by_class(self, chain, values):
        """From the chain's coordinates, (..., c - 1), to those of the model."""
        if not self.specification.by_class:
            return values[..., 0]
        values = values @ chain.contrasts.T
        # Once more, against rounding errors.
        return values - values.mean(axis=-1, keepdims=True)

    def _by_contrast(self, chain, values):
        """From the model's coordinates to those of the chain."""
        return values @ chain.contrasts if self.specification.by_class else values[..., None]

    def kernel_values(self, chain):
        """No hyperparameters."""
        return {}

    def own_statistics(self, chain):
        """Number of kernels that are on."""
        return {"rj_kernels": int(chain.is_on.sum())}
