"""`nearsong folders`: what is scanned, and removing one after a yes."""

import io
import shutil
import sys

import pytest

from nearsong.library import Library


@pytest.fixture
def library(trained_file, tmp_path):
    return shutil.copy(trained_file, tmp_path / "library.sqlite")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def n_songs(address) -> int:
    with Library.open(address, create=False) as library:
        return library.status().songs


def test_folders_are_listed_with_their_songs(nearsong, library, styled_music, tmp_path):
    shown = nearsong("folders", library=library).stdout
    assert shown.splitlines()[0].split() == ["songs", "missing", "unreadable", "scanned", "folder"]
    assert shown.splitlines()[1].split()[0] == "72"
    empty = nearsong("folders", library=tmp_path / "none.sqlite")
    assert (empty.returncode, "Library not found" in empty.stderr or "nearsong scan" in empty.stderr) == (2, True)


def test_status_names_the_folder(nearsong, library, styled_music):
    lines = nearsong("status", library=library, COLUMNS="400").stdout.splitlines()
    assert ["folder", str(styled_music)] in [line.split(maxsplit=1) for line in map(str.rstrip, lines)]


@pytest.mark.parametrize(("typed", "left"), [("n\n", 72), ("y\n", 0)])
def test_a_folder_is_removed_after_a_yes_that_knows_what_it_does(
    nearsong, library, styled_music, monkeypatch, typed, left
):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    result = nearsong("folders", "remove", styled_music, library=library)
    assert "Its 72 songs leave the library" in " ".join(result.stdout.split())
    assert (n_songs(library), result.returncode) == (left, 0)
    if not left:
        assert "to bring one back: `nearsong scan FOLDER`" in nearsong("similar", "Song 1", library=library).stderr


def test_without_a_terminal_only_yes_removes_and_another_folder_is_one_line(
    nearsong, library, styled_music, monkeypatch
):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    refused = nearsong("folders", "remove", styled_music, library=library)
    assert (refused.returncode, f"nearsong folders remove {styled_music} --yes" in refused.stderr) == (2, True)
    other = nearsong("folders", "remove", styled_music.parent, "--yes", library=library)
    assert (other.returncode, "is not a scanned folder; those are:" in other.stderr) == (2, True)
    done = nearsong("folders", "remove", styled_music, "--yes", "--forget", library=library)
    assert "72 songs with all about them deleted" in done.stdout
    assert n_songs(library) == 0
