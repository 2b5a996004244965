"""What is exported is read back exactly."""

import json

import pytest
import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.listeners.importing import import_listens
from nearsong.library.listeners.recorded.export import write_recorded
from nearsong.library.listeners.recorded.reactions import ReactionLog
from nearsong.library.store import Store
from nearsong.library.store.schema import listen_users
from nearsong.listens.records import Action
from recorded_plays import NOON, put


@pytest.fixture
def told(store, play_log) -> None:
    """Plays, hearts, ratings and skips of two listeners."""
    songs = put(store, "Ann - One", "Björk - “Two”\t<b>", "Cid - Three")
    log = ReactionLog(store)
    play_log.record_all([(songs[0], NOON), (songs[1], NOON + 100), (songs[0], NOON + 500)])
    play_log.record(songs[2], "Zo\u00e9", NOON)
    log.heart(songs[:2])
    log.heart(["al-1"])
    log.rate(songs[1], 5)
    log.rate(songs[2], 1, "Zo\u00e9")
    log.skip(songs[2], at=NOON)


def rows_of(store: Store) -> list[tuple]:
    """Return all rows of all histories, in words."""
    with store.writing() as connection:
        users = dict(connection.execute(sa.select(listen_users.c.id, listen_users.c.name)).all())
    ids, tracks = store.listens.names()
    names = dict(zip(ids.tolist(), tracks, strict=True))
    return sorted(
        (users[user], names[name].artist, names[name].title, time, action, plays)
        for source in store.listens.histories()
        for block in store.listens.columns(source.id)
        for user, name, time, action, plays in zip(
            block.user.tolist(),
            block.name.tolist(),
            block.time.tolist(),
            block.action.tolist(),
            block.plays.tolist(),
            strict=True,
        )
    )


def test_another_library_reads_back_the_same_rows(store, play_log, told, tmp_path):
    counts = write_recorded(tmp_path / "plays.jsonl", play_log.recorded())
    assert counts.written == {Action.LISTEN: 4, Action.HEART: 2, Action.RATING: 2, Action.SKIP: 1}
    play_log.update_history()
    other = Store(tmp_path / "other")
    (file,) = import_listens(other, [tmp_path / "plays.jsonl"])
    assert (file.format, file.kind, file.rows, file.bad_rows) == ("json", "events", 9, 0)
    assert rows_of(other) == rows_of(store)
    other.close()


def test_one_listener_can_be_exported_alone(play_log, told, tmp_path):
    write_recorded(tmp_path / "plays.jsonl", play_log.recorded(" Zoe\u0301 "))
    lines = [json.loads(line) for line in (tmp_path / "plays.jsonl").read_text().splitlines()]
    assert [(line["user"], line["action"], line.get("stars")) for line in lines] == [
        ("Zo\u00e9", "listen", None),
        ("Zo\u00e9", "rating", 1),
    ]
    assert lines[0] == {
        "user": "Zo\u00e9",
        "artist": "Cid",
        "title": "Three",
        "recording_mbid": "",
        "artist_mbid": "",
        "time": NOON,
        "action": "listen",
    }


def test_songs_without_an_artist_are_left_out_and_counted(store, play_log, tmp_path):
    play_log.record_all([(song, NOON) for song in put(store, " - Nameless", "Ann - One")])
    counts = write_recorded(tmp_path / "plays.jsonl", play_log.recorded())
    assert (counts.nameless, counts.written) == (1, {Action.LISTEN: 1})


def test_a_file_that_cannot_be_written_is_named(play_log, told, tmp_path):
    with pytest.raises(LibraryError, match=r"cannot be written .*; choose another file or folder"):
        write_recorded(tmp_path / "no folder" / "plays.jsonl", play_log.recorded())
