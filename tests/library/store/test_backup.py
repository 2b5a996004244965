"""Backups: all rows as of one moment, in one file, and a library again; nothing is lost on the way."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
import sqlalchemy as sa

from library_store import put_file
from nearsong.errors import LibraryError
from nearsong.library.store import Store, restore
from nearsong.library.store.schema import FORMAT, metadata


def rows_of(store: Store) -> dict[str, list[tuple]]:
    """Return all rows of all tables."""
    with store._database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def value_of(column: sa.Column, number: int):
    """Return a value of a column's type; ids are the number, so that rows of the same number refer to each other."""
    if column.foreign_keys or isinstance(column.type, sa.Integer):
        return number
    if isinstance(column.type, sa.LargeBinary):
        return bytes([number, 0, 255])
    kinds = {sa.Text: f"Bj\u00f6rk {number}", sa.Float: number + 0.25, sa.Boolean: True}
    return next(value for kind, value in kinds.items() if isinstance(column.type, kind))


@pytest.fixture
def filled(address):
    """A library with rows in every table, in either kind of database, whose newest song was removed."""
    with contextlib.closing(Store(address)) as store:
        removed = [put_file(store, f"/{number}.mp3") for number in range(4)]
        store.songs.remove(removed)
        with store.writing() as connection:
            for table in metadata.sorted_tables:
                rows = [{column.name: value_of(column, n) for column in table.columns} for n in (1, 2)]
                connection.execute(table.insert(), rows)
        yield store


def test_a_backup_has_every_row_and_restores_them_in_both_kinds_of_database(filled, tmp_path, postgres):
    file = filled.backup(tmp_path / "backup.sqlite")
    rows = rows_of(filled)
    assert all(len(found) >= 2 for found in rows.values())
    new_song = put_file(filled, "/one more.mp3")
    for target in (str(tmp_path / "restored" / "library.sqlite"), postgres.new_schema()):
        restore(file, target)
        with contextlib.closing(Store(target, create=False)) as restored:
            assert rows_of(restored) == rows
            assert put_file(restored, "/one more.mp3") == new_song  # the id of the removed song is not used again


def test_it_is_of_one_moment_while_others_write(address, tmp_path):
    with contextlib.closing(Store(address)) as store:
        stop = threading.Event()

        def write() -> None:
            other = Store(address)
            number = 0
            while not stop.is_set():
                with other.writing() as connection:  # two settings that are always equal
                    for name in ("a", "b"):
                        other.models.set(connection, name, f"{number}" * 3000)
                number += 1
            other.close()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            seen = set()
            while len(seen) < 5:
                file = store.backup(tmp_path / "backup.sqlite", replace=True)
                with contextlib.closing(sqlite3.connect(file)) as copy:
                    values = dict(copy.execute("SELECT name, value FROM settings"))
                assert values.get("a") == values.get("b")
                seen.add(values.get("a"))
        finally:
            stop.set()
            writer.join()


def test_it_is_one_file_that_only_its_owner_reads_and_replaces_nothing_unasked(filled, tmp_path):
    folder = tmp_path / "backups"
    with pytest.raises(LibraryError, match=r"^folder not found: .*backups; create it"):
        filled.backup(folder / "backup.sqlite")
    folder.mkdir()
    (folder / "backup.sqlite").write_text("mine")
    with pytest.raises(LibraryError, match=r"backup\.sqlite exists; choose another file, or add --replace\.$"):
        filled.backup(folder / "backup.sqlite")
    assert (folder / "backup.sqlite").read_text() == "mine"
    filled.backup(folder / "backup.sqlite", replace=True)
    assert os.listdir(folder) == ["backup.sqlite"]
    assert (folder / "backup.sqlite").stat().st_mode & 0o777 == 0o600
    with pytest.raises(LibraryError, match=r"is a folder; give the name of a file in it\.$"):
        filled.backup(folder, replace=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_device_a_pipe_or_a_folder_is_replaced_neither_by_a_backup_nor_by_a_restored_library(tmp_path):
    """A pipe stands for all of them."""
    pipe, link = tmp_path / "pipe.sqlite", tmp_path / "link.sqlite"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with contextlib.closing(Store(tmp_path / "library.sqlite")) as store:
        for replace in (False, True):
            for target in (pipe, link):
                with pytest.raises(LibraryError, match=r"pipe\.sqlite is no regular file, such as a device[^\n]*\.$"):
                    store.backup(target, replace=replace)
        store.backup(tmp_path / "backup.sqlite")
    for replace in (False, True):
        with pytest.raises(LibraryError, match=r"pipe\.sqlite is no regular file, such as a device[^\n]*\.$"):
            restore(tmp_path / "backup.sqlite", str(pipe), replace=replace)
    assert pipe.is_fifo()


def _text(path):
    path.write_text("no backup")


def _foreign(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text)")


def _other_format(path):
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE settings SET value = '3-old' WHERE name = 'schema'")
        connection.commit()


def _damaged(path):
    with contextlib.closing(Store(path)) as store:
        for number in range(200):
            put_file(store, f"/{number}.mp3")
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.write(b"\xff" * 8192)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "does not exist; give the file that `nearsong backup` wrote."),
        (_text, "is not a backup of a library; give the file that `nearsong backup` wrote."),
        (_foreign, "is not a backup of a library; give the file that `nearsong backup` wrote."),
        (_other_format, f"has format 3-old, but this nearsong reads format {FORMAT}; restore it with its version."),
        (_damaged, "is damaged; use another backup."),
    ],
    ids=["missing", "text", "foreign", "other format", "damaged"],
)
def test_what_is_no_backup_is_refused_and_the_library_stays(tmp_path, make, words):
    make(tmp_path / "backup.sqlite")
    target = tmp_path / "library.sqlite"
    with contextlib.closing(Store(target)) as store:
        put_file(store, "/kept.mp3")
    with pytest.raises(LibraryError) as error:
        restore(tmp_path / "backup.sqlite", str(target), replace=True)
    assert str(error.value) == f"{tmp_path / 'backup.sqlite'} {words}"
    assert paths_in(target) == ["/kept.mp3"]


@pytest.fixture
def backup(tmp_path):
    """A backup of a library with one song."""
    with contextlib.closing(Store(tmp_path / "other.sqlite")) as store:
        put_file(store, "/restored.mp3")
        return store.backup(tmp_path / "backup.sqlite")


def paths_in(address) -> list[str]:
    with contextlib.closing(Store(address, create=False)) as store:
        return [song.path for song in store.songs.all()]


def test_a_library_is_replaced_only_when_told_and_only_if_nobody_has_it_open(backup, tmp_path):
    target = tmp_path / "library.sqlite"
    with contextlib.closing(Store(target)) as store:
        put_file(store, "/kept.mp3")
        with pytest.raises(LibraryError, match=r"exists; add --replace to lose what is in it, or choose another"):
            restore(backup, str(target))
        with pytest.raises(LibraryError, match=r"is in use; stop what serves, scans or trains first\.$"):
            restore(backup, str(target), replace=True)
        assert [song.path for song in store.songs.all()] == ["/kept.mp3"]
    with pytest.raises(LibraryError, match=r"is the library itself; give its backup\.$"):
        restore(target, str(target), replace=True)
    restore(backup, str(target), replace=True)
    assert paths_in(target) == ["/restored.mp3"]
    with contextlib.closing(Store(target)) as store, store._database.reading() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"


CRASHED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("UPDATE songs SET path = '/of the log'")
connection.commit()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "damaged"])
def test_the_log_that_a_lost_library_left_is_not_written_into_the_restored_one(backup, tmp_path, is_deleted):
    target = tmp_path / "library.sqlite"
    with contextlib.closing(Store(target)) as store:
        put_file(store, "/lost.mp3")
    assert subprocess.run([sys.executable, "-c", CRASHED, str(target)], timeout=300).returncode == -9
    assert os.path.getsize(f"{target}-wal") > 0
    if is_deleted:
        target.unlink()
    else:
        target.write_bytes(b"\xff" * target.stat().st_size)
    restore(backup, str(target), replace=True)
    assert paths_in(target) == ["/restored.mp3"]


def test_a_postgresql_library_is_never_replaced(backup, postgres):
    address = postgres.new_schema()
    with contextlib.closing(Store(address)) as store:
        put_file(store, "/kept.mp3")
        with pytest.raises(LibraryError, match=r"is not empty; restore into a new database: createdb"):
            restore(backup, address, replace=True)
        assert [song.path for song in store.songs.all()] == ["/kept.mp3"]


KILLED = """
import os, signal, sys
from nearsong.library.store import restore
os.{function} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
restore(sys.argv[1], sys.argv[2], replace=True)
"""


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_restore_that_is_killed_leaves_the_library_as_it_was(backup, tmp_path, function):
    target = tmp_path / "library.sqlite"
    with contextlib.closing(Store(target)) as store:
        put_file(store, "/kept.mp3")
    command = [sys.executable, "-c", KILLED.format(function=function), str(backup), str(target)]
    assert subprocess.run(command, timeout=300).returncode == -9
    assert paths_in(target) == ["/kept.mp3"]
    restore(backup, str(target), replace=True)
    assert paths_in(target) == ["/restored.mp3"]
