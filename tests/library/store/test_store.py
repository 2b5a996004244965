"""Libraries open, refuse and wait as they should; songs come back as they went in."""

import contextlib
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from library_store import put_file as put
from nearsong.audio.tags import Tags
from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.store import ScannedFile, Store, default_address
from nearsong.library.store.schema import FORMAT, format_of, metadata
from nearsong.library.store.text import clean_text, path_key, path_to_text, text_to_path

# ---- text


@given(st.binary(max_size=40))
def test_any_path_comes_back_from_text_that_utf_8_holds(raw):
    path = os.fsdecode(raw)
    text = path_to_text(path)
    assert "\0" not in text
    text.encode("utf-8")
    assert text_to_path(text) == path


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_even_text_that_is_no_path_comes_back(path):
    assert text_to_path(path_to_text(path)) == path


def test_a_name_with_the_character_that_marks_odd_bytes_stays_itself():
    path = "a\U0010fffd00dc80.mp3"
    assert text_to_path(path_to_text(path)) == path


@given(st.lists(st.binary(max_size=20), unique=True, max_size=20))
def test_different_paths_have_different_keys(raws):
    assert len({path_key(os.fsdecode(raw)) for raw in raws}) == len(raws)


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_clean_text_is_what_every_database_holds_and_stays_when_it_is_already(text):
    clean = clean_text(text)
    assert "\0" not in clean
    clean.encode("utf-8")
    assert clean_text(clean) == clean


# ---- opening


def test_the_default_address_is_in_the_users_folder_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("NEARSONG_LIBRARY", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_address().endswith("library.sqlite")
    monkeypatch.setenv("NEARSONG_LIBRARY", str(tmp_path / "mine.sqlite"))
    with contextlib.closing(Store()) as store:
        assert store.name == str(tmp_path / "mine.sqlite")


@pytest.mark.parametrize("ending", ["", "/", "/deeper/", "/deeper/library.sqlite"])
def test_a_folder_or_a_file_can_be_given_and_is_made(tmp_path, ending):
    with contextlib.closing(Store(f"{tmp_path}{ending}")) as store:
        assert Path(store.name).is_file()
        assert Path(store.name).name == "library.sqlite"


def test_a_path_of_odd_bytes_can_hold_a_library(tmp_path):
    with contextlib.closing(Store(os.path.join(os.fsencode(tmp_path), b"m\xfcsik.sqlite"))) as store:
        put(store, "/a.mp3")
        assert store.name.endswith("m\ufffdsik.sqlite")  # as it can be shown
    assert b"m\xfcsik.sqlite" in os.listdir(os.fsencode(tmp_path))


def test_a_library_is_there_again_when_it_is_opened_again(address):
    with contextlib.closing(Store(address)) as store:
        song = put(store, "/a.mp3")
    with contextlib.closing(Store(address, create=False)) as store:
        assert [song.id for song in store.songs.all()] == [song]


def test_none_is_made_where_none_should_be(tmp_path):
    with pytest.raises(LibraryError, match=r"library not found: .*; create one with `nearsong scan FOLDER`"):
        Store(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(LibraryError, match="library not found:"):
        Store(tmp_path / "empty.sqlite", create=False)


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path):
    other = tmp_path / "song.mp3"
    other.write_bytes(b"ID3 and more that is no database" * 100)
    before = other.read_bytes()
    with pytest.raises(LibraryError, match=r"song\.mp3 is not a nearsong library; choose"):
        Store(other)
    assert other.read_bytes() == before


@pytest.mark.parametrize("table", ["bookmarks (url)", "settings (a, b)", "settings (name, value)"])
def test_another_programs_database_is_refused_and_left_alone(tmp_path, table):
    path = tmp_path / "embeddings.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {table}")
    before = path.read_bytes()
    with pytest.raises(
        LibraryError, match="is not a nearsong library: it has tables of another program; choose another"
    ):
        Store(path)
    assert path.read_bytes() == before


def with_columns(*columns):
    tables = sa.MetaData()
    for table in metadata.tables.values():
        table.to_metadata(tables)
    for column in columns:
        tables.tables["songs"].append_column(column)
    return tables


def test_other_columns_are_another_format():
    assert format_of(with_columns()) == FORMAT
    assert format_of(with_columns(sa.Column("tempo", sa.Integer))) != FORMAT
    assert format_of(with_columns(sa.Column("tempo", sa.Integer))) != format_of(
        with_columns(sa.Column("tempo", sa.Text))
    )


@pytest.mark.parametrize("other", ["2", "99", format_of(with_columns(sa.Column("tempo", sa.Integer)))])
def test_another_format_is_refused(store, address, other):
    with store.writing() as connection:
        store.models.set(connection, "schema", other)
    words = rf"has format {other}, but this nearsong reads format {FORMAT}; use the version that created it"
    with pytest.raises(LibraryError, match=words):
        Store(address)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_library_is_named_as_such(tmp_path, seed):
    path = tmp_path / "a.sqlite"
    with contextlib.closing(Store(path)) as store:
        for i in range(20):
            put(store, f"/{i}.mp3", problem="x" * 2000)
    raw = bytearray(path.read_bytes())
    start = 1_000 if seed else len(raw) // 2
    raw[start:] = np.random.default_rng(seed).bytes(len(raw) - start)
    path.write_bytes(raw)

    def read() -> None:
        with contextlib.closing(Store(path)) as store:
            store.songs.problems()
            store.songs.all()

    with pytest.raises(LibraryError, match="is damaged; restore a backup, or scan into a new library"):
        read()


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs a folder that nobody can write to, /proc")
def test_a_folder_that_cannot_be_made_is_named():
    with pytest.raises(
        LibraryError, match=r"cannot create a folder for the library /proc/nearsong/library.sqlite .*; choose another"
    ):
        Store("/proc/nearsong/library.sqlite")
    with pytest.raises(LibraryError, match="cannot be opened; check the path, its permissions and the disk"):
        Store("/proc/library.sqlite")


def test_a_full_disk_is_named_and_loses_nothing(tmp_path):
    with contextlib.closing(Store(tmp_path / "a.sqlite")) as store:
        put(store, "/a.mp3")
        with contextlib.closing(store._database._engine.raw_connection()) as connection:
            connection.driver_connection.execute("PRAGMA max_page_count=1").close()  # as large as it is
        with pytest.raises(
            LibraryError, match=r"cannot be written: the disk is full\. Free some space and try again; nothing is"
        ):
            put(store, "/b.mp3", problem="x" * 10**6)
        assert [song.path for song in store.songs.all()] == ["/a.mp3"]


READ_ONLY = """
import os, sys
from nearsong.errors import LibraryError
from nearsong.library.store import Store
Store(sys.argv[1]).close()  # imports what has to be imported
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    Store(sys.argv[1]).songs.add_root("/a")
except LibraryError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs rights as POSIX has them")
def test_a_library_that_may_not_be_written_to_says_so():
    with tempfile.TemporaryDirectory() as folder:  # others may not look into pytest's folders
        address = Path(folder, "library.sqlite")
        Store(address).close()
        address.chmod(0o444)
        os.chmod(folder, 0o555)
        command = [sys.executable, "-c", READ_ONLY, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        os.chmod(folder, 0o755)
    assert f"{address} is read-only" in done.stdout, done.stderr
    assert "check" in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "is not a valid path; give a file, a folder or a URL"),
        ("a\0b", "is not a valid path"),
        ("mysql://host/name", "mysql is not supported; use a path or postgresql://"),
        ("sqlite://", "an in-memory library is not supported; give a file"),
        ("sqlite:///:memory:", "in-memory library"),
        ("postgresql://user:secret@host:port/name", "is not a valid URL; use postgresql://"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused(address, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        Store(address)
    assert "secret" not in str(caught.value)


def test_a_url_of_sqlite_means_its_file(tmp_path):
    Store(f"sqlite:///{tmp_path}/a.sqlite").close()
    assert (tmp_path / "a.sqlite").is_file()


def test_without_the_driver_postgresql_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'nearsong\[postgres\]'"):
        Store("postgresql://localhost/name")


# ---- many at once


def test_a_library_that_stays_locked_is_reported_as_busy(address):
    with contextlib.closing(Store(address)) as one, contextlib.closing(Store(address)) as two:
        two.set_lock_timeout(0.2)
        with one.writing() as connection:
            one.models.set(connection, "a", 1)
            with pytest.raises(LibraryError, match="is in use by another program; try again later"):
                two.songs.add_root("/a")
            assert two.songs.roots() == []  # reading never waits
        two.songs.add_root("/a")
        assert one.songs.roots() == ["/a"]


def test_a_thread_that_would_wait_for_itself_gets_an_error(store):
    with store.writing(), pytest.raises(RuntimeError, match="already holds the write lock"), store.writing():
        pass
    with store.writing():  # and it can go on
        pass


def test_nothing_is_written_when_something_goes_wrong(store):
    def put_and_fail() -> None:
        with store.writing() as connection:
            store.songs.put(connection, ScannedFile("/a.mp3", 1, 2, "", Tags()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        put_and_fail()
    assert store.songs.all() == []


def test_threads_write_and_read_at_once(store):
    def write(worker: int) -> list[int]:
        return [put(store, f"/{worker}/{i}.mp3", tags=Tags(title=f"{i}")) for i in range(10)]

    with ThreadPoolExecutor(4) as pool:
        ids = [song for made in pool.map(write, range(4)) for song in made]
    assert len(set(ids)) == 40
    assert [song.id for song in store.songs.all()] == sorted(ids)


BEGIN = """
from nearsong.audio.tags import Tags
from nearsong.library.store import ScannedFile, Store
ready.wait(60)
store = Store(address)
for i in range(5):
    for path in (f"/{i}.mp3", f"/{worker}/{i}.mp3"):
        with store.writing() as connection:
            store.songs.put(connection, ScannedFile(path, 1, 2, "", Tags()))
"""


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs POSIX")
def test_processes_that_begin_a_library_at_once_share_it(new_address, quick_workers):
    context = multiprocessing.get_context("forkserver")
    ready = context.Barrier(3)
    names = [{"address": new_address, "worker": i, "ready": ready} for i in range(3)]
    processes = [context.Process(target=exec, args=(BEGIN, name)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with contextlib.closing(Store(new_address)) as store:
        songs = store.songs.all()
    assert len(songs) == len({song.path for song in songs}) == 5 + 15


def test_a_reader_sees_one_state_however_long_it_takes(store):
    put(store, "/a.mp3")
    with store._database.reading() as connection:
        assert len(connection.exec_driver_sql("SELECT id FROM songs").all()) == 1
        other = threading.Thread(target=put, args=(store, "/b.mp3"))
        other.start()
        other.join()
        assert len(connection.exec_driver_sql("SELECT id FROM songs").all()) == 1
    assert len(store.songs.all()) == 2
