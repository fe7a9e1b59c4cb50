import numpy as np
import pymc as pm
import pytest

from bayeskernels.models import generalized_kernel_model
from bayeskernels.prediction.predict import predict
from bayeskernels.reproduction.gkm import chains

pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")


def seeds(*methods):
    return {m: np.random.SeedSequence([k, 3]) for k, m in enumerate(methods)}


def test_prediction_is_that_of_the_model(draw):
    partition = draw("bci")
    options = {"draws": 600, "tune": 200, "seeds": seeds("sgpc", "fbgkm")}
    found = chains.run_sparse(partition, 15, **options)
    with generalized_kernel_model(partition.X, partition.y, max_active=15) as model:
        idata = pm.sample(600, tune=200, chains=1, quiet=True, random_seed=1)
    label = predict(model, idata, partition.X_test, progressbar=False).label.values
    size = idata.posterior["gamma"].sum("obs").mean().item()
    for record in found.values():
        assert record["error"] == pytest.approx(np.mean(label != partition.y_test), abs=0.05)
        assert record["size"] == pytest.approx(size, abs=2.0)


def test_chains_start_apart_and_are_judged_together(draw):
    options = {"draws": 30, "tune": 10, "seeds": seeds("sgpc", "fbgkm")}
    found = chains.run_sparse(draw("bci"), 15, **options)
    assert list(found) == ["sgpc", "fbgkm"]
    for record in found.values():
        assert len(record["sizes"]) == 40
        assert record["size"] == pytest.approx(np.mean(record["sizes"][10:]))
        assert max(record["sizes"]) <= 15
        assert record["seconds"] > 0
    for key in ("rhat", "ess"):
        assert found["fbgkm"][key] == found["sgpc"][key]


def test_columns_on_demand_are_those_that_are_stored(draw, monkeypatch):
    partition = draw("thyroid")
    stored = chains.KernelValues(partition)
    monkeypatch.setattr(chains, "STORED", 10)
    computed = chains.KernelValues(partition)
    assert computed.gram is None
    points = np.array([3, 0, 17])
    for name in ("columns", "cross"):
        expected = getattr(stored, name)(points)
        np.testing.assert_allclose(getattr(computed, name)(points), expected, atol=1e-12)
    np.testing.assert_allclose(computed.diagonal, stored.diagonal, atol=1e-12)
    assert stored.columns(points).shape == (3, 40)
    assert stored.cross(points).shape == (50, 3)
    options = {"draws": 20, "tune": 5}
    found = chains.run_sparse(partition, 15, **options, seeds=seeds("sgpc", "fbgkm"))
    monkeypatch.setattr(chains, "STORED", 100)
    other = chains.run_sparse(partition, 15, **options, seeds=seeds("sgpc", "fbgkm"))
    assert found["sgpc"]["error"] == pytest.approx(other["sgpc"]["error"], abs=0.1)


def test_dense_chain(draw):
    partition = draw("bci")
    record = chains.run_dense(partition, draws=20, tune=10, seeds=seeds("bgkm"))["bgkm"]
    assert record["error"] < 0.3
    assert record["size"] == 40
    assert record["rhat"] > 0.9


def test_convergence_of_chains():
    rng = np.random.default_rng(0)
    mixed = chains.convergence(rng.normal(size=(2, 400)))
    assert mixed["rhat"] < 1.05
    assert mixed["ess"] > 200
    apart = rng.normal(size=(2, 400)) + np.array([[0.0], [5.0]])
    assert chains.convergence(apart)["rhat"] > 1.5
    assert chains.convergence([apart.ravel()])["rhat"] > 1.5, "halves of one chain"
    assert chains.convergence(np.ones((2, 400))) == {"rhat": None, "ess": None}
    assert chains.convergence(rng.normal(size=(1, 7))) == {"rhat": None, "ess": None}
