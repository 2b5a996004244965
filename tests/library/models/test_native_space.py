"""The native space next to the learned one, against projecting every song anew."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from nearsong.audio.tags import Tags
from nearsong.encoding import Codebook
from nearsong.library.models.embedding import Embedder
from nearsong.library.models.library_encoders import set_encoders
from nearsong.library.models.lifecycle import add_model, add_native, native_model, sample_vectors
from nearsong.library.models.native_space import IN_MEMORY_MODEL_ID, native_space
from nearsong.library.neighbours.space import Space
from nearsong.library.store import ScannedFile, Store
from nearsong.model import CodewordEncoder, MetricProjector, Quantizer, SimilarityModel
from nearsong.model.encoders import joined

N = 25


def histogram(i: int, size: int = 16) -> np.ndarray:
    return np.random.default_rng([i, 5]).dirichlet(np.ones(size)).astype(np.float32)


def put(store, i, encoder_id, vector=None):
    with store.writing() as connection:
        file = ScannedFile(
            f"/{i}.mp3", 1, 2, f"{i}", Tags(artist=f"a{i}", title=f"{i}"), vectors={encoder_id: vector}
        )
        return store.songs.put(connection, file)


def learned_from(model, seed=0):
    """Return a model that has another metric over the same sounds."""
    projections = [
        replace(projection, factor=np.random.default_rng(seed).normal(size=(3, projection.factor.shape[1])))
        for projection in model.projector.projections
    ]
    return SimilarityModel(model.encoder, MetricProjector(projections), {})


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(Store(tmp_path / "l.sqlite")) as opened:
        yield opened


@pytest.fixture
def encoder_id(store, encoder):
    (encoder_id,) = set_encoders(store, [encoder])
    for i in range(N):
        put(store, i, encoder_id, histogram(i))
    return encoder_id


def both_spaces(store):
    space = Space.load(store)
    return space, native_space(store, space, store.models.row(space.model_id))


def vectors_of(store, encoder_id, space):
    ids, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors([encoder_id]), strict=True))
    return vectors[np.searchsorted(ids, space.ids)]


def test_where_the_native_model_answers_it_is_the_same_space(store, encoder_id):
    add_native(store)
    space, native = both_spaces(store)
    assert native is space


def test_songs_are_where_the_newest_native_model_of_the_encoder_has_them(store, encoder_id, encoder, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", 7)
    add_model(
        store, native_model(encoder, np.array([histogram(i) for i in range(9)]), {}), [encoder_id], "native", {}
    )
    newest = native_model(encoder, np.array([histogram(i) for i in range(N)]), {})
    newest_id = add_model(store, newest, [encoder_id], "native", {})
    add_model(store, learned_from(newest), [encoder_id], "learned", {})
    for i in range(N, N + 10):  # they have no embedding under the native model
        song = put(store, i, encoder_id, histogram(i))
        with store.writing() as connection:
            Embedder(store).embed(connection, song, {encoder_id: histogram(i)})
    store.songs.set_missing([3, 30], True)
    space, native = both_spaces(store)
    assert native.model_id == newest_id
    assert native.songs == space.songs
    assert len(native.songs) == N + 8
    assert native.missing == space.missing == {3, 30}
    np.testing.assert_allclose(native.embeddings, newest.project(vectors_of(store, encoder_id, space)), atol=1e-5)


def test_a_native_model_whose_embeddings_were_dropped_serves_all_the_same(store, encoder_id, encoder):
    native_id = add_native(store)
    model = SimilarityModel.from_bytes(store.models.data(native_id))
    add_model(store, learned_from(model), [encoder_id], "learned", {})
    store.models.drop_embeddings(native_id)
    space, native = both_spaces(store)
    np.testing.assert_allclose(native.embeddings, model.project(vectors_of(store, encoder_id, space)), atol=1e-5)


def test_a_native_model_of_another_encoder_does_not_count(store, encoder_id, encoder, other_encoder):
    add_native(store)
    (other_id,) = set_encoders(store, [other_encoder], replace=True)
    foreign = [histogram(100 + i) for i in range(N)]
    with store.writing() as connection:
        for i, vector in enumerate(foreign):
            store.songs.add_vectors(connection, i + 1, {other_id: vector})
    imported = learned_from(native_model(other_encoder, np.array(foreign), {}))
    add_model(store, imported, [other_id], "imported", {})
    space, native = both_spaces(store)
    assert native.model_id == IN_MEMORY_MODEL_ID
    assert native.songs == space.songs
    expected = native_model(other_encoder, sample_vectors(store, [other_id], 5000, 0), {})
    np.testing.assert_allclose(native.embeddings, expected.project(np.array(foreign)), atol=1e-5)


def test_an_encoder_with_several_codebooks_counts_each_as_much(store):
    frames = np.random.default_rng(7).normal(scale=3, size=(400, 39))
    encoders = [CodewordEncoder(Quantizer(Codebook(size, random_state=size).fit(frames), tau=2)) for size in (16, 8)]
    encoder = joined(encoders)
    (encoder_id,) = set_encoders(store, [encoder])
    vectors = np.array([np.append(histogram(i), histogram(i, 8)) for i in range(N)])
    for i, vector in enumerate(vectors):
        put(store, i, encoder_id, vector)
    parts = [vectors[:, :16], vectors[:, 16:]]
    alone = [native_model(one, part, {}) for one, part in zip(encoders, parts, strict=True)]
    add_model(store, learned_from(SimilarityModel.combined(alone)), [encoder_id], "imported", {})
    _, native = both_spaces(store)

    def squares(embeddings):
        return ((embeddings[:, None] - embeddings[None]) ** 2).sum(axis=2)

    each = [squares(model.project(part)) for model, part in zip(alone, parts, strict=True)]
    expected = sum(distances / distances.mean() for distances in each) / 2
    np.testing.assert_allclose(squares(native.embeddings.astype(float)), expected, atol=1e-5)


@pytest.mark.parametrize("songs", [1, 4])
def test_without_two_different_songs_the_space_stands_for_itself(store, encoder, songs):
    (encoder_id,) = set_encoders(store, [encoder])
    for i in range(songs):
        put(store, i, encoder_id, histogram(0))
    model = native_model(encoder, np.array([histogram(i) for i in range(9)]), {})
    add_model(store, learned_from(model), [encoder_id], "imported", {})
    space, native = both_spaces(store)
    assert native is space


def test_a_song_that_is_removed_meanwhile_is_left_out(store, encoder_id, encoder):
    model = native_model(encoder, np.array([histogram(i) for i in range(N)]), {})
    add_model(store, learned_from(model), [encoder_id], "imported", {})
    space = Space.load(store)
    row = store.models.row(space.model_id)
    store.songs.remove([5, 9])
    native = native_space(store, space, row)
    assert [song.id for song in native.songs] == [song.id for song in space.songs if song.id not in (5, 9)]
    assert len(native.embeddings) == N - 2
