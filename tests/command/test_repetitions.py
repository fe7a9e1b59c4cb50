import json

import pytest

from bayeskernels.reproduction import run_repetitions


class Counting:
    def __init__(self):
        self.calls = []

    def __call__(self, number, factor):
        self.calls.append(number)
        return {"value": factor * number}


def test_results_come_in_order():
    assert run_repetitions(Counting(), 3, settings={"factor": 2}) == [
        {"value": 0},
        {"value": 2},
        {"value": 4},
    ]


def test_finished_repetitions_are_not_run_again(tmp_path):
    out = tmp_path / "deep" / "done.jsonl"
    first, second, third = Counting(), Counting(), Counting()
    run_repetitions(first, 2, settings={"factor": 2}, out=out)
    result = run_repetitions(second, 4, settings={"factor": 2}, out=out)
    assert second.calls == [2, 3]
    assert [r["value"] for r in result] == [0, 2, 4, 6]
    assert len(run_repetitions(third, 3, settings={"factor": 2}, out=out)) == 3
    assert third.calls == []
    assert len(out.read_text().splitlines()) == 4


def test_a_line_that_was_cut_off_is_computed_again(tmp_path):
    out = tmp_path / "done.jsonl"
    run_repetitions(Counting(), 3, settings={"factor": 2}, out=out)
    out.write_text(out.read_text()[:-10])
    again = Counting()
    run_repetitions(again, 3, settings={"factor": 2}, out=out)
    assert again.calls == [2]
    assert [json.loads(line)["repetition"] for line in out.read_text().splitlines()] == [0, 1, 2]


def test_other_settings_are_refused(tmp_path):
    out = tmp_path / "done.jsonl"
    run_repetitions(Counting(), 1, settings={"factor": 2}, out=out)
    with pytest.raises(ValueError, match=r"other settings \(factor\). Give another --out"):
        run_repetitions(Counting(), 1, settings={"factor": 3}, out=out)


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path):
    out = tmp_path / "notes.txt"
    out.write_text("my notes\n")
    with pytest.raises(ValueError, match=r"Line 1 of .* is no finished repetition"):
        run_repetitions(Counting(), 1, settings={"factor": 2}, out=out)
    assert out.read_text() == "my notes\n"


def test_progress_counts_found_and_computed_ones(tmp_path):
    out = tmp_path / "done.jsonl"
    run_repetitions(Counting(), 2, settings={"factor": 2}, out=out)
    ticks = []
    run_repetitions(Counting(), 5, settings={"factor": 2}, out=out, on_done=lambda: ticks.append(1))
    assert len(ticks) == 5
