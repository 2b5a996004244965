"""A scan analyses what is new or changed, knows again what was moved, and leaves the rest alone."""

import os
import shutil

import numpy as np
import pytest

from nearsong.audio.tags import Tags, write_tags
from nearsong.library.scanning import file_tags
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.model.encoders import DEFAULT_ENCODERS

in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)  # where databases make no difference

PRUNE = ScanOptions(prune=True)


def songs_of(store) -> dict[str, int]:
    """Return ids by file name, of songs that are there."""
    return {os.path.basename(song.path): song.id for song in store.songs.all() if not song.missing}


def test_a_scan_analyses_every_song_once_and_the_next_none(store, music, encoder, analysed, check):
    reported = []
    report = scan(store, [music], encoder=encoder, progress=lambda *facts: reported.append(facts))
    check(store, report, encoder)
    assert (report.found, report.added, report.analysed) == (6, 6, 6)
    assert len(analysed.take()) == 6
    assert ("analysing songs", 6, 6) in reported
    assert reported[-1][0] == "embedding songs"
    assert store.songs.roots() == [str(music)]
    again = scan(store)  # the same folders
    assert (again.unchanged, again.analysed) == (6, 0)
    assert analysed.take() == []
    names = {(song.artist, song.title) for song in store.songs.all()}
    assert ("Artist 0", "Song 3") in names


def test_the_first_scan_fits_the_default_encoders_and_a_native_model_of_all_but_codewords(store, music, analysed):
    scan(store, [music])
    assert tuple(store.models.scanned_encoders()) == DEFAULT_ENCODERS
    assert [(row.kind, row.encoders, row.facts) for row in store.models.rows()] == [
        ("native", DEFAULT_ENCODERS[1:], {"songs": 6})
    ]
    assert store.models.active == store.models.rows()[0].id
    assert len(store.songs.embeddings(store.models.active)[0]) == 6


def test_a_new_file_is_analysed(scanned, music, make_song, analysed):
    make_song(music / "new.wav", seed=50)
    scanned(unchanged=6, added=1)
    assert analysed.take() == ["new.wav"]


def test_a_changed_file_is_analysed_again_and_keeps_its_id(store, scanned, music, make_song, analysed):
    before = songs_of(store)
    make_song(music / "Artist 0" / "Song 0.wav", seed=60, seconds=1.8)
    scanned(unchanged=5, changed=1)
    assert analysed.take() == ["Song 0.wav"]
    assert songs_of(store) == before
    assert max(song.seconds for song in store.songs.all()) > 0.6


@in_sqlite
def test_a_file_with_another_date_only_is_not_analysed(scanned, music, analysed):
    os.utime(music / "Artist 0" / "Song 0.wav", ns=(1, 10**18))
    scanned(unchanged=6)
    scanned(unchanged=6)
    assert analysed.take() == []


def test_tags_that_were_changed_are_read(store, scanned, music, analysed):
    before = songs_of(store)
    write_tags(music / "Artist 1" / "Song 1.wav", Tags("Somebody", "Else", year=1999))
    scanned(unchanged=5, changed=1)
    [song] = store.songs.all([before["Song 1.wav"]])
    assert (song.artist, song.title, song.year, song.artist_key) == ("Somebody", "Else", 1999, "somebody")


@in_sqlite
def test_tags_where_the_content_key_does_not_look_are_read_too(store, scanned, music, analysed, monkeypatch):
    before = songs_of(store)
    path = music / "Artist 1" / "Song 1.wav"
    old = file_tags.content_key(path)
    write_tags(path, Tags("Somebody", "Else"))
    with store.writing() as connection:  # as if the size were the same, and the pieces that are looked at
        store.songs.touch(connection, before["Song 1.wav"], path.stat().st_size, 5, Tags())
    monkeypatch.setattr(file_tags, "content_key", lambda path: old)
    scanned(unchanged=6)
    assert analysed.take() == []
    assert store.songs.all([before["Song 1.wav"]])[0].artist == "Somebody"


# ---- moved and copied


def test_a_moved_and_renamed_file_is_known_again(store, scanned, music, tmp_path, analysed):
    before = songs_of(store)
    (music / "new folder").mkdir()
    os.rename(music / "Artist 0" / "Song 0.wav", music / "new folder" / "Renamed.wav")
    scanned(unchanged=5, moved=1)
    assert analysed.take() == []
    after = songs_of(store)
    assert after["Renamed.wav"] == before["Song 0.wav"]
    assert store.songs.all([after["Renamed.wav"]])[0].title == "Renamed"


def test_a_file_moved_to_a_folder_of_its_own_is_known_there(store, scanned, music, tmp_path, encoder, analysed):
    before = songs_of(store)
    (tmp_path / "elsewhere").mkdir()
    shutil.move(music / "Artist 0" / "Song 0.wav", tmp_path / "elsewhere" / "a.wav")
    report = scan(store, [tmp_path / "elsewhere"])
    assert (report.found, report.moved) == (1, 1)
    assert songs_of(store)["a.wav"] == before["Song 0.wav"]
    assert scan(store).unchanged == 6


def test_files_that_exchange_their_names_keep_their_songs(store, scanned, music, analysed):
    before = songs_of(store)
    one, two = music / "Artist 0" / "Song 0.wav", music / "Artist 1" / "Song 1.wav"
    os.rename(one, music / "x")
    os.rename(two, one)
    os.rename(music / "x", two)
    for path in (one, two):
        os.utime(path)
    scanned(unchanged=4, moved=2)
    assert analysed.take() == []
    after = songs_of(store)
    assert after == before | {"Song 0.wav": before["Song 1.wav"], "Song 1.wav": before["Song 0.wav"]}


@pytest.mark.parametrize("step", [1, -1])
def test_an_album_numbered_anew_keeps_its_songs(store, tmp_path, make_song, encoder, analysed, step, check):
    folder = tmp_path / "album"
    for i in range(1, 5):
        make_song(folder / f"{i}.wav", seed=i)
    scan(store, [folder], encoder=encoder)
    before = songs_of(store)
    for i in range(1, 5)[:: -1 if step > 0 else 1]:
        os.rename(folder / f"{i}.wav", folder / f"{i + step}.wav")
    analysed.take()
    report = scan(store, [folder])
    check(store, report, encoder)
    assert analysed.take() == []
    assert report.moved == 4
    assert report.missing == 0
    assert songs_of(store) == {f"{i + step}.wav": before[f"{i}.wav"] for i in range(1, 5)}


def test_a_file_moved_over_another_takes_its_path_and_the_other_is_missing(store, scanned, music, analysed):
    before = songs_of(store)
    os.replace(music / "Artist 0" / "Song 0.wav", music / "Artist 1" / "Song 1.wav")
    scanned(unchanged=4, moved=1, missing=1)
    assert songs_of(store)["Song 1.wav"] == before["Song 0.wav"]
    assert [song.id for song in store.songs.all() if song.missing] == [before["Song 1.wav"]]
    scanned(PRUNE, unchanged=5, removed=1)


def test_a_copy_is_a_song_of_its_own_that_need_not_be_analysed(store, scanned, music, analysed):
    shutil.copy(music / "Artist 0" / "Song 0.wav", music / "Artist 0" / "Copy.wav")
    scanned(unchanged=6, copied=1)
    assert analysed.take() == []
    ids = songs_of(store)
    _, embeddings = store.songs.embeddings(store.models.active)
    rows = sorted(ids.values())
    original, copy = (rows.index(ids[name]) for name in ("Song 0.wav", "Copy.wav"))
    np.testing.assert_allclose(embeddings[original], embeddings[copy], atol=1e-5)
    assert {song.title for song in store.songs.all()} >= {"Copy", "Song 0"}
    os.remove(music / "Artist 0" / "Song 0.wav")
    scanned(unchanged=6, missing=1)


@in_sqlite
def test_a_known_file_that_becomes_a_copy_of_another_keeps_its_id(store, scanned, music, analysed):
    before = songs_of(store)
    shutil.copyfile(music / "Artist 0" / "Song 0.wav", music / "Artist 1" / "Song 1.wav")
    scanned(unchanged=5, copied=1)
    assert songs_of(store) == before


# ---- gone and back


def test_songs_whose_files_are_gone_stay_until_that_is_asked_for(store, scanned, music, tmp_path, analysed):
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
    assert analysed.take() == []


def test_a_missing_song_that_turns_up_elsewhere_is_known(store, scanned, music, tmp_path, analysed):
    before = songs_of(store)
    os.rename(music / "Artist 0" / "Song 0.wav", tmp_path / "away.wav")
    scanned(unchanged=5, missing=1)
    os.rename(tmp_path / "away.wav", music / "back.wav")
    scanned(unchanged=5, moved=1)
    assert songs_of(store)["back.wav"] == before["Song 0.wav"]


@in_sqlite
def test_only_songs_of_the_folders_that_were_scanned_can_be_missing(
    store, music, tmp_path, make_song, encoder, analysed
):
    make_song(tmp_path / "other" / "b.wav", seed=70)
    make_song(tmp_path / "music too" / "c.wav", seed=71)  # the name begins like the other's
    scan(store, [music, tmp_path / "other", tmp_path / "music too"], encoder=encoder)
    shutil.rmtree(music / "Artist 0")
    report = scan(store, [tmp_path / "other"], PRUNE)
    assert (report.missing, report.removed) == (0, 0)
    assert scan(store, [music], PRUNE).removed == 2
    assert len(store.songs.all()) == 6


@in_sqlite
def test_an_empty_folder_forgets_its_songs_at_second_sight_only(store, scanned, music, tmp_path):
    notes: list[str] = []
    os.rename(music, tmp_path / "drive")
    music.mkdir()  # where a drive is mounted
    report = scan(store, [music], PRUNE, note=notes.append)
    assert (report.found, report.missing, report.removed) == (0, 6, 0)
    assert "6 songs are in folders that are empty now, as if a drive were not connected" in notes[0]
    os.rmdir(music)
    os.rename(tmp_path / "drive", music)
    scanned(unchanged=6)
    shutil.rmtree(music)
    music.mkdir()
    assert scan(store, [music]).missing == 6
    assert scan(store, [music], PRUNE).removed == 6
    assert store.songs.all() == []


@in_sqlite
def test_a_folder_that_is_not_connected_is_left_alone(store, scanned, music, tmp_path, make_song):
    make_song(tmp_path / "other" / "b.wav", seed=70)
    scan(store, [tmp_path / "other"])
    os.rename(music, tmp_path / "drive")
    notes: list[str] = []
    report = scan(store, note=notes.append)
    assert (report.found, report.missing) == (1, 0)
    assert notes == [f"Folder not found: {music}. Its songs were left unchanged; is the drive connected?"]
    assert len(songs_of(store)) == 7


@in_sqlite
def test_songs_in_a_folder_that_cannot_be_entered_are_not_missing(store, scanned, music, monkeypatch, analysed):
    really = os.scandir

    def scandir(path):
        if str(path).endswith("Artist 0"):
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    notes: list[str] = []
    report = scan(store, [music], PRUNE, note=notes.append)
    assert (report.found, report.unchanged, report.missing, report.removed) == (4, 4, 0, 0)
    assert "Artist 0: cannot be read" in notes[0]
    assert len(songs_of(store)) == 6
