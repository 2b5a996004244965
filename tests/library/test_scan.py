"""A scan hears what is new or changed, knows again what was moved, and leaves the rest alone."""

import os
import shutil

import numpy as np
import pytest

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library import hearing
from nearsong.library import scan as scanning
from nearsong.library.file_tags import write_tags
from nearsong.library.records import Tags
from nearsong.library.scan import ScanOptions, ScanReport, scan

PRUNE, RETRY = ScanOptions(prune=True), ScanOptions(retry=True)


def songs_of(store) -> dict[str, int]:
    """Return ids by file name, of songs that are there."""
    return {os.path.basename(song.path): song.id for song in store.songs.all() if not song.missing}


def check(store, report: ScanReport, ear) -> None:
    """Check what holds after every scan: files add up, and each song has the sound and the place that are its own."""
    parts = ("unchanged", "added", "changed", "moved", "copied", "reheard", "known_unreadable")
    assert report.found == sum(getattr(report, part) for part in parts) + len(report.unreadable)
    ear_id = store.models.current_ear
    songs = {song.id: song for song in store.songs.all()}
    ids, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors(ear_id), strict=True))
    assert sorted(ids.tolist()) == sorted(songs)
    for song, vector in zip(ids.tolist(), vectors, strict=True):
        if not songs[song].missing:
            np.testing.assert_array_equal(vector, ear.encode_file(songs[song].path).vector.astype(np.float32))
    placed, places = store.songs.places(store.models.active)
    assert placed.tolist() == sorted(songs)
    model = scanning.Placer(store)  # the places are those of the active model
    with store.writing() as connection:
        model.place(connection, placed[0], ear_id, vectors[0])
    np.testing.assert_allclose(store.songs.places(store.models.active)[1], places, atol=1e-6)


@pytest.fixture
def scanned(store, music, ear, heard):
    """Return a library that has scanned six songs, and a function that scans it again."""
    assert scan(store, [music], ear=ear).added == 6
    heard.take()

    def again(options=None, **changes) -> ScanReport:
        report = scan(store, [music], options)
        check(store, report, ear)
        expected = ScanReport(**{"found": report.found, "seconds": report.seconds} | changes)
        assert report == expected
        return report

    return again


def test_a_scan_hears_every_song_once_and_the_next_none(store, music, ear, heard):
    told = []
    report = scan(store, [music], ear=ear, progress=lambda *facts: told.append(facts))
    check(store, report, ear)
    assert (report.found, report.added, report.heard) == (6, 6, 6)
    assert len(heard.take()) == 6
    assert told[-2] == ("hearing songs", 6, 6) or ("hearing songs", 6, 6) in told
    assert told[-1][0] == "placing songs"
    assert store.songs.roots() == [str(music)]
    again = scan(store)  # the same folders
    assert (again.unchanged, again.heard) == (6, 0)
    assert heard.take() == []
    names = {(song.artist, song.title) for song in store.songs.all()}
    assert ("Artist 0", "Song 3") in names


def test_the_first_scan_learns_a_codebook_and_a_native_model(store, music, heard):
    scan(store, [music])
    ear_id = store.models.current_ear
    assert ear_id is not None
    assert [(row.kind, row.ear_id, row.facts) for row in store.models.rows()] == [("native", ear_id, {"songs": 6})]
    assert store.models.active == store.models.rows()[0].id
    assert len(store.songs.places(store.models.active)[0]) == 6


def test_a_new_file_is_heard(scanned, music, make_song, heard):
    make_song(music / "new.wav", seed=50)
    scanned(unchanged=6, added=1)
    assert heard.take() == ["new.wav"]


def test_a_changed_file_is_heard_again_and_keeps_its_id(store, scanned, music, make_song, heard):
    before = songs_of(store)
    make_song(music / "Artist 0" / "Song 0.wav", seed=60, seconds=0.7)
    scanned(unchanged=5, changed=1)
    assert heard.take() == ["Song 0.wav"]
    assert songs_of(store) == before
    assert max(song.seconds for song in store.songs.all()) > 0.6


def test_a_file_with_another_date_only_is_not_heard(scanned, music, heard):
    os.utime(music / "Artist 0" / "Song 0.wav", ns=(1, 10**18))
    scanned(unchanged=6)
    scanned(unchanged=6)
    assert heard.take() == []


def test_tags_that_were_changed_are_read(store, scanned, music, heard):
    before = songs_of(store)
    write_tags(music / "Artist 1" / "Song 1.wav", Tags("Somebody", "Else", year=1999))
    scanned(unchanged=5, changed=1)
    [song] = store.songs.all([before["Song 1.wav"]])
    assert (song.artist, song.title, song.year, song.artist_key) == ("Somebody", "Else", 1999, "somebody")


def test_tags_where_the_content_key_does_not_look_are_read_too(store, scanned, music, heard, monkeypatch):
    before = songs_of(store)
    path = music / "Artist 1" / "Song 1.wav"
    old = scanning.content_key(path)
    write_tags(path, Tags("Somebody", "Else"))
    with store.writing() as connection:  # as if the size were the same, and the pieces that are looked at
        store.songs.touch(connection, before["Song 1.wav"], path.stat().st_size, 5, Tags())
    monkeypatch.setattr(scanning, "content_key", lambda path: old)
    scanned(unchanged=6)
    assert heard.take() == []
    assert store.songs.all([before["Song 1.wav"]])[0].artist == "Somebody"


# ---- moved and copied


def test_a_moved_and_renamed_file_is_known_again(store, scanned, music, tmp_path, heard):
    before = songs_of(store)
    (music / "new folder").mkdir()
    os.rename(music / "Artist 0" / "Song 0.wav", music / "new folder" / "Renamed.wav")
    scanned(unchanged=5, moved=1)
    assert heard.take() == []
    after = songs_of(store)
    assert after["Renamed.wav"] == before["Song 0.wav"]
    assert store.songs.all([after["Renamed.wav"]])[0].title == "Renamed"


def test_a_file_moved_to_a_folder_of_its_own_is_known_there(store, scanned, music, tmp_path, ear, heard):
    before = songs_of(store)
    (tmp_path / "elsewhere").mkdir()
    shutil.move(music / "Artist 0" / "Song 0.wav", tmp_path / "elsewhere" / "a.wav")
    report = scan(store, [tmp_path / "elsewhere"])
    assert (report.found, report.moved) == (1, 1)
    assert songs_of(store)["a.wav"] == before["Song 0.wav"]
    assert scan(store).unchanged == 6


def test_files_that_exchange_their_names_keep_their_songs(store, scanned, music, heard):
    before = songs_of(store)
    one, two = music / "Artist 0" / "Song 0.wav", music / "Artist 1" / "Song 1.wav"
    os.rename(one, music / "x")
    os.rename(two, one)
    os.rename(music / "x", two)
    for path in (one, two):
        os.utime(path)
    scanned(unchanged=4, moved=2)
    assert heard.take() == []
    after = songs_of(store)
    assert after == before | {"Song 0.wav": before["Song 1.wav"], "Song 1.wav": before["Song 0.wav"]}


@pytest.mark.parametrize("step", [1, -1])
def test_an_album_numbered_anew_keeps_its_songs(store, tmp_path, make_song, ear, heard, step):
    folder = tmp_path / "album"
    for i in range(1, 5):
        make_song(folder / f"{i}.wav", seed=i)
    scan(store, [folder], ear=ear)
    before = songs_of(store)
    for i in range(1, 5)[:: -1 if step > 0 else 1]:
        os.rename(folder / f"{i}.wav", folder / f"{i + step}.wav")
    heard.take()
    report = scan(store, [folder])
    check(store, report, ear)
    assert heard.take() == []
    assert report.moved == 4
    assert report.missing == 0
    assert songs_of(store) == {f"{i + step}.wav": before[f"{i}.wav"] for i in range(1, 5)}


def test_a_file_moved_over_another_takes_its_path_and_the_other_is_missing(store, scanned, music, heard):
    before = songs_of(store)
    os.replace(music / "Artist 0" / "Song 0.wav", music / "Artist 1" / "Song 1.wav")
    scanned(unchanged=4, moved=1, missing=1)
    assert songs_of(store)["Song 1.wav"] == before["Song 0.wav"]
    assert [song.id for song in store.songs.all() if song.missing] == [before["Song 1.wav"]]
    scanned(PRUNE, unchanged=5, removed=1)


def test_a_copy_is_a_song_of_its_own_that_need_not_be_heard(store, scanned, music, heard):
    shutil.copy(music / "Artist 0" / "Song 0.wav", music / "Artist 0" / "Copy.wav")
    scanned(unchanged=6, copied=1)
    assert heard.take() == []
    ids = songs_of(store)
    _, places = store.songs.places(store.models.active)
    rows = sorted(ids.values())
    original, copy = (rows.index(ids[name]) for name in ("Song 0.wav", "Copy.wav"))
    np.testing.assert_allclose(places[original], places[copy], atol=1e-5)
    assert {song.title for song in store.songs.all()} >= {"Copy", "Song 0"}
    os.remove(music / "Artist 0" / "Song 0.wav")
    scanned(unchanged=6, missing=1)


def test_a_known_file_that_becomes_a_copy_of_another_keeps_its_id(store, scanned, music, heard):
    before = songs_of(store)
    shutil.copyfile(music / "Artist 0" / "Song 0.wav", music / "Artist 1" / "Song 1.wav")
    scanned(unchanged=5, copied=1)
    assert songs_of(store) == before


# ---- gone and back


def test_songs_whose_files_are_gone_are_kept_until_that_is_asked_for(store, scanned, music, tmp_path, heard):
    before = songs_of(store)
    path = music / "Artist 0" / "Song 0.wav"
    os.rename(path, tmp_path / "away.wav")
    scanned(unchanged=5, missing=1)
    assert "Song 0.wav" not in songs_of(store)
    scanned(unchanged=5, missing=1)
    os.rename(tmp_path / "away.wav", path)
    scanned(unchanged=6)
    assert songs_of(store) == before
    os.remove(path)
    scanned(PRUNE, unchanged=5, removed=1)
    assert len(store.songs.all()) == 5
    assert heard.take() == []


def test_a_missing_song_that_turns_up_elsewhere_is_known(store, scanned, music, tmp_path, heard):
    before = songs_of(store)
    os.rename(music / "Artist 0" / "Song 0.wav", tmp_path / "away.wav")
    scanned(unchanged=5, missing=1)
    os.rename(tmp_path / "away.wav", music / "back.wav")
    scanned(unchanged=5, moved=1)
    assert songs_of(store)["back.wav"] == before["Song 0.wav"]


def test_only_songs_of_the_folders_that_were_scanned_can_be_missing(store, music, tmp_path, make_song, ear, heard):
    make_song(tmp_path / "other" / "b.wav", seed=70)
    make_song(tmp_path / "music too" / "c.wav", seed=71)  # the name begins like the other's
    scan(store, [music, tmp_path / "other", tmp_path / "music too"], ear=ear)
    shutil.rmtree(music / "Artist 0")
    report = scan(store, [tmp_path / "other"], PRUNE)
    assert (report.missing, report.removed) == (0, 0)
    assert scan(store, [music], PRUNE).removed == 2
    assert len(store.songs.all()) == 6


def test_an_empty_folder_forgets_its_songs_at_second_sight_only(store, scanned, music, tmp_path):
    notes: list[str] = []
    os.rename(music, tmp_path / "drive")
    music.mkdir()  # where a drive is mounted
    report = scan(store, [music], PRUNE, note=notes.append)
    assert (report.found, report.missing, report.removed) == (0, 6, 0)
    assert "6 songs are in folders that are empty now, as if the drive were not connected" in notes[0]
    os.rmdir(music)
    os.rename(tmp_path / "drive", music)
    scanned(unchanged=6)
    shutil.rmtree(music)
    music.mkdir()
    assert scan(store, [music]).missing == 6
    assert scan(store, [music], PRUNE).removed == 6
    assert store.songs.all() == []


def test_a_folder_that_is_not_connected_is_left_alone(store, scanned, music, tmp_path, make_song):
    make_song(tmp_path / "other" / "b.wav", seed=70)
    scan(store, [tmp_path / "other"])
    os.rename(music, tmp_path / "drive")
    notes: list[str] = []
    report = scan(store, note=notes.append)
    assert (report.found, report.missing) == (1, 0)
    assert notes == [f"{music} is not there and was left as it was; is the drive connected?"]
    assert len(songs_of(store)) == 7


def test_songs_in_a_folder_that_cannot_be_entered_are_not_missing(store, scanned, music, monkeypatch, heard):
    really = os.scandir

    def scandir(path):
        if str(path).endswith("Artist 0"):
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    notes: list[str] = []
    report = scan(store, [music], PRUNE, note=notes.append)
    assert (report.found, report.unchanged, report.missing, report.removed) == (4, 4, 0, 0)
    assert "Artist 0: cannot be looked into" in notes[0]
    assert len(songs_of(store)) == 6


# ---- files that give no sound


def test_what_cannot_be_read_is_reported_and_left_alone_until_it_changes(store, scanned, music, make_song, heard):
    bad = music / "bad.mp3"
    bad.write_bytes(b"no sound")
    report = scan(store, [music])
    assert (report.unchanged, [path for path, _ in report.unreadable]) == (6, [str(bad)])
    assert "is not audio that can be read" in report.unreadable[0][1]
    assert store.songs.problems() == report.unreadable
    assert heard.take() == ["bad.mp3"]
    scanned(unchanged=6, known_unreadable=1)
    assert heard.take() == []
    again = scan(store, [music], RETRY)
    assert (len(again.unreadable), again.known_unreadable) == (1, 0)
    assert heard.take() == ["bad.mp3"]
    shutil.copy(make_song(music.parent / "good.wav", seed=80), bad)
    scanned(unchanged=6, added=1)
    assert store.songs.problems() == []
    bad.write_bytes(b"no sound")
    scan(store, [music])
    os.remove(bad)
    scanned(unchanged=6)  # nothing that anybody would miss
    assert store.songs.problems() == []


def test_a_song_that_is_broken_and_mended_keeps_its_id(store, scanned, music, heard):
    before = songs_of(store)
    path = music / "Artist 0" / "Song 0.wav"
    whole = path.read_bytes()
    path.write_bytes(b"no sound")
    assert len(scan(store, [music]).unreadable) == 1
    assert "Song 0.wav" not in songs_of(store)
    assert len(store.songs.places(store.models.active)[0]) == 5
    path.write_bytes(whole)
    scanned(unchanged=5, added=1)
    assert songs_of(store) == before


def test_a_damaged_file_is_used_and_reported(store, scanned, music, make_song, tmp_path):
    whole = make_song(tmp_path / "whole.wav", seed=90, seconds=1).read_bytes()
    (music / "cut.wav").write_bytes(whole[: len(whole) // 2])
    report = scan(store, [music])
    assert report.added == 1
    assert [path for path, _ in report.damaged] == [str(music / "cut.wav")]
    assert report.damaged[0][1].startswith("damaged (its last")
    assert store.songs.counts(None)["damaged"] == 1
    scanned(unchanged=7)


@pytest.mark.parametrize("seen", ["gone", "growing"])
def test_a_file_that_goes_or_grows_while_it_is_heard_is_looked_at_again(store, scanned, music, make_song, heard, seen,
                                                                        monkeypatch):  # fmt: skip
    path = make_song(music / "new.wav", seed=50)
    whole = path.read_bytes()
    really = hearing.read_tags

    def meanwhile(name, root):
        path.write_bytes(whole + b"more") if seen == "growing" else os.remove(path)
        return really(name, root)

    with monkeypatch.context() as patched:
        patched.setattr(hearing, "read_tags", meanwhile)
        report = scan(store, [music])
    assert [path for path, _ in report.unreadable] == [str(path)]
    assert store.songs.problems() == []
    path.write_bytes(whole)
    scanned(unchanged=6, added=1)


def test_a_file_that_may_not_be_opened_is_tried_again(store, scanned, music, make_song, monkeypatch):
    path = make_song(music / "new.wav", seed=50)

    def closed(name):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(hearing, "content_key", closed)
        patched.setattr(scanning, "can_be_opened", lambda path: False)
        report = scan(store, [music])
    assert report.unreadable == [(str(path), "cannot be opened (Permission denied).")]
    assert store.songs.problems() == report.unreadable
    scanned(unchanged=6, added=1)


# ---- odd folders


def test_names_of_any_bytes_are_scanned(store, music, make_song, tmp_path, ear, heard):
    odd = os.path.join(os.fsencode(music), b"\xe9t\xe9 \xff.wav")
    make_song(tmp_path / "x.wav", seed=51)
    os.rename(tmp_path / "x.wav", odd)
    report = scan(store, [music], ear=ear)
    check(store, report, ear)
    assert report.added == 7
    assert os.fsencode(max(store.songs.all(), key=lambda song: len(ascii(song.path))).path) == odd
    os.rename(odd, os.path.join(os.fsencode(music), b"\xfe.wav"))
    assert scan(store, [music]).moved == 1


def test_an_empty_folder_is_remembered(store, tmp_path):
    (tmp_path / "empty").mkdir()
    report = scan(store, [tmp_path / "empty"])
    assert report.found == 0
    assert store.songs.roots() == [str(tmp_path / "empty")]
    assert store.models.rows() == []


def test_a_folder_that_is_not_there_changes_nothing(store, scanned, tmp_path, other_ear):
    ear_id = store.models.current_ear
    with pytest.raises(InvalidInputError, match="none is not there; give a folder of music"):
        scan(store, [tmp_path / "none"], ear=other_ear)
    assert store.models.current_ear == ear_id
    scanned(unchanged=6)


def test_without_any_folder_it_says_what_to_give(store):
    with pytest.raises(LibraryError, match="there is no folder to scan; give one: `nearsong scan FOLDER`"):
        scan(store)


def test_where_nothing_can_be_read_it_says_so(store, tmp_path, heard):
    for i in range(3):
        (tmp_path / f"{i}.mp3").write_bytes(b"no sound")
    with pytest.raises(LibraryError, match="none of 3 audio files gives a sound"):
        scan(store, [tmp_path])
    assert store.models.current_ear is None


def test_a_single_file_can_be_scanned(store, scanned, music, tmp_path, make_song):
    path = make_song(tmp_path / "one.wav", seed=52)
    assert scan(store, [path]).added == 1
    assert store.songs.roots() == [str(music)]
    assert len(songs_of(store)) == 7


def test_an_interrupted_scan_keeps_what_it_has_written(store, music, ear, heard):
    def interrupt(stage, done, total):
        if done == 3 and stage == "hearing songs":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan(store, [music], ear=ear, progress=interrupt)
    assert len(store.songs.all()) == 3
    heard.take()
    report = scan(store)  # the folder is known
    check(store, report, ear)
    assert (report.unchanged, report.added) == (3, 3)
