"""Linear models with Gaussian weights, their basis functions, and RBF networks."""
