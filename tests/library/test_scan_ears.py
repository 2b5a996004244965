"""Scans and codebooks: another one hears all songs anew, and a model answers when all of its songs are heard."""

import numpy as np
import pytest

from nearsong.library import scan as scanning
from nearsong.library.projection import activate_model, import_model, native_model
from nearsong.library.scan import ScanOptions, scan
from nearsong.library.store import PENDING

in_sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # where databases make no difference


@pytest.fixture
def scanned(store, music, ear, heard):
    """Return a library that has scanned six songs."""
    scan(store, [music], ear=ear)
    heard.take()
    return store


def model_for(ear, music):
    """Return a model of the library's songs as this ear hears them."""
    vectors = np.array([ear.encode(path) for path in sorted(music.rglob("*.wav"))])
    return native_model(ear, vectors, {"from": "elsewhere"})


def answering(store):
    """Return the ear of the model that answers, and how many songs it can answer with."""
    active = store.models.active
    return store.models.row(active).ear_id, len(store.songs.places(active)[0])


def test_another_codebook_hears_all_songs_again_and_then_answers(scanned, music, other_ear, heard):
    store = scanned
    ids = [song.id for song in store.songs.all()]
    old, _ = answering(store)
    report = scan(store, [music], ear=other_ear)
    assert (report.reheard, report.found) == (6, 6)
    assert len(heard.take()) == 6
    assert [song.id for song in store.songs.all()] == ids
    new, n = answering(store)
    assert old != new == store.models.current_ear
    assert n == 6
    vectors = np.concatenate([rows for _, rows in store.songs.vectors(new)])
    expected = {other_ear.encode(song.path).astype(np.float32).tobytes() for song in store.songs.all()}
    assert {row.tobytes() for row in vectors} == expected
    assert scan(store, [music], ear=other_ear).unchanged == 6


def test_going_back_to_a_codebook_hears_only_what_came_since(scanned, music, ear, other_ear, make_song, heard):
    store = scanned
    first = store.models.active
    scan(store, [music], ear=other_ear)
    make_song(music / "new.wav", seed=50)
    make_song(music / "Artist 0" / "Song 0.wav", seed=60)
    assert scan(store).changed == 1
    heard.take()
    report = scan(store, ear=ear)
    assert heard.take() == ["Song 0.wav", "new.wav"]
    assert report.reheard == 2
    assert store.models.active == first
    assert answering(store)[1] == 7


def test_a_model_from_elsewhere_answers_when_all_songs_are_heard(scanned, music, other_ear, heard):
    store = scanned
    old = store.models.active
    model, answers = import_model(store, model_for(other_ear, music), {"file": "x"})
    assert not answers
    assert (store.models.active, store.models.setting(PENDING)) == (old, str(model))
    notes: list[str] = []
    report = scan(store, [music / "Artist 0"], note=notes.append)
    assert report.reheard == 2
    assert notes == ["4 songs are still to be heard with the new codebook, then it is used: `nearsong scan`."]
    assert (store.models.active, answering(store)[1]) == (old, 6)  # the old one, with all songs
    scan(store, note=notes.append)
    assert notes[-1] == f"model {model} has heard all songs and answers from now on."
    assert (store.models.active, store.models.setting(PENDING)) == (model, None)
    assert answering(store) == (store.models.current_ear, 6)


def test_a_model_with_the_librarys_codebook_answers_at_once(scanned, music, ear):
    model, answers = import_model(scanned, model_for(ear, music), {"file": "x"})
    assert answers
    assert scanned.models.active == model
    assert answering(scanned)[1] == 6


@in_sqlite
def test_songs_that_come_while_a_model_waits_are_heard_for_it(scanned, music, other_ear, make_song):
    store = scanned
    import_model(store, model_for(other_ear, music), {})
    make_song(music / "new.wav", seed=50)
    report = scan(store)
    assert (report.reheard, report.added) == (6, 1)
    assert answering(store) == (store.models.current_ear, 7)


@in_sqlite
def test_songs_whose_files_are_missing_do_not_keep_a_model_waiting(scanned, music, other_ear):
    store = scanned
    next(music.rglob("Song 0.wav")).unlink()
    import_model(store, model_for(other_ear, music), {})
    report = scan(store)
    assert (report.reheard, report.missing) == (5, 1)
    assert answering(store) == (store.models.current_ear, 5)


def test_choosing_an_older_model_makes_scans_hear_with_its_codebook(scanned, music, other_ear, make_song, heard):
    store = scanned
    first, first_ear = store.models.active, store.models.current_ear
    scan(store, [music], ear=other_ear)
    make_song(music / "new.wav", seed=50)
    scan(store)
    activate_model(store, first)
    assert store.models.current_ear == first_ear
    assert answering(store) == (first_ear, 6)  # the new song was never heard by it
    heard.take()
    assert scan(store).reheard == 1
    assert heard.take() == ["new.wav"]
    assert answering(store) == (first_ear, 7)


def test_another_codebook_takes_a_waiting_model_out(scanned, music, ear, other_ear):
    store = scanned
    model, _ = import_model(store, model_for(other_ear, music), {})
    assert store.models.setting(PENDING) == str(model)
    assert scan(store, ear=ear).unchanged == 6
    assert store.models.setting(PENDING) is None
    assert answering(store)[1] == 6


def test_a_file_moved_while_another_codebook_comes_keeps_its_id_and_is_heard(scanned, music, other_ear, heard):
    store = scanned
    before = {song.title: song.id for song in store.songs.all()}
    next(music.rglob("Song 0.wav")).rename(music / "Moved.wav")
    report = scan(store, [music], ear=other_ear)
    assert (report.found, report.reheard, report.missing) == (6, 6, 0)
    assert {song.title: song.id for song in store.songs.all()}["Moved"] == before["Song 0"]


# ---- the library's own


@in_sqlite
def test_a_codebook_of_the_first_few_songs_is_learned_anew_when_there_are_many(
    store, music, make_song, tmp_path, heard
):
    scan(store, [music / "Artist 0"])  # two songs
    first = store.models.current_ear
    report = scan(store, [music])
    assert (report.unchanged, report.added) == (2, 4)  # three times as many are not enough
    assert store.models.current_ear == first
    for i in range(26):
        make_song(tmp_path / "more" / f"{i}.wav", seed=100 + i)
    notes: list[str] = []
    report = scan(store, [tmp_path / "more"], note=notes.append)
    assert (report.reheard, report.added) == (6, 26)  # those of the other folder too
    assert "the codebook was of the first few songs only: a new one is learned" in notes[0]
    assert store.models.current_ear != first
    assert answering(store) == (store.models.current_ear, 32)
    assert scan(store).unchanged == 32


@in_sqlite
def test_a_codebook_stays_when_a_model_was_learned_with_it(store, music, make_song, heard, ear):
    scan(store, [music / "Artist 0"])
    first = store.models.current_ear
    with store.writing() as connection:
        data = store.models.data(store.models.active, connection)
        learned = store.models.add(connection, "learned", first, data, {})
    activate_model(store, learned)
    for i in range(12):
        make_song(music / "more" / f"{i}.wav", seed=100 + i)
    assert scan(store, [music]).added == 16
    assert (store.models.current_ear, store.models.active) == (first, learned)


@in_sqlite
def test_a_codebook_from_elsewhere_stays_however_many_songs_come(store, music, make_song, heard, ear):
    scan(store, [music / "Artist 0"], ear=ear)
    first = store.models.current_ear
    for i in range(12):
        make_song(music / "more" / f"{i}.wav", seed=100 + i)
    assert scan(store, [music]).added == 16
    assert store.models.current_ear == first


def test_the_native_model_is_made_anew_when_there_are_twice_the_songs(store, music, ear, heard):
    scan(store, [music / "Artist 0"], ear=ear)
    first = store.models.active
    scan(store, [music / "Artist 0", music / "Artist 1"])
    second = store.models.active
    assert second != first
    assert store.models.row(second).facts == {"songs": 4}
    assert len(store.songs.places(first)[0]) == 0  # they are made again if it is wanted
    scan(store, [music])
    assert store.models.active == second  # six are not twice four
    for path in (music / "Artist 0").glob("*.wav"):
        path.unlink()
    scan(store, [music])
    scan(store, [music])
    assert store.models.active == second
    assert len(store.models.rows()) == 2
    activate_model(store, first)
    assert len(store.songs.places(first)[0]) == 6


@in_sqlite
def test_one_song_has_no_model_and_two_have(store, tmp_path, make_song, ear, heard):
    make_song(tmp_path / "music" / "1.wav", seed=1)
    scan(store, [tmp_path / "music"], ear=ear)
    assert store.models.active is None
    make_song(tmp_path / "music" / "2.wav", seed=2)
    scan(store)
    assert answering(store)[1] == 2


@in_sqlite
def test_one_and_two_worker_processes_bring_the_same(place, music, make_song, tmp_path, quick_workers):
    (music / "bad.mp3").write_bytes(b"no sound")
    results = []
    for workers in (1, 2):
        store = scanning.Store(tmp_path / f"{workers}.sqlite")
        report = scan(store, [music], ScanOptions(workers=workers, nice=1))
        assert (report.added, [path for path, _ in report.unreadable]) == (6, [str(music / "bad.mp3")])
        vectors = dict(zip(*map(np.concatenate, zip(*store.songs.vectors(1), strict=True)), strict=True))
        songs = {song.path: (song.title, song.seconds, vectors[song.id].tobytes()) for song in store.songs.all()}
        results.append((store.models.ear(1), songs, store.songs.problems()))
        store.close()
    assert results[0] == results[1]
