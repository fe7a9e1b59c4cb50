"""What an entry of the zoo learns from and is tested on."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test data of one entry.

    Attributes
    ----------
    name : str
        A few words, for the table.
    description : str
        A sentence or two, for the report.
    X, y : array
        Training inputs of shape (m, p) and their labels.
    X_test, y_test : array
    flipped : array of bool, shape (m,), or None
        Which training labels were flipped, where that was done on purpose.
    image_shape : tuple of int, or None
        Rows and columns where an input is an image.
    """

    name: str
    description: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    X_test: np.ndarray = field(repr=False)
    y_test: np.ndarray = field(repr=False)
    flipped: np.ndarray | None = field(default=None, repr=False)
    image_shape: tuple[int, int] | None = None

    @property
    def n_features(self):
        """Number of input columns."""
        return self.X.shape[1]
