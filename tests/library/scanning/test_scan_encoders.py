"""Scans and codebooks: another one analyses all songs anew, and a model answers when all its songs are analysed."""

import numpy as np
import pytest

from codewords_of import codewords_of
from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.models.lifecycle import activate_model, import_model, native_model, use_model
from nearsong.library.scanning import scan as scanning
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.library.store import PENDING

in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)  # where databases make no difference


@pytest.fixture
def scanned(store, music, encoder, analysed):
    """Return a library that has scanned six songs."""
    scan(store, [music], encoder=encoder)
    analysed.take()
    return store


CODEWORDS_ONLY = ScanOptions(encoders=("codewords",))


def model_for(encoder, music):
    """Return a model of the library's songs as this encoder encodes them."""
    vectors = np.array([encoder.encode(path) for path in sorted(music.rglob("*.wav"))])
    return native_model(encoder, vectors, {"from": "elsewhere"})


def answering(store):
    """Return the encoder of the model that answers, and how many songs it can answer with."""
    active = store.models.active
    return store.models.row(active).encoder_ids[0], len(store.songs.embeddings(active)[0])


def test_another_codebook_analyses_all_songs_again_and_then_answers(scanned, music, other_encoder, analysed):
    store = scanned
    ids = [song.id for song in store.songs.all()]
    old, _ = answering(store)
    report = scan(store, [music], encoder=other_encoder)
    assert (report.reanalysed, report.found) == (6, 6)
    assert len(analysed.take()) == 6
    assert [song.id for song in store.songs.all()] == ids
    new, n = answering(store)
    assert old != new == codewords_of(store)
    assert n == 6
    vectors = np.concatenate([rows for _, rows in store.songs.vectors([new])])
    expected = {other_encoder.encode(song.path).astype(np.float32).tobytes() for song in store.songs.all()}
    assert {row.tobytes() for row in vectors} == expected
    assert scan(store, [music], encoder=other_encoder).unchanged == 6


def test_going_back_to_a_codebook_analyses_only_what_came_since(
    scanned, music, encoder, other_encoder, make_song, analysed
):
    store = scanned
    first = store.models.active
    scan(store, [music], encoder=other_encoder)
    make_song(music / "new.wav", seed=50)
    make_song(music / "Artist 0" / "Song 0.wav", seed=60)
    assert scan(store).changed == 1
    analysed.take()
    report = scan(store, encoder=encoder)
    assert analysed.take() == ["Song 0.wav", "new.wav"]
    assert report.reanalysed == 2
    assert store.models.active == first
    assert answering(store)[1] == 7


def test_a_model_from_elsewhere_answers_when_all_songs_are_analysed(scanned, music, other_encoder, analysed):
    store = scanned
    old = store.models.active
    model, answers = import_model(store, model_for(other_encoder, music), {"file": "x"})
    assert not answers
    assert (store.models.active, store.models.setting(PENDING)) == (old, str(model))
    notes: list[str] = []
    report = scan(store, [music / "Artist 0"], note=notes.append)
    assert report.reanalysed == 2
    assert notes == ["4 songs are not analysed with the new encoder yet; run `nearsong scan` again."]
    assert (store.models.active, answering(store)[1]) == (old, 6)  # the old one, with all songs
    scan(store, note=notes.append)
    assert notes[-1] == f"All songs are analysed: model {model} is active now."
    assert (store.models.active, store.models.setting(PENDING)) == (model, None)
    assert answering(store) == (codewords_of(store), 6)


def test_a_model_with_the_librarys_codebook_answers_at_once(scanned, music, encoder):
    model, answers = import_model(scanned, model_for(encoder, music), {"file": "x"})
    assert answers
    assert scanned.models.active == model
    assert answering(scanned)[1] == 6


@in_sqlite
def test_songs_that_come_while_a_model_waits_are_analysed_for_it(scanned, music, other_encoder, make_song):
    store = scanned
    import_model(store, model_for(other_encoder, music), {})
    make_song(music / "new.wav", seed=50)
    report = scan(store)
    assert (report.reanalysed, report.added) == (6, 1)
    assert answering(store) == (codewords_of(store), 7)


@in_sqlite
def test_songs_whose_files_are_missing_do_not_keep_a_model_waiting(scanned, music, other_encoder):
    store = scanned
    next(music.rglob("Song 0.wav")).unlink()
    import_model(store, model_for(other_encoder, music), {})
    report = scan(store)
    assert (report.reanalysed, report.missing) == (5, 1)
    assert answering(store) == (codewords_of(store), 5)


def test_choosing_an_older_model_makes_scans_analyse_with_its_codebook(
    scanned, music, other_encoder, make_song, analysed
):
    store = scanned
    first, first_encoder = store.models.active, codewords_of(store)
    scan(store, [music], encoder=other_encoder)
    make_song(music / "new.wav", seed=50)
    scan(store)
    activate_model(store, first)
    assert codewords_of(store) == first_encoder
    assert answering(store) == (first_encoder, 6)  # the new song was never analysed by it
    analysed.take()
    assert scan(store).reanalysed == 1
    assert analysed.take() == ["new.wav"]
    assert answering(store) == (first_encoder, 7)


def test_another_codebook_takes_a_waiting_model_out(scanned, music, encoder, other_encoder):
    store = scanned
    model, _ = import_model(store, model_for(other_encoder, music), {})
    assert store.models.setting(PENDING) == str(model)
    assert scan(store, encoder=encoder).unchanged == 6
    assert store.models.setting(PENDING) is None
    assert answering(store)[1] == 6


def test_a_file_moved_while_another_codebook_comes_keeps_its_id_and_is_analysed(
    scanned, music, other_encoder, analysed
):
    store = scanned
    before = {song.title: song.id for song in store.songs.all()}
    next(music.rglob("Song 0.wav")).rename(music / "Moved.wav")
    report = scan(store, [music], encoder=other_encoder)
    assert (report.found, report.reanalysed, report.missing) == (6, 6, 0)
    assert {song.title: song.id for song in store.songs.all()}["Moved"] == before["Song 0"]


# ---- the library's own


@in_sqlite
def test_a_codebook_of_the_first_few_songs_is_learned_anew_when_there_are_many(
    store, music, make_song, tmp_path, analysed
):
    scan(store, [music / "Artist 0"], CODEWORDS_ONLY)  # two songs
    first = codewords_of(store)
    report = scan(store, [music])
    assert (report.unchanged, report.added) == (2, 4)  # three times as many are not enough
    assert codewords_of(store) == first
    for i in range(26):
        make_song(tmp_path / "more" / f"{i}.wav", seed=100 + i)
    notes: list[str] = []
    report = scan(store, [tmp_path / "more"], note=notes.append)
    assert (report.reanalysed, report.added) == (6, 26)  # those of the other folder too
    assert notes[0] == "Encoders that were fitted to the first few songs only are fitted again: codewords."
    assert codewords_of(store) != first
    assert answering(store) == (codewords_of(store), 32)
    assert scan(store).unchanged == 32


@in_sqlite
def test_a_codebook_stays_when_a_model_was_learned_with_it(store, music, make_song, analysed, encoder):
    scan(store, [music / "Artist 0"], CODEWORDS_ONLY)
    first = codewords_of(store)
    with store.writing() as connection:
        data = store.models.data(store.models.active, connection)
        learned = store.models.add(connection, "learned", [first], data, {})
    activate_model(store, learned)
    for i in range(12):
        make_song(music / "more" / f"{i}.wav", seed=100 + i)
    assert scan(store, [music]).added == 16
    assert (codewords_of(store), store.models.active) == (first, learned)


@in_sqlite
def test_a_codebook_from_elsewhere_stays_however_many_songs_come(store, music, make_song, analysed, encoder):
    scan(store, [music / "Artist 0"], encoder=encoder)
    first = codewords_of(store)
    for i in range(12):
        make_song(music / "more" / f"{i}.wav", seed=100 + i)
    assert scan(store, [music]).added == 16
    assert codewords_of(store) == first


def test_the_native_model_is_made_anew_when_there_are_twice_the_songs(store, music, encoder, analysed):
    scan(store, [music / "Artist 0"], encoder=encoder)
    first = store.models.active
    scan(store, [music / "Artist 0", music / "Artist 1"])
    second = store.models.active
    assert second != first
    assert store.models.row(second).facts == {"songs": 4}
    assert len(store.songs.embeddings(first)[0]) == 0  # they are made again if it is wanted
    scan(store, [music])
    assert store.models.active == second  # six are not twice four
    for path in (music / "Artist 0").glob("*.wav"):
        path.unlink()
    scan(store, [music])
    scan(store, [music])
    assert store.models.active == second
    assert len(store.models.rows()) == 2
    activate_model(store, first)
    assert len(store.songs.embeddings(first)[0]) == 6


@in_sqlite
def test_one_song_has_no_model_and_two_have(store, tmp_path, make_song, encoder, analysed):
    make_song(tmp_path / "music" / "1.wav", seed=1)
    scan(store, [tmp_path / "music"], encoder=encoder)
    assert store.models.active is None
    make_song(tmp_path / "music" / "2.wav", seed=2)
    scan(store)
    assert answering(store)[1] == 2


@in_sqlite
def test_one_and_two_worker_processes_bring_the_same(address, music, make_song, tmp_path, quick_workers):
    (music / "bad.mp3").write_bytes(b"no sound")
    results = []
    for workers in (1, 2):
        store = scanning.Store(tmp_path / f"{workers}.sqlite")
        report = scan(store, [music], ScanOptions(workers=workers, nice=1))
        assert (report.added, [path for path, _ in report.unreadable]) == (6, [str(music / "bad.mp3")])
        vectors = dict(zip(*map(np.concatenate, zip(*store.songs.vectors([1]), strict=True)), strict=True))
        songs = {song.path: (song.title, song.seconds, vectors[song.id].tobytes()) for song in store.songs.all()}
        results.append((store.models.encoder(1), songs, store.songs.problems()))
        store.close()
    assert results[0] == results[1]


# ---- an encoder that scans no longer use


@pytest.fixture
def with_gaussian(scanned, music):
    """Return a library of two encoders whose active model is one of the gaussian encoder."""
    scan(scanned, [music], ScanOptions(encoders=("codewords", "gaussian")))
    encoder_id = scanned.models.scanned_encoders()["gaussian"]
    vectors = next(rows for _, rows in scanned.songs.vectors([encoder_id]))
    model = native_model(stored_encoder(scanned, [encoder_id]), vectors, {"from": "elsewhere"})
    model_id, is_active = import_model(scanned, model, {"file": "x"})
    assert is_active
    return scanned, model_id


@in_sqlite
def test_a_scan_without_the_active_models_encoder_says_which_model_is_active_and_how_to_go_back(with_gaussian, music):
    store, previous = with_gaussian
    notes: list[str] = []
    scan(store, [music], ScanOptions(encoders=("codewords",)), note=notes.append)
    active = store.models.active
    assert store.models.row(active).encoder_ids[0] == store.models.scanned_encoders()["codewords"]
    assert notes == [
        f"Model {active} (native) is now active instead of model {previous} (imported), whose encoder, gaussian, is "
        f"no longer used. To go back: nearsong models use {previous}, then nearsong scan"
    ]
    assert use_model(store, previous) == 6
    scan(store)
    assert (store.models.active, answering(store)[1]) == (previous, 6)


@in_sqlite
def test_a_native_model_that_goes_with_its_encoder_comes_back_with_it(scanned, music):
    store, notes = scanned, list[str]()
    scan(store, [music], ScanOptions(encoders=("gaussian",)), note=notes.append)
    first = store.models.active
    assert notes.pop() == (
        f"Model {first} (native) is now active instead of model 1, which was removed with its encoder, codewords. "
        "To go back: nearsong scan --encoders codewords"
    )
    scan(store, [music], ScanOptions(encoders=("codewords",)), note=notes.append)
    assert store.models.row(store.models.active).encoder_ids[0] == store.models.scanned_encoders()["codewords"]
    assert len(notes) == 1


@in_sqlite
def test_an_imported_model_whose_codebook_is_replaced_is_named(scanned, music, encoder, other_encoder):
    store = scanned
    model_id, _ = import_model(store, model_for(encoder, music), {"file": "x"})
    notes: list[str] = []
    scan(store, [music], encoder=other_encoder, note=notes.append)
    assert notes == [
        f"Model {store.models.active} (native) is now active instead of model {model_id}, whose encoder was "
        f"replaced. To go back: nearsong models use {model_id}"
    ]
    assert use_model(store, model_id) == 0
