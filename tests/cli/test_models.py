"""`nearsong models remove`: asks first, and without a terminal removes only with --yes."""

import io
import shutil
import sys

import pytest

from nearsong.library import Library


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
