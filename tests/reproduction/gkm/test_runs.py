import json

import pytest

from bayeskernels.command.cli import main
from bayeskernels.reproduction import all_reproductions
from bayeskernels.reproduction.gkm import (
    benchmark_sets,
    classical_sets,
    large_sets,
    learned_widths,
    runs,
)
from bayeskernels.reproduction.gkm.methods import JOB_OF, METHODS, run_unit
from bayeskernels.reproduction.gkm.paper import PAPER

pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")

SHORT = {"draws": 20, "tune": 10, "nuts_draws": 20, "nuts_tune": 20}
FAST = ["--draws", "20", "--tune", "10"]
TABLES = {
    **{table.name: table for table in benchmark_sets.TABLES.values()},
    **{table.name: table for table in learned_widths.TABLES.values()},
    **{table.name: table for table in large_sets.TABLES.values()},
    classical_sets.TABLE.name: classical_sets.TABLE,
}


def reproduce(table, folder, *arguments):
    return main(["reproduce", table, *FAST, "--data-dir", str(folder), *arguments])


def test_every_table_is_registered_in_order():
    names = [entry.name for entry in all_reproductions() if entry.name.startswith("gkm")]
    assert names == list(PAPER) == list(TABLES)
    assert set(JOB_OF) == set(METHODS)


def test_tables_of_one_run_have_the_same_defaults():
    for table in TABLES.values():
        for name in table.shares_with:
            other = TABLES[name]
            assert table.name in other.shares_with
            for option in runs.CHAIN_OPTIONS:
                assert getattr(table, option) == getattr(other, option)


def test_record_of_a_unit(folder):
    settings = {"seed": 1, "data_dir": str(folder), **SHORT}
    record = run_unit("bci/3/sparse", **settings)
    assert (record["n_train"], record["n_test"], record["max_active"]) == (40, 50, 15)
    again = json.loads(json.dumps(run_unit("bci/3/sparse", **settings)))
    for cells in (record["methods"], again["methods"]):
        assert set(cells) == {"sgpc", "fbgkm"}
        for cell in cells.values():
            assert cell.pop("seconds") > 0
    assert record == again
    assert (
        run_unit("bci/4/sparse", **settings)["methods"]["sgpc"]["sizes"]
        != (record["methods"]["sgpc"]["sizes"])
    )
    for job in ("bgkm", "svm"):
        assert 0.0 <= run_unit(f"bci/3/{job}", **settings)["methods"][job]["error"] < 0.5


def test_table_has_all_columns(folder, capsys):
    arguments = ["--sets", "thyroid", "twonorm", "--partitions", "2", "--json"]
    assert reproduce("gkm-table-13", folder, *arguments) == 0
    printed = capsys.readouterr()
    titles = ("FBGKM", "SGPC", "SVM, tuned", "IVM, paper", "(2.45 ± 0.15)", "R-hat", "40 + 50")
    for title in titles:
        assert title in printed.err
    record = json.loads(printed.out)
    assert record["table"] == "gkm-table-13"
    assert list(record["sets"]) == ["thyroid", "twonorm"], "in the order of the paper"
    for row in record["sets"].values():
        assert set(row["methods"]) == {"fbgkm", "sgpc", "svm"}
        assert row["methods"]["fbgkm"]["partitions"] == 2
        assert row["methods"]["svm"]["against_svm"] is None


def test_tables_share_what_is_stored(folder, tmp_path, capsys, monkeypatch):
    out = ["--out", str(tmp_path / "done.jsonl"), "--partitions", "1"]
    sets = ["--sets", "usps_0_1", "newsgroups"]
    assert reproduce("gkm-table-2", folder, *out, *sets, "--methods", "bgkm", "sgpc", "svm") == 0
    printed = capsys.readouterr().out
    for title in ("BGKM", "SVM, tuned", "BSVM, paper", "(4.92 ± 0.28)"):
        assert title in printed

    def no_run(unit, **settings):
        raise AssertionError(f"{unit} was run again")

    monkeypatch.setattr(runs, "run_unit", no_run)
    assert reproduce("gkm-table-3", folder, *out, *sets, "--methods", "svm", "bgkm") == 0
    assert "CPU seconds" in capsys.readouterr().out
    assert reproduce("gkm-table-7", folder, *out, *sets, "--json") == 0
    printed = capsys.readouterr()
    assert "(186 to 200, 199 (18%))" in printed.err
    cells = json.loads(printed.out)["sets"]["newsgroups"]["methods"]
    assert set(cells) == {"fbgkm", "sgpc"}, "SGPC brought FBGKM with it"
    assert cells["fbgkm"]["distribution"]["max"] <= 15
    assert reproduce("gkm-table-4", folder, *out, "--stored", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["sets"]) == ["newsgroups"], "one row is also Table 2's"


def test_large_sets_and_their_burn_in(folder, tmp_path, capsys):
    out = ["--out", str(tmp_path / "done.jsonl"), "--partitions", "1", "--sets", "astroparticle"]
    assert reproduce("gkm-table-10", folder, *out) == 0
    printed = capsys.readouterr().out
    for title in ("SGP+FIC+EP, paper", "SGP+FIC+MCMC, paper", "(3.59 ± 0.18)", "50 + 50"):
        assert title in printed
    assert reproduce("gkm-table-12", folder, *out, "--stored") == 0
    assert "(2125, 7,016 s)" in capsys.readouterr().out
    assert reproduce("gkm-table-11", folder, *out, "--stored") == 0
    assert "(34,430, " in capsys.readouterr().out


def test_learned_widths(folder, tmp_path, capsys):
    out = ["--out", str(tmp_path / "done.jsonl"), "--partitions", "1", "--sets", "splice_1000"]
    assert reproduce("gkm-table-8", folder, *out, "--methods", "fgp_kl", "sgpc_kl", "--json") == 0
    printed = capsys.readouterr()
    for title in ("FGP+KL", "SGPC+KL", "SGP+FIC+KL, paper", "(9.19 ± 1.25)", "50 + 50"):
        assert title in printed.err
    assert json.loads(printed.out)["sets"]["splice_1000"]["methods"]["fgp_kl"]["mean"] < 20
    assert reproduce("gkm-table-9", folder, *out, "--stored") == 0
    assert "(122,800, " in capsys.readouterr().out


def test_errors_and_times_in_one_table(folder, capsys):
    arguments = ["--sets", "newsgroups_n800_k300", "--partitions", "1"]
    assert reproduce("gkm-table-6", folder, *arguments) == 0
    assert "(4.55 ± 0.46, 6,522 s)" in capsys.readouterr().out


def test_a_stopped_run_is_taken_up(folder, tmp_path, monkeypatch):
    out, data = tmp_path / "done.jsonl", tmp_path / "table.json"
    arguments = ["--sets", "thyroid", "--partitions", "2", "--out", str(out)]
    begun = []

    def killed(unit, **settings):
        if len(begun) == 3:
            raise KeyboardInterrupt
        begun.append(unit)
        return run_unit(unit, **settings)

    monkeypatch.setattr(runs, "run_unit", killed)
    assert reproduce("gkm-table-13", folder, *arguments) == 130
    assert begun == ["thyroid/0/sparse", "thyroid/0/svm", "thyroid/1/sparse"]
    finished = out.read_text()
    monkeypatch.setattr(runs, "run_unit", run_unit)
    assert reproduce("gkm-table-13", folder, *arguments, "--stored") == 0
    assert out.read_text() == finished
    assert reproduce("gkm-table-13", folder, *arguments, "--json", str(data)) == 0
    assert out.read_text().startswith(finished)
    names = [json.loads(line)["repetition"] for line in out.read_text().splitlines()]
    assert names == [*begun, "thyroid/1/svm"]
    assert json.loads(data.read_text())["sets"]["thyroid"]["methods"]["svm"]["partitions"] == 2
    assert reproduce("gkm-table-13", folder, *arguments, "--tune", "11") == 2


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--sets", "iris"], ["no data set 'iris'", "ringnorm, thyroid"]),
        (["--methods", "lasso"], ["no method 'lasso'", "fbgkm, sgpc, svm"]),
        (["--partitions", "0"], ["--partitions, --draws and --nuts-draws must be at least 1"]),
        (["--draws", "0"], ["must be at least 1"]),
        (["--tune", "-1"], ["--tune and --nuts-tune must be at least 0"]),
        (["--stored"], ["give it as --out"]),
        (["--stored", "--out", "nothing.jsonl"], ["nothing.jsonl holds nothing of this table"]),
        (["--data-dir", "nowhere"], ["'nowhere', which is not a folder", "--data-dir"]),
    ],
)
def test_errors_say_what_to_do(arguments, messages, capsys):
    assert main(["reproduce", "gkm-table-13", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    for message in messages:
        assert message in printed
