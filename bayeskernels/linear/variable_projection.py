r"""Separable least squares: the linear weights are solved for at every step of a nonlinear search.

A model :math:`y \approx \Phi(\theta) w` is linear in w. For given theta the best weights are those
of ridge regression, and what remains is a least-squares problem in theta alone,

.. math:: \min_\theta \| r(\theta) \|^2, \quad r = P^\perp \tilde y, \quad
    \tilde\Phi = \begin{pmatrix} \Phi \\ \sqrt\lambda I \end{pmatrix}, \;
    \tilde y = \begin{pmatrix} y \\ 0 \end{pmatrix},

where :math:`P^\perp` projects onto what the columns of the augmented features leave over. Golub and
Pereyra (1973) gave its Jacobian,

.. math:: \frac{\partial r}{\partial \theta_j} =
    -P^\perp \frac{\partial \tilde\Phi}{\partial \theta_j} w
    - \Bigl(P^\perp \frac{\partial \tilde\Phi}{\partial \theta_j} \tilde\Phi^+ \Bigr)^T \tilde y;

Kaufman (1975) leaves out the second term. The gradient is the same without it, since that term is
orthogonal to r.
"""

import numpy as np
import scipy.linalg

__all__ = ["RidgeProjection"]


class RidgeProjection:
    """Ridge solution for given features, with what the derivatives need.

    Parameters
    ----------
    features : array of shape (n, M)
    targets : array of shape (n,)
    ridge : float
        Lambda, positive: it makes the augmented features independent.

    Attributes
    ----------
    weights : array of shape (M,)
    residual : array of shape (n + M,)
        Of the augmented problem; its squared length is the objective |y - Phi w|^2 + lambda |w|^2.
    """

    def __init__(self, features, targets, ridge):
        n, m = features.shape
        augmented = np.vstack([features, np.sqrt(ridge) * np.eye(m)])
        self.n = n
        self._q, self._r = scipy.linalg.qr(augmented, mode="economic", check_finite=False)
        coordinates = self._q[:n].T @ targets
        self.weights = scipy.linalg.solve_triangular(self._r, coordinates)
        self.residual = -self._q @ coordinates
        self.residual[:n] += targets

    @property
    def objective(self):
        """Sum of squared errors and the penalty."""
        return float(self.residual @ self.residual)

    @property
    def mean_squared_error(self):
        """Mean of the squared errors at the data, without the penalty."""
        return float(np.mean(self.residual[: self.n] ** 2))

    def jacobian(self, derivatives, columns, *, kaufman=False):
        """Jacobian of the residual by parameters each of which moves one feature.

        Parameters
        ----------
        derivatives : array of shape (n, k)
            Of the feature that a parameter moves, at the data.
        columns : array of int, shape (k,)
            Which feature that is.
        kaufman : bool
            Leave out the second term.

        Returns
        -------
        array of shape (n + M, k)
        """
        moved = derivatives * self.weights[columns]
        first = -self._q @ (self._q[: self.n].T @ moved)
        first[: self.n] += moved
        if kaufman:
            return -first
        # The pseudo-inverse of Q R is R^-1 Q'; a parameter that moves one column needs one row of
        # it, times the derivative's product with the residual.
        identity = np.eye(len(self._r))
        rows = self._q @ scipy.linalg.solve_triangular(self._r, identity, trans="T")
        return -first - rows[:, columns] * (derivatives.T @ self.residual[: self.n])

    def gradient(self, derivatives, columns):
        """Gradient of half the objective: that of the plain problem at the best weights."""
        return -self.weights[columns] * (derivatives.T @ self.residual[: self.n])
