"""Models become active in one moment, with an embedding for every song."""

import threading
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest

from codewords_of import codewords_of
from nearsong.audio.tags import Tags
from nearsong.errors import LibraryError
from nearsong.library.models import lifecycle as projection
from nearsong.library.models.embedding import Embedder
from nearsong.library.models.library_encoders import set_encoders, stored_encoder
from nearsong.library.models.lifecycle import activate_model, add_model, add_native, native_model
from nearsong.library.store import ScannedFile, Store
from waiting import wait_for

N = 30


def histogram(i: int) -> np.ndarray:
    counts = np.random.default_rng([i, 5]).dirichlet(np.ones(16))
    return counts.astype(np.float32)


def put(store, i: int, encoder_id: int, placer=None, seed: int | None = None) -> int:
    vector = histogram(i if seed is None else seed)
    with store.writing() as connection:
        file = ScannedFile(f"/{i}.mp3", 1, 2, f"{i}", Tags(title=f"{i}"), vectors={encoder_id: vector})
        song = store.songs.put(connection, file)
        if placer is not None:
            placer.embed(connection, song, {encoder_id: vector})
    return song


@pytest.fixture
def encoder_id(store, encoder) -> int:
    """Return the encoder of a library with some songs."""
    (encoder_id,) = set_encoders(store, [encoder])
    for i in range(N):
        put(store, i, encoder_id)
    return encoder_id


@pytest.fixture
def model(encoder):
    """Return another model for the same encoder."""
    return native_model(encoder, np.array([histogram(i) for i in range(10)]), {})


def check_embeddings(store, model_id, model, encoder_id) -> None:
    """Check that every song has the embedding that its sound has under a model."""
    ids, embeddings = store.songs.embeddings(model_id)
    songs, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors([encoder_id]), strict=True))
    assert ids.tolist() == songs.tolist()
    np.testing.assert_allclose(embeddings, model.project(vectors), atol=1e-5)


def test_an_active_model_has_an_embedding_for_every_song(store, encoder_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", 7)
    reported = []
    model_id = add_model(
        store, model, [encoder_id], "learned", {"a": 1}, progress=lambda *facts: reported.append(facts)
    )
    assert store.models.active == model_id
    check_embeddings(store, model_id, model, encoder_id)
    assert reported[0][0] == "embedding songs"
    assert reported[-1] == ("embedding songs", N, N)
    assert [done for _, done, _ in reported] == sorted(done for _, done, _ in reported)


def test_the_native_model_does_not_depend_on_which_song_was_analysed_first(store, encoder_id, encoder, tmp_path):
    with closing(Store(tmp_path / "other.sqlite")) as other:
        (other_id,) = set_encoders(other, [encoder])
        for i in reversed(range(N)):
            put(other, i, other_id)
        assert other.models.data(add_native(other)) == store.models.data(add_native(store))


def test_a_model_can_be_stored_without_answering(store, encoder_id, model):
    model_id = add_model(store, model, [encoder_id], "learned", {}, activate=False)
    assert store.models.active is None
    assert len(store.songs.embeddings(model_id)[0]) == 0


def test_the_native_model_needs_two_songs_that_differ(store, encoder):
    assert add_native(store) is None
    (encoder_id,) = set_encoders(store, [encoder])
    put(store, 0, encoder_id)
    assert add_native(store) is None
    put(store, 1, encoder_id, seed=0)
    assert add_native(store) is None
    put(store, 2, encoder_id)
    model_id = add_native(store)
    assert model_id == store.models.active
    assert store.models.row(model_id).facts == {"songs": 3}


def test_the_native_model_is_fitted_on_a_sample_that_its_seed_chooses(store, encoder_id, monkeypatch):
    monkeypatch.setattr(projection, "MAX_PCA_SONGS", 10)
    models = [store.models.data(add_native(store, seed)) for seed in (0, 0, 1)]
    assert models[0] == models[1] != models[2]


def test_going_back_gives_songs_that_changed_meanwhile_a_new_embedding(store, encoder_id, model):
    first = add_native(store)
    second = add_model(store, model, [encoder_id], "learned", {})
    placer = Embedder(store)
    put(store, 3, encoder_id, placer, seed=100)  # changed
    put(store, N, encoder_id, placer)  # new
    check_embeddings(store, second, model, encoder_id)
    assert len(store.songs.embeddings(first)[0]) == N - 1
    activate_model(store, first)
    check_embeddings(store, first, projection.SimilarityModel.from_bytes(store.models.data(first)), encoder_id)


def test_songs_that_come_and_change_while_a_model_is_activated_get_their_embeddings(
    store, encoder_id, model, monkeypatch
):
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", 5)
    add_native(store)
    placer = Embedder(store)
    steps = []

    def meanwhile(stage, done, total):
        if len(steps) < 4:
            steps.append(done)
            put(store, 0, encoder_id, placer, seed=200 + done)  # behind, changed once more
            put(store, N - 1, encoder_id, placer, seed=300 + done)  # ahead
            put(store, N + len(steps), encoder_id, placer)  # new

    model_id = add_model(store, model, [encoder_id], "learned", {}, progress=meanwhile)
    assert len(steps) == 4
    assert len(store.songs.embeddings(model_id)[0]) == N + 4
    check_embeddings(store, model_id, model, encoder_id)


def test_whoever_asks_while_models_change_always_finds_all_songs(store, encoder_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", 4)
    add_model(store, model, [encoder_id], "learned", {})
    seen: list[tuple[int, int]] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            active = store.models.active
            seen.append((active, len(store.songs.embeddings(active)[0])))

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        for kind in ("imported", "learned") * 3:  # the second of a kind is the first one, used again
            model_id = add_model(store, model, [encoder_id], kind, {})
            wait_for(lambda model_id=model_id: seen[-1][0] == model_id)
    finally:
        stop.set()
        reader.join()
    assert len({active for active, _ in seen}) == 2
    changes = sum(before != after for (before, _), (after, _) in pairwise(seen))
    assert changes >= 5  # it did look in between
    assert {n for _, n in seen} == {N}


def test_a_model_that_is_removed_while_it_is_activated_does_not_answer(store, encoder_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", 5)
    first = add_native(store)
    model_id = add_model(store, model, [encoder_id], "learned", {}, activate=False)

    def meanwhile(stage, done, total):
        if done == N:
            store.models.remove(model_id)

    with pytest.raises(LibraryError, match=f"Model not found: {model_id}"):
        activate_model(store, model_id, progress=meanwhile)
    assert store.models.active == first


def test_new_songs_get_an_embedding_under_the_model_that_answers_then(
    store, encoder_id, encoder, other_encoder, model
):
    placer = Embedder(store)
    put(store, N, encoder_id, placer)  # nobody answers yet
    first = add_native(store)
    put(store, N + 1, encoder_id, placer)
    second = add_model(store, model, [encoder_id], "learned", {})
    put(store, N + 2, encoder_id, placer)
    assert len(store.songs.embeddings(first)[0]) == N + 2
    check_embeddings(store, second, model, encoder_id)
    (other_id,) = set_encoders(store, [other_encoder], replace=True)
    put(store, N + 3, other_id, placer)  # analysed by another encoder than the model's
    assert len(store.songs.embeddings(second)[0]) == N + 3


def test_of_two_scans_that_learn_an_encoder_the_first_decides(store, encoder, other_encoder):
    (first,) = set_encoders(store, [encoder], fitted_songs=5)
    assert set_encoders(store, [other_encoder], fitted_songs=5) == (first,)
    (second,) = set_encoders(store, [other_encoder], instead_of=[first], fitted_songs=9)
    assert second == codewords_of(store) != first
    assert set_encoders(store, [encoder], instead_of=[first]) == (second,)  # too late
    assert stored_encoder(store, [second]).key == other_encoder.key
