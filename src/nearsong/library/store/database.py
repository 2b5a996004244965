"""A path or a URL -> an open database: SQLite in one file, or PostgreSQL; errors are one-line messages.

SQLite runs in WAL mode: readers never block, writers are serialised, and a killed process leaves the last committed
transaction. On PostgreSQL an advisory lock serialises writers, so that callers see the same concurrency on both. Of
the threads of one process only the writer whose turn it is holds a connection; the others wait without one, so that
readers always find one. If another file replaces the open SQLite file, the new one is opened; see
:mod:`~nearsong.library.store.opening.file`.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from nearsong.errors import DatabaseError, InvalidInputError, LibraryError
from nearsong.library.store.light.address import ENVIRONMENT, file_of, not_found, shown_path
from nearsong.library.store.opening.errors import BUSY, UNREACHABLE, first_line, reason_of
from nearsong.library.store.opening.file import OpenedFile
from nearsong.library.store.opening.server import ServerConnections, cache_of, is_unreachable
from nearsong.library.store.schema import FORMAT, metadata, settings

LOCK_TIMEOUT_SECONDS = 60.0
"""Seconds a writer waits for the write lock, unless told otherwise."""

_COMPACT_TIMEOUT_MS = 2_000
"""Milliseconds that compacting waits for others."""

_WRITE_LOCK_KEY = 7_217_274
"""Key of the PostgreSQL advisory lock that serialises writers."""

_SHARING_LOCK_KEY = 7_217_275
"""Key of the one that serialises what services tell each other, and which no scan or training ever holds."""

_SHARING_TIMEOUT_MS = 5_000

Connection = sa.Connection


class Database:
    """An open database with the library's tables.

    Parameters
    ----------
    address : path-like or str
        A file, a folder (the file in it is ``library.sqlite``), or a URL such as ``postgresql://user@host/name``.
    create : bool
        Whether to create the database if it does not exist.

    Attributes
    ----------
    name : str
        Path, or URL without the password; safe to display.
    address : str
        Path or URL with which another process can open the same database. Contains the password: do not display it.
    path : Path or None
        The SQLite file; None on PostgreSQL.
    cache : Path
        Folder for data that can be recomputed; it may not exist yet.
    is_new : bool
        Whether the tables were created by this object.
    replaced : int
        How often the file has been replaced since it was opened.
    lock_timeout_seconds : float
        How long a writer waits for others, in this process and in others; it may be changed at any time.
    """

    def __init__(self, address: str | os.PathLike[str], *, create: bool = True) -> None:
        url = _url_of(os.fsdecode(address))
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.path = Path(str(url.database)) if self.is_sqlite else None
        self.name = shown_path(str(self.path)) if self.path else _without_secrets(url)
        self.address = str(self.path.absolute()) if self.path else url.render_as_string(hide_password=False)
        self.cache = self.path.parent / "nearsong-cache" if self.path else cache_of(url)
        self.is_new = False
        self.replaced = 0
        self.lock_timeout_seconds = LOCK_TIMEOUT_SECONDS
        self._writing = threading.local()
        self._write_turn = threading.Lock()
        self._switch_lock = threading.Lock()
        self._file: OpenedFile | None = None
        if self.path is not None:
            self._check_file(self.path, create)
        self._server = None if self.is_sqlite else ServerConnections(url, self.name, LOCK_TIMEOUT_SECONDS)
        self._engine = _sqlite_engine(url) if self._server is None else self._server.engine
        self._driver_error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        try:
            with self.translated():
                self._prepare(create)
                self._file = None if self.path is None else OpenedFile(self.path)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that reads one consistent snapshot of the library."""
        self._switch_if_replaced()
        with self._reading() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self.translated(), self._engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, timeout_seconds: float | None = None) -> Iterator[Connection]:
        """Yield a connection in a write transaction: committed on exit, rolled back on error, one at a time.

        It waits for others that write, by default as long as ``lock_timeout_seconds`` says.
        """
        if getattr(self._writing, "now", False):
            raise RuntimeError("this thread already holds the write lock; use its connection.")
        seconds = self.lock_timeout_seconds if timeout_seconds is None else timeout_seconds
        deadline = time.monotonic() + seconds
        if not self._write_turn.acquire(timeout=seconds):
            raise self._error(BUSY, transient=True)
        self._writing.now = True
        try:
            self._switch_if_replaced()
            with self.translated(), self._engine.connect() as connection:
                milliseconds = max(1, round(1000 * (deadline - time.monotonic())))
                connection.execution_options(lock_timeout_ms=milliseconds)
                with connection.begin():
                    if not self.is_sqlite:
                        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
                        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITE_LOCK_KEY)))
                    yield connection
                    if self._file is not None and not self._file.is_current():
                        raise self._error("was replaced in the meantime; try again.", transient=True)
        finally:
            self._writing.now = False
            self._write_turn.release()

    @contextmanager
    def sharing(self, *, alone: bool = True) -> Iterator[Connection]:
        """Yield a connection to PostgreSQL in a short transaction on the tables that services share.

        It waits for no writer of the library; by default for others that share something, one at a time.
        """
        with self.translated(), self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_SHARING_TIMEOUT_MS}")
            if alone:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SHARING_LOCK_KEY)))
            yield connection

    def upsert(self, table: sa.Table, rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> Any:
        """Return a statement that inserts rows, or updates existing rows with the same keys."""
        insert: Any = (sqlite if self.is_sqlite else postgresql).insert(table)
        updated = [name for name in rows[0] if name not in keys]
        if not updated:
            return insert.on_conflict_do_nothing(index_elements=list(keys))
        return insert.on_conflict_do_update(
            index_elements=list(keys), set_={name: insert.excluded[name] for name in updated}
        )

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk; PostgreSQL does so by itself.

        Not while others use the file: the next call tries again.
        """
        if not self.is_sqlite:
            return
        with self.translated(), self._engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            commands = (f"PRAGMA busy_timeout={_COMPACT_TIMEOUT_MS}", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
            with contextlib.suppress(self._driver_error):
                for command in commands:
                    raw.execute(command).close()

    def close(self) -> None:
        """Close all connections; on PostgreSQL this also interrupts queries of other threads."""
        if self._file is not None:
            self._file.close()
        if self._server is not None:
            self._server.interrupt()
        self._engine.dispose()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Translate errors of SQLAlchemy and the driver into a one-line ``DatabaseError``."""
        try:
            yield
        except DBAPIError as error:
            raise self._driver_failed(error.orig) from error
        except PoolTimeout as error:
            raise self._error(f"{UNREACHABLE} (too many requests are waiting); try again.", transient=True) from error
        except SQLAlchemyError as error:
            raise self._error(f"cannot be used ({first_line(str(error))}).") from error
        except UnicodeDecodeError as error:  # SQLite's message quotes bytes of a damaged file
            raise self._error("is damaged; restore a backup, or scan into a new library.") from error
        except self._driver_error as error:  # from code that calls the driver directly
            raise self._driver_failed(error) from error

    def _error(self, words: str, transient: bool = False, kind: type[DatabaseError] = DatabaseError) -> DatabaseError:
        return kind(f"the library {self.name} {words}", self.name, transient)

    def _driver_failed(self, error: BaseException | None) -> DatabaseError:
        """Return the error for one of the driver."""
        reason = reason_of(error, self.is_sqlite)
        was_there = self._server is not None and self._server.has_connected
        if was_there and reason.is_unknown and is_unreachable(error):
            back = "it will be used again as soon as the server is back."
            return self._error(f"{UNREACHABLE} ({first_line(str(error))}); {back}", transient=True)
        return self._error(reason.words, reason.transient, reason.kind)

    def _switch_if_replaced(self) -> None:
        """Switch to the new file if another one has replaced the open file; raise if the file is gone."""
        if self._file is None or self._file.is_current():
            return
        with self._switch_lock:
            if self._file is None or self._file.is_current():
                return  # another thread has switched already
            self._file.unlink_logs()  # before connecting: SQLite would apply the old WAL to the new file
            self._engine.dispose()
            with self.translated():
                self._prepare(create=False)
                new = OpenedFile(self._file.path)
            self._file.close()
            self._file = new
            self.replaced += 1

    def _check_file(self, path: Path, create: bool) -> None:
        if os.path.exists(path):
            return
        if not create:
            raise not_found(self.name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LibraryError(
                f"cannot create a folder for the library {self.name} ({error.strerror}); choose another with "
                f"--library or {ENVIRONMENT}."
            ) from error

    def _prepare(self, create: bool) -> None:
        with self._reading() as connection:
            version = self._format(connection)
        if version is None:
            if not create:
                raise not_found(self.name)
            if self.is_sqlite:
                self._enable_wal()
            with self.writing() as connection:
                # checked again: another process may have created the tables while this one waited for the lock
                if self._format(connection) is None:
                    self._create(connection)
                    self.is_new = True
        elif version != FORMAT:
            raise LibraryError(
                f"the library {self.name} has format {version}, but this nearsong reads format {FORMAT}; use the "
                "version that created it, or scan into a new library."
            )

    def _format(self, connection: Connection) -> str | None:
        """Return the format, or None without tables; raise if the tables belong to another program."""
        inspector = sa.inspect(connection)
        tables = set(inspector.get_table_names()) - {"sqlite_sequence"}
        if not (tables if self.is_sqlite else tables & set(metadata.tables)):
            return None
        columns = {column["name"] for column in inspector.get_columns("settings")} if "settings" in tables else set()
        version: str | None = None
        if columns == {"name", "value"}:
            version = connection.execute(sa.select(settings.c.value).where(settings.c.name == "schema")).scalar()
        if version is None:
            advice = "choose another file" if self.is_sqlite else "use a separate database for nearsong"
            raise LibraryError(f"{self.name} is not a nearsong library: it has tables of another program; {advice}.")
        return version

    def _create(self, connection: Connection) -> None:
        if not self.is_sqlite:
            encoding = connection.execute(sa.text("SHOW server_encoding")).scalar_one()
            if encoding != "UTF8":
                raise LibraryError(
                    f"the database {self.name} has the encoding {encoding}, which cannot store all names; create one "
                    "with ENCODING 'UTF8'."
                )
        metadata.create_all(connection)
        connection.execute(settings.insert(), {"name": "schema", "value": FORMAT})

    def _enable_wal(self) -> None:
        """Switch a new file to WAL mode; the setting is stored in the file."""
        with self._engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            deadline = time.monotonic() + self.lock_timeout_seconds
            while True:
                try:
                    raw.execute("PRAGMA journal_mode=WAL").close()
                    return
                except self._driver_error as error:  # this statement ignores SQLite's busy timeout
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)


def library_file(address: str) -> Path | None:
    """Return the SQLite file of an address; None for PostgreSQL."""
    url = _url_of(address)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def _url_of(text: str) -> sa.URL:
    if "://" not in text:
        if text.startswith(("postgres:", "postgresql:", "sqlite:")):
            raise InvalidInputError(f"--library {text!r} is not a valid URL; use postgresql://user@host/name.")
        return sa.URL.create("sqlite", database=file_of(text))
    try:
        url = sa.make_url(text)
    except (SQLAlchemyError, ValueError) as error:
        raise InvalidInputError("--library is not a valid URL; use postgresql://user:password@host/name.") from error
    kind = url.drivername.split("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InvalidInputError(f"--library: {kind} is not supported; use a path or postgresql://...")
    if url.database in (None, "", ":memory:"):
        raise InvalidInputError("--library: an in-memory library is not supported; give a file.")
    return sa.URL.create("sqlite", database=file_of(str(url.database)))


def _without_secrets(url: sa.URL) -> str:
    """Return a URL that is safe to print: without the password, and without options, which may contain one."""
    plain = sa.URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    return plain.render_as_string()


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": LOCK_TIMEOUT_SECONDS, "check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun explicitly, see below
        for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "cache_size=-65536"):
            connection.execute(f"PRAGMA {pragma}").close()

    @sa.event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        wait = connection.get_execution_options().get("lock_timeout_ms")
        connection.exec_driver_sql(f"PRAGMA busy_timeout={wait or round(1000 * LOCK_TIMEOUT_SECONDS)}").close()
        # a writer takes the lock at once: upgrading a read lock later could deadlock
        connection.exec_driver_sql("BEGIN IMMEDIATE" if wait else "BEGIN")

    return engine
