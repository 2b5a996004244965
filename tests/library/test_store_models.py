"""Ears, models and settings come back as they went in; what is in use stays."""

import numpy as np
import pytest

from nearsong.errors import LibraryError
from nearsong.library.records import Tags
from nearsong.library.store import ACTIVE, EAR, PENDING, ScannedFile


def add(store, kind="native", ear_key="an ear", facts=None) -> int:
    with store.writing() as connection:
        ear = store.models.add_ear(connection, ear_key, f"bytes of {ear_key}".encode())
        return store.models.add(connection, kind, ear, b"\0\xff model", facts or {})


def use(store, name, value) -> None:
    with store.writing() as connection:
        store.models.set(connection, name, value)


def test_settings_are_written_changed_and_taken_away(store):
    assert store.models.setting("colour") is None
    for value in ("blue", "grün", 5):
        use(store, "colour", value)
        assert store.models.setting("colour") == str(value)
    use(store, "colour", None)
    assert store.models.setting("colour") is None


def test_an_ear_that_hears_the_same_is_kept_once(store):
    one = store.models.row(add(store, ear_key="one")).ear_id
    two = store.models.row(add(store, ear_key="two")).ear_id
    again = store.models.row(add(store, ear_key="one")).ear_id
    assert one == again != two
    assert store.models.ear(one) == b"bytes of one"
    assert store.models.current_ear is None
    use(store, EAR, two)
    assert store.models.current_ear == two


def test_models_come_back_the_oldest_first(store):
    facts = {"auc": 0.75, "names": ["ü", "\0", "\ud800"], "none": None, "odd": float("inf")}
    first, second = add(store, facts=facts), add(store, kind="learned")
    rows = store.models.rows()
    assert [(row.id, row.kind, row.facts) for row in rows] == [(first, "native", facts), (second, "learned", {})]
    assert rows[0] == store.models.row(first)
    assert store.models.data(first) == b"\0\xff model"


def test_a_model_that_is_not_there_is_named(store):
    for ask in (store.models.row, store.models.data, store.models.remove):
        with pytest.raises(LibraryError, match="there is no model 77; `nearsong models` lists those there are"):
            ask(77)


@pytest.mark.parametrize("setting", [ACTIVE, PENDING])
def test_a_model_in_use_is_not_forgotten(store, setting):
    model = add(store)
    use(store, setting, model)
    with pytest.raises(
        LibraryError, match=f"model {model} is in use; choose another first with `nearsong models use`"
    ):
        store.models.remove(model)
    assert len(store.models.rows()) == 1


def test_a_forgotten_model_takes_its_places_and_what_only_it_could_hear_along(store):
    kept, gone, own = add(store, ear_key="shared"), add(store, ear_key="shared"), add(store, ear_key="own")
    ears = {model: store.models.row(model).ear_id for model in (kept, gone, own)}
    vector = np.ones(3, np.float32)
    with store.writing() as connection:
        song = store.songs.put(connection, ScannedFile("/a.mp3", 1, 2, "", Tags(), vector=vector), ears[kept])
        store.songs.add_sound(connection, song, ears[own], vector)
        for model in (kept, gone, own):
            store.songs.put_places(connection, model, np.array([song]), np.ones((1, 2), np.float32))
    store.models.remove(gone)
    assert [len(list(store.songs.vectors(ears[model]))) for model in (kept, own)] == [1, 1]
    use(store, EAR, ears[own])
    store.models.remove(own)
    assert len(list(store.songs.vectors(ears[own]))) == 1  # scans use it still
    use(store, EAR, ears[kept])
    own_ear = ears[own]
    store.models.remove(add(store, ear_key="own"))
    assert list(store.songs.vectors(own_ear)) == []  # nobody does
    assert [row.id for row in store.models.rows()] == [kept]
    assert len(store.songs.places(kept)[0]) == 1
    assert store.songs.counts(ears[kept])["heard"] == 1


def test_the_number_of_a_forgotten_model_is_not_given_to_another(store):
    first = add(store)
    store.models.remove(first)
    assert add(store) > first


def test_dropped_places_are_gone_unless_the_model_answers(store):
    model = add(store)
    with store.writing() as connection:
        song = store.songs.put(connection, ScannedFile("/a.mp3", 1, 2, "", Tags()), None)
        store.songs.put_places(connection, model, np.array([song]), np.ones((1, 2), np.float32))
    use(store, ACTIVE, model)
    store.models.drop_places(model)
    assert len(store.songs.places(model)[0]) == 1
    use(store, ACTIVE, None)
    store.models.drop_places(model)
    assert len(store.songs.places(model)[0]) == 0
