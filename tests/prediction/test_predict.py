import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.linalg import solve_triangular
from scipy.special import stdtr

import bayeskernels as bk
from bayeskernels.specification.predictive import binary_entropy

RNG = np.random.default_rng(7)
X = RNG.uniform(-2, 2, size=(20, 2))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
X_NEW = RNG.uniform(-2, 2, size=(9, 2))


def gaussian(X, Z, width=0.5):
    """Narrow enough for a Gram matrix that the reference may invert."""
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * width**2))


def covariance():
    return pm.gp.cov.ExpQuad(2, ls=0.5)


def invent_draws(rank=20, *, noise=None, chains=2, draws=15, seed=1, **others):
    """A posterior of arbitrary directions: prediction must not care how draws came about."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((chains, draws, rank))
    w /= np.linalg.norm(w, axis=-1, keepdims=True)
    variables = {"w": (("chain", "draw", "basis"), w)}
    if noise == "scalar":
        variables["noise"] = (("chain", "draw"), rng.uniform(0, 0.5, (chains, draws)))
    elif noise == "pair":
        variables["noise"] = (
            ("chain", "draw", "class"),
            rng.uniform(0, 0.5, (chains, draws, 2)),
        )
    for name, values in others.items():
        variables[name] = (("chain", "draw"), values(rng, (chains, draws)))
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


def draws_of(idata, name):
    values = idata["posterior"][name].values
    return values.reshape(-1, *values.shape[2:])


def outputs_by_expansion(model, idata, X_new):
    """f(x) = sum_j alpha_j k(x, x_j), with alpha from the outputs at the training points."""
    features = bk.specification_of(model).feature_map.factor.features
    return [
        gaussian(X_new, X) @ np.linalg.solve(gaussian(X, X), features @ w)
        for w in draws_of(idata, "w")
    ]


def rest_by_inversion(width=0.5, scale=1.0):
    """Variance of a Gaussian process at new points given its values at the training points."""
    cross = gaussian(X_NEW, X, width)
    explained = np.einsum("ij,ji->i", cross, np.linalg.solve(gaussian(X, X, width), cross.T))
    return scale * (1.0 - explained)


def naive_prediction(outputs, rates, rests, rank=20):
    """What is expected of the positive class, one draw and one point at a time.

    Vote, probability of a positive function, probability of a positive label, mean output.
    """
    n = len(outputs[0])
    totals = np.zeros((4, n))
    for f, (q_negative, q_positive), rest in zip(outputs, rates, rests, strict=True):
        for i in range(n):
            share = float(f[i] > 0)
            if rest is not None:
                share = stdtr(rank, np.sqrt(rank) * f[i] / np.sqrt(rest[i]))
            label = share * (1 - q_positive) + (1 - share) * q_negative
            totals[:, i] += f[i] > 0, share, label, f[i]
    return totals / len(outputs)


def assert_prediction(prediction, vote, share, probability, latent):
    np.testing.assert_allclose(prediction["vote"].values[:, 1], vote, atol=1e-12)
    # Beyond the span the t distribution comes from a table.
    atol = 1e-8 if prediction.attrs["beyond_span"] else 1e-12
    np.testing.assert_allclose(prediction["probability"].values[:, 1], probability, atol=atol)
    np.testing.assert_allclose(prediction["latent"].values, latent, atol=1e-8)
    for name in ("vote", "probability"):
        np.testing.assert_allclose(prediction[name].sum("class"), 1.0)
    np.testing.assert_allclose(prediction["entropy"].values, binary_entropy(vote), atol=1e-12)
    # The mean output decides where shares are even.
    wins = (share > 0.5) | ((share == 0.5) & (latent > 0))
    expected = prediction["class"].values[wins.astype(int)]
    assert prediction["label"].values.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("noise", "drawn"),
    [
        (0.1, None),
        (0.0, None),
        ("infer", "scalar"),
        ((0.05, 0.3), None),
        (("infer", "infer"), "pair"),
        ((0.1, "infer"), "pair"),
    ],
)
def test_against_a_naive_loop(noise, drawn):
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=noise)
    idata = invent_draws(noise=drawn)
    if drawn is None:
        pair = noise if isinstance(noise, tuple) else (noise, noise)
        rates = [pair] * 30
    else:
        rates = [np.broadcast_to(q, 2) for q in draws_of(idata, "noise")]
    outputs = outputs_by_expansion(model, idata, X_NEW)
    for beyond_span, rest in ((True, rest_by_inversion()), (False, None)):
        prediction = bk.predict(model, idata, X_NEW, beyond_span=beyond_span)
        assert prediction.attrs["beyond_span"] == beyond_span
        assert_prediction(prediction, *naive_prediction(outputs, rates, [rest] * 30))


def test_random_kernel_uses_the_kernel_of_each_draw():
    with pm.Model() as model:
        width = pm.LogNormal("width", 0, 1)
        scale = pm.HalfNormal("scale")
        kernel = (1 + scale) * pm.gp.cov.ExpQuad(2, ls=width)
        bk.models.label_noise_classifier(X, Y, kernel=kernel, noise=0.1)
    idata = invent_draws(
        width=lambda rng, size: rng.uniform(0.2, 1.0, size),
        scale=lambda rng, size: rng.uniform(0.5, 2.0, size),
    )
    outputs, rests = [], []
    for w, ls, s in zip(*(draws_of(idata, name) for name in ("w", "width", "scale")), strict=True):
        gram = (1 + s) * gaussian(X, X, ls)
        factor = np.linalg.cholesky(gram + 1e-8 * np.diag(gram).mean() * np.eye(len(X)))
        cross = (1 + s) * gaussian(X_NEW, X, ls)
        features = solve_triangular(factor, cross.T, lower=True).T
        outputs.append(features @ w)
        rests.append((1 + s) - (features**2).sum(axis=1))
    rates = [(0.1, 0.1)] * 30
    prediction = bk.predict(model, idata, X_NEW, progressbar=False)
    assert_prediction(prediction, *naive_prediction(outputs, rates, rests))
    restricted = bk.predict(model, idata, X_NEW, beyond_span=False, progressbar=False)
    assert_prediction(restricted, *naive_prediction(outputs, rates, [None] * 30))


@pytest.mark.parametrize("factorization", ["cholesky", "eigen"])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_forms_of_one_kernel_agree(factorization, bias):
    alpha = np.random.default_rng(2).standard_normal((2, 15, 20))
    predictions = []
    for kernel in (covariance(), gaussian, gaussian(X, X)):
        model = bk.models.label_noise_classifier(
            X, Y, kernel=kernel, noise=0.1, bias=bias, factorization=factorization
        )
        # The same classifiers in the coordinates of each model, which need not be the same ones.
        w = alpha @ bk.specification_of(model).feature_map.factor.features
        posterior = xr.Dataset({"w": (("chain", "draw", "basis"), w)})
        idata = xr.DataTree.from_dict({"posterior": posterior})
        if isinstance(kernel, np.ndarray):
            own = np.ones(len(X_NEW))
            predictions.append(bk.predict(model, idata, gaussian(X_NEW, X), diagonal=own))
            blind = bk.predict(model, idata, gaussian(X_NEW, X))
        else:
            predictions.append(bk.predict(model, idata, X_NEW))
    expected = np.einsum("cdj,nj->n", alpha, gaussian(X_NEW, X) + bias) / 30
    for prediction in predictions:
        np.testing.assert_allclose(prediction["latent"].values, expected, atol=1e-9)
        np.testing.assert_allclose(
            prediction["margin"], np.abs(expected) / np.sqrt(1 + bias), atol=1e-9
        )
        xr.testing.assert_allclose(prediction, predictions[0])
    # A Gram matrix alone tells neither the lengths of new points nor what is beyond the span.
    np.testing.assert_allclose(blind["margin"], np.abs(expected), atol=1e-9)
    assert blind.attrs["beyond_span"] == 0
    np.testing.assert_allclose(blind["probability"], 0.1 + 0.8 * blind["vote"], atol=1e-12)


def test_blocks_of_points_make_no_difference(monkeypatch):
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise="infer")
    idata = invent_draws(noise="scalar")
    whole = bk.predict(model, idata, X_NEW)
    monkeypatch.setattr("bayeskernels.specification.outputs.BLOCK_BYTES", 4 * 30 * 8)
    xr.testing.assert_allclose(bk.predict(model, idata, X_NEW), whole)


@pytest.mark.parametrize(
    ("negative", "positive"), [("ham", "spam"), (False, True), (0, 1), (1.0, 2.5)]
)
def test_labels_come_back_as_they_were_given(negative, positive):
    y = np.where(Y > 0, positive, negative)
    model = bk.models.label_noise_classifier(X, y, kernel=covariance(), noise=0.1)
    prediction = bk.predict(model, invent_draws(), X_NEW)
    assert prediction["class"].values.tolist() == [negative, positive]
    assert set(prediction["label"].values.tolist()) <= {negative, positive}
    reference = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=0.1)
    expected = bk.predict(reference, invent_draws(), X_NEW)["label"].values > 0
    assert (prediction["label"].values == positive).tolist() == expected.tolist()


def test_data_frame():
    frame = pd.DataFrame(X, columns=["height", "weight"])
    model = bk.models.label_noise_classifier(frame, Y, kernel=covariance(), noise=0.1)
    idata = invent_draws()
    new = pd.DataFrame(X_NEW, columns=["height", "weight"])
    xr.testing.assert_identical(bk.predict(model, idata, new), bk.predict(model, idata, X_NEW))
    swapped = new[["weight", "height"]]
    with pytest.raises(ValueError, match=r"trained with.*height.*Reorder"):
        bk.predict(model, idata, swapped)
    with pytest.raises(ValueError, match="Reorder"):
        bk.bayes_point(model, idata).predict(swapped)


def test_frame_after_training_on_an_array():
    """Where the training inputs had no names, those of new ones are not looked at."""
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=0.1)
    new = pd.DataFrame(X_NEW, columns=["height", "weight"])
    assert bk.predict(model, invent_draws(), new).sizes["obs_new"] == len(X_NEW)


def test_output_of_zero_is_half_a_vote():
    model = bk.models.label_noise_classifier(
        X, Y, kernel=pm.gp.cov.Linear(2, c=0), noise=(0.1, 0.3)
    )
    prediction = bk.predict(model, invent_draws(2), [[0.0, 0.0]])
    assert prediction["vote"].values.tolist() == [[0.5, 0.5]]
    assert prediction["probability"].values[0, 1] == pytest.approx((0.1 + 0.7) / 2)
    assert prediction["entropy"].item() == 1.0


def test_equal_outputs_share_a_vote():
    """Where a kernel has died out, draws say nothing of any class."""
    far, classes = X_NEW[:2] + 100.0, np.arange(20) % 3
    against = bk.models.bayes_point_machine(X, classes, kernel=covariance())
    directions = np.random.default_rng(1).standard_normal((1, 4, 3, 20))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    of_directions = xr.Dataset({"w": (("chain", "draw", "class", "basis"), directions)})
    generalized = [
        bk.models.generalized_kernel_model(X, y, kernel=covariance()) for y in (Y, classes)
    ]
    of_coefficients = [
        xr.Dataset(
            {
                "beta": (("chain", "draw", "obs", *dims), np.ones((1, 4, 20, *shape))),
                "gamma": (("chain", "draw", "obs"), np.ones((1, 4, 20), dtype=int)),
                "u": (("chain", "draw", *dims), np.zeros((1, 4, *shape))),
            }
        )
        for dims, shape in (((), ()), (("class",), (3,)))
    ]
    for model, draws in zip(
        [against, *generalized], [of_directions, *of_coefficients], strict=True
    ):
        prediction = bk.predict(model, draws, far, progressbar=False)
        n_classes = prediction.sizes["class"]
        np.testing.assert_allclose(prediction["vote"], 1.0 / n_classes)
        np.testing.assert_allclose(prediction["entropy"], np.log2(n_classes))


def test_agrees_with_posterior_predictive_draws():
    """PyMC's own prediction is that of the papers, only slower; 5 standard errors, fixed seed."""
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=(0.05, 0.3))
    idata = invent_draws(draws=2000)
    idata["posterior"] = idata["posterior"].to_dataset().assign_coords(basis=np.arange(20))
    with model:
        pm.set_data({"X": X_NEW, "y_data": np.zeros(len(X_NEW), int)})
        drawn = pm.sample_posterior_predictive(
            idata, predictions=True, progressbar=False, random_seed=1
        )
    share = drawn["predictions"]["y"].mean(["chain", "draw"]).values
    prediction = bk.predict(model, idata, X_NEW, beyond_span=False)
    expected = prediction["probability"].values[:, 1]
    assert np.abs(share - expected).max() < 5 * np.sqrt(0.25 / 4000)


def test_other_number_of_columns():
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=0.1)
    with pytest.raises(ValueError, match="X_new has 3 columns, the model was trained with 2"):
        bk.predict(model, invent_draws(), np.ones((4, 3)))
    with pytest.raises(ValueError, match="X_new has NaN"):
        bk.predict(model, invent_draws(), [[np.nan, 1.0]])


def test_draws_of_another_model():
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=0.1)
    with pytest.raises(ValueError, match=r"12 coordinates, the model has 20"):
        bk.predict(model, invent_draws(12), X_NEW)
    inferred = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise="infer")
    with pytest.raises(ValueError, match="no posterior draws of 'noise'"):
        bk.predict(inferred, invent_draws(), X_NEW)
    with pytest.raises(ValueError, match=r"idata, the result of pm\.sample, is needed"):
        bk.predict(model, None, X_NEW)


def test_draws_of_another_model_with_random_kernel():
    with pm.Model() as model:
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("width"))
        bk.models.label_noise_classifier(X, Y, kernel=kernel, noise=0.1)
    with pytest.raises(ValueError, match=r"12 coordinates, the model has 20"):
        bk.predict(model, invent_draws(12), X_NEW)
    with pytest.raises(ValueError, match="no posterior draws of 'width'"):
        bk.predict(model, invent_draws(20), X_NEW)


def test_model_of_somebody_else():
    with pytest.raises(TypeError, match=r"made by bayeskernels\.models"):
        bk.predict(pm.Model(), invent_draws(), X_NEW)


def test_binary_entropy():
    p = np.array([0.1, 0.25, 0.5])
    np.testing.assert_allclose(binary_entropy(p), -p * np.log2(p) - (1 - p) * np.log2(1 - p))
    assert binary_entropy([0.0, 1.0]).tolist() == [0.0, 0.0]


def test_bayes_point_is_the_mean_output():
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise="infer")
    idata = invent_draws(noise="scalar")
    point = bk.bayes_point(model, idata)
    np.testing.assert_allclose(point.w, draws_of(idata, "w").mean(axis=0))
    latent = bk.predict(model, idata, X_NEW)["latent"].values
    np.testing.assert_allclose(point.decision_function(X_NEW), latent, atol=1e-12)
    assert point.predict(X_NEW).tolist() == np.where(latent > 0, 1, -1).tolist()
    with pytest.raises(ValueError, match="3 columns"):
        point.predict(np.ones((2, 3)))


def test_bayes_point_standard_error():
    """For independent draws it is the standard deviation over the root of their number."""
    model = bk.models.label_noise_classifier(X, Y, kernel=covariance(), noise=0.1)
    point = bk.bayes_point(model, invent_draws(draws=2500))
    # Coordinates of a uniform direction have variance 1/r; 100 batches give 7% each, 20 of them.
    assert np.mean(point.mcse) == pytest.approx(np.sqrt(1 / 20 / 5000), rel=0.1)
    assert np.isnan(bk.bayes_point(model, invent_draws(chains=1, draws=1)).mcse).all()


def test_no_bayes_point_of_a_random_kernel():
    with pm.Model() as model:
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("width"))
        bk.models.label_noise_classifier(X, Y, kernel=kernel, noise=0.1)
    with pytest.raises(TypeError, match="kernel of its own"):
        bk.bayes_point(model, invent_draws())
