"""The commands in the order a new user runs them: what is printed, what is written, exit codes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

import music_library
from nearsong.library import Library

N_INTERRUPTED = 40
"""Songs of a scan that is interrupted: more than are analysed before it is."""

ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("NEARSONG")}


@pytest.fixture
def library(trained_file, tmp_path):
    return Path(shutil.copy(trained_file, tmp_path / "library.sqlite"))


@pytest.fixture
def song(trained):
    return trained.songs()[0]


def test_getting_started(nearsong, styled_music, tmp_path):
    library = tmp_path / "l.sqlite"
    listens = music_library.write_listens(tmp_path / "listens.csv")
    result = nearsong("scan", styled_music, library=library)
    assert result.returncode == 0
    assert "72 audio files" in result.stdout
    assert "72 songs by 36 artists" in result.stdout
    assert "analysing songs: 72 of 72" in result.stderr
    result = nearsong("listens", "import", listens, library=library)
    assert result.returncode == 0
    assert "Nobody's Own Band - Nowhere (99)" in result.stdout
    result = nearsong("train", "--splits", 2, library=library)
    assert result.returncode == 0
    rows = ("Chance", "Popularity", "Sound alone", "Paper: PPK + MLR", "All encoders + MLR", "Listener space")
    words = (*rows, "Learned: best by validation", "Listeners themselves", "Half of the listeners")
    assert [word for word in words if word not in result.stdout] == []
    result = nearsong("similar", "Band A0 - Song 0", "-n", "4", library=library)
    assert result.returncode == 0
    assert "(learned from listeners)" in result.stdout
    result = nearsong(
        "playlist", "Band A0 - Song 0", "--length", 7, "--out", tmp_path / "evening.m3u8", library=library
    )
    assert result.returncode == 0
    lines = (tmp_path / "evening.m3u8").read_text().splitlines()
    paths = [line for line in lines if not line.startswith("#")]
    assert len(paths) == 7
    assert all((tmp_path / path).exists() for path in paths)
    assert not any(os.path.isabs(path) for path in paths)
    result = nearsong("map", "--out", tmp_path / "map.html", library=library)
    assert result.returncode == 0
    assert (tmp_path / "map.html").stat().st_size > 10_000
    result = nearsong("status", library=library)
    assert "72 songs by 36 artists" in result.stdout
    assert "learned" in result.stdout


def test_json_output(nearsong, library, song):
    answer = json.loads(nearsong("similar", song.id, "--json", "-n", 3, library=library).stdout)
    assert answer["seeds"] == [song.name]
    assert [set(song) >= {"id", "path", "distance", "similarity", "closeness"} for song in answer["songs"]] == [
        True
    ] * 3
    assert json.loads(nearsong("status", "--json", library=library).stdout)["songs"] == 72
    playlist = json.loads(nearsong("playlist", song.id, "--length", 5, "--json", library=library).stdout)
    assert playlist["songs"][0]["id"] == song.id


def test_why_is_explained_in_words(nearsong, library, song):
    result = nearsong("similar", song.id, "--why", library=library)
    assert result.returncode == 0
    assert result.stdout.count("\nWhy ") == 3
    assert "listeners play both artists" in result.stdout


def test_why_two_songs_begins_with_one_sentence_and_says_where_to_hear_it(nearsong, library, song, trained, tmp_path):
    other = trained.similar(song, n=1)[0]
    (reason,) = trained.why(song, other.song)
    detailed = nearsong("why", song.id, other.song.id, "--details", library=library).stdout
    sentence, names, heard, *details = detailed.splitlines()
    assert sentence == reason.lead
    assert names == f"{song.name} and {other.song.name}: {other.closeness_word} ({other.closeness:.2f})"
    assert heard == "Hear what they share: 0:00 in the first, 0:00 in the second, 5 seconds each"  # of two
    assert details == reason.sentences()[1:]
    assert nearsong("why", song.id, other.song.id, "--no-moment", library=library).stdout == f"{sentence}\n{names}\n"
    answer = json.loads(nearsong("why", song.id, other.song.id, "--json", library=library).stdout)
    assert (answer["lead"], answer["closeness_word"]) == (sentence, other.closeness_word)
    assert answer["moment"] == {"query_start": 0.0, "other_start": 0.0, "seconds": 5.0, "reason": ""}
    (tmp_path / "noise.mp3").write_bytes(b"no music" * 100)
    broken = nearsong("why", tmp_path / "noise.mp3", song.id, library=library)
    assert (broken.returncode, broken.stderr.count("\n")) == (2, 1)


def test_m3u_to_standard_output_is_nothing_but_the_playlist(nearsong, library, song):
    result = nearsong("similar", song.id, "--m3u", "-", "-n", 2, library=library)
    assert result.stdout.splitlines()[0] == "#EXTM3U"
    assert len([line for line in result.stdout.splitlines() if not line.startswith("#")]) == 2


def test_the_same_seed_gives_the_same_playlist(nearsong, library, song):
    options = ["playlist", song.id, "--diversity", "0.8", "--json", "--seed"]
    first, again, other = (nearsong(*options, seed, library=library).stdout for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_path_has_both_ends(nearsong, library, trained):
    first, last = trained.songs()[0], trained.songs()[-1]
    result = nearsong("playlist", "--from", first.id, "--to", last.id, "--length", 6, "--json", library=library)
    ids = [song["id"] for song in json.loads(result.stdout)["songs"]]
    assert (ids[0], ids[-1]) == (first.id, last.id)


def test_models_are_listed_compared_and_chosen(nearsong, library):
    result = nearsong("models", library=library)
    rows = re.findall(r"^\*? +(\d) +(\w+) +(\w+)[, ]", result.stdout, re.MULTILINE)
    with Library.open(library, create=False) as opened:
        assert rows == [(str(row.id), row.kind, row.encoders[0]) for row in opened.models()]
    assert [kind for _, kind, _ in rows] == ["native", "learned"]
    assert "share" in nearsong("models", "compare", 1, 2, library=library).stdout
    assert nearsong("models", "use", 1, library=library).returncode == 0
    assert "(sound alone)" in nearsong("similar", 1, library=library).stdout
    assert nearsong("models", "remove", 1, library=library).returncode == 2


def test_export_and_import(nearsong, library, tmp_path):
    assert nearsong("export", tmp_path / "model.npz", library=library).returncode == 0
    result = nearsong("import", tmp_path / "model.npz", library=library)
    assert "Model 3 is active" in result.stdout


def test_the_library_may_be_named_after_the_command_or_in_the_environment(nearsong, library):
    assert nearsong("status", "--library", library).returncode == 0
    assert "72 songs" in nearsong("status", NEARSONG_LIBRARY=str(library)).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similar", "Band"], "Band"),
        (["similar", "zzzz qqqq"], "zzzz qqqq"),
        (["similar", "nowhere.mp3"], "nowhere.mp3"),
        (
            ["similar", "1", "--year-from", "1999", "--year-to", "1990"],
            "year_from=1999 is above year_to=1990; swap them",
        ),
        (["playlist"], "No seed given"),
        (["playlist", "--from", "1"], "--from and --to go together"),
        (["playlist", "1", "--out", "list.txt"], "list.txt"),
        (["playlist", "1", "--diversity", "7"], "diversity=7.0"),
        (["models", "use", "99"], "Model not found: 99"),
        (["listens", "remove", "99"], "listening history not found: 99"),
        (["listens", "import", "/nowhere/at/all.csv"], "/nowhere/at/all.csv"),
        (["import", "/nowhere/model.npz"], "/nowhere/model.npz"),
        (["scan", "/nowhere/music"], "Folder not found: /nowhere/music"),
        (["scan", "--excerpt", "5"], "excerpt=5.0 is not a length in seconds; choose 10 or more, or 0"),
        (["train", "--unit", "galaxy"], "galaxy"),
        (["train", "--listeners", "aliens"], "aliens"),
        (["demo", "--music", "/tmp"], "--music and --listens go together"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(nearsong, library, arguments, message):
    result = nearsong(*arguments, library=library)
    assert result.returncode == 2
    lines = [line for line in result.stderr.strip().splitlines() if "..." not in line]
    assert len(lines) == 1
    assert message in lines[0]


def test_a_missing_library_is_reported_with_the_next_step(nearsong, tmp_path):
    result = nearsong("similar", "1", library=tmp_path / "none.sqlite")
    assert result.returncode == 2
    assert "nearsong scan FOLDER" in result.stderr
    assert not (tmp_path / "none.sqlite").exists()


def test_verbose_prints_the_traceback_anywhere_on_the_line(tmp_path):
    command = [sys.executable, "-m", "nearsong", "status", "--library", str(tmp_path / "none"), "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert "Traceback" in done.stderr
    assert done.returncode == 2


def test_a_folder_without_anything_readable_ends_with_1_or_2(nearsong, tmp_path):
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "bad.mp3").write_bytes(b"not music at all" * 100)
    result = nearsong("scan", tmp_path / "music", library=tmp_path / "l.sqlite")
    assert result.returncode in (1, 2)
    assert result.stdout + result.stderr


def test_control_c_ends_a_scan_with_130_and_stores_what_was_analysed(nearsong, tmp_path):
    folder = tmp_path / "music" / "Band" / "Album"
    folder.mkdir(parents=True)
    sound = music_library.sound(0, 0, seconds=12)
    for i in range(N_INTERRUPTED):
        soundfile.write(folder / f"{i:02} Song {i}.flac", np.roll(sound, 1000 * i), music_library.RATE)
    command = [
        sys.executable,
        "-m",
        "nearsong",
        "--library",
        str(tmp_path / "l.sqlite"),
        "scan",
        str(tmp_path / "music"),
    ]
    with subprocess.Popen(
        [*command, "--workers", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        for line in process.stderr:
            if line.startswith("analysing songs: ") and not line.startswith("analysing songs: 0"):
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
        assert process.wait(timeout=300) == 130
    assert "interrupted" in stderr
    assert re.search(r"note: \d+ files? of this scan analysed; the next scan goes on after them\.", stderr)
    assert "Traceback" not in stderr
    status = json.loads(nearsong("status", "--json", library=tmp_path / "l.sqlite").stdout)
    assert 0 < status["songs"] < N_INTERRUPTED
    result = nearsong("scan", tmp_path / "music", library=tmp_path / "l.sqlite")
    assert result.returncode == 0
    assert json.loads(nearsong("status", "--json", library=tmp_path / "l.sqlite").stdout)["songs"] == N_INTERRUPTED


COMMANDS = "scan,listens import,train,similar,playlist,map,status,evaluate,models,export,import,demo"


@pytest.mark.parametrize("command", COMMANDS.split(","))
def test_help_has_examples(nearsong, command):
    result = nearsong(*command.split(), "--help")
    assert result.returncode == 0
    assert "xample" in result.stdout
    assert f"nearsong {command}" in " ".join(result.stdout.split())
