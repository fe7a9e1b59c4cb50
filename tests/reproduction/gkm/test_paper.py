import pytest

from bayeskernels.reproduction.gkm.methods import METHODS, PAPER_ONLY
from bayeskernels.reproduction.gkm.paper import PAPER


def test_every_table_is_there():
    assert list(PAPER) == [f"gkm-table-{number}" for number in range(2, 14)]


@pytest.mark.parametrize(
    ("table", "case", "method", "figures"),
    [
        (2, "coil2", "bgkm", {"mean": 9.16, "standard_deviation": 0.99}),
        (3, "letter_a_b", "sgpc", {"seconds": 568.0}),
        (4, "newsgroups_n700", "sgpc", {"mean": 4.12, "standard_deviation": 0.22}),
        (5, "newsgroups_n800", "csvm", {"seconds": 77570.0}),
        (6, "newsgroups_n800_k600", "fbgkm", {"mean": 4.75, "seconds": 10330.0}),
        (7, "digit1", "sgpc", {"max": 200, "min": 184, "most": 188, "count": 515, "share": 0.103}),
        (8, "splice_1000", "fbgkm_kl", {"mean": 7.49, "standard_deviation": 0.14}),
        (9, "adult_1000", "fic_kl", {"seconds": 471300.0}),
        (10, "adult_2", "svm", {"mean": 16.27, "standard_deviation": 0.28}),
        (11, "mushrooms", "fic", {"seconds": 329000.0}),
        (12, "adult_1", "sgpc", {"seconds": 12060.0, "burn_in": 2873}),
        (13, "ringnorm", "ivm", {"mean": 1.97, "standard_deviation": 0.29}),
    ],
)
def test_figures(table, case, method, figures):
    cell = PAPER[f"gkm-table-{table}"][case][method]
    assert {key: cell[key] for key in figures} == pytest.approx(figures)


def test_what_the_paper_leaves_out():
    assert "fic" not in PAPER["gkm-table-10"]["adult_2"]
    assert set(PAPER["gkm-table-3"]["bci"]) == {"bsvm", "csvm"}


def test_tables_of_errors_and_times_have_the_same_cells():
    for errors, times in ((4, 5), (8, 9)):
        first, second = PAPER[f"gkm-table-{errors}"], PAPER[f"gkm-table-{times}"]
        assert {case: set(row) for case, row in first.items()} == {
            case: set(row) for case, row in second.items()
        }
    assert PAPER["gkm-table-4"]["newsgroups"] == PAPER["gkm-table-2"]["newsgroups"]


def test_every_column_has_a_title():
    methods = {method for table in PAPER.values() for row in table.values() for method in row}
    assert methods <= set(METHODS) | set(PAPER_ONLY)
    assert not set(METHODS) & set(PAPER_ONLY)
