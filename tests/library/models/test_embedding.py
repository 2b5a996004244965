"""Embeddings that depend on the artist's other songs are those of all songs at once, whatever happened in between."""

import numpy as np
import pytest

from artist_means import ArtistMeans, artist_model, check_artist_embeddings
from nearsong.audio.tags import Tags
from nearsong.library.models import embedding
from nearsong.library.models.embedding import Embedder, update_embeddings
from nearsong.library.models.library_encoders import set_encoders
from nearsong.library.models.lifecycle import activate_model, add_model, add_native
from nearsong.library.store import ScannedFile
from nearsong.model.pipeline import PROJECTORS

N = 24
ARTISTS = ("", "Ä & B", "b", "c", "d")


def vector(seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 5]).dirichlet(np.ones(16)).astype(np.float32)


def put(store, encoder_id, i: int, artist: str, seed: int, *, embed: bool = True) -> int:
    file = ScannedFile(
        f"/{i}.mp3", 1, 2, f"{i}", Tags(artist=artist, title=f"{i}"), vectors={encoder_id: vector(seed)}
    )
    with store.writing() as connection:
        song = store.songs.put(connection, file)
        if embed:
            Embedder(store).embed(connection, song, file.vectors)
    return song


@pytest.fixture(autouse=True)
def artist_means(monkeypatch):
    monkeypatch.setitem(PROJECTORS, ArtistMeans.kind, ArtistMeans)


@pytest.fixture
def encoder_id(store, encoder) -> int:
    (encoder_id,) = set_encoders(store, [encoder])
    for i in range(N):
        put(store, encoder_id, i, ARTISTS[i % len(ARTISTS)], i, embed=False)
    return encoder_id


@pytest.fixture
def model(encoder):
    return artist_model(encoder)


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_an_active_model_has_the_embeddings_of_all_songs_at_once(store, encoder_id, model, monkeypatch, block):
    monkeypatch.setattr(embedding, "BLOCK_SONGS", block)
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", max(2, block // 100))
    done = []
    model_id = add_model(store, model, [encoder_id], "learned", {}, progress=lambda _, n, total: done.append(n))
    assert store.models.row(model_id).uses_artists
    check_artist_embeddings(store, model_id, model)
    assert done == sorted(done)


def change(store, encoder_id, random) -> str:
    """Change the library as a scan does, at random; return what was done."""
    songs = store.songs.all()
    song = songs[random.integers(len(songs))]
    artist, seed = ARTISTS[random.integers(len(ARTISTS))], int(random.integers(10_000))
    what = ("add", "change", "retag", "move", "remove", "break", "vector")[random.integers(7)]
    if what in ("add", "change"):
        put(store, encoder_id, 1_000 + seed if what == "add" else int(song.path[1:-4]), artist, seed)
    elif what == "remove" and len(songs) > 3:
        store.songs.remove([song.id])
    elif what == "break" and len(songs) > 3:
        with store.writing() as connection:
            store.songs.put(connection, ScannedFile(song.path, 1, 2, "", Tags(), problem="cannot be read"))
    else:
        with store.writing() as connection:
            tags = Tags(artist=artist, title="x")
            if what == "retag":
                is_other = store.songs.touch(connection, song.id, 1, 3, tags)
            elif what == "move":
                is_other = store.songs.move(connection, song.id, f"/{100_000 + seed}.mp3", 1, 3, tags)
            else:
                store.songs.add_vectors(connection, song.id, {encoder_id: vector(seed)})
                is_other = True
            if is_other:
                Embedder(store).embed(connection, song.id, [encoder_id])
    return what


def test_after_any_sequence_of_changes_the_embeddings_are_those_of_all_songs_at_once(
    store, encoder_id, model, monkeypatch
):
    monkeypatch.setattr(embedding, "BLOCK_SONGS", 4)
    model_id = add_model(store, model, [encoder_id], "learned", {})
    random = np.random.default_rng(1)
    for n_changes in (1, 1, 1, 1, 1, 1, 2, 3, 5, 8):
        done = [change(store, encoder_id, random) for _ in range(n_changes)]
        assert len(store.songs.embeddings(model_id)[0]) == len(store.songs.all()), done  # at any time, for answers
        update_embeddings(store)
        check_artist_embeddings(store, model_id, model)
    with store.writing() as connection:
        assert store.songs.stale(connection, model_id) == []


def test_an_interrupted_update_is_finished_by_the_next(store, encoder_id, model, monkeypatch):
    monkeypatch.setattr(embedding, "BLOCK_SONGS", 1)
    model_id = add_model(store, model, [encoder_id], "learned", {})
    for i, artist in enumerate(ARTISTS):
        put(store, encoder_id, 100 + i, artist, 100 + i)

    def interrupt(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update_embeddings(store, interrupt)
    with store.writing() as connection:
        assert 0 < len(store.songs.stale(connection, model_id)) < len(ARTISTS)
    update_embeddings(store)
    check_artist_embeddings(store, model_id, model)


def test_songs_that_change_while_a_model_is_activated_are_embedded_with_their_artists(
    store, encoder_id, model, monkeypatch
):
    monkeypatch.setattr(embedding, "BLOCK_SONGS", 3)
    random, steps = np.random.default_rng(2), []
    add_native(store)

    def meanwhile(stage, done, total):
        if len(steps) < 6:
            steps.append(change(store, encoder_id, random))

    model_id = add_model(store, model, [encoder_id], "learned", {}, progress=meanwhile)
    assert len(steps) >= 3
    assert store.models.active == model_id
    update_embeddings(store)  # the last change came when it was active already
    check_artist_embeddings(store, model_id, model)


def test_a_model_that_was_not_active_when_songs_changed_catches_up_when_it_is_used(store, encoder_id, encoder, model):
    first = add_model(store, model, [encoder_id], "learned", {})
    second_model = artist_model(encoder, seed=1)
    second = add_model(store, second_model, [encoder_id], "learned", {})
    random = np.random.default_rng(3)
    for _ in range(12):
        change(store, encoder_id, random)
    update_embeddings(store)
    check_artist_embeddings(store, second, second_model)
    activate_model(store, first)
    check_artist_embeddings(store, first, model)


def test_songs_of_an_artist_with_very_many_are_embedded_in_groups(store, encoder_id, model, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_ARTIST_SONGS", 2)
    model_id = add_model(store, model, [encoder_id], "learned", {})
    of_artist = [song.id for song in store.songs.all() if song.artist == "b"][:2]
    ids, embeddings = store.songs.embeddings(model_id)
    ((_, vectors),) = store.songs.vectors([encoder_id], of_artist)
    expected = model.project_database(vectors, np.zeros(2, dtype=np.int64)).astype(np.float32)
    np.testing.assert_array_equal(embeddings[np.isin(ids, of_artist)], expected)
