import numpy as np
import pytest

from bayeskernels.reproduction.gkm.learned_chains import run_sparse_learned

pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")


def test_chains_that_learn_widths(draw):
    seeds = {m: np.random.SeedSequence([k, 1]) for k, m in enumerate(("fbgkm_kl", "sgpc_kl"))}
    found = run_sparse_learned(draw("bci"), 15, draws=40, tune=40, seeds=seeds)
    assert list(found) == ["fbgkm_kl", "sgpc_kl"]
    for record in found.values():
        assert record["error"] < 0.3
        assert 0 < record["size"] <= 15
        assert record["seconds"] > 0
    assert found["fbgkm_kl"]["rhat"] == found["sgpc_kl"]["rhat"]
