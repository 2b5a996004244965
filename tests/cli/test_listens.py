"""`nearsong listens import --format`: says what a table lacks, and asks."""

import io
import sys

import pytest
from rich.console import Console

from nearsong.cli.common import PathCell, plain_table


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


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("music/lists/listens.csv", ["music/lists/", "listens.csv"]),
        ("a/b/[bold]c", ["a/b/[bold]c"]),
        ("C:\\lists\\listens.csv", ["C:\\lists\\", "listens.csv"]),
        ("lists/a-name-that-is-too-long.csv", ["lists/", "a-name-that-i", "s-too-long.cs", "v"]),
        ("", []),
    ],
)
def test_paths_in_a_table_are_folded_after_their_separators(path, lines):
    console = Console(width=17, file=io.StringIO())
    table = plain_table("id", "file")
    table.add_row("1", PathCell(path))
    console.print(table)
    shown = [line[2:].strip() for line in console.file.getvalue().splitlines()[1:]]
    assert [line for line in shown if line] == lines


def test_the_list_of_histories_breaks_no_name_of_a_file(nearsong, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "a folder of histories that has a long name" / "listens of all years.csv"
    path.parent.mkdir()
    path.write_text("user,artist,title,plays\nme,Björk,Jóga,3\n")
    library = tmp_path / "library.sqlite"
    nearsong("listens", "import", path, library=library)
    assert "listens of all years.csv" in nearsong("listens", "list", library=library).stdout


@pytest.mark.parametrize(("command", "name"), [("for", "for-me.m3u8"), ("radio", "radio.m3u8")])
def test_the_help_of_a_list_of_songs_names_a_file_for_that_list(nearsong, monkeypatch, command, name):
    monkeypatch.setenv("COLUMNS", "200")
    assert f"Also write a playlist, such as {name};" in nearsong(command, "--help", library=None).stdout
