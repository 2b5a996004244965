"""Vectors of several encoders come back side by side, and those that an encoder does not have as NaN."""

from pathlib import Path

import numpy as np
import pytest

from library_store import put_file as put
from nearsong.audio.tags import Tags
from nearsong.library.store.text import key_of
from nearsong.names import artist_key


def add_encoder(store, name: str, n_dimensions: int, dtype: str = "float32") -> int:
    with store.writing() as connection:
        return store.models.add_encoder(
            connection, name=name, key=name, data=b"", n_dimensions=n_dimensions, dtype=dtype
        )


@pytest.fixture
def encoders(store):
    """Return two encoders, of three and of two dimensions."""
    return add_encoder(store, "first", 3), add_encoder(store, "second", 2)


def numbers(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


@pytest.mark.parametrize("rows", [2, 4096])
def test_vectors_of_several_encoders_are_read_side_by_side(store, encoders, monkeypatch, rows):
    monkeypatch.setattr("nearsong.library.store.vectors.MAX_BLOCK_NUMBERS", 5 * rows)
    expected = {}
    for i in range(9):
        vectors = {encoders[0]: numbers(3, i), encoders[1]: numbers(2, 100 + i)}
        lacks = {3: encoders[0], 4: encoders[1], 5: None}.get(i)
        song = put(store, f"/{i}.mp3", vectors={key: row for key, row in vectors.items() if key != lacks})
        if i not in (3, 4):
            expected[song] = np.concatenate([vectors[encoders[1]], vectors[encoders[0]]])
    for ids in (None, [*expected, 10**6]):
        blocks = list(store.songs.vectors(encoders[::-1], ids))
        assert all(0 < len(block) <= rows for block, _ in blocks)
        found = {song: row for block, matrix in blocks for song, row in zip(block.tolist(), matrix, strict=True)}
        assert list(found) == list(expected)
        for song, row in found.items():
            np.testing.assert_array_equal(row, expected[song])
    assert store.songs.analysed(encoders) == len(expected)
    assert store.songs.not_analysed(encoders) == 2


def test_a_vector_that_an_encoder_does_not_have_is_nan_and_counts_as_analysed(store, encoders):
    song = put(store, "/a.mp3", vectors={encoders[0]: np.arange(3.0), encoders[1]: np.full(2, np.nan)})
    ((ids, rows),) = store.songs.vectors(encoders)
    assert ids.tolist() == [song]
    np.testing.assert_array_equal(rows, [[0, 1, 2, np.nan, np.nan]])
    assert store.songs.not_analysed(encoders) == 0
    with store.writing() as connection:
        assert np.isnan(store.songs.vectors_of(connection, song)[encoders[1]]).all()


def test_an_encoder_may_store_half_precision(store):
    half = add_encoder(store, "half", 4, "float16")
    vector = np.array([0.1, -3.3, 1e-3, 1e6], np.float32)
    song = put(store, "/a.mp3", vectors={half: vector})
    ((_, rows),) = store.songs.vectors([half])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[0], np.append(vector[:3].astype(np.float16), np.float16(65504)))
    with store.writing() as connection:
        np.testing.assert_array_equal(store.songs.vectors_of(connection, song)[half], rows[0])


def hash_of(artist: str) -> bytes:
    return key_of(artist_key(artist).encode())


def test_every_change_of_a_song_marks_its_artists_for_models_that_depend_on_them(store, encoders):
    with store.writing() as connection:
        models = [
            store.models.add(connection, "learned", [encoder], bytes([uses_artists]), {}, uses_artists=uses_artists)
            for encoder, uses_artists in ((encoders[0], True), (encoders[1], True), (encoders[0], False))
        ]

    def marked() -> list[set[bytes]]:
        with store.writing() as connection:
            found = [store.songs.stale(connection, model) for model in models]
            for model, artists in zip(models, found, strict=True):
                store.songs.unmark_stale(connection, model, artists)
        return [set(artists) for artists in found]

    a, b = {hash_of("A")}, {hash_of("B")}
    song = put(store, "/1.mp3", tags=Tags(artist="A"), vectors={encoders[0]: numbers(3, 0)})
    put(store, "/2.mp3", tags=Tags(title="without an artist"), vectors={encoders[0]: numbers(3, 1)})
    assert marked() == [a, a, set()]
    with store.writing() as connection:
        store.songs.touch(connection, song, 1, 2, Tags(artist="a", title="another title"))
    assert marked() == [set(), set(), set()]
    with store.writing() as connection:
        store.songs.add_vectors(connection, song, {encoders[1]: numbers(2, 2)})
    assert marked() == [set(), a, set()]
    with store.writing() as connection:
        store.songs.touch(connection, song, 1, 2, Tags(artist="B"))
    assert marked() == [a | b, a | b, set()]
    with store.writing() as connection:
        store.songs.move(connection, song, "/3.mp3", 1, 2, Tags(artist="A"))
    assert marked() == [a | b, a | b, set()]
    assert put(store, "/3.mp3", tags=Tags(artist="B")) == song
    assert marked() == [a | b, a | b, set()]
    store.songs.set_missing([song], True)
    assert marked() == [set(), set(), set()]
    store.songs.remove([song])
    assert marked() == [b, b, set()]
    with store.writing() as connection:
        store.songs.mark_stale(connection, a | b)
    store.models.remove(models[0])  # takes its marks along
    assert marked()[1:] == [a | b, set()]


def test_an_artist_with_a_name_of_any_length_can_be_marked(store, encoders):
    with store.writing() as connection:
        store.models.add(connection, "learned", [encoders[0]], b"", {}, uses_artists=True)
    name = "".join(chr(0x4E00 + i % 5_000) for i in range(20_000))
    song = put(store, "/1.mp3", tags=Tags(artist=name), vectors={encoders[0]: numbers(3, 0)})
    with store.writing() as connection:
        assert store.songs.songs_of(connection, [hash_of(name)]) == {hash_of(name): [song]}


def test_compacting_gives_the_space_of_deleted_vectors_back(store, address):
    large = add_encoder(store, "large", 20_000)
    ids = [put(store, f"/{i}.mp3", vectors={large: np.zeros(20_000)}) for i in range(20)]
    store.songs.remove(ids[1:])

    def size() -> int:
        return sum(path.stat().st_size for path in Path(address).parent.glob("library.sqlite*"))

    before = size()
    store.compact()
    assert [block.tolist() for block, _ in store.songs.vectors([large])] == [ids[:1]]
    if not address.startswith("postgresql"):  # which does it by itself
        assert size() < before / 3
