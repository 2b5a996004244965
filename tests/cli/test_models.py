"""`nearsong models remove` asks first; an imported model keeps its report."""

import io
import shutil
import sys

import pytest

from nearsong.library import Library, TrainingReport
from nearsong.library.training.retraining.imported_report import arrived_facts


@pytest.fixture
def library(trained_file, tmp_path):
    """A library with model 1, which is not active, and model 2, which is."""
    return shutil.copy(trained_file, tmp_path / "library.sqlite")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def model_ids(address) -> list[int]:
    with Library.open(address, create=False) as library:
        assert library.active_model == 2
        return [row.id for row in library.models()]


@pytest.mark.parametrize(
    ("typed", "is_removed"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_model_is_removed_after_a_yes(nearsong, library, monkeypatch, typed, is_removed):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    result = nearsong("models", "remove", 1, library=library)
    assert "Remove model 1 (native, " in result.stdout
    assert model_ids(library) == ([2] if is_removed else [1, 2])
    assert ("Model 1 removed." in result.stdout, "Model 1 was not removed." in result.stdout) == (
        is_removed,
        not is_removed,
    )
    assert result.returncode == 0


def test_without_a_terminal_only_yes_removes(nearsong, library, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    result = nearsong("models", "remove", 1, library=library)
    assert result.returncode == 2
    (line,) = result.stderr.strip().splitlines()
    assert "nearsong models remove 1 --yes" in line
    assert model_ids(library) == [1, 2]
    result = nearsong("models", "remove", 1, "--yes", library=library)
    assert (result.returncode, result.stdout) == (0, "Model 1 removed.\n")
    assert model_ids(library) == [2]


@pytest.mark.parametrize(("model", "words"), [(2, "Model 2 is in use"), (9, "9")])
def test_a_model_that_cannot_be_removed_is_not_asked_about(nearsong, library, monkeypatch, model, words):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    result = nearsong("models", "remove", model, library=library)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Remove model" not in result.stdout


# ---- imported models


def test_an_imported_model_keeps_its_scores_and_is_shown_as_learned(nearsong, library, tmp_path):
    assert nearsong("export", tmp_path / "model.npz", library=library).returncode == 0
    assert nearsong("import", tmp_path / "model.npz", library=library).returncode == 0
    shown = nearsong("models", library=library).stdout
    assert "learned," in shown  # the line below has "imported" where the terminal is narrow
    with Library.open(library, create=False) as opened:
        *_, original, arrived = opened.models()
        report = TrainingReport.from_json(arrived.facts["report"])
        assert report.rows == TrainingReport.from_json(original.facts["report"]).rows
        assert shown.count(f"{report.score('learned', 'known'):.3f}") == 2
        assert report.examples == ()  # ids of songs mean nothing elsewhere
        assert any("measured in the library where it was trained" in note for note in report.notes)
        assert opened.load_model(arrived.id).trained_on == opened.load_model(original.id).trained_on
        assert (arrived.is_learned, arrived.label) == (True, "learned, imported")
        opened.export_model(tmp_path / "again.npz", arrived.id)  # it travels on
        opened.export_model(tmp_path / "native.npz", 1)
        again, native = (opened.import_model(tmp_path / name)[0] for name in ("again.npz", "native.npz"))
        rows = {row.id: row for row in opened.models()}
        assert rows[again].facts["report"] == arrived.facts["report"]
        assert (rows[native].label, "report" in rows[native].facts) == ("native, imported", False)
    assert "learned, imported" not in nearsong("status", library=library).stdout
    assert "native, imported" in nearsong("status", library=library).stdout


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99},
        {"rows": "none"},
        {
            "rows": [
                {"name": "learned", "known": {"mean": "high", "low": 0, "high": 1, "artists": 3}, "unknown": None}
            ]
        },
        {"rows": [{"name": "learned", "known": {"mean": 7e9, "low": 0, "high": 1, "artists": 3}, "unknown": None}]},
        {"notes": ["x" * 100_000]},
        {"reason": "because"},
        {"listeners": "many"},
    ],
)
def test_a_forged_report_is_left_out(change):
    report = TrainingReport(decision="learned", reason="gain", artists=3, songs=9, listeners=5).as_json()
    assert "report" in arrived_facts({"report": report})
    assert arrived_facts({"report": report | change}) == {"origin": "learned"}
