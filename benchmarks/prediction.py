"""Prediction against one bare matrix product of the same sizes, in turns.

10,000 new points, 4,000 draws, m = 300 training points: ``bk.predict`` evaluates the kernel, maps
to features, multiplies, and tallies votes, probabilities and means.
"""

import time

import numpy as np
import pymc as pm

import bayeskernels as bk

N_NEW, N_DRAWS, M, ROUNDS = 10_000, 4_000, 300, 7
TARGET = 3.0


def main():
    X, y = bk.data.make_checkerboard(M, noise=0.05, random_seed=1)
    X_new, _ = bk.data.make_checkerboard(N_NEW, random_seed=2)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.3)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.05)
    idata = bk.samplers.sample_directions(model, draws=N_DRAWS // 2, chains=2, random_seed=1)
    rng = np.random.default_rng(3)
    left, right = rng.standard_normal((N_NEW, M)), rng.standard_normal((M, N_DRAWS))
    bk.predict(model, idata, X_new)  # compile
    seconds = {"predict": [], "product": []}
    for _ in range(ROUNDS):
        for name, run in [
            ("predict", lambda: bk.predict(model, idata, X_new)),
            ("product", lambda: left @ right),
        ]:
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    ratio = median["predict"] / median["product"]
    print(f"bk.predict       {median['predict']:.3f} s")
    print(f"matrix product   {median['product']:.3f} s")
    print(f"ratio            {ratio:.2f} (target: at most {TARGET:g})")


if __name__ == "__main__":
    main()
