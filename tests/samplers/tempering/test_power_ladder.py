"""Ladders of powers: placement of rungs, exchange, evidence along the way."""

import numpy as np
import pytest
from scipy.stats import norm

from bayeskernels.samplers.tempering.energy_reweighting import log_normalizers
from bayeskernels.samplers.tempering.ladder import (
    Ladder,
    count_trips,
    even_rungs,
    offer_swap,
    place_rungs,
)
from bayeskernels.samplers.tempering.power_ladder import PowerLadder, largest_jump
from bayeskernels.samplers.tempering.power_smc import power_smc
from bayeskernels.samplers.tempering.powered_chain import PoweredTarget
from bayeskernels.testing.exact_active_sets import active_set_masses, powered_active_set_masses

GRAM = np.array([[1.0, 0.4], [0.4, 1.0]])
POSITIVE = np.array([True, True])


@pytest.fixture(scope="module")
def target():
    return PoweredTarget(POSITIVE, 2, gram=GRAM, g_prior=(2.0, 1.0), eta_prior=0.5)


def test_rungs_follow_the_spread():
    """Four times the spread, four times the rungs."""
    powers = np.linspace(0.0, 1.0, 41)
    spreads = np.where(powers < 0.5, 8.0, 2.0)
    # The mean of the energy falls with the power by its variance.
    means = -np.concatenate([[0.0], np.cumsum(np.diff(powers) * spreads[1:] ** 2)])
    quantiles = norm.ppf((np.arange(80) + 0.5) / 80)
    pilot = powers, means[:, None] + np.multiply.outer(spreads, quantiles)
    rungs = place_rungs([pilot], n_rungs=41)
    assert rungs[0] == 0.0
    assert rungs[-1] == 1.0
    assert 3.0 < np.sum(rungs < 0.5) / np.sum(rungs > 0.5) < 5.0
    assert len(place_rungs([pilot], swap_rate=0.7)) > len(place_rungs([pilot], swap_rate=0.5))


def test_even_rungs_close_a_gap():
    powers = np.array([0.0, 0.3, 0.6, 1.0])
    rungs = even_rungs(powers, np.array([0.9, 0.1, 0.9]))
    assert np.all(np.diff(rungs) > 0)
    assert rungs[1] > 0.3
    assert rungs[2] < 0.6


def test_jumps():
    """A rung that is on both sides of a gap in turn does not hide it; few rounds tell nothing."""
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((80, 5))
    smooth = noise + np.linspace(0.0, 5.0, 5)
    assert largest_jump(smooth) < 2.0
    broken = noise + np.array([0.0, 0.2, 3.0, 6.0, 6.2])
    broken[:, 2] += np.where(rng.random(80) < 0.5, 3.0, -3.0)
    assert largest_jump(broken) > 2.3
    assert largest_jump(broken[:10]) == 0.0


def test_evidence_at_every_power(target):
    """Quadrature over everything at powers in between."""
    powers = np.array([0.0, 0.3, 0.7, 1.0])
    ladder = PowerLadder(target, powers)
    rng = np.random.default_rng(1)
    energies = np.empty((2000, 4))
    for k in range(len(energies)):
        ladder.round(rng)
        energies[k] = ladder.energies
    found = log_normalizers(powers, energies.T)
    exact = [
        np.log(
            sum(
                powered_active_set_masses(
                    GRAM, POSITIVE, 2, g=(2.0, 1.0), eta=0.5, power=power, size=20
                )[0].values()
            )
        )
        for power in powers
    ]
    np.testing.assert_allclose(found, exact, atol=0.05)
    by_orthants = active_set_masses(GRAM, POSITIVE, 2, g=(2.0, 1.0), eta=0.5, size=20)
    assert np.log(sum(by_orthants.values())) == pytest.approx(exact[-1], abs=0.005)
    assert ladder.places.round_trips > 50
    assert ladder.places.swap_rates.min() > 0.3


def test_swaps_alone_leave_the_targets(target):
    """Energies after swaps have the means that they have before them."""
    ladder = PowerLadder(target, np.array([0.0, 0.5, 1.0]))
    rng = np.random.default_rng(2)
    before, after = np.empty((2, 2000, 3))
    for k in range(2000):
        ladder.round(rng)
        before[k] = ladder.energies
        after[k] = [ladder.replicas[number].energy for number in ladder.places.at]
    difference = np.median(after, axis=0) - np.median(before, axis=0)
    assert np.abs(difference).max() < 0.08
    assert np.median(before[:, 2]) - np.median(before[:, 0]) > 0.3


def test_round_trips_are_counted():
    ladder = Ladder.of_size(3)
    path = [(0, 1, 2), (1, 0, 2), (1, 2, 0), (1, 0, 2), (0, 1, 2)]  # replica 0 up and down
    for at in path:
        ladder.at[:] = at
        count_trips(ladder)
    assert ladder.round_trips == 1
    ladder.forget()
    assert ladder.round_trips == 0


def test_offers():
    ladder = Ladder.of_size(3)
    offer_swap(ladder, 0, -np.log(4.0), 0.26)
    assert ladder.at.tolist() == [0, 1, 2]
    offer_swap(ladder, 0, -np.log(4.0), 0.24)
    offer_swap(ladder, 1, 2.0, 0.999)
    assert ladder.at.tolist() == [1, 2, 0]
    np.testing.assert_allclose(ladder.swap_rates, [0.25, 1.0])


def test_sequential_monte_carlo(target):
    """Twelve runs; their mean within three of its standard errors and 0.05 of the truth."""
    exact = np.log(sum(active_set_masses(GRAM, POSITIVE, 2, g=(2.0, 1.0), eta=0.5).values()))
    rng = np.random.default_rng(1)
    runs = [power_smc(target, rng, n_particles=200, sweeps=1) for _ in range(12)]
    found = np.array([run.log_evidence for run in runs])
    assert abs(found.mean() - exact) < 0.05 + 3 * found.std(ddof=1) / np.sqrt(12)
    assert runs[0].energies.shape == (len(runs[0].powers), 200)
