"""Draws without a Markov chain: expectation propagation and permutation perceptrons."""
