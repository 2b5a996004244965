"""Listening histories come back as they went in, count once, and leave nothing behind."""

import contextlib
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearsong.errors import LibraryError
from nearsong.library.store import Store, listen_columns, listens
from nearsong.library.store.text import clean_text
from nearsong.listens.records import Action, ListenBlock, TrackName


def block_of(rows) -> ListenBlock:
    """Return a block of (user, TrackName, plays, time)."""
    users = list(dict.fromkeys(user for user, *_ in rows))
    tracks = list(dict.fromkeys(item for _, item, *_ in rows))
    return ListenBlock(
        users,
        tracks,
        np.array([users.index(user) for user, *_ in rows], dtype=np.int32),
        np.array([tracks.index(item) for _, item, *_ in rows], dtype=np.int32),
        np.array([plays for *_, plays, _ in rows], dtype=np.float32),
        np.array([when for *_, when in rows], dtype=np.int64),
    )


def write(store, blocks, name="a.csv", fingerprint="f", replaced=()) -> int:
    writer = store.listens.begin(name, fingerprint, "csv", "counts")
    for rows in blocks:
        writer.add(block_of(rows))
    assert writer.finish(replaced)
    return writer.source_id


def read(store, source):
    """Return the rows of a history as (user id, TrackName, plays, time)."""
    ids, tracks = store.listens.names()
    names = dict(zip(ids.tolist(), tracks, strict=True))
    rows = []
    for columns in store.listens.columns(source):
        parts = (columns.user.tolist(), columns.name.tolist(), columns.plays.tolist(), columns.time.tolist())
        rows += [(user, names[name], plays, when) for user, name, plays, when in zip(*parts, strict=True)]
    return rows


A, B, C = TrackName("A", "one", "mbid", "artist mbid"), TrackName("B"), TrackName("C", "three")


def test_skips_and_hearts_are_stored_apart_and_are_no_plays(store):
    rows = [("ann", A, 1, 100), ("ann", A, 1, 200), ("ann", B, 1, 300)]
    told = np.array([Action.LISTEN, Action.SKIP, Action.HEART], np.int8)
    writer = store.listens.begin("a.csv", "f", "csv", "events")
    writer.add(replace(block_of(rows), action=told))
    assert writer.finish()
    (columns,) = store.listens.columns(writer.source_id)
    assert columns.action.tolist() == told.tolist()
    assert columns.of(Action.SKIP).time.tolist() == [200]
    assert sorted(store.listens.totals().values()) == [0, 1]
    assert len(store.listens.names()[1]) == 2


def test_rows_come_back_in_order_whatever_blocks_they_came_in(store):
    blocks = [[("ann", A, 3, 100), ("bob", B, 1, 0)], [("bob", A, 2, -5), ("ann", C, 0.5, 2**40)], []]
    source = write(store, blocks)
    rows = read(store, source)
    assert [row[1:] for row in rows] == [row[1:] for block in blocks for row in block]
    ann, bob, bob_again, ann_again = [row[0] for row in rows]
    assert ann == ann_again != bob == bob_again
    found = store.listens.histories()
    assert [(s.id, s.name, s.fingerprint, s.format, s.kind, s.rows) for s in found] == [
        (source, "a.csv", "f", "csv", "counts", 4)
    ]
    assert abs(found[0].imported - time.time()) < 600


texts = st.text(st.characters(exclude_categories=()), max_size=6)
items = st.builds(TrackName, texts, texts, texts, texts)


@pytest.fixture(scope="module")
def one_store(tmp_path_factory):
    with contextlib.closing(Store(tmp_path_factory.mktemp("library"))) as store:
        yield store


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(texts, items, st.integers(0, 9), st.integers(0, 9)), max_size=8), max_size=4))
def test_any_rows_add_up_to_the_same_totals(one_store, blocks):
    store = one_store
    source = write(store, blocks, fingerprint=str(time.monotonic_ns()))
    expected: Counter[TrackName] = Counter()
    for _, item, plays, _ in (row for rows in blocks for row in rows):
        expected[TrackName(*(clean_text(part) for part in vars_of(item)))] += plays
    ids, tracks = store.listens.names()
    names = dict(zip(ids.tolist(), tracks, strict=True))
    assert {names[name]: plays for name, plays in store.listens.totals([source]).items()} == dict(expected)
    users = {clean_text(user) for rows in blocks for user, *_ in rows}
    assert store.listens.n_users() == len(users)
    store.listens.remove([source])
    assert store.listens.n_users() == 0
    assert store.listens.names()[1] == []


def vars_of(item: TrackName) -> tuple[str, ...]:
    return item.artist, item.title, item.recording_mbid, item.artist_mbid


def test_fields_are_not_confused_where_one_ends_and_another_begins(store):
    source = write(
        store, [[("u", TrackName("a", "b"), 1, 0), ("u", TrackName("a\0b", ""), 1, 0), ("u", TrackName("ab"), 1, 0)]]
    )
    assert [row[1] for row in read(store, source)] == [TrackName("a", "b"), TrackName("ab"), TrackName("ab")]


def test_histories_share_names_and_their_plays_add_up(store):
    one = write(store, [[("ann", A, 3, 0), ("bob", A, 2, 0)]], fingerprint="1")
    two = write(store, [[("ann", A, 10, 0), ("cat", B, 1, 0)]], fingerprint="2")
    ids, tracks = store.listens.names()
    assert sorted(tracks, key=lambda item: item.artist) == [A, B]
    a, b = (int(ids[tracks.index(item)]) for item in (A, B))
    assert store.listens.totals() == {a: 15.0, b: 1.0}
    assert store.listens.totals([one]) == {a: 5.0}
    assert store.listens.totals([]) == {}
    assert store.listens.n_users() == 3
    assert read(store, one)[0][0] == read(store, two)[0][0]  # ann is ann
    store.listens.remove([one])
    assert store.listens.totals() == {a: 10.0, b: 1.0}
    assert store.listens.n_users() == 2
    assert sorted(item.artist for item in store.listens.names()[1]) == ["A", "B"]
    store.listens.remove([two])
    assert (store.listens.histories(), store.listens.totals(), store.listens.n_users()) == ([], {}, 0)
    assert store.listens.names()[1] == []


def test_a_history_is_invisible_until_it_is_finished(store):
    writer = store.listens.begin("a.csv", "f", "csv", "counts")
    writer.add(block_of([("ann", A, 3, 0)]))
    assert store.listens.histories() == []
    assert store.listens.totals() == {}
    assert store.listens.n_users() == 0
    assert writer.finish()
    assert len(store.listens.histories()) == 1


def test_what_a_broken_import_left_is_swept_and_an_import_at_work_is_not(store):
    other = write(store, [[("cat", B, 1, 0)]], fingerprint="other")
    broken = store.listens.begin("a.csv", "f", "csv", "counts")
    broken.add(block_of([("ann", A, 3, 0)]))
    store.listens.sweep()
    assert read(store, broken.source_id)
    store.listens.sweep(older_than=0)
    assert list(store.listens.columns(broken.source_id)) == []
    assert [source.id for source in store.listens.histories()] == [other]
    assert store.listens.names()[1] == [B]
    with pytest.raises(LibraryError, match="was removed as unfinished; import the file again"):
        broken.add(block_of([("ann", A, 3, 0)]))
    with pytest.raises(LibraryError, match="removed as unfinished; import the file again"):
        broken.finish()


def test_an_abandoned_history_leaves_nothing(store):
    writer = store.listens.begin("a.csv", "f", "csv", "counts")
    writer.add(block_of([("ann", A, 3, 0)]))
    store.listens.abandon(writer)
    assert store.listens.names()[1] == []
    assert list(store.listens.columns(writer.source_id)) == []


def test_names_that_an_import_at_work_has_are_not_forgotten(store):
    old = write(store, [[("ann", A, 1, 0)]], fingerprint="old")
    writer = store.listens.begin("b.csv", "new", "csv", "counts")
    writer.add(block_of([("ann", A, 3, 0)]))
    store.listens.remove([old])
    writer.add(block_of([("ann", A, 4, 0)]))
    assert writer.finish()
    assert [row[1:] for row in read(store, writer.source_id)] == [(A, 3, 0), (A, 4, 0)]
    assert list(store.listens.totals().values()) == [7.0]


def test_a_history_replaces_another_at_once(store):
    old = write(store, [[("ann", A, 1, 0)]], fingerprint="old")
    new = write(store, [[("bob", B, 2, 0)]], fingerprint="new", replaced=[old])
    assert [source.id for source in store.listens.histories()] == [new]
    assert store.listens.names()[1] == [B]
    assert list(store.listens.totals().values()) == [2.0]


def test_of_two_imports_of_one_history_at_once_one_counts(store):
    writers = [store.listens.begin("a.csv", "same", "csv", "counts") for _ in range(2)]
    for writer in writers:
        writer.add(block_of([("ann", A, 3, 0)]))
    assert [writer.finish() for writer in writers] == [True, False]
    assert len(store.listens.histories()) == 1
    assert list(store.listens.totals().values()) == [3.0]


def test_imports_at_once_share_names(store):
    def write_some(worker: int) -> int:
        rows = [[(f"user {i}", TrackName(f"artist {i}"), 1, worker) for i in range(50)] for _ in range(3)]
        return write(store, rows, fingerprint=str(worker))

    with ThreadPoolExecutor(3) as pool:
        sources = list(pool.map(write_some, range(3)))
    assert len(store.listens.names()[1]) == store.listens.n_users() == 50
    assert set(store.listens.totals().values()) == {9.0}
    assert all(len(read(store, source)) == 150 for source in sources)


def test_names_that_several_blocks_have_are_stored_once(store, monkeypatch):
    monkeypatch.setattr(listens, "_BATCH_ROWS", 3)
    blocks = [[(f"u{i % 7}", TrackName(f"a{(i * j) % 11}"), 1, i) for i in range(20)] for j in range(4)]
    source = write(store, blocks)
    assert [row[1] for row in read(store, source)] == [row[1] for rows in blocks for row in rows]
    assert len(store.listens.names()[1]) == 11
    assert sum(store.listens.totals().values()) == 80


def block_with(users, tracks) -> ListenBlock:
    """Return a block that has each user and track of two lists of the same length, which may be shared, once."""
    n = len(tracks)
    numbers = np.arange(n, dtype=np.int32)
    return ListenBlock(users, tracks, numbers, numbers, np.ones(n, np.float32), np.zeros(n, np.int64))


steps_of_writers = st.lists(
    st.tuples(st.integers(0, 1), st.booleans(), st.lists(st.sampled_from(["a", "b", "c", "a\0", "?", "\ud800"]))),
    max_size=6,
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps_of_writers)
def test_lists_of_names_that_grow_in_several_imports_at_once_are_stored_once(one_store, steps):
    """Each list begins anew, or grows by names that another import, or an earlier list, may have stored already."""
    store = one_store
    fingerprint = str(time.monotonic_ns())
    writers = [store.listens.begin(f"{i}.csv", f"{fingerprint} {i}", "csv", "counts") for i in range(2)]
    names = [([], []), ([], [])]
    expected = [[], []]
    for number, is_new, more in steps:
        users, tracks = names[number] = ([], []) if is_new else names[number]
        users += [name for name in dict.fromkeys(more) if name not in users]
        tracks[:] = map(TrackName, users)
        writers[number].add(block_with(users, tracks))
        expected[number] += [clean_text(name) for name in users]
    for writer, artists in zip(writers, expected, strict=True):
        assert writer.finish()
        rows = read(store, writer.source_id)
        assert [name.artist for _, name, *_ in rows] == artists
        user_names = store.listens.user_names(np.array([user for user, *_ in rows], np.int32))
        assert [user_names[user] for user, *_ in rows] == artists
    stored = [name.artist for name in store.listens.names()[1]]
    assert sorted(stored) == sorted(set(expected[0] + expected[1]))
    store.listens.remove([writer.source_id for writer in writers])


def test_names_of_a_first_import_are_not_looked_up_and_those_of_a_second_are(store, monkeypatch):
    asked = []
    find = listen_columns.ids_by_key
    monkeypatch.setattr(
        listen_columns, "ids_by_key", lambda *a: asked.append(len(a[2])) or find(*a)
    )  # connection, table, keys
    users, tracks = ["ann"], [A]
    writer = store.listens.begin("a.csv", "f", "csv", "counts")
    writer.add(block_with(users, tracks))
    users.append("bob")
    tracks.append(B)
    writer.add(block_with(users, tracks))
    assert writer.finish()
    assert asked == []
    write(store, [[("bob", B, 1, 0)]], fingerprint="g")
    assert asked == [1, 1]
    assert len(store.listens.names()[1]) == store.listens.n_users() == 2


def layers(n):
    """Columns of few, of many and of equal values, so that each way of packing is taken."""
    low, high = st.integers(0, 3), st.integers(0, 2**31 - 1)
    whole = st.sampled_from([low, high]).flatmap(lambda values: st.lists(values, min_size=n, max_size=n))
    return st.tuples(whole, whole, whole, whole, st.lists(st.integers(0, 2), min_size=n, max_size=n))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 12).flatmap(layers), st.sampled_from([1, 700]))
def test_packed_columns_come_back_exactly(columns, n_copies):
    kinds = (np.int32, np.int32, np.float32, np.int64, np.int8)
    arrays = [np.tile(np.array(part, kind), n_copies) for part, kind in zip(columns, kinds, strict=True)]
    found = listen_columns.unpack(listen_columns.pack(listen_columns.ListenColumns(*arrays)))
    for array, name in zip(arrays, ("user", "name", "plays", "time", "action"), strict=True):
        assert getattr(found, name).dtype == array.dtype
        assert getattr(found, name).tolist() == array.tolist()


def test_bytes_that_are_equal_in_all_rows_take_no_room_and_random_ones_no_more_than_they_are():
    n = 50_000
    rng = np.random.default_rng(0)
    columns = listen_columns.ListenColumns(
        user=np.repeat(np.arange(n // 100, dtype=np.int32), 100),
        name=rng.integers(0, 1 << 16, n).astype(np.int32),
        plays=np.ones(n, np.float32),
        time=np.zeros(n, np.int64),
        action=np.zeros(n, np.int8),
    )
    assert 2 * n < len(listen_columns.pack(columns)) < 2.1 * n


def test_a_block_that_fails_can_be_written_again(store, monkeypatch):
    writer = store.listens.begin("a.csv", "f", "csv", "counts")
    pack = listens.pack
    monkeypatch.setattr(listens, "pack", lambda columns: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        writer.add(block_of([("ann", A, 3, 0)]))
    monkeypatch.setattr(listens, "pack", pack)
    writer.add(block_of([("ann", A, 3, 0)]))
    assert writer.finish()
    assert [row[1:] for row in read(store, writer.source_id)] == [(A, 3, 0)]
    assert store.listens.histories()[0].rows == 1


def test_a_history_from_a_path_of_odd_bytes_is_known_by_it(store):
    write(store, [[("ann", A, 3, 0)]], name="/h\udcf6ren.csv")
    assert store.listens.histories()[0].name == "/h\udcf6ren.csv"
