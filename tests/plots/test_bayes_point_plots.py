import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.plots.classifiers.version_spaces import _boundary, _inward_normals

LINEAR = pm.gp.cov.Linear(3, c=0)


def make_polygon(seed, n=10):
    X, y = bk.data.make_linear_rule(n, random_seed=seed)
    return X, y, bk.models.bayes_point_machine(X, y, kernel=LINEAR)


@pytest.mark.parametrize("seed", [16, 26, 41])
def test_boundary_is_on_the_walls(seed):
    X, y, model = make_polygon(seed)
    normals = _inward_normals(bk.specification_of(model))
    np.testing.assert_allclose(normals, X * (y / np.linalg.norm(X, axis=1))[:, None])
    centre, boundary = _boundary(normals)
    outputs = boundary @ normals.T
    np.testing.assert_allclose(np.linalg.norm(boundary, axis=1), 1.0)
    np.testing.assert_allclose(outputs.min(axis=1), 0.0, atol=1e-12)
    assert (centre @ normals.T).min() > 0


def test_centre_of_an_octant():
    centre, boundary = _boundary(np.eye(3))
    np.testing.assert_allclose(centre, np.full(3, 3**-0.5), atol=1e-6)
    assert boundary.min() > -1e-12


def test_centre_is_the_mean_of_the_draws():
    # 4000 draws, nearly independent: the angle has a standard error below 0.5 degrees.
    _, _, model = make_polygon(41)
    idata = bk.samplers.sample_directions(model, draws=4000, chains=1, random_seed=1)
    w = bk.bayes_point(model, idata).decision_function(np.eye(3))
    centre, _ = _boundary(_inward_normals(bk.specification_of(model)))
    assert centre @ w / np.linalg.norm(w) > np.cos(np.radians(2.5))


@pytest.mark.parametrize("kind", ["map", "globe"])
def test_draws_lie_inside_the_polygon(kind):
    _, _, model = make_polygon(41)
    idata = bk.samplers.sample_directions(model, draws=60, chains=1, random_seed=1)
    ax = bk.plots.version_space(model, kind=kind, idata=idata)
    [polygon] = [patch for patch in ax.patches if hasattr(patch, "get_xy")]
    [draws] = [c for c in ax.collections if c.get_label() == "draws"]
    path = polygon.get_path()
    assert len(draws.get_offsets()) == 60
    assert path.contains_points(draws.get_offsets()).all()
    assert ax.get_aspect() == 1.0


def test_inscribed_ball_touches_a_wall():
    X, y, model = make_polygon(26)
    w = _boundary(_inward_normals(bk.specification_of(model)))[0]
    ax = bk.plots.version_space(model, classifiers={"middle": lambda X: X @ w}, inscribed="middle")
    [ball] = [line for line in ax.lines if line.get_linestyle() == "--"]
    # Near its centre the map has the scale of the sphere: the radius is about the margin.
    radius = np.hypot(*ball.get_data()).mean()
    margin = (X * (y / np.linalg.norm(X, axis=1))[:, None] @ w).min()
    assert radius == pytest.approx(2 * np.sin(np.arcsin(margin) / 2), rel=1e-6)


def test_version_space_refuses():
    _, _, model = make_polygon(26)
    with pytest.raises(ValueError, match='"map" or "globe"'):
        bk.plots.version_space(model, kind="surface")
    with pytest.raises(ValueError, match=r"one of \['a'\], got 'b'"):
        bk.plots.version_space(model, classifiers={"a": lambda X: X[:, 0]}, inscribed="b")
    with pytest.raises(ValueError, match=r"the shape \(3,\) at three points, got \(3, 3\)"):
        bk.plots.version_space(model, classifiers={"a": lambda X: X})
    centre, _ = _boundary(_inward_normals(bk.specification_of(model)))
    with pytest.raises(ValueError, match="not in the version space"):
        bk.plots.version_space(model, classifiers={"a": lambda X: -X @ centre}, inscribed="a")


@pytest.mark.parametrize(
    ("n_columns", "options", "message"),
    [
        (3, {"kernel": pm.gp.cov.ExpQuad(3, ls=1.0)}, "kernel must be <x, x'>"),
        (3, {"kernel": LINEAR, "softness": 1.0}, "dimension for every point"),
        (2, {"kernel": pm.gp.cov.Linear(2, c=0)}, "3 columns only"),
    ],
)
def test_version_space_needs_a_sphere(n_columns, options, message):
    X, y = bk.data.make_linear_rule(6, n_features=n_columns, random_seed=3)
    with pytest.raises(ValueError, match=message):
        bk.plots.version_space(bk.models.bayes_point_machine(X, y, **options))


def test_version_space_needs_labels_without_noise():
    X, y = bk.data.make_linear_rule(6, random_seed=3)
    noisy = bk.models.label_noise_classifier(X, y, kernel=LINEAR, noise=0.1)
    with pytest.raises(ValueError, match="no label noise"):
        bk.plots.version_space(noisy)
    several = bk.models.bayes_point_machine(np.eye(3), ["a", "b", "c"], kernel=LINEAR)
    with pytest.raises(ValueError, match="two classes"):
        bk.plots.version_space(several)


@pytest.fixture(scope="module")
def plane():
    X, y = bk.data.make_two_moons(20, scatter=0.1, random_seed=1)
    return bk.models.bayes_point_machine(X, y)


def test_decision_function_draws_the_boundary_thickest(plane):
    ax = bk.plots.decision_function(plane, lambda X: X[:, 0] - 0.3, resolution=15, n_lines=4)
    [lines] = [c for c in ax.collections if hasattr(c, "levels")]
    thickest = lines.levels[np.argmax(lines.get_linewidths())]
    assert thickest == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(
        lines.get_paths()[np.argmax(lines.get_linewidths())].vertices[:, 0], 0.3
    )


def test_decision_function_limit(plane):
    ax = bk.plots.decision_function(plane, lambda X: X[:, 0], limit=5.0, resolution=10)
    assert ax.collections[0].get_clim() == (-5.0, 5.0)
    flat = bk.plots.decision_function(
        plane, lambda X: np.full(len(X), 0.5), resolution=5, colorbar=False, legend=False
    )
    assert flat.get_legend() is None
    for limit in (0.0, -1.0):
        with pytest.raises(ValueError, match="limit must be positive"):
            bk.plots.decision_function(plane, lambda X: X[:, 0], limit=limit, resolution=5)


def test_decision_function_refuses(plane):
    with pytest.raises(ValueError, match=r"the shape \(25,\), got \(25, 2\)"):
        bk.plots.decision_function(plane, lambda X: X, resolution=5)
    several = bk.models.bayes_point_machine(np.eye(3), ["a", "b", "c"])
    with pytest.raises(TypeError, match="two classes"):
        bk.plots.decision_function(several, lambda X: X[:, 0])


def test_quantiles_of_equal_samples_lie_on_the_diagonal():
    sample = np.random.default_rng(1).integers(0, 5, 400) / 50
    ax = bk.plots.quantiles(sample, sample[::-1], names=("a", "b"))
    [points] = ax.collections
    x, y = points.get_offsets().T
    np.testing.assert_array_equal(x, y)
    assert len(x) == 5
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    line = next(line for line in ax.lines if line.get_label() == "equal up to shift and scale")
    np.testing.assert_allclose(*line.get_data())


def test_quantile_line_has_shift_and_scale():
    sample = np.random.default_rng(1).random(100)
    ax = bk.plots.quantiles(sample, 3 + 2 * sample, percent=False)
    line = next(line for line in ax.lines if line.get_label() == "equal up to shift and scale")
    x, y = line.get_data()
    np.testing.assert_allclose(y, 3 + 2 * x)
    np.testing.assert_allclose(ax.collections[0].get_offsets() @ [-2, 1], 3.0)


def test_quantiles_refuse_and_allow():
    with pytest.raises(ValueError, match=r"at least 2 values, got \[1, 3\]"):
        bk.plots.quantiles([0.1], [0.1, 0.2, 0.3])
    ax = bk.plots.quantiles([0.1, 0.1], [0.1, 0.2])
    assert len(ax.lines) == 1


def test_image_grid_places_images_and_captions():
    images = np.arange(7 * 4 * 3).reshape(7, 4, 3)
    ax = bk.plots.image_grid(images, "abcdefg", columns=3)
    assert [text.get_text() for text in ax.texts] == list("abcdefg")
    extents = np.array([image.get_extent() for image in ax.images])
    assert len(np.unique(extents[:, 0])) == 3
    assert len(np.unique(extents[:, 3])) == 3
    # Pixels are square, images do not overlap, and every caption is under its image.
    width, height = extents[:, 1] - extents[:, 0], extents[:, 2] - extents[:, 3]
    np.testing.assert_allclose(height / width, 4 / 3)
    assert extents[3, 3] > extents[0, 2]
    assert extents[0, 2] < ax.texts[0].get_position()[1] < extents[3, 3]
    assert all(image.get_clim() == (0, 83) for image in ax.images)
    assert not bk.plots.image_grid(images).texts


def test_image_grid_refuses():
    with pytest.raises(ValueError, match=r"\(n, height, width\)"):
        bk.plots.image_grid(np.ones((3, 64)))
    with pytest.raises(ValueError, match="3 images but 2 captions"):
        bk.plots.image_grid(np.ones((3, 8, 8)), "ab")
    with pytest.raises(ValueError, match="columns must be at least 1"):
        bk.plots.image_grid(np.ones((3, 8, 8)), columns=0)


@pytest.mark.parametrize("style", ["default", "arviz-variat"])
def test_pictures_in_any_style(style):
    _, _, model = make_polygon(26)
    with plt.style.context(style):
        bk.plots.version_space(model).figure.canvas.draw()
        bk.plots.image_grid(np.ones((2, 8, 8))).figure.canvas.draw()
