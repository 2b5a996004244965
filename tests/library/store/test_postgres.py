"""What is PostgreSQL's own: addresses, passwords, rights, and databases that others use too.

The other tests of scans and of the store run on both kinds of library.
"""

import contextlib
import secrets
import socket
import threading

import numpy as np
import pytest
import sqlalchemy as sa

import music_library
from nearsong.errors import DatabaseError, LibraryError
from nearsong.library import Library
from nearsong.library.listeners.importing import import_listens
from nearsong.library.scanning.scan import scan
from nearsong.library.store import Store
from nearsong.library.store.database import Database
from waiting import in_threads


def refused(address: str) -> str:
    """Return why an address cannot be opened."""
    with pytest.raises(LibraryError) as caught:
        Store(address)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_wrong_password_is_refused_in_one_line_that_does_not_show_it(postgres):
    message = refused(postgres.url("postgres", password="s3cret"))
    assert message == (
        f"the library postgresql://nearsong@127.0.0.1:{postgres.port}/postgres rejected the user name or the "
        "password; check the URL."
    )
    assert "s3cret" not in refused(postgres.url("postgres").split("@")[0] + "x@127.0.0.1:1/name?password=s3cret")


def test_an_unknown_host_or_port_or_database_is_named(postgres):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    message = refused(f"postgresql://me:s3cret@127.0.0.1:{port}/music")
    assert f"the library postgresql://me@127.0.0.1:{port}/music cannot be used (" in message
    assert "refused" in message
    assert message.endswith("; check the URL, and that the server is running.")
    assert "cannot be used" in refused("postgresql://me:s3cret@no-such-host.invalid/music")
    assert 'database "none" does not exist' in refused(postgres.url("none"))


def test_the_short_name_and_drivers_names_mean_the_same(postgres):
    address = postgres.new_schema()
    for name in ("postgres", "postgresql+psycopg", "postgresql+psycopg2"):
        with contextlib.closing(Store(address.replace("postgresql", name, 1))) as store:
            assert store.name == f"postgresql://nearsong@127.0.0.1:{postgres.port}/postgres"
            assert store.folder is None


def test_none_is_made_where_none_should_be(postgres):
    with pytest.raises(LibraryError, match=r"library not found: postgresql://nearsong@.*; create one with `nearsong"):
        Store(postgres.new_schema(), create=False)


def test_tables_of_another_program_are_left_alone(postgres):
    address = postgres.new_schema()
    schema = address.rsplit("%3D", 1)[1]
    postgres.run(f"CREATE TABLE {schema}.customers (id int)")
    Store(address).close()  # under names of their own they are in nobody's way
    address = postgres.new_schema()
    schema = address.rsplit("%3D", 1)[1]
    postgres.run(f"CREATE TABLE {schema}.songs (id int)")
    assert refused(address).endswith("it has tables of another program; use a separate database for nearsong.")


def test_a_database_that_cannot_hold_all_letters_is_refused(postgres):
    name = f"latin_{secrets.token_hex(4)}"
    postgres.run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    assert "has the encoding LATIN1, which cannot store all names; create one with ENCODING 'UTF8'." in refused(
        postgres.url(name)
    )


def test_a_user_without_rights_gets_an_error(postgres):
    address = postgres.new_schema()
    Store(address).close()
    role, schema = f"guest_{secrets.token_hex(4)}", address.rsplit("%3D", 1)[1]
    postgres.run(f"CREATE ROLE {role} LOGIN PASSWORD 'guest'")
    postgres.run(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    postgres.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    guest = address.replace(f"nearsong:{postgres.password}", f"{role}:guest")
    with contextlib.closing(Store(guest)) as store:
        assert store.songs.all() == []
        with pytest.raises(LibraryError, match="permission denied for table roots"):
            store.songs.add_root("/a")
    assert "permission denied" in refused(guest.split("?")[0])  # where it would have to make tables


def test_a_connection_that_was_lost_is_made_again(postgres):
    with contextlib.closing(Store(postgres.new_schema())) as store:
        store.songs.add_root("/a")
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        assert store.songs.roots() == ["/a"]


def test_a_server_that_stops_is_distinguished_from_a_wrong_address_and_found_again(postgres):
    with contextlib.closing(Store(postgres.new_schema())) as store:
        store.songs.add_root("/a")
        postgres.stop()
        try:
            with pytest.raises(LibraryError) as caught:
                store.songs.roots()
        finally:
            postgres.start()
        assert str(caught.value).startswith(
            f"the library {store.name} cannot be reached right now (connection failed: "
        )
        assert str(caught.value).endswith("); it will be used again as soon as the server is back.")
        assert store.songs.roots() == ["/a"]


def test_a_server_that_is_gone_while_a_library_is_opened_may_come_back(postgres, monkeypatch):
    Store(address := postgres.new_schema()).close()

    def ended(_database, connection):
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as once:
        once.setattr(Database, "_format", ended)
        with pytest.raises(DatabaseError, match="cannot be reached right now") as caught:
            Store(address)
    assert caught.value.transient
    Store(address).close()


def test_one_that_ends_in_the_middle_of_a_question_is_unavailable_too(postgres):
    end = sa.select(sa.func.pg_terminate_backend(sa.func.pg_backend_pid()))
    with (
        contextlib.closing(Database(postgres.new_schema())) as database,
        pytest.raises(LibraryError, match=r"cannot be reached right now \(.*\); it will be used again"),
        database.reading() as connection,
    ):
        connection.execute(end)


def test_more_questions_at_once_than_there_are_connections_are_asked_to_try_again(postgres, monkeypatch):
    with contextlib.closing(Database(postgres.new_schema())) as database, contextlib.ExitStack() as requests:
        monkeypatch.setattr(database._engine.pool, "_timeout", 0.01)
        for _ in range(15):
            requests.enter_context(database.reading())
        with (
            pytest.raises(
                LibraryError, match=r"cannot be reached right now \(too many requests are waiting\); try again\."
            ),
            database.reading(),
        ):
            pass


def test_closing_ends_what_another_thread_waits_for(postgres):
    address = postgres.new_schema()
    with contextlib.closing(Store(address)) as busy:
        store, reported, begun = Store(address), [], threading.Event()

        def wait() -> None:
            begun.set()
            with pytest.raises(LibraryError) as caught, store.writing():
                pass
            reported.append(str(caught.value))

        waiter = threading.Thread(target=wait)
        with busy.writing():
            waiter.start()
            begun.wait(30)
            store.close()
            waiter.join(30)  # it would wait a minute for its turn
            assert not waiter.is_alive()
        assert len(reported) == 1
        assert "cannot be reached right now" in reported[0] or "was closed" in reported[0]
        with pytest.raises(LibraryError, match=r"^the library postgresql://.* was closed\.$"):
            store.songs.roots()


def test_a_copy_of_a_library_does_not_get_its_maps_and_graphs(postgres):
    address, other = postgres.new_schema(), postgres.new_schema()
    with contextlib.closing(Store(address)) as store, contextlib.closing(Store(other)) as copy:
        assert store.cache.parent == copy.cache.parent
        assert store.cache != copy.cache
        with contextlib.closing(Store(store.address)) as same:
            assert same.cache == store.cache
        assert postgres.password not in str(store.cache)


def test_writers_take_turns_so_that_each_sees_what_the_other_wrote(postgres):
    address = postgres.new_schema()
    with contextlib.closing(Store(address)) as store:

        def count(_number: int) -> None:
            for _ in range(20):
                with store.writing() as connection:
                    before = int(store.models.setting_in(connection, "n") or 0)
                    store.models.set(connection, "n", before + 1)

        in_threads(count, range(3))
        assert store.models.setting("n") == "60"


def test_everything_of_an_evening_in_postgresql(postgres, music, analysed, tmp_path):
    """Scan, import, scan again: what a person does first."""
    history = tmp_path / "history.csv"
    history.write_text(
        "user,artist,title,plays\n" + "".join(f"u{i},Artist {i % 3},Song {i},{i + 1}\n" for i in range(6))
    )
    with contextlib.closing(Store(postgres.new_schema())) as store:
        assert scan(store, [music]).added == 6
        assert [(file.state, file.rows) for file in import_listens(store, [history])] == [("imported", 6)]
        assert [file.state for file in import_listens(store, [history])] == ["known"]
        assert sum(store.listens.totals().values()) == 21
        assert scan(store).unchanged == 6


def test_postgresql_learns_and_answers_as_sqlite_does(postgres, styled_music, trained, tmp_path):
    listens = music_library.write_listens(tmp_path / "listens.csv")
    with Library.open(postgres.new_schema()) as library:
        library.scan(styled_music, workers=2)
        library.import_listens(listens)
        assert library.train().decision == "learned"
        for song in trained.songs()[::12]:
            ours, theirs = library.similar(song.path, n=6), trained.similar(song.path, n=6)
            np.testing.assert_allclose([one.distance for one in ours], [one.distance for one in theirs], rtol=1e-4)
            assert [one.song.path for one in ours] == [one.song.path for one in theirs]
        songs, _ = library.playlist(trained.songs()[0].path)
        assert len(songs) == 25
        assert library.why(songs[0], songs[1])[0].sentences()
        learned = library.active_model
        library.use_model(next(row.id for row in library.models() if row.kind == "native"))
        assert library.active_model != learned
        assert library.status().songs == len(trained.songs())
