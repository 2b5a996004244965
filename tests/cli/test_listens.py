"""`nearsong listens import --format`: says what a table lacks, and asks."""

import io
import sys

import pytest


class Typing(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def artists(tmp_path):
    path = tmp_path / "artists.csv"
    path.write_text("artist,genre\nBjörk,pop\n")
    return path


@pytest.mark.parametrize(("typed", "is_imported"), [("y\n", True), ("n\n", False)])
def test_a_table_that_lacks_titles_and_times_is_imported_after_a_yes(
    nearsong, tmp_path, artists, monkeypatch, typed, is_imported
):
    monkeypatch.setattr(sys, "stdin", Typing(typed))
    result = nearsong("listens", "import", artists, "--format", "csv", library=tmp_path / "library.sqlite")
    assert "1 file: no titles, so that only artists can be matched; 1 file: no times or counts" in result.stdout
    assert ("1 file imported" in result.stdout, "Nothing was imported." in result.stdout) == (
        is_imported,
        not is_imported,
    )


def test_without_a_terminal_only_yes_imports_it(nearsong, tmp_path, artists, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    library = tmp_path / "library.sqlite"
    result = nearsong("listens", "import", artists, "--format", "csv", library=library)
    assert result.returncode == 2
    assert "--format csv --yes" in result.stderr
    result = nearsong("listens", "import", artists, "--format", "csv", "--yes", library=library)
    assert (result.returncode, "1 file imported (csv): 1 row." in result.stdout) == (0, True)
