"""Writers wait for each other, for as long as they may; readers wait for nobody."""

import contextlib
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from library_store import put_file as put
from nearsong.errors import DatabaseError, DiskFullError
from nearsong.library.store import Store
from nearsong.library.store.opening.errors import reason_of
from waiting import in_threads, wait_for

WAIT = 60  # seconds until a test that hangs fails
N_WRITERS = 20  # more than a pool has connections


def test_writers_that_wait_leave_the_connections_to_readers(store, address):
    pool = store._database._engine.pool
    begun = threading.Semaphore(0)

    def write(number: int) -> None:
        begun.release()
        store.songs.add_root(f"/{number}")

    with contextlib.closing(Store(address)) as other, ThreadPoolExecutor(N_WRITERS) as writers:
        with other.writing():
            waiting = [writers.submit(write, number) for number in range(N_WRITERS)]
            for _ in waiting:
                assert begun.acquire(timeout=WAIT)
            wait_for(lambda: pool.checkedout() == 1)
            with contextlib.ExitStack() as readers:
                for _ in range(pool.size() + pool._max_overflow - 1):  # all but that of the writer
                    connection = readers.enter_context(store._database.reading())
                    assert connection.execute(sa.text("SELECT 1")).scalar_one() == 1
            assert not any(one.done() for one in waiting)
        for one in waiting:
            one.result(WAIT)
    assert len(store.songs.roots()) == N_WRITERS


def test_a_library_opens_while_another_program_writes(store, address):
    store.songs.add_root("/a")
    with store.writing(), contextlib.closing(Store(address)) as another:
        assert another.songs.roots() == ["/a"]


def test_a_writer_that_waited_for_another_thread_in_vain_is_busy_and_can_try_again(store):
    store.set_lock_timeout(0.1)

    def write() -> None:
        with pytest.raises(DatabaseError, match="is in use by another program; try again later") as caught:
            store.songs.add_root("/a")
        assert caught.value.transient

    with store.writing(), ThreadPoolExecutor(1) as other:
        other.submit(write).result(WAIT)
    store.songs.add_root("/a")
    assert store.songs.roots() == ["/a"]


def test_a_short_wait_of_one_write_does_not_stay_with_its_connection(store, address):
    store.set_lock_timeout(0.05)
    with contextlib.closing(Store(address)) as other, ThreadPoolExecutor(1) as writer:
        with other.writing():
            with pytest.raises(DatabaseError, match="is in use"):
                store.songs.add_root("/a")
            store.set_lock_timeout(WAIT)
            waiting = writer.submit(store.songs.add_root, "/b")
            wait_for(lambda: store._database._engine.pool.checkedout() == 1)
        waiting.result(WAIT)
    assert store.songs.roots() == ["/b"]


def test_changes_of_one_playlist_at_once_are_all_kept(store, address):
    songs = [put(store, f"/{number}.mp3") for number in range(8)]
    playlist = store.playlists.add("mine", [])
    with contextlib.closing(Store(address)) as other:  # as another process would

        def append(number: int) -> None:
            table = (store, other)[number % 2].playlists
            table.edit(playlist.id, lambda saved: (saved.name, [*saved.songs, songs[number]]))

        in_threads(append, range(len(songs)))
    assert sorted(store.playlists.get(playlist.id).songs) == songs


# ---- what errors of drivers mean


def test_a_full_disk_of_the_server_is_one(store):
    if store._database.is_sqlite:
        statement = "PRAGMA max_page_count=1"
    else:
        statement = "DO $$ BEGIN RAISE EXCEPTION 'could not write' USING ERRCODE = '53100'; END $$"

    def fill() -> None:
        with store.writing() as connection:
            connection.exec_driver_sql(statement)
            connection.exec_driver_sql("INSERT INTO settings VALUES ('long', ?)", ("x" * 10**6,))

    with pytest.raises(DiskFullError, match="cannot be written: the disk is full") as caught:
        fill()
    assert not caught.value.transient


class FakeError(sqlite3.OperationalError):
    def __init__(self, text: str, **codes: str) -> None:
        super().__init__(text)
        self.__dict__.update(codes)


@pytest.mark.parametrize(
    ("error", "kind", "transient"),
    [
        (FakeError("database or disk is full"), DiskFullError, False),
        (FakeError("disk I/O error", sqlite_errorname="SQLITE_IOERR_SHMSIZE"), DiskFullError, False),
        (FakeError("could not extend file: No space left on device", sqlstate="53100"), DiskFullError, False),
        (FakeError("disk I/O error", sqlite_errorname="SQLITE_IOERR_READ"), DatabaseError, False),
        (FakeError("attempt to write a readonly database"), DatabaseError, False),
        (FakeError("database is locked"), DatabaseError, True),
        (FakeError("canceling statement due to lock timeout", sqlstate="55P03"), DatabaseError, True),
    ],
)
def test_what_a_driver_says_has_a_kind(error, kind, transient):
    reason = reason_of(error, is_sqlite=True)
    assert (reason.kind, reason.transient) == (kind, transient)
