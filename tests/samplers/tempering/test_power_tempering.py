"""Power tempering of PyMC models: evidence against enumeration, draws as pm.sample gives them."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.samplers.tempering.power_tempering import PowerTempering, _fit_gamma
from bayeskernels.testing.exact_active_sets import active_set_masses

QUIET = {"progressbar": False}


def make_data(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    positive = X[:, 0] + 0.7 * rng.standard_normal(n) > 0
    return X, positive


def gram_of(X):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5)


def make_model(n, max_active, **options):
    X, positive = make_data(n)
    kernel = pm.gp.cov.ExpQuad(2, ls=np.sqrt(0.75))
    return bk.models.generalized_kernel_model(
        X, positive, kernel=kernel, max_active=max_active, **options
    )


@pytest.fixture(scope="module")
def model():
    return make_model(6, 3, eta=0.5)


@pytest.fixture(scope="module")
def exact():
    X, positive = make_data(6)
    masses = active_set_masses(gram_of(X), positive, 3, g=(2.0, 0.05), eta=0.5)
    return float(np.log(sum(masses.values())))


@pytest.mark.parametrize("path", ["auto", "reference"])
def test_evidence_of_six_points(model, exact, path):
    result = PowerTempering(model, path=path).sample(1500, tune=100, random_seed=1, **QUIET)
    assert abs(result.log_evidence - exact) < 0.05
    assert abs(result.log_evidence - exact) < 3 * result.mcse + 0.002
    assert result.path == ("prior" if path == "auto" else path)
    assert result.smallest_swap_rate > 0.1
    assert (result.round_trips > 10).all()


@pytest.mark.slow
@pytest.mark.parametrize("is_fixed", [True, False], ids=["fixed", "random"])
@pytest.mark.parametrize(("n", "max_active"), [(6, 2), (8, 2)])
def test_evidence_by_enumeration(n, max_active, is_fixed):
    """Both precisions random, or both fixed."""
    X, positive = make_data(n)
    priors = {"g": 0.7, "eta": 0.5} if is_fixed else {"g": (2.0, 0.05), "eta": (0.5, 0.05)}
    masses = active_set_masses(gram_of(X), positive, max_active, size=10, **priors)
    model = make_model(n, max_active, **(priors if is_fixed else {}))
    result = PowerTempering(model).sample(3000, random_seed=1, **QUIET)
    difference = result.log_evidence - np.log(sum(masses.values()))
    assert abs(difference) < 0.05
    assert abs(difference) < 3 * result.mcse + 0.004  # and the quadrature's error


def test_draws_as_pm_sample_gives_them(model):
    tempering = PowerTempering(model, rungs=4)
    result = tempering.sample(60, tune=10, random_seed=1, **QUIET)
    posterior = result.idata.posterior
    assert sorted(posterior.data_vars) == ["beta", "g", "gamma", "u"]
    assert dict(posterior.sizes) == {"chain": 2, "draw": 60, "obs": 6}
    assert ((posterior["beta"] != 0) == (posterior["gamma"] == 1)).all()
    active = result.idata.sample_stats["tempering_active"]
    assert (active == posterior["gamma"].sum("obs")).all()
    assert result.idata["tempering"]["energy"].shape == (2, 60, 4)
    with model:
        likelihood = pm.compute_log_likelihood(
            result.idata, extend_inferencedata=False, progressbar=False
        )
    np.testing.assert_allclose(
        likelihood["y"].sum("obs"),
        result.idata.sample_stats["tempering_log_likelihood"],
        atol=1e-6,
    )
    prediction = bk.predict(model, result.idata, make_data(6)[0])
    assert prediction["probability"].shape == (6, 2)


def test_seeds(model):
    tempering = PowerTempering(model)
    options = {"draws": 30, "tune": 8, **QUIET}
    first, again, other = (
        tempering.sample(random_seed=seed, cores=cores, **options)
        for seed, cores in ((1, 1), (1, 2), (2, 1))
    )
    assert first.log_evidence == again.log_evidence
    assert first.idata.posterior.equals(again.idata.posterior)
    assert not first.idata.posterior.equals(other.idata.posterior)


def test_gap_is_reported(model, caplog):
    """Where hardly any swap passes, the run says so."""
    tempering = PowerTempering(model, path="prior", rungs=3)
    result = tempering.sample(30, tune=8, chains=1, random_seed=1, **QUIET)
    places = type("Places", (), {"swap_rates": np.array([0.05, 0.9]), "round_trips": 0})
    ladders = [type("Ladder", (), {"powers": result.powers, "places": places})]
    draws = [[_place(result.idata, draw) for draw in range(30)]]
    tempering._result(ladders, draws, result.idata["tempering"]["energy"].values, "prior")
    assert "5.0% of the rounds" in caplog.text


def _place(idata, draw):
    at = idata.posterior.isel(chain=0, draw=draw)
    points = np.flatnonzero(at["gamma"].values)
    place = type("Place", (), {"points": points, "beta": at["beta"].values[points]})
    place.u, place.g, place.eta, place.log_likelihood = 0.0, 1.0, 1.0, -1.0
    return place


@pytest.mark.parametrize(("name", "value"), [("SWITCH_SWAP_RATE", 0.999), ("SWITCH_JUMP", 0.01)])
def test_ladder_with_a_gap_takes_the_reference_path(monkeypatch, model, name, value):
    """The switches themselves, at a rate and a jump that every ladder misses."""
    monkeypatch.setattr(bk.samplers.tempering.power_tempering, name, value)
    result = PowerTempering(model).sample(30, tune=44, chains=1, random_seed=1, **QUIET)
    assert result.path == "reference"


def test_smc_agrees(model, exact):
    found = PowerTempering(model).smc_evidence(repetitions=6, particles=150, random_seed=1, **QUIET)
    assert abs(found.mean() - exact) < 0.05 + 3 * found.std(ddof=1) / np.sqrt(6)


def test_fit_of_the_reference():
    """Mean of the logarithms is kept, the shape halved."""
    draws = np.random.default_rng(1).gamma(4.0, 1 / 3.0, 40_000)
    shape, rate = _fit_gamma(draws)
    assert shape == pytest.approx(2.0, rel=0.05)
    assert rate == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rungs": 2}, "at least 3 rungs"),
        ({"path": "straight"}, "path must be one of"),
        ({"windows": 0}, "at least 1"),
        ({"transports": -1}, "transports at least 0"),
    ],
)
def test_bad_options(model, options, message):
    with pytest.raises(ValueError, match=message):
        PowerTempering(model, **options)


@pytest.mark.parametrize("options", [{"draws": 5}, {"tune": 1}, {"chains": 0}, {"particles": 2}])
def test_bad_lengths(model, options):
    with pytest.raises(ValueError, match="must be at least"):
        PowerTempering(model).sample(**options)


def test_other_models_are_refused():
    X, positive = make_data(6)
    with pytest.raises(TypeError, match="generalized kernel models; this is a label_noise"):
        PowerTempering(bk.models.label_noise_classifier(X, positive, noise=0.1))
    with pytest.raises(TypeError, match="all points are active"):
        PowerTempering(bk.models.generalized_kernel_model(X, positive, sparse=False))
    with pytest.raises(TypeError, match="Gamma prior of g"):
        PowerTempering(make_model(6, 3, g=pm.LogNormal.dist(0.0, 1.0)))
    with pytest.raises(ValueError, match="both are fixed"):
        PowerTempering(make_model(6, 3, g=1.0, eta=1.0), path="reference")
    with pytest.raises(TypeError, match="made by bayeskernels"):
        PowerTempering(pm.Model())


def test_unknown_parameters_of_a_prior_are_refused():
    X, positive = make_data(6)
    with pm.Model() as model:
        rate = pm.HalfNormal("rate")
        bk.models.generalized_kernel_model(X, positive, max_active=3, g=pm.Gamma.dist(2.0, rate))
    with pytest.raises(TypeError, match="also has"):
        PowerTempering(model)


def test_gamma_prior_of_ones_own():
    target = PowerTempering(make_model(6, 3, g=pm.Gamma.dist(3.0, 0.5))).target
    assert target.priors == ((3.0, 0.5), (0.5, pytest.approx(0.05)))
