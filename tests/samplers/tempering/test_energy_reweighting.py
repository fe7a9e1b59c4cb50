"""Normalising constants from draws at several powers, where the answer is known."""

import numpy as np
import pytest

from bayeskernels.samplers.tempering.energy_reweighting import (
    log_normalizers,
    normalizer_with_error,
)

POWERS = np.array([0.0, 0.1, 0.3, 0.6, 1.0])


def tilted_normal(rng, n_ladders, n_draws, memory):
    """Energies 3 x - 5 of standard normal numbers tilted by them: log Z(b) = 4.5 b^2 - 5 b."""
    energies = np.empty((n_ladders, n_draws, len(POWERS)))
    x = rng.standard_normal((n_ladders, len(POWERS)))
    for k in range(n_draws):
        fresh = rng.standard_normal(x.shape)
        x = memory * x + np.sqrt(1 - memory**2) * fresh
        energies[:, k] = 3 * (x + 3 * POWERS) - 5
    return energies


def test_all_constants():
    energies = tilted_normal(np.random.default_rng(1), 1, 20_000, 0.0)[0]
    np.testing.assert_allclose(
        log_normalizers(POWERS, energies.T), 4.5 * POWERS**2 - 5 * POWERS, atol=0.05
    )


def test_start_does_not_matter():
    energies = tilted_normal(np.random.default_rng(1), 1, 500, 0.0)[0].T
    far = log_normalizers(POWERS, energies, start=np.array([0.0, 40.0, -60.0, 9.0, 300.0]))
    np.testing.assert_allclose(far, log_normalizers(POWERS, energies), atol=1e-6)


def test_heavy_tail_at_zero():
    energies = tilted_normal(np.random.default_rng(1), 1, 2000, 0.0)[0].T
    usual = log_normalizers(POWERS, energies)
    energies[0, :20] = -1e9
    assert log_normalizers(POWERS, energies)[-1] == pytest.approx(usual[-1], abs=0.1)


@pytest.mark.parametrize("n_ladders", [1, 3])
def test_errors_are_honest_where_draws_are_correlated(n_ladders):
    """Autocorrelation time 19: 40 runs, at least 34 within two errors (expected 38)."""
    truth, inside = -0.5, 0
    for seed in range(40):
        energies = tilted_normal(np.random.default_rng(seed), n_ladders, 800, 0.9)
        estimate = normalizer_with_error(POWERS, energies)
        inside += abs(estimate.value - truth) < 2 * estimate.mcse
    assert inside >= 34


def test_too_few_draws():
    with pytest.raises(ValueError, match="too few"):
        normalizer_with_error(POWERS, np.zeros((1, 10, 5)))
