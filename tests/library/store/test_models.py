"""Encoders, models and settings come back as they went in; what is in use stays."""

import numpy as np
import pytest

from codewords_of import codewords_of
from nearsong.audio.tags import Tags
from nearsong.errors import LibraryError
from nearsong.library.store import ACTIVE, PENDING, ScannedFile


def add(store, kind="native", key="an encoder", facts=None) -> int:
    with store.writing() as connection:
        encoder = store.models.add_encoder(
            connection, name="codewords", key=key, data=f"bytes of {key}".encode(), n_dimensions=4
        )
        return store.models.add(connection, kind, [encoder], b"\0\xff model", facts or {})


def use(store, name, value) -> None:
    with store.writing() as connection:
        store.models.set(connection, name, value)


def test_settings_are_written_changed_and_removed(store):
    assert store.models.setting("colour") is None
    for value in ("blue", "grün", 5):
        use(store, "colour", value)
        assert store.models.setting("colour") == str(value)
    use(store, "colour", None)
    assert store.models.setting("colour") is None


def test_an_encoder_with_the_same_key_is_stored_once(store):
    one = store.models.row(add(store, key="one")).encoder_ids[0]
    two = store.models.row(add(store, key="two")).encoder_ids[0]
    again = store.models.row(add(store, key="one")).encoder_ids[0]
    assert one == again != two
    assert store.models.encoder(one) == b"bytes of one"
    assert codewords_of(store) is None
    for scanned in (two, one):
        with store.writing() as connection:
            store.models.scan_with(connection, scanned)
        assert codewords_of(store) == scanned


def test_models_come_back_the_oldest_first(store):
    facts = {"auc": 0.75, "names": ["ü", "\0", "\ud800"], "none": None, "odd": float("inf")}
    first, second = add(store, facts=facts), add(store, kind="learned")
    rows = store.models.rows()
    assert [(row.id, row.kind, row.facts) for row in rows] == [(first, "native", facts), (second, "learned", {})]
    assert rows[0] == store.models.row(first)
    assert store.models.data(first) == b"\0\xff model"


def test_a_model_that_is_stored_already_is_used_again_with_its_newest_facts(store):
    first = add(store, facts={"auc": 0.75})
    others = [add(store, kind="learned"), add(store, key="another encoder")]
    assert add(store, facts={"auc": 0.76}) == first
    assert [row.id for row in store.models.rows()] == [first, *others]
    assert store.models.row(first).facts == {"auc": 0.76}


def test_a_model_that_is_not_there_is_named(store):
    for ask in (store.models.row, store.models.data, store.models.remove):
        with pytest.raises(LibraryError, match=r"Model not found: 77\. List models with: nearsong models"):
            ask(77)


@pytest.mark.parametrize("setting", [ACTIVE, PENDING])
def test_a_model_in_use_is_not_forgotten(store, setting):
    model = add(store)
    use(store, setting, model)
    with pytest.raises(LibraryError, match=rf"Model {model} is in use\. Choose another first: nearsong models use"):
        store.models.remove(model)
    assert len(store.models.rows()) == 1


def test_a_deleted_model_takes_its_embeddings_and_the_vectors_only_it_used_along(store):
    stored, gone, own = add(store, key="shared"), add(store, kind="learned", key="shared"), add(store, key="own")
    encoders = {model: store.models.row(model).encoder_ids[0] for model in (stored, gone, own)}
    vector = np.ones(4, np.float32)
    with store.writing() as connection:
        song = store.songs.put(
            connection, ScannedFile("/a.mp3", 1, 2, "", Tags(), vectors={encoders[stored]: vector})
        )
        store.songs.add_vectors(connection, song, {encoders[own]: vector})
        for model in (stored, gone, own):
            store.songs.put_embeddings(connection, model, np.array([song]), np.ones((1, 2), np.float32))
    store.models.remove(gone)
    assert [len(list(store.songs.vectors([encoders[model]]))) for model in (stored, own)] == [1, 1]
    with store.writing() as connection:
        store.models.scan_with(connection, encoders[own])
    store.models.remove(own)
    assert len(list(store.songs.vectors([encoders[own]]))) == 1  # scans use it still
    with store.writing() as connection:
        store.models.scan_with(connection, encoders[stored])
    own_encoder = encoders[own]
    store.models.remove(add(store, key="own"))
    assert list(store.songs.vectors([own_encoder])) == []  # nobody does
    assert [row.id for row in store.models.rows()] == [stored]
    assert len(store.songs.embeddings(stored)[0]) == 1
    assert store.songs.analysed([encoders[stored]]) == 1


def test_the_number_of_a_forgotten_model_is_not_given_to_another(store):
    first = add(store)
    store.models.remove(first)
    assert add(store) > first


def test_dropped_embeddings_are_gone_unless_the_model_answers(store):
    model = add(store)
    with store.writing() as connection:
        song = store.songs.put(connection, ScannedFile("/a.mp3", 1, 2, "", Tags()))
        store.songs.put_embeddings(connection, model, np.array([song]), np.ones((1, 2), np.float32))
    use(store, ACTIVE, model)
    store.models.drop_embeddings(model)
    assert len(store.songs.embeddings(model)[0]) == 1
    use(store, ACTIVE, None)
    store.models.drop_embeddings(model)
    assert len(store.songs.embeddings(model)[0]) == 0
