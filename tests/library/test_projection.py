"""Models become active in one moment, with a place for every song."""

import threading
import time

import numpy as np
import pytest

from nearsong.errors import LibraryError
from nearsong.library import projection
from nearsong.library.projection import Placer, activate_model, add_model, add_native, native_model, set_ear
from nearsong.library.records import Tags
from nearsong.library.store import ScannedFile

N = 30


def histogram(i: int) -> np.ndarray:
    counts = np.random.default_rng([i, 5]).dirichlet(np.ones(16))
    return counts.astype(np.float32)


def put(store, i: int, ear_id: int, placer=None, seed: int | None = None) -> int:
    vector = histogram(i if seed is None else seed)
    with store.writing() as connection:
        file = ScannedFile(f"/{i}.mp3", 1, 2, f"{i}", Tags(title=f"{i}"), vector=vector)
        song = store.songs.put(connection, file, ear_id)
        if placer is not None:
            placer.place(connection, song, ear_id, vector)
    return song


@pytest.fixture
def ear_id(store, ear) -> int:
    """Return the ear of a library with some songs."""
    ear_id, _ = set_ear(store, ear)
    for i in range(N):
        put(store, i, ear_id)
    return ear_id


@pytest.fixture
def model(ear):
    """Return another model for the same ear."""
    return native_model(ear, np.array([histogram(i) for i in range(10)]), {})


def check_places(store, model_id, model, ear_id) -> None:
    """Check that every song has the place that its sound has under a model."""
    ids, places = store.songs.places(model_id)
    songs, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors(ear_id), strict=True))
    assert ids.tolist() == songs.tolist()
    np.testing.assert_allclose(places, model.project(vectors), atol=1e-5)


def test_an_active_model_has_a_place_for_every_song(store, ear_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.songs.BLOCK", 7)
    told = []
    model_id = add_model(store, model, ear_id, "learned", {"a": 1}, progress=lambda *facts: told.append(facts))
    assert store.models.active == model_id
    check_places(store, model_id, model, ear_id)
    assert told[0][0] == "placing songs"
    assert told[-1] == ("placing songs", N, N)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_model_can_be_kept_without_answering(store, ear_id, model):
    model_id = add_model(store, model, ear_id, "learned", {}, activate=False)
    assert store.models.active is None
    assert len(store.songs.places(model_id)[0]) == 0


def test_the_native_model_needs_two_songs_that_differ(store, ear):
    assert add_native(store) is None
    ear_id, _ = set_ear(store, ear)
    put(store, 0, ear_id)
    assert add_native(store) is None
    put(store, 1, ear_id, seed=0)
    assert add_native(store) is None
    put(store, 2, ear_id)
    model_id = add_native(store)
    assert model_id == store.models.active
    assert store.models.row(model_id).facts == {"songs": 3}


def test_the_native_model_is_fitted_on_a_sample_that_its_seed_chooses(store, ear_id, monkeypatch):
    monkeypatch.setattr(projection, "PCA_SONGS", 10)
    models = [store.models.data(add_native(store, seed)) for seed in (0, 0, 1)]
    assert models[0] == models[1] != models[2]


def test_going_back_gives_songs_that_changed_meanwhile_a_new_place(store, ear_id, model):
    first = add_native(store)
    second = add_model(store, model, ear_id, "learned", {})
    placer = Placer(store)
    put(store, 3, ear_id, placer, seed=100)  # changed
    put(store, N, ear_id, placer)  # new
    check_places(store, second, model, ear_id)
    assert len(store.songs.places(first)[0]) == N - 1
    activate_model(store, first)
    check_places(store, first, projection.SimilarityModel.from_bytes(store.models.data(first)), ear_id)


def test_songs_that_come_and_change_while_a_model_is_activated_get_their_places(store, ear_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.songs.BLOCK", 5)
    add_native(store)
    placer = Placer(store)
    steps = []

    def meanwhile(stage, done, total):
        if len(steps) < 4:
            steps.append(done)
            put(store, 0, ear_id, placer, seed=200 + done)  # behind, changed once more
            put(store, N - 1, ear_id, placer, seed=300 + done)  # ahead
            put(store, N + len(steps), ear_id, placer)  # new

    model_id = add_model(store, model, ear_id, "learned", {}, progress=meanwhile)
    assert len(steps) == 4
    assert len(store.songs.places(model_id)[0]) == N + 4
    check_places(store, model_id, model, ear_id)


def test_whoever_asks_while_models_change_always_finds_all_songs(store, ear_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.songs.BLOCK", 4)
    add_model(store, model, ear_id, "learned", {})
    seen: list[tuple[int, int]] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            active = store.models.active
            seen.append((active, len(store.songs.places(active)[0])))

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        for _ in range(5):
            model_id = add_model(store, model, ear_id, "learned", {})
            deadline = time.monotonic() + 30
            while seen[-1][0] != model_id and time.monotonic() < deadline:
                time.sleep(0.001)
    finally:
        stop.set()
        reader.join()
    assert len({active for active, _ in seen}) >= 5  # it did look in between
    assert {n for _, n in seen} == {N}


def test_a_model_that_is_removed_while_it_is_activated_does_not_answer(store, ear_id, model, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.songs.BLOCK", 5)
    first = add_native(store)
    model_id = add_model(store, model, ear_id, "learned", {}, activate=False)

    def meanwhile(stage, done, total):
        if done == N:
            store.models.remove(model_id)

    with pytest.raises(LibraryError, match=f"there is no model {model_id}"):
        activate_model(store, model_id, progress=meanwhile)
    assert store.models.active == first


def test_new_songs_get_a_place_under_the_model_that_answers_then(store, ear_id, ear, other_ear, model):
    placer = Placer(store)
    put(store, N, ear_id, placer)  # nobody answers yet
    first = add_native(store)
    put(store, N + 1, ear_id, placer)
    second = add_model(store, model, ear_id, "learned", {})
    put(store, N + 2, ear_id, placer)
    assert len(store.songs.places(first)[0]) == N + 2
    check_places(store, second, model, ear_id)
    other_id, _ = set_ear(store, other_ear, replace=True)
    put(store, N + 3, other_id, placer)  # heard by another ear than the model's
    assert len(store.songs.places(second)[0]) == N + 3


def test_of_two_scans_that_learn_an_ear_the_first_decides(store, ear, other_ear):
    one, _ = set_ear(store, ear, own=5)
    two, kept = set_ear(store, other_ear, own=5)
    assert one == two
    assert kept.key == ear.key
    three, _ = set_ear(store, other_ear, instead_of=one, own=9)
    assert three == store.models.current_ear != one
    four, kept = set_ear(store, ear, instead_of=one)  # too late
    assert (four, kept.key) == (three, other_ear.key)
