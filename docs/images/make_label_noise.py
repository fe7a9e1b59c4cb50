"""Make label_noise.png, the picture of the README, from the README's example."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pymc as pm
from PIL import Image

import bayeskernels as bk

TARGET = Path(__file__).with_name("label_noise.png")


def main():
    """Two moons with planted flips: the vote and the doubted labels, and their ranking."""
    X, y = bk.data.make_two_moons(200, random_seed=1)
    y, flipped = bk.data.flip_labels(y, 0.1, random_seed=2)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.7)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise="infer")
    with model:
        idata = pm.sample(chains=4, random_seed=4, progressbar=False)

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 5), layout="constrained", gridspec_kw={"width_ratios": [1.25, 1]}
    )
    bk.plots.vote_map(model, idata, planted=flipped, resolution=200, ax=left)
    left.set_title("Share of the posterior's votes, and the labels it doubts")
    bk.plots.flip_ranking(
        bk.flip_probability(model, idata), planted=flipped, max_points=45, ax=right
    )
    right.set_title(f"Which labels are wrong?  ({right.get_title()})")
    right.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=100)
    # A palette of 256 colours is a third of the size and looks the same.
    with Image.open(TARGET) as image:
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
