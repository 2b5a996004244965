"""Names and tags are untrusted: they cannot control the terminal, and nothing ends in a traceback."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import soundfile

import music_library


@pytest.fixture
def library(trained_file, tmp_path):
    return shutil.copy(trained_file, tmp_path / "library.sqlite")


def retitle(library, **columns):
    with closing(sqlite3.connect(library)) as connection, connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE songs SET {name} = ?", [value])


def test_escape_sequences_in_tags_do_not_reach_the_terminal(nearsong, library):
    retitle(library, artist="\x1b]0;owned\x07band", title="\x1b[2Jsong\nnext [bold]loud[/bold]")
    for arguments in (["similar", 1, "--why"], ["playlist", 1, "--length", 3]):
        result = nearsong(*arguments, library=library)
        assert result.returncode == 0, result.stderr
        assert "\x1b]" not in result.stdout
        assert "\x1b[2J" not in result.stdout
        assert "[bold]loud" in result.stdout


@pytest.mark.parametrize("name", ["foo [/b] bar", "[live] nothing", "\x1b[2J"])
def test_an_error_prints_names_without_interpreting_them(nearsong, library, name):
    result = nearsong("similar", name, library=library)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert name.replace("\x1b", r"\x1b") in result.stderr


@pytest.mark.parametrize("width", [60, 80, 118, 200])
def test_ids_and_numbers_are_never_cut(nearsong, library, width):
    retitle(library, artist="An Artist With a Name That Goes On and On " * 3, title="A Title of Some Length " * 6)
    result = nearsong("similar", 1, "-n", 3, library=library, COLUMNS=str(width)).stdout
    answer = json.loads(nearsong("similar", 1, "-n", 3, "--json", library=library).stdout)
    rows = result.splitlines()[-3:]
    for row, song in zip(rows, answer["songs"], strict=True):
        assert row.split()[-1] == str(song["id"])
        assert f"{song['closeness_word']} {song['closeness']:.2f}" in row
        assert len(row) <= width


def test_names_that_are_not_utf8_are_printed(nearsong, tmp_path):
    folder = os.fsencode(tmp_path) + b"/music/B\xe9la"
    os.makedirs(folder)
    for i in range(3):
        soundfile.write(tmp_path / "song.wav", music_library.sound(i, i), music_library.RATE)
        os.replace(tmp_path / "song.wav", folder + b"/S\xf6ng %d.wav" % i)
    with open(folder + b"/br\xf6ken.mp3", "wb") as file:
        file.write(b"nothing")
    library = tmp_path / "l.sqlite"
    for arguments in (["scan", tmp_path / "music"], ["similar", 1], ["status", "--unreadable"]):
        result = nearsong(*arguments, library=library)
        assert result.returncode == 0, result.stderr
    command = [sys.executable, "-m", "nearsong", "--library", str(library), "similar", "1", "--json"]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    result = subprocess.run(command, capture_output=True, timeout=120, env=strict)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["songs"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["models", "remove", 10**20],
        ["models", "use", 10**20],
        ["models", "compare", 1, 10**20],
        ["export", "x.npz", "--model", 10**20],
        ["map", "--out", "."],
        ["map", "--out", "/nowhere/at/all/map.html"],
        ["demo", "--folder", "/dev/null"],
        ["similar", "1", "-n", "0"],
        ["similar", "1", "--fewer-plays", "nan"],
        ["scan", "--workers", "0"],
        ["scan", "--nice", "99"],
        ["scan", "--timeout", "nan"],
        ["playlist", "1", "--length", "0"],
        ["status", "--library", ""],
        ["status", "--library", "postgresql:/u@h/db"],
        ["train", "--splits", "0"],
        ["train", "--min-plays", "nan"],
    ],
)
def test_odd_numbers_and_paths_are_one_line_and_exit_code_2(nearsong, library, arguments):
    result = nearsong(*arguments, library=library)
    assert result.returncode == 2
    lines = [line for line in result.stderr.strip().splitlines() if "..." not in line]
    assert len(lines) == 1, result.stderr
