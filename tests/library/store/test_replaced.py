"""A library file that is moved or replaced while it is open: nothing is written where nobody will find it."""

import contextlib
import os
import shutil
import sqlite3
import threading

import pytest

from nearsong.audio.tags import Tags
from nearsong.errors import LibraryError
from nearsong.library.store import ScannedFile, Store


def put(store: Store, path: str) -> int:
    with store.writing() as connection:
        return store.songs.put(connection, ScannedFile(path, 1, 2, "", Tags(title="x")))


def paths(store: Store) -> list[str]:
    return [song.path for song in store.songs.all()]


def in_file(address) -> list[str]:
    """Return the songs of a file as somebody sees who opens it for the first time."""
    with contextlib.closing(sqlite3.connect(address)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [path for (path,) in connection.execute("SELECT path FROM songs ORDER BY id")]


@pytest.fixture
def address(tmp_path):
    return tmp_path / "library.sqlite"


@pytest.fixture
def opened(address):
    with contextlib.closing(Store(address)) as store:
        put(store, "/first.mp3")
        yield store


@pytest.fixture
def backup(tmp_path, opened):
    """A copy of the library as it was after its first song."""
    copy = tmp_path / "backup.sqlite"
    with contextlib.closing(sqlite3.connect(tmp_path / "library.sqlite")) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    return copy


def test_nothing_is_written_or_read_while_the_file_is_moved_and_all_goes_on_when_it_is_back(
    opened, address, tmp_path
):
    os.rename(address, tmp_path / "elsewhere.sqlite")
    gone = r"^the library file .*library\.sqlite is missing; restore it\.$"
    with pytest.raises(LibraryError, match=gone):
        put(opened, "/lost.mp3")
    with pytest.raises(LibraryError, match=gone):
        paths(opened)
    assert not address.exists()  # none is made instead
    os.rename(tmp_path / "elsewhere.sqlite", address)
    put(opened, "/second.mp3")
    assert paths(opened) == in_file(address) == ["/first.mp3", "/second.mp3"]


def test_a_copy_that_replaces_the_file_is_used_from_then_on_and_keeps_its_own(opened, address, backup):
    for number in range(50):
        put(opened, f"/after the backup {number}.mp3")  # in the log, which is not the copy's
    stamp = opened.version_stamp()
    os.replace(backup, address)
    put(opened, "/new.mp3")
    assert paths(opened) == ["/first.mp3", "/new.mp3"]
    assert opened.version_stamp() != stamp
    opened.close()
    assert in_file(address) == ["/first.mp3", "/new.mp3"]


def test_readers_go_over_to_the_copy_too_and_a_reader_under_way_ends_with_what_it_began(opened, address, backup):
    put(opened, "/after.mp3")
    with opened._database.reading() as connection:
        count = "SELECT count(*) FROM songs"
        assert connection.exec_driver_sql(count).scalar() == 2
        os.replace(backup, address)
        assert paths(opened) == ["/first.mp3"]
        assert connection.exec_driver_sql(count).scalar() == 2
    assert paths(opened) == ["/first.mp3"]


def test_the_old_file_is_intact_where_it_was_moved_to(opened, address, backup, tmp_path):
    put(opened, "/after the backup.mp3")
    os.rename(address, tmp_path / "old.sqlite")
    os.rename(backup, address)
    assert paths(opened) == ["/first.mp3"]
    assert in_file(tmp_path / "old.sqlite") == ["/first.mp3", "/after the backup.mp3"]


def test_a_log_that_came_with_the_copy_stays(opened, address, tmp_path):
    other = tmp_path / "other" / "library.sqlite"
    with contextlib.closing(Store(other)) as another:
        put(another, "/another.mp3")
        for ending in ("-wal", ""):
            shutil.copyfile(f"{other}{ending}", tmp_path / f"copy{ending}")
    for ending in ("-wal", ""):
        os.replace(tmp_path / f"copy{ending}", f"{address}{ending}")
    os.unlink(f"{address}-shm")
    assert paths(opened) == ["/another.mp3"]


def test_what_is_no_library_is_refused_as_long_as_it_is_there(opened, address, backup, tmp_path):
    odd = tmp_path / "odd"
    odd.write_bytes(b"no database " * 500)
    os.replace(odd, address)
    for _ in range(2):
        with pytest.raises(LibraryError, match="is not a nearsong library; choose another file"):
            put(opened, "/x.mp3")
    odd.touch()
    os.replace(odd, address)
    with pytest.raises(LibraryError, match=r"^library not found: .*; create one with"):
        paths(opened)
    os.replace(backup, address)
    assert paths(opened) == ["/first.mp3"]


def test_a_writer_whose_file_is_replaced_before_it_is_done_gets_an_error(opened, address, backup):
    def write() -> None:
        with opened.writing() as connection:
            opened.songs.put(connection, ScannedFile("/late.mp3", 1, 2, "", Tags()))
            os.replace(backup, address)

    with pytest.raises(LibraryError, match="was replaced in the meantime; try again"):
        write()
    assert paths(opened) == ["/first.mp3"]
    put(opened, "/late.mp3")
    assert in_file(address) == ["/first.mp3", "/late.mp3"]


def test_threads_that_write_meanwhile_lose_nothing_without_an_error(opened, address, tmp_path, backup):
    written: dict[int, list[str]] = {0: [], 1: []}
    replaced, stop = threading.Event(), threading.Event()

    def work(worker: int) -> None:
        number = 0
        while not stop.is_set():
            name = f"/{worker} {number}.mp3"
            after = replaced.is_set()
            number += 1
            with contextlib.suppress(LibraryError):
                put(opened, name)
                if after:
                    written[worker].append(name)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in written]
    for thread in threads:
        thread.start()
    try:
        os.rename(address, tmp_path / "old.sqlite")
        os.rename(backup, address)
        replaced.set()
        while min(map(len, written.values())) < 10:
            assert all(thread.is_alive() for thread in threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    opened.close()
    assert {"/first.mp3", *written[0], *written[1]} <= set(in_file(address))
