import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.testing import check_posterior, prior_importance
from bayeskernels.testing.exact_cells import label_noise_cells

FEATURES = np.array([[1.0, 0.2, 0.1], [-0.3, 1.0, 0.4], [0.2, -0.5, 1.0], [1.0, 1.0, -0.7]])


def linear(X, Z):
    return X @ Z.T


def test_gaussian_mean_and_evidence_are_those_in_closed_form():
    x = [0.5, -1.0, 2.0]
    oracle = prior_importance(bk.models.gaussian_mean(x), draws=5000, random_seed=1)
    last = bk.models.mean_evolution(x).isel(seen=-1)
    # False-alarm rate 6e-5 each.
    assert abs(oracle.means["mu"] - float(last["mean"])) < 4 * oracle.errors["mu"] < 0.1
    difference = oracle.log_evidence - float(last["log_evidence"])
    assert abs(difference) < 4 * oracle.log_evidence_error < 0.2


@pytest.mark.slow
def test_standard_errors_are_those_of_repetitions():
    model = bk.models.gaussian_mean([1.5, 1.0])
    runs = [prior_importance(model, draws=500, random_seed=k) for k in range(100)]
    z = np.array([(run.means["mu"] - 2.5 / 3) / run.errors["mu"] for run in runs])
    exact = float(bk.models.mean_evolution([1.5, 1.0])["log_evidence"][-1])
    z_evidence = np.array([(run.log_evidence - exact) / run.log_evidence_error for run in runs])
    # The mean square of 100 standard normal numbers: false-alarm rate 0.0005 on each side.
    for scores in (z, z_evidence):
        assert 0.6 < np.mean(scores**2) < 1.6


def test_label_noise_agrees_with_exact_cells():
    is_positive = np.array([True, True, False, False])
    model = bk.models.label_noise_classifier(
        FEATURES, is_positive.astype(int), kernel=linear, noise=0.2
    )
    outputs = model["y"].owner.op.dist_params(model["y"].owner)[0]
    errors = pm.math.sum(pm.math.neq(outputs > 0, is_positive))
    oracle = prior_importance(model, {"errors": errors}, draws=5000, random_seed=1)
    exact = label_noise_cells(FEATURES, is_positive, 0.2, 0.2)
    wrong = (exact.signs > 0) != is_positive
    expected = float(exact.probabilities @ wrong.sum(axis=1))
    assert abs(oracle.means["errors"] - expected) < 4 * oracle.errors["errors"]


def test_check_passes_the_right_and_refuses_the_wrong():
    model = bk.models.label_noise_classifier(FEATURES, [0, 1, 1, 0], kernel=linear, noise=0.1)

    def draw(flipped):
        def sample(_, seed):
            y = [1, 0, 0, 1] if flipped else [0, 1, 1, 0]
            same = bk.models.label_noise_classifier(FEATURES, y, kernel=linear, noise=0.1)
            return bk.samplers.sample_directions(same, draws=500, random_seed=seed)

        return sample

    def estimate(noise):
        other = bk.models.label_noise_classifier(FEATURES, [0, 1, 1, 0], kernel=linear, noise=noise)
        return lambda *_: bk.evidence.estimate(other, random_seed=1, progressbar=False)

    options = {"prior_draws": 3000, "random_seed": 1}
    scores = check_posterior(model, sample=draw(False), estimate=estimate(0.1), **options)
    assert {"log likelihood", "log evidence"} < set(scores)
    with pytest.raises(AssertionError, match="log likelihood"):
        check_posterior(model, sample=draw(True), **options)
    with pytest.raises(AssertionError, match="log evidence"):
        check_posterior(model, sample=draw(False), estimate=estimate(0.4), **options)


def test_too_much_data_is_refused():
    with pytest.raises(ValueError, match="worth"):
        prior_importance(bk.models.gaussian_mean(np.full(50, 3.0)), draws=500, random_seed=1)
    with pm.Model() as impossible:
        pm.Uniform("y", 0.0, pm.Uniform("top", 0.0, 1.0), observed=[2.0])
    with pytest.raises(ValueError, match="None of"):
        prior_importance(impossible, draws=200, random_seed=1)
