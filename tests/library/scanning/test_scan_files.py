"""A scan steps over files that give no sound, odd names and odd folders, and tells what it met."""

import os
import shutil

import pytest

from codewords_of import codewords_of
from nearsong.errors import AudioTimeoutError, InvalidInputError, LibraryError
from nearsong.library.scanning import analyse_file as analysing
from nearsong.library.scanning import file_tags, write_files
from nearsong.library.scanning import scan as scanning
from nearsong.library.scanning.scan import ScanOptions, scan

in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)  # where databases make no difference

RETRY = ScanOptions(retry=True)


def songs_of(store) -> dict[str, int]:
    """Return ids by file name, of songs that are there."""
    return {os.path.basename(song.path): song.id for song in store.songs.all() if not song.missing}


# ---- files that give no sound


def test_what_cannot_be_read_is_reported_and_left_alone_until_it_changes(store, scanned, music, make_song, analysed):
    bad = music / "bad.mp3"
    bad.write_bytes(b"no sound")
    report = scan(store, [music])
    assert (report.unchanged, [path for path, _ in report.unreadable]) == (6, [str(bad)])
    assert "is not a readable audio file" in report.unreadable[0][1]
    assert store.songs.problems() == report.unreadable
    assert analysed.take() == ["bad.mp3"]
    scanned(unchanged=6, known_unreadable=1)
    assert analysed.take() == []
    again = scan(store, [music], RETRY)
    assert (len(again.unreadable), again.known_unreadable) == (1, 0)
    assert analysed.take() == ["bad.mp3"]
    shutil.copy(make_song(music.parent / "good.wav", seed=80), bad)
    scanned(unchanged=6, added=1)
    assert store.songs.problems() == []
    bad.write_bytes(b"no sound")
    scan(store, [music])
    os.remove(bad)
    scanned(unchanged=6)  # nothing that anybody would miss
    assert store.songs.problems() == []


def test_a_song_that_is_broken_and_mended_keeps_its_id(store, scanned, music, analysed):
    before = songs_of(store)
    path = music / "Artist 0" / "Song 0.wav"
    complete = path.read_bytes()
    path.write_bytes(b"no sound")
    assert len(scan(store, [music]).unreadable) == 1
    assert "Song 0.wav" not in songs_of(store)
    assert len(store.songs.embeddings(store.models.active)[0]) == 5
    path.write_bytes(complete)
    scanned(unchanged=5, added=1)
    assert songs_of(store) == before


@in_sqlite
def test_a_damaged_file_is_used_and_reported(store, scanned, music, make_song, tmp_path):
    complete = make_song(tmp_path / "whole.wav", seed=90, seconds=4).read_bytes()
    (music / "cut.wav").write_bytes(complete[: len(complete) // 2])
    report = scan(store, [music])
    assert report.added == 1
    assert [path for path, _ in report.damaged] == [str(music / "cut.wav")]
    assert report.damaged[0][1].startswith("damaged (its last")
    assert store.songs.counts()["damaged"] == 1
    scanned(unchanged=7)


@in_sqlite
@pytest.mark.parametrize("seen", ["gone", "growing"])
def test_a_file_that_goes_or_grows_while_it_is_analysed_is_looked_at_again(store, scanned, music, make_song, analysed,
                                                                           seen, monkeypatch):  # fmt: skip
    path = make_song(music / "new.wav", seed=50)
    complete = path.read_bytes()
    really = analysing.read_tags

    def meanwhile(*arguments, **options):
        path.write_bytes(complete + b"more") if seen == "growing" else os.remove(path)
        return really(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(analysing, "read_tags", meanwhile)
        report = scan(store, [music])
    assert [path for path, _ in report.unreadable] == [str(path)]
    assert store.songs.problems() == []
    path.write_bytes(complete)
    scanned(unchanged=6, added=1)


@in_sqlite
def test_a_file_that_may_not_be_opened_is_tried_again(store, scanned, music, make_song, monkeypatch):
    path = make_song(music / "new.wav", seed=50)

    def closed(name):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(analysing, "content_key", closed)
        patched.setattr(write_files, "can_be_opened", lambda path: False)
        report = scan(store, [music])
    assert report.unreadable == [(str(path), "cannot be opened (Permission denied).")]
    assert store.songs.problems() == report.unreadable
    scanned(unchanged=6, added=1)


@in_sqlite
def test_a_file_that_takes_too_long_is_opened_by_workers_only(store, scanned, music, make_song, monkeypatch):
    path = make_song(music / "new.wav", seed=50)
    shutil.copy(music / "Artist 0" / "Song 0.wav", music / "copy.wav")  # its content is looked up

    def too_late(_function, paths, **_options):
        for name in list(paths):
            yield name, AudioTimeoutError(name, "took longer than 1 s to read and was skipped.")

    def not_here(_path):
        raise AssertionError("a file was opened in the process of the scan, where nothing limits the time")

    with monkeypatch.context() as patched:
        patched.setattr(scanning, "map_audio_files", too_late)
        patched.setattr(file_tags, "map_audio_files", too_late)
        patched.setattr("nearsong.library.files.find.open_regular", not_here)
        patched.setattr(write_files, "can_be_opened", not_here)
        report = scan(store, [music])
    assert {os.path.basename(name) for name, _ in report.unreadable} == {path.name, "copy.wav"}
    scanned(unchanged=6, known_unreadable=2)


# ---- odd folders


def test_names_of_any_bytes_are_scanned(store, music, make_song, tmp_path, encoder, analysed, check):
    odd = os.path.join(os.fsencode(music), b"\xe9t\xe9 \xff.wav")
    make_song(tmp_path / "x.wav", seed=51)
    os.rename(tmp_path / "x.wav", odd)
    report = scan(store, [music], encoder=encoder)
    check(store, report, encoder)
    assert report.added == 7
    assert os.fsencode(max(store.songs.all(), key=lambda song: len(ascii(song.path))).path) == odd
    os.rename(odd, os.path.join(os.fsencode(music), b"\xfe.wav"))
    assert scan(store, [music]).moved == 1


@in_sqlite
def test_an_empty_folder_is_remembered(store, tmp_path):
    (tmp_path / "empty").mkdir()
    report = scan(store, [tmp_path / "empty"])
    assert report.found == 0
    assert store.songs.roots() == [str(tmp_path / "empty")]
    assert store.models.rows() == []


@in_sqlite
def test_a_folder_that_is_not_there_changes_nothing(store, scanned, tmp_path, other_encoder):
    encoder_id = codewords_of(store)
    with pytest.raises(InvalidInputError, match=r"Folder not found: .*none\. Check its name"):
        scan(store, [tmp_path / "none"], encoder=other_encoder)
    assert codewords_of(store) == encoder_id
    scanned(unchanged=6)


@in_sqlite
def test_without_any_folder_it_says_what_to_give(store):
    with pytest.raises(LibraryError, match=r"No folder to scan\. Name one: nearsong scan FOLDER"):
        scan(store)


@in_sqlite
def test_where_nothing_can_be_read_it_says_so(store, tmp_path, analysed):
    for i in range(3):
        (tmp_path / f"{i}.mp3").write_bytes(b"no sound")
    with pytest.raises(LibraryError, match="None of the 3 audio files can be read"):
        scan(store, [tmp_path])
    assert codewords_of(store) is None


@in_sqlite
def test_a_single_file_can_be_scanned(store, scanned, music, tmp_path, make_song):
    path = make_song(tmp_path / "one.wav", seed=52)
    assert scan(store, [path]).added == 1
    assert store.songs.roots() == [str(music)]
    assert len(songs_of(store)) == 7


def test_an_interrupted_scan_keeps_what_it_has_written(store, music, encoder, analysed, check):
    def interrupt(stage, done, total):
        if done == 3 and stage == "analysing songs":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan(store, [music], encoder=encoder, progress=interrupt)
    assert len(store.songs.all()) == 3
    analysed.take()
    report = scan(store)  # the folder is known
    check(store, report, encoder)
    assert (report.unchanged, report.added) == (3, 3)


def test_files_are_looked_at_while_others_may_write(store, scanned, music, analysed, monkeypatch):
    looked = []

    def look(path, *facts):
        with store.writing():  # refused where this thread has the lock already
            looked.append(path)
        return False

    monkeypatch.setattr(write_files, "is_same_content", look)
    os.rename(music / "Artist 0" / "Song 0.wav", music / "Renamed.wav")
    scanned(unchanged=5, moved=1)
    assert looked == [str(music / "Artist 0" / "Song 0.wav")]
