"""A contact sheet of small images, such as the hardest training points (BPM, Figure 10)."""

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.plots.style import INK, as_axes, as_text

__all__ = ["image_grid"]


def image_grid(images, captions=None, *, columns=5, cmap="gray_r", ax=None) -> Axes:
    """Images in rows, each with a caption under it (BPM, Figure 10).

    Parameters
    ----------
    images : array_like of shape (n, height, width)
        Grey values; all are shown on one scale.
    captions : sequence, optional
        One for each image.
    columns : int
        Images in a row.
    cmap : str or matplotlib.colors.Colormap
        Large values are dark by default, like ink.

    Examples
    --------
    >>> digits = bk.data.load("digits")
    >>> ax = bk.plots.image_grid(digits.X[:10].reshape(-1, 8, 8), digits.y[:10])
    """
    images = np.asarray(images, dtype=float)
    if images.ndim != 3 or len(images) == 0:
        raise ValueError(
            "images must be an array of the shape (n, height, width) with n > 0, got "
            f"{images.shape}: reshape the rows of a table of pixels."
        )
    if captions is not None and len(captions) != len(images):
        raise ValueError(f"There are {len(images)} images but {len(captions)} captions.")
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}.")
    n, height, width = images.shape
    columns = min(columns, n)
    rows = -(-n // columns)
    # Lengths are those of an image's side; captions have a line of their own.
    aspect, gap, line = height / width, 0.12, 0.0 if captions is None else 0.24
    across, down = 1 + gap, aspect + line + gap
    ax = as_axes(ax, figsize=(0.9 * columns * across, 0.9 * rows * down))
    limits = {"vmin": images.min(), "vmax": images.max()}
    for k, image in enumerate(images):
        left, top = (k % columns) * across, (k // columns) * down
        extent = (left, left + 1, top + aspect, top)
        ax.imshow(image, cmap=cmap, extent=extent, interpolation="nearest", **limits)
        if captions is not None:
            ax.text(
                left + 0.5,
                top + aspect + 0.04,
                as_text(captions[k]),
                ha="center",
                va="top",
                color=INK,
                fontsize="small",
            )
    ax.set(xlim=(-gap, columns * across), ylim=(rows * down, -gap), aspect="equal")
    ax.set_axis_off()
    return ax
