"""A pulled history grows in place: each row once, totals and users right, one writer at a time."""

import numpy as np
import pytest

from nearsong.errors import LibraryError
from nearsong.library.store import pulled
from nearsong.listens.records import Action, ListenBlock, TrackName
from pulled_rows import check_history, rows_of


def block(*rows, action=None) -> ListenBlock:
    """Return a block of (time, title)."""
    return ListenBlock(
        users=["ann"],
        tracks=[TrackName("Ann", title) for _, title in rows],
        user=np.zeros(len(rows), np.int32),
        item=np.arange(len(rows), dtype=np.int32),
        plays=np.ones(len(rows), np.float32),
        time=np.array([when for when, _ in rows], np.int64),
        action=None if action is None else np.full(len(rows), action, np.int8),
    )


def opened(store, fingerprint="f"):
    return store.pulled_history("service: ann", fingerprint, "service")


def test_a_history_is_there_with_its_first_rows_and_grows(store):
    history = opened(store)
    assert history.extend(None, "nothing") == 0
    assert store.listens.histories() == []
    assert history.extend(block((5, "a"), (4, "b")), "one") == 2
    before = store.listens.digest()
    assert history.extend(block((4, "b"), (3, "c")), "two") == 1
    assert store.listens.digest() != before
    assert rows_of(store, history.source_id) == [(3, "Ann", "c"), (4, "Ann", "b"), (5, "Ann", "a")]
    check_history(store, history.source_id)
    assert opened(store).position == "two"


def test_rows_that_are_stored_are_found_again_by_the_next_command(store):
    opened(store).extend(block((5, "a"), (4, "b")), "one")
    again = opened(store)
    before = store.listens.digest()
    assert again.extend(block((5, "a"), (4, "b")), "two") == 0
    assert store.listens.digest() == before
    assert opened(store).position == "two"


def test_the_same_listen_with_an_mbid_found_later_is_the_same_row(store):
    history = opened(store)
    history.extend(block((5, "a")), "one")
    later = block((5, "a"))
    later.tracks[0] = TrackName("Ann", "a", recording_mbid="b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d")
    assert history.extend(later, "two") == 0
    assert len(store.listens.names()[0]) == 1


def test_pages_are_joined_to_larger_blocks(store, monkeypatch):
    monkeypatch.setattr(pulled, "MERGED_ROWS", 10)
    history = opened(store)
    for page in range(9):
        history.extend(block(*((100 - 3 * page - i, f"{page} {i}") for i in range(3))), str(page))
    assert [len(part.user) for part in store.listens.columns(history.source_id)] == [9, 9, 9]
    check_history(store, history.source_id)


def test_hearts_are_replaced_and_listens_stay(store):
    history = opened(store)
    history.extend(block((5, "a"), (4, "b")), "one")
    assert history.replace_hearts(block((1, "a"), (2, "x"), action=Action.HEART), "one") == 2
    check_history(store, history.source_id)
    before = store.listens.digest()
    history.replace_hearts(block((1, "a"), (2, "x"), action=Action.HEART), "one")
    assert store.listens.digest() == before, "unchanged hearts change nothing"
    opened(store).replace_hearts(block((3, "b"), action=Action.HEART), "one")
    assert rows_of(store, history.source_id, Action.HEART) == [(3, "Ann", "b")]
    assert rows_of(store, history.source_id) == [(4, "Ann", "b"), (5, "Ann", "a")]
    check_history(store, history.source_id)
    opened(store).replace_hearts(None, "one")
    assert rows_of(store, history.source_id, Action.HEART) == []
    check_history(store, history.source_id)


def test_of_two_commands_that_pull_the_same_one_gives_up(store):
    first, second = opened(store), opened(store)
    first.extend(block((5, "a")), "one")
    with pytest.raises(LibraryError, match="another command"):
        second.extend(block((5, "a")), "one")
    second = opened(store)
    first.extend(block((4, "b")), "two")
    with pytest.raises(LibraryError, match="another command"):
        second.extend(block((4, "b")), "two")
    assert rows_of(store, first.source_id) == [(4, "Ann", "b"), (5, "Ann", "a")]


def test_a_history_that_was_removed_is_not_revived(store):
    history = opened(store)
    history.extend(block((5, "a")), "one")
    store.listens.remove([history.source_id])
    with pytest.raises(LibraryError, match="was removed"):
        history.extend(block((4, "b")), "two")
    assert store.listens.histories() == []
    assert store.listens.names()[1] == []
