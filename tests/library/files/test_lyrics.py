"""Lyrics are found in the tags of every format and beside the file; damage and links out of the library give none."""

import os
import shutil

import numpy as np
import pytest
import soundfile
from mutagen import File, id3

from nearsong.library.files import lyrics
from nearsong.library.files.lyrics import Lyrics, lyrics_of, parsed_lyrics

SUNG = "First line\nSecond line"
TIMED = "[00:01.00]First line\n[00:02.50]Second line"
LINES = ("First line", "Second line")


@pytest.fixture
def song(tmp_path):
    """Write a song of some format with lyrics in its tags."""

    def write(ending: str, **tags: str):
        path = tmp_path / f"song{ending}"
        soundfile.write(path, np.zeros(8000), 8000)
        file = File(path)
        if ending in (".mp3", ".wav"):
            if file.tags is None:
                file.add_tags()
            for name, text in tags.items():
                assert name == "USLT"
                file.tags.add(id3.USLT(encoding=3, lang="eng", desc="", text=text))
        else:
            for name, text in tags.items():
                file[name] = [text]
        file.save()
        return path

    return write


@pytest.mark.parametrize(
    ("ending", "name", "language"),
    [
        (".mp3", "USLT", "eng"),
        (".wav", "USLT", "eng"),
        (".flac", "LYRICS", "xxx"),
        (".flac", "UNSYNCEDLYRICS", "xxx"),
        (".ogg", "lyrics", "xxx"),
    ],
)
def test_lyrics_in_tags_are_read_with_times_if_they_have_some(song, ending, name, language):
    assert lyrics_of(song(ending, **{name: SUNG})) == (Lyrics(language, LINES),)
    assert lyrics_of(song(ending, **{name: TIMED})) == (Lyrics(language, LINES, (1000, 2500)),)


def test_synchronised_frames_of_id3_come_first(song):
    path = song(".mp3", USLT=SUNG)
    tags = id3.ID3(path)
    tags.add(id3.SYLT(encoding=3, lang="deu", format=2, type=1, desc="", text=[("Zwei", 900), ("Eins", 100)]))
    tags.add(id3.SYLT(encoding=3, lang="deu", format=1, type=1, desc="frames", text=[("Nie", 900)]))
    tags.add(id3.SYLT(encoding=3, lang="deu", format=2, type=5, desc="chords", text=[("Am", 900)]))
    tags.save(path)
    assert lyrics_of(path) == (Lyrics("deu", ("Eins", "Zwei"), (100, 900)), Lyrics("eng", LINES))


def test_a_file_beside_the_song_comes_before_its_tags(song):
    path = song(".flac", LYRICS="Other words")
    path.with_suffix(".lrc").write_text("\ufeff[offset:+500]\r\n" + TIMED.replace("\n", "\r\n"), "utf-8")
    assert lyrics_of(path) == (Lyrics("xxx", LINES, (500, 2000)), Lyrics("xxx", ("Other words",)))


def test_a_link_out_of_the_library_is_not_read(song, tmp_path):
    path = song(".flac")
    inside = tmp_path / "inside"
    inside.mkdir()
    moved = shutil.move(path, inside / "song.flac")
    (tmp_path / "secret").write_text("a secret")
    os.symlink(tmp_path / "secret", inside / "song.lrc")
    assert lyrics_of(moved, folders=[str(inside)]) == ()
    assert lyrics_of(moved, folders=[str(tmp_path)]) == (Lyrics("xxx", ("a secret",)),)


@pytest.mark.parametrize("text", ["", "\n\n", "[ar:Someone]\n[ti:Something]", "\x00"])
def test_a_text_without_words_is_none(text):
    assert parsed_lyrics(text) is None


def test_lyrics_have_a_limit(song, monkeypatch):
    monkeypatch.setattr(lyrics, "MAX_LINES", 10)
    assert len(parsed_lyrics("[00:01][00:02]la\n" * 50).lines) == 10
    assert len(parsed_lyrics("la\n" * 50).lines) == 10


def test_a_damaged_or_missing_file_has_none(tmp_path):
    (tmp_path / "song.mp3").write_bytes(b"ID3\x04\x00\x00\x00\x00\x0f\x7fUSLT" + bytes(100))
    assert lyrics_of(tmp_path / "song.mp3") == ()
    assert lyrics_of(tmp_path / "none.mp3") == ()
