"""The page's map: drawn once for a model, cached, and sent in columns with the songs as they are now."""

import base64
import os
import stat
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import EmptyLibraryError, LibraryError
from nearsong.library import Library
from nearsong.library.maps import cached as drawn_map
from nearsong.library.maps.cached import DrawnMap, draw, drawn, map_columns
from nearsong.library.maps.layout import layout
from nearsong.library.records import Song


def numbers(column) -> list[int]:
    """Read packed numbers as the page does."""
    raw = base64.b64decode(column["bytes"])
    width = column["width"]
    return [int.from_bytes(raw[at : at + width], "little") for at in range(0, len(raw), width)]


def song(number, artist="Anna", title=None, genre="folk", **facts):
    title = f"Song {number}" if title is None else title
    known = {"album": "", "year": 1999, "seconds": 61.4, "artist_key": artist.casefold()} | facts
    return Song(id=number, path=f"/m/{number}.ogg", artist=artist, title=title, genre=genre, **known)


def moment(folder, songs, plays=None, model_id=3, created=1_700_000_000.25):
    """Return what a snapshot says of songs."""
    ids = np.array([one.id for one in songs], dtype=np.int64)
    space = SimpleNamespace(songs=songs, ids=ids, model_id=model_id, cache=folder / "cache")
    model = SimpleNamespace(id=model_id, created=created, kind="learned")
    return SimpleNamespace(space=space, model=model, plays=plays or {})


def keep(snapshot, steps):
    file = drawn_map._file_of(snapshot.space.cache, snapshot.model)
    drawn_map._store(file, snapshot.model, snapshot.space.ids, np.asarray(steps, dtype=np.uint16))
    return file


# ---- drawing and keeping


@pytest.fixture(scope="module")
def sounds():
    return np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)


@pytest.fixture
def library(tmp_path, sounds):
    """Thirty songs with embeddings, as a library would give them."""
    snapshot = moment(tmp_path, [song(2 * n + 1) for n in range(30)])
    snapshot.space.embeddings = sounds
    return SimpleNamespace(snapshot=lambda now=False: snapshot)


def test_a_map_that_was_drawn_is_found_again_as_it_was(library, sounds):
    assert drawn(library.snapshot()) is None
    reported = []
    made = draw(library.snapshot(now=True), seed=1, progress=lambda *report: reported.append(report))
    found = drawn(library.snapshot())
    assert (made.model_id, found.model_id) == (3, 3)
    np.testing.assert_array_equal(found.ids, np.arange(1, 60, 2))
    np.testing.assert_array_equal(found.points, made.points)
    np.testing.assert_allclose(found.points, layout(sounds, seed=1), atol=1 / 65_535)
    assert reported[0] == ("map", 0, 30)
    assert reported[-1] == ("map", 30, 30)


def test_the_positions_are_integer_steps_so_that_nothing_is_lost_on_the_way_to_the_page(tmp_path):
    steps = np.random.default_rng(0).integers(0, 65_536, (500, 2))
    snapshot = moment(tmp_path, [song(n) for n in range(1, 501)])
    keep(snapshot, steps)
    assert numbers(map_columns(snapshot, drawn(snapshot))["positions"]) == steps.ravel().tolist()


def test_a_real_library_is_drawn_and_reported(trained):
    made = draw(trained.snapshot(now=True))
    snapshot = trained.snapshot()
    assert made.ids.tolist() == [one.id for one in trained.songs()]
    columns = map_columns(snapshot, drawn(snapshot))
    assert columns["model"] == {"id": trained.active_model, "kind": "learned"}
    assert numbers(columns["ids"]) == made.ids.tolist()
    assert sum(numbers(columns["plays"])) > 0
    assert columns["genre_labels"] or columns["artist_labels"]
    assert list(snapshot.space.cache.glob("*.part")) == []


def test_a_library_without_songs_says_what_to_do(tmp_path):
    with (
        Library.open(tmp_path) as library,
        pytest.raises(EmptyLibraryError, match="start with `nearsong scan FOLDER`"),
    ):
        draw(library)


def test_songs_that_are_all_gone_say_what_to_do(tmp_path):
    with pytest.raises(EmptyLibraryError, match=r"^the library has no songs yet; start with `nearsong scan FOLDER`"):
        draw(moment(tmp_path, []))


def test_another_model_or_another_library_in_the_same_cache_has_a_map_of_its_own(tmp_path):
    songs = [song(1), song(2)]
    snapshot = moment(tmp_path, songs)
    keep(snapshot, [[1, 2], [3, 4]])
    other = moment(tmp_path, songs, created=1_800_000_000.5)
    assert drawn(moment(tmp_path, songs, model_id=4)) is None
    assert drawn(other) is None
    keep(other, [[5, 6], [7, 8]])
    assert numbers(map_columns(snapshot, drawn(snapshot))["positions"]) == [1, 2, 3, 4]
    assert numbers(map_columns(other, drawn(other))["positions"]) == [5, 6, 7, 8]


def test_the_maps_drawn_last_are_cached_and_older_ones_go(tmp_path):
    made = []
    for number in range(drawn_map.MAX_CACHED_MAPS + 3):
        snapshot = moment(tmp_path, [song(1)], model_id=number + 1)
        os.utime(keep(snapshot, [[0, 0]]), (number, number))
        made.append(snapshot)
    there = [drawn(one) is not None for one in made]
    assert there == [False] * 3 + [True] * drawn_map.MAX_CACHED_MAPS


def test_a_damaged_map_is_none_at_all(tmp_path):
    snapshot = moment(tmp_path, [song(n) for n in range(1, 40)])
    file = keep(snapshot, np.arange(78).reshape(39, 2))
    complete = file.read_bytes()

    @settings(max_examples=150, deadline=None)
    @given(st.integers(0, len(complete)), st.integers(0, 8 * len(complete) - 1))
    def check(length, bit):
        data = bytearray(complete[:length])
        if bit < 8 * length:
            data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        found = drawn(snapshot)
        assert found is None or map_columns(snapshot, found)["songs"] == 39

    check()
    file.write_bytes(complete)
    assert drawn(snapshot) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": np.array([2, 1])},
        {"ids": np.array([1.0, 2.0])},
        {"steps": np.zeros((3, 2), np.uint16)},
        {"steps": np.zeros((2, 2), np.float32)},
        {"facts": np.array([2.0, 3.0, 1_700_000_000.25])},
        {"ids": np.array([{}, {}], dtype=object)},
    ],
)
def test_a_map_of_another_form_is_none_at_all(tmp_path, wrong):
    snapshot = moment(tmp_path, [song(1), song(2)])
    file = keep(snapshot, [[1, 2], [3, 4]])
    with np.load(file) as stored:
        parts = {name: stored[name] for name in stored.files}
    np.savez(file, **{**parts, **wrong})
    assert drawn(snapshot) is None
    np.savez(file, ids=parts["ids"], steps=parts["steps"])
    assert drawn(snapshot) is None


def test_a_cache_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(LibraryError, match=r"cache: the map cannot be cached \(.+\); check the folder and the disk"):
        keep(moment(tmp_path, [song(1)]), [[0, 0]])


def test_a_map_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    snapshot = moment(tmp_path, [song(1)])
    file = keep(snapshot, [[1, 2]])
    before = file.read_bytes()

    def stop(stream):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(LibraryError, match="No space left on device"):
        keep(snapshot, [[3, 4]])
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert stat.S_ISREG(file.stat().st_mode)


# ---- columns


SONGS = [
    song(5, "Anna", "Sea", "Folk", year=None, seconds=0.4),
    song(7, "ANNA", "Sky", "folk"),
    song(9, "anna", "Sun", "folk"),
    song(300, "", "Alone\n", "", artist_key="", year=-3),
    song(70_000, "Berta", "x" * 1000, "Jazz", seconds=1e9),
]


def test_columns_say_what_is_known_of_every_song(tmp_path):
    snapshot = moment(tmp_path, SONGS, plays={7: 2.6, 70_000: 1e30})
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]], dtype=np.float32)
    columns = map_columns(snapshot, DrawnMap(3, snapshot.space.ids, points))
    assert columns["model"] == {"id": 3, "kind": "learned"}
    assert (columns["songs"], columns["missing"]) == (5, 0)
    assert numbers(columns["ids"]) == [5, 7, 9, 300, 70_000]
    assert columns["ids"]["width"] == 3
    assert numbers(columns["positions"]) == [0, 0, 65_535, 0, 0, 65_535, 65_535, 65_535, 32_768, 32_768]
    assert columns["titles"][:4] == ["Sea", "Sky", "Sun", "Alone"]
    assert len(columns["titles"][4]) == 300
    artists = [columns["artists"][row] for row in numbers(columns["artist"])]
    assert [name.casefold() for name in artists] == ["anna", "anna", "anna", "", "berta"]
    assert len(set(artists)) == 3
    assert [columns["genres"][row] for row in numbers(columns["genre"])] == ["folk", "folk", "folk", "", "Jazz"]
    assert columns["genres"][0] == ""
    assert numbers(columns["years"]) == [0, 1999, 1999, 0, 1999]
    assert numbers(columns["seconds"]) == [0, 61, 61, 61, 0]
    assert numbers(columns["plays"]) == [0, 3, 0, 0, 2**31]


def test_columns_are_those_that_the_api_promises(tmp_path):
    schemas = pytest.importorskip("nearsong.web.json.schemas")
    snapshot = moment(tmp_path, SONGS)
    columns = map_columns(snapshot, DrawnMap(3, snapshot.space.ids, np.zeros((5, 2), np.float32)))
    assert set(columns) == set(schemas.MapOut.model_fields)
    assert schemas.MapOut.model_validate(columns).model_dump() == columns


def test_songs_that_are_gone_are_left_out_and_those_that_came_are_counted(tmp_path):
    stored = DrawnMap(3, np.array([5, 6, 9, 100], dtype=np.int64), np.arange(8).reshape(4, 2).astype(np.float32) / 8)
    columns = map_columns(moment(tmp_path, SONGS), stored)
    assert numbers(columns["ids"]) == [5, 9]
    assert numbers(columns["positions"]) == [round(value / 8 * 65_535) for value in (0, 1, 4, 5)]
    assert (columns["songs"], columns["missing"]) == (2, 3)
    assert columns["titles"] == ["Sea", "Sun"]


def test_names_are_shown_as_they_are_now(tmp_path):
    snapshot = moment(tmp_path, SONGS)
    keep(snapshot, np.zeros((5, 2)))
    renamed = moment(tmp_path, [replace(one, title="New") for one in SONGS])
    assert map_columns(renamed, drawn(renamed))["titles"] == ["New"] * 5


def test_labels_lie_where_the_songs_of_a_genre_are(tmp_path):
    songs = [song(n + 1, f"Artist {n % 2}", genre=("folk", "jazz")[n // 20]) for n in range(40)]
    corner = np.repeat([[0.25, 0.25], [0.75, 0.75]], 20, axis=0).astype(np.float32)
    columns = map_columns(moment(tmp_path, songs), DrawnMap(3, np.arange(1, 41), corner))
    labels = {columns["genres"][label[0]]: label[1:4] for label in columns["genre_labels"]}
    assert labels == {"folk": [16_384, 16_384, 20], "jazz": [49_151, 49_151, 20]}


def test_a_map_whose_songs_are_all_gone_is_empty(tmp_path):
    columns = map_columns(moment(tmp_path, SONGS), DrawnMap(3, np.array([1]), np.zeros((1, 2), np.float32)))
    assert (columns["songs"], columns["missing"], columns["titles"], columns["genres"]) == (0, 5, [], [""])
