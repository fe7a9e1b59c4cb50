"""Parts that several builders share: data, hyperparameters, latent functions, observations."""
