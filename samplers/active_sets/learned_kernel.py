"""Random hyperparameters of a kernel as a step method sees them: one row of numbers, theta.

PyMC keeps each variable in a space of its own, by its transform; here they are read from a point
and written back, and their prior is evaluated.
"""

import numpy as np
import pymc as pm
import pytensor
from pymc.pytensorf import rvs_in_graph
from pytensor.compile.mode import Mode

__all__ = ["LearnedKernel"]

#: Small graphs of a few numbers: compiling them would take longer than they ever will.
_MODE = Mode(linker="py", optimizer="fast_compile")


class LearnedKernel:
    """Hyperparameters of a kernel within a model.

    Parameters
    ----------
    family : KernelFamily
    model : pm.Model
    values : list of TensorVariable
        Value variables that the step owns; other hyperparameters are moved by other steps.
    read : GraphReader

    Attributes
    ----------
    coordinates : array of int
        Which numbers of theta the step moves.
    start : array of shape (q,)
        Theta at the model's initial point.
    """

    def __init__(self, family, model, values, read):
        self.family = family
        self._readers = [read(variable) for variable in family.variables]
        self.is_owned = [model.rvs_to_values[v] in values for v in family.variables]
        owner = np.repeat(np.arange(len(family.sizes)), family.sizes)
        self.coordinates = np.flatnonzero(np.array(self.is_owned)[owner])
        self._densities, self._writers = [], []
        for variable, is_owned in zip(family.variables, self.is_owned, strict=True):
            if not is_owned:
                self._densities.append(None)
                self._writers.append(None)
                continue
            if rvs_in_graph(variable.owner.inputs):
                raise TypeError(
                    f"The prior of {variable.name} depends on other variables. ReversibleJump "
                    "learns widths with fixed priors; use a distribution of PyMC, which is left to "
                    "other steps."
                )
            x = variable.type("x")
            self._densities.append(_compile(x, pm.logp(variable, x).sum()))
            transform = model.rvs_to_transforms[variable]
            inside = x if transform is None else transform.forward(x, *variable.owner.inputs)
            name = model.rvs_to_values[variable].name
            self._writers.append((name, _compile(x, inside)))
        self.start = self.read(model.initial_point())

    def read(self, point):
        """Theta at a point."""
        values = [np.ravel(np.asarray(reader(point))) for reader in self._readers]
        return np.concatenate(values).astype(np.float64)

    def has_moved(self, point, theta):
        """Whether other steps have moved a hyperparameter since theta was current."""
        if all(self.is_owned):
            return False
        others = np.setdiff1d(np.arange(len(theta)), self.coordinates)
        return not np.array_equal(self.read(point)[others], theta[others])

    def values(self, theta):
        """Values of the owned variables in the space in which PyMC samples, by name."""
        parts = self.family.split(theta)
        return {
            writer[0]: np.asarray(writer[1](part))
            for writer, part in zip(self._writers, parts, strict=True)
            if writer is not None
        }

    def log_prior(self, theta):
        """Log-density of the owned numbers of theta; minus infinity where they are impossible."""
        if (theta[self.coordinates] <= 0.0).any():
            return -np.inf
        total = 0.0
        for density, part in zip(self._densities, self.family.split(theta), strict=True):
            if density is not None:
                total += float(density(part))
        return total


def _compile(x, graph):
    return pytensor.function([x], graph, mode=_MODE, on_unused_input="ignore")
