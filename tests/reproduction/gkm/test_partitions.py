import os

import numpy as np
import pytest

from bayeskernels.data.loading import DATA_VARIABLE
from bayeskernels.reproduction.gkm import partitions
from bayeskernels.reproduction.gkm.paper import PAPER

# The stand-ins have the names of known sets, but not their checksums.
pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")

#: The folder of the benchmark sets, before a fixture hides it.
BENCHMARKS = os.environ.get(DATA_VARIABLE)


def test_sizes_are_those_of_the_paper():
    assert set(partitions.CASES) == set().union(*PAPER.values())
    sizes = {
        name: (case.n_train, case.n_test, case.max_active)
        for name, case in partitions.CASES.items()
    }
    assert sizes["waveform"] == (400, 4600, 400)
    assert sizes["letter_a_c"] == (300, 1225, 100)
    assert sizes["adult_2"] == (20000, 12500, 200)
    assert sizes["newsgroups_n800_k700"] == (800, 1485, 700)
    assert sizes["newsgroups_n300"] == (300, 1485, 200)
    assert sizes["adult_1000"] == sizes["splice_1000"] == (1000, 1000, 100)


def test_a_partition_is_normalised_on_its_training_part(draw):
    partition = draw("thyroid")
    assert partition.X.shape == (40, 3)
    assert partition.X_test.shape == (50, 3)
    np.testing.assert_allclose(partition.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(partition.X.std(axis=0), [1.0, 1.0, 0.0], atol=1e-12)
    assert np.abs(partition.X_test[:, :2].mean(axis=0)).min() > 1e-6
    other = draw("thyroid", seed=1)
    assert not np.array_equal(other.X, partition.X)


def test_two_classes_of_several(draw, folder):
    _, y = partitions.read_rows("usps_0_9", str(folder))
    assert np.unique(y, return_counts=True)[1].tolist() == [60, 30]
    partition = draw("usps_0_9")
    assert (len(partition.y), len(partition.y_test)) == (40, 32), "42 zeros and all of 30 nines"
    both = np.concatenate([partition.y, partition.y_test])
    assert np.sum(both > 0) == 30
    assert len(draw("usps_0_1").y_test) == 44


def test_words_are_chosen_by_information_gain(draw):
    partition = draw("newsgroups")
    assert partition.X.shape == (40, 3)
    for column, sign in enumerate((1, 1, -1)):
        np.testing.assert_array_equal(np.sign(partition.X[:, column]), sign * partition.y)


def test_larger_training_parts_contain_the_smaller_ones(draw):
    names = ("newsgroups", "newsgroups_n800", "newsgroups_n800_k300")
    seeds = [partitions.seeds_of(name, 3, 1, 2) for name in names]
    assert len({first.generate_state(1)[0] for first, _ in seeds}) == 1
    other, _ = partitions.seeds_of("thyroid", 3, 1, 2)
    assert other.generate_state(1)[0] != seeds[0][0].generate_state(1)[0]
    small, large = draw("newsgroups"), draw("newsgroups_n800")
    assert (len(small.y), len(large.y)) == (40, 50)
    np.testing.assert_array_equal(large.y[:40], small.y)


def test_seeds_do_not_depend_on_the_number_of_methods():
    few, many = partitions.seeds_of("bci", 0, 1, 2), partitions.seeds_of("bci", 0, 1, 9)
    assert len(many[1]) == 9
    for one, other in zip(few[1], many[1], strict=False):
        assert one.generate_state(2).tolist() == other.generate_state(2).tolist()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), [0, 1, 2], "must have the labels -1 and \\+1"),
        (np.eye(4), [1, 1, -1, -1], "has 4 rows, too few for 40 training points"),
        (np.eye(400), np.r_[1, -np.ones(399, dtype=int)], "has one class only"),
    ],
)
def test_bad_files(draw, folder, X, y, message):
    np.savez(folder / "thyroid.npz", X=X, y=np.array(y))
    with pytest.raises(ValueError, match=message):
        draw("thyroid")


@pytest.mark.slow
@pytest.mark.skipif(not BENCHMARKS, reason=f"{DATA_VARIABLE} names no folder of benchmark sets")
def test_the_benchmark_sets_have_the_sizes_of_the_paper():
    fewer = {"usps_0_9": 1321, "newsgroups": 1272}
    for name, case in partitions.SETS.items():
        partition = partitions.draw_partition(name, np.random.default_rng(0), BENCHMARKS)
        assert partition.X.shape[0] == case.n_train
        assert len(partition.y_test) == fewer.get(name, case.n_test)
        assert np.isfinite(partition.X_test).all()
