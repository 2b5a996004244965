"""The native space beside the learned one, against projecting every song anew."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from nearsong.encoding import Codebook
from nearsong.library.beside import IN_MEMORY, native_space
from nearsong.library.projection import Placer, add_model, add_native, native_model, sample_vectors, set_ear
from nearsong.library.records import Tags
from nearsong.library.space import Space
from nearsong.library.store import ScannedFile, Store
from nearsong.model import Ear, Encoder, SimilarityModel

N = 25


def histogram(i: int, size: int = 16) -> np.ndarray:
    return np.random.default_rng([i, 5]).dirichlet(np.ones(size)).astype(np.float32)


def put(store, i, ear_id, vector=None):
    with store.writing() as connection:
        file = ScannedFile(f"/{i}.mp3", 1, 2, f"{i}", Tags(artist=f"a{i}", title=f"{i}"), vector=vector)
        return store.songs.put(connection, file, ear_id)


def learned_from(model, seed=0):
    """Return a model that has another metric over the same sounds."""
    views = [
        replace(view, factor=np.random.default_rng(seed).normal(size=(3, view.factor.shape[1])))
        for view in model.views
    ]
    return SimilarityModel(model.encoders, views, model.features, {})


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(Store(tmp_path / "l.sqlite")) as opened:
        yield opened


@pytest.fixture
def ear_id(store, ear):
    ear_id, _ = set_ear(store, ear)
    for i in range(N):
        put(store, i, ear_id, histogram(i))
    return ear_id


def beside(store):
    space = Space.load(store)
    return space, native_space(store, space, store.models.row(space.model_id))


def vectors_of(store, ear_id, space):
    ids, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors(ear_id), strict=True))
    return vectors[np.searchsorted(ids, space.ids)]


def test_where_the_native_model_answers_it_is_the_same_space(store, ear_id):
    add_native(store)
    space, native = beside(store)
    assert native is space


def test_songs_are_where_the_newest_native_model_of_the_ear_has_them(store, ear_id, ear, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.songs.BLOCK", 7)
    add_model(store, native_model(ear, np.array([histogram(i) for i in range(9)]), {}), ear_id, "native", {})
    newest = native_model(ear, np.array([histogram(i) for i in range(N)]), {})
    newest_id = add_model(store, newest, ear_id, "native", {})
    add_model(store, learned_from(newest), ear_id, "learned", {})
    for i in range(N, N + 10):  # they have no place under the native model
        song = put(store, i, ear_id, histogram(i))
        with store.writing() as connection:
            Placer(store).place(connection, song, ear_id, histogram(i))
    store.songs.set_missing([3, 30], True)
    space, native = beside(store)
    assert native.model_id == newest_id
    assert native.songs == space.songs
    assert len(native.songs) == N + 8
    assert native.missing == space.missing == {3, 30}
    np.testing.assert_allclose(native.places, newest.project(vectors_of(store, ear_id, space)), atol=1e-5)


def test_a_native_model_whose_places_were_dropped_serves_all_the_same(store, ear_id, ear):
    native_id = add_native(store)
    model = SimilarityModel.from_bytes(store.models.data(native_id))
    add_model(store, learned_from(model), ear_id, "learned", {})
    store.models.drop_places(native_id)
    space, native = beside(store)
    np.testing.assert_allclose(native.places, model.project(vectors_of(store, ear_id, space)), atol=1e-5)


def test_a_native_model_of_another_ear_does_not_count(store, ear_id, ear, other_ear):
    add_native(store)
    other_id, _ = set_ear(store, other_ear, replace=True)
    foreign = [histogram(100 + i) for i in range(N)]
    with store.writing() as connection:
        for i, vector in enumerate(foreign):
            store.songs.add_sound(connection, i + 1, other_id, vector)
    imported = learned_from(native_model(other_ear, np.array(foreign), {}))
    add_model(store, imported, other_id, "imported", {})
    space, native = beside(store)
    assert native.model_id == IN_MEMORY
    assert native.songs == space.songs
    expected = native_model(other_ear, sample_vectors(store, other_id, 5000, 0), {})
    np.testing.assert_allclose(native.places, expected.project(np.array(foreign)), atol=1e-5)


def test_an_ear_with_several_codebooks_counts_each_as_much(store):
    frames = np.random.default_rng(7).normal(scale=3, size=(400, 39))
    ear = Ear([Encoder(Codebook(size, random_state=size).fit(frames), tau=2) for size in (16, 8)])
    ear_id, _ = set_ear(store, ear)
    vectors = np.array([np.append(histogram(i), histogram(i, 8)) for i in range(N)])
    for i, vector in enumerate(vectors):
        put(store, i, ear_id, vector)
    parts = [vectors[:, :16], vectors[:, 16:]]
    alone = [native_model(Ear([one]), part, {}) for one, part in zip(ear.encoders, parts, strict=True)]
    add_model(store, learned_from(SimilarityModel.combined(alone)), ear_id, "imported", {})
    _, native = beside(store)

    def squares(places):
        return ((places[:, None] - places[None]) ** 2).sum(axis=2)

    each = [squares(model.project(part)) for model, part in zip(alone, parts, strict=True)]
    expected = sum(away / away.mean() for away in each) / 2
    np.testing.assert_allclose(squares(native.places.astype(float)), expected, atol=1e-5)


@pytest.mark.parametrize("songs", [1, 4])
def test_without_two_different_songs_the_space_stands_for_itself(store, ear, songs):
    ear_id, _ = set_ear(store, ear)
    for i in range(songs):
        put(store, i, ear_id, histogram(0))
    model = native_model(ear, np.array([histogram(i) for i in range(9)]), {})
    add_model(store, learned_from(model), ear_id, "imported", {})
    space, native = beside(store)
    assert native is space


def test_a_song_that_is_removed_meanwhile_is_left_out(store, ear_id, ear):
    model = native_model(ear, np.array([histogram(i) for i in range(N)]), {})
    add_model(store, learned_from(model), ear_id, "imported", {})
    space = Space.load(store)
    row = store.models.row(space.model_id)
    store.songs.remove([5, 9])
    native = native_space(store, space, row)
    assert [song.id for song in native.songs] == [song.id for song in space.songs if song.id not in (5, 9)]
    assert len(native.places) == N - 2
