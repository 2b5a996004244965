import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.experiment.run.results import ResultsFile


def test_rows_come_back_with_their_task(tmp_path):
    results = ResultsFile(tmp_path / "results.jsonl")
    assert results.rows() == []
    assert results.finished_tasks() == set()
    results.append("a", [{"kind": "cell", "x": 1}, {"kind": "cell", "x": 2}], seconds=0.5)
    results.append("b", [], seconds=0.1)
    assert results.rows() == [{"kind": "cell", "x": 1, "task": "a"}, {"kind": "cell", "x": 2, "task": "a"}]
    assert results.finished_tasks() == {"a", "b"}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1))
def test_cut_anywhere_complete_tasks_remain_and_more_can_be_added(tmp_path, cut):
    results = ResultsFile(tmp_path / "results.jsonl")
    results.path.unlink(missing_ok=True)
    for task in "abc":
        results.append(task, [{"kind": "pick", "value": task * 3}] * 2, seconds=1.0)
    complete = results.path.read_bytes()
    results.path.write_bytes(complete[: round(cut * len(complete))])
    done = results.finished_tasks()
    assert sorted(done) == list("abc")[: len(done)]
    assert [row["task"] for row in results.rows()] == [task for task in sorted(done) for _ in range(2)]
    for task in sorted(set("abc") - done):
        results.append(task, [{"kind": "pick", "value": task * 3}] * 2, seconds=1.0)
    assert results.finished_tasks() == set("abc")
    assert {(row["task"], row["value"]) for row in results.rows()} == {(task, task * 3) for task in "abc"}


def test_a_long_torn_line_is_cut_off(tmp_path):
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append("a", [], seconds=1.0)
    with results.path.open("ab") as file:
        file.write(b"x" * 200_000)
    results.append("b", [], seconds=1.0)
    assert results.finished_tasks() == {"a", "b"}
    assert results.path.stat().st_size < 1_000


def test_a_strange_line_names_file_and_line(tmp_path):
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append("a", [], seconds=1.0)
    with results.path.open("ab") as file:
        file.write(b"hello\n")
    with pytest.raises(InvalidInputError, match=r"results\.jsonl, line 2 is not a result; delete the line"):
        results.rows()
