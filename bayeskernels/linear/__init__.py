"""Linear models with Gaussian weights, their dual form as Gaussian processes, and RBF networks."""
