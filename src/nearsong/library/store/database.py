"""A path or a URL -> an open database: SQLite in one file, or PostgreSQL; errors in one line.

SQLite runs in write-ahead mode: readers never wait, writers wait for each other, and a process that is killed leaves
the last finished transaction. On PostgreSQL writers take turns by a lock of their own, so that everything above
needs to think of one kind of concurrency only. A SQLite file that takes the place of the one that is open is gone
over to; see :mod:`~nearsong.library.store.database_file`.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from nearsong.errors import DatabaseError, InvalidInputError, LibraryError
from nearsong.library.store.database_file import OpenedFile
from nearsong.library.store.database_server import ServerConnections, cache_of, is_away
from nearsong.library.store.schema import VERSION, metadata, settings

ENVIRONMENT = "NEARSONG_LIBRARY"
FILE_NAME = "library.sqlite"
_PATIENCE = 60.0
"""Seconds a writer waits for another one."""

_TURN = 7_217_274
"""PostgreSQL's lock under this number is held by whoever writes."""

_AWAY = "does not answer just now"
_BUSY = "was kept busy by another program; try again when it is done."

Connection = sa.Connection


def default_place() -> str:
    """Return where the library is when nobody says: NEARSONG_LIBRARY, or a file in the user's data folder."""
    return os.environ.get(ENVIRONMENT) or str(Path(platformdirs.user_data_dir("nearsong")) / FILE_NAME)


class Database:
    """An open database.

    Parameters
    ----------
    place : path-like or str
        A file, a folder (the file in it is ``library.sqlite``), or a URL such as ``postgresql://user@host/name``.
    create : bool
        Whether to make it if it is not there.

    Attributes
    ----------
    name : str
        Where it is, without password.
    place : str
        Where it is, for another process of ours to open it; with the password, so it is never shown.
    path : Path or None
        The file, where it is one.
    cache : Path
        The folder for things that can be made again; it need not be there.
    is_new : bool
        Whether it was made when it was opened.
    replaced : int
        How often another file has taken its place since it was opened.
    """

    def __init__(self, place: str | os.PathLike[str], *, create: bool = True) -> None:
        url = _url_of(os.fsdecode(place))
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.path = Path(str(url.database)) if self.is_sqlite else None
        self.name = os.fsencode(self.path).decode("utf-8", "replace") if self.path else _shown(url)
        self.place = str(self.path.absolute()) if self.path else url.render_as_string(hide_password=False)
        self.cache = self.path.parent / "nearsong-cache" if self.path else cache_of(url)
        self.is_new = False
        self.replaced = 0
        self._writing = threading.local()
        self._changing = threading.Lock()
        self._file: OpenedFile | None = None
        self._was_opened = False
        if self.path is not None:
            self._check_file(self.path, create)
        self._server = None if self.is_sqlite else ServerConnections(url, self.name, _PATIENCE)
        self._engine = _sqlite_engine(url) if self._server is None else self._server.engine
        self._driver_error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        try:
            with self.translated():
                self._prepare(create)
                self._file = None if self.path is None else OpenedFile(self.path)
                self._was_opened = True
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the library."""
        self._follow()
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
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes all happen at the end, or none of them; others wait for their turn."""
        if getattr(self._writing, "now", False):
            raise RuntimeError("this thread is writing already and would wait for itself; use that connection.")
        self._follow()
        with self.translated(), self._engine.connect() as connection:
            connection.execution_options(writing=True)
            self._writing.now = True
            try:
                with connection.begin():
                    if not self.is_sqlite:
                        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TURN)))
                    yield connection
                    if self._file is not None and not self._file.is_itself():
                        raise self._error("was replaced meanwhile; try again.", passing=True)
            finally:
                self._writing.now = False

    def upsert(self, table: sa.Table, rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> Any:
        """Return a statement that inserts rows, or replaces those that are there under the same keys."""
        insert: Any = (sqlite if self.is_sqlite else postgresql).insert(table)
        others = [name for name in rows[0] if name not in keys]
        if not others:
            return insert.on_conflict_do_nothing(index_elements=list(keys))
        return insert.on_conflict_do_update(
            index_elements=list(keys), set_={name: insert.excluded[name] for name in others}
        )

    def close(self) -> None:
        """Let go of the database; of PostgreSQL also where another thread waits for it."""
        if self._file is not None:
            self._file.close()
        if self._server is not None:
            self._server.break_off()
        self._engine.dispose()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn what the database says into one line."""
        try:
            yield
        except DBAPIError as error:
            raise self._error(*self._reason(error.orig)) from error
        except PoolTimeout as error:
            raise self._error(f"{_AWAY} (too many wait for it); try again.", passing=True) from error
        except SQLAlchemyError as error:
            raise self._error(f"cannot be used ({_first_line(str(error))}).") from error
        except UnicodeDecodeError as error:  # SQLite quotes what it finds in a damaged file
            raise self._error(*_reason("malformed", self.is_sqlite)) from error
        except self._driver_error as error:  # where the driver is spoken to directly
            raise self._error(*self._reason(error)) from error

    def _error(self, words: str, passing: bool = False) -> DatabaseError:
        return DatabaseError(f"the library {self.name} {words}", self.name, passing)

    def _reason(self, error: BaseException | None) -> tuple[str, bool]:
        """Say what an error of the driver means and what to do, and whether it may pass."""
        found, passing = _reason(str(error), self.is_sqlite)
        if self._was_opened and found.startswith("cannot be used") and not self.is_sqlite and is_away(error):
            return f"{_AWAY} ({_first_line(str(error))}); it is found again as soon as its server runs.", True
        return found, passing

    def _follow(self) -> None:
        """Go over to another file that has the name of the one that is open; refuse if there is none."""
        if self._file is None or self._file.is_itself():
            return
        with self._changing:
            if self._file is None or self._file.is_itself():
                return  # another thread was here
            self._file.leave()  # first of all: a connection to the new file would take the old log for its own
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
            raise LibraryError(f"there is no library at {self.name}; begin with `nearsong scan FOLDER`.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LibraryError(
                f"the folder of the library {self.name} cannot be made ({error.strerror}); choose another place with "
                f"--library or {ENVIRONMENT}."
            ) from error

    def _prepare(self, create: bool) -> None:
        with self._reading() as connection:
            found = self._format(connection)
        if found is None:
            if not create:
                raise LibraryError(f"there is no library at {self.name}; begin with `nearsong scan FOLDER`.")
            if self.is_sqlite:
                self._keep_a_log()
            with self.writing() as connection:
                # of two programs that begin at once the second waits, then finds all made
                if self._format(connection) is None:
                    self._create(connection)
                    self.is_new = True
        elif found != str(VERSION):
            raise LibraryError(
                f"the library {self.name} has format {found}, and this nearsong reads {VERSION}; use the nearsong "
                "that made it, or scan into a new library."
            )

    def _format(self, connection: Connection) -> str | None:
        """Return the version of the tables, None if there are none; refuse those of another program."""
        inspector = sa.inspect(connection)
        there = set(inspector.get_table_names()) - {"sqlite_sequence"}
        ours = set(metadata.tables)
        if not (there if self.is_sqlite else there & ours):
            return None
        columns = {column["name"] for column in inspector.get_columns("settings")} if "settings" in there else set()
        found: str | None = None
        if columns == {"name", "value"}:
            found = connection.execute(sa.select(settings.c.value).where(settings.c.name == "schema")).scalar()
        if found is None:
            advice = "choose another file" if self.is_sqlite else "give nearsong a database of its own"
            raise LibraryError(f"{self.name} holds tables of another program and is not a library; {advice}.")
        return found

    def _create(self, connection: Connection) -> None:
        if not self.is_sqlite:
            letters = connection.execute(sa.text("SHOW server_encoding")).scalar_one()
            if letters != "UTF8":
                raise LibraryError(
                    f"the database {self.name} is encoded as {letters}, which cannot hold all names; make one with "
                    "ENCODING 'UTF8'."
                )
        metadata.create_all(connection)
        connection.execute(settings.insert(), {"name": "schema", "value": str(VERSION)})

    def _keep_a_log(self) -> None:
        """Set a new file up for write-ahead mode, which it keeps."""
        with self._engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            deadline = time.monotonic() + _PATIENCE
            while True:
                try:
                    raw.execute("PRAGMA journal_mode=WAL").close()
                    return
                except self._driver_error as error:  # SQLite does not wait here for another who does the same
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)


def _url_of(text: str) -> sa.URL:
    if "://" not in text:
        if text.startswith(("postgres:", "postgresql:", "sqlite:")):
            raise InvalidInputError(f"--library {text!r} lacks a slash; write postgresql://user@host/name.")
        return sa.URL.create("sqlite", database=_file_of(text))
    try:
        url = sa.make_url(text)
    except (SQLAlchemyError, ValueError) as error:
        raise InvalidInputError(
            "--library is no URL that can be read; write postgresql://user:password@host/name."
        ) from error
    kind = url.drivername.split("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InvalidInputError(
            f"--library asks for {kind}, which nearsong does not speak; use a path or postgresql://..."
        )
    if url.database in (None, "", ":memory:"):
        raise InvalidInputError("--library asks for a library in memory, which would be forgotten; give a file.")
    return sa.URL.create("sqlite", database=_file_of(str(url.database)))


def _file_of(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise InvalidInputError(f"--library {text!r} is no path; give a file, a folder or a URL.")
    path = os.path.abspath(os.path.expanduser(text))
    return os.path.join(path, FILE_NAME) if os.path.isdir(path) or text.endswith(("/", os.sep)) else path


def _shown(url: sa.URL) -> str:
    """Return a URL as it may be printed: no password, and no options, which may hold one too."""
    plain = sa.URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    return plain.render_as_string()


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": _PATIENCE, "check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say when a transaction begins
        for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "cache_size=-65536"):
            connection.execute(f"PRAGMA {pragma}").close()

    @sa.event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writing")
        # a writer takes its place at once: one that read first and writes later could not be let through
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _first_line(text: str) -> str:
    return next((line.strip().rstrip(".") for line in text.splitlines() if line.strip()), "no reason given")


_REASONS = (
    (("locked", "busy", "lock timeout"), _BUSY),
    (("not a database",), "is not a library: the file is of another kind; choose another with --library."),
    (("malformed", "corrupt", "could not decode"), "is damaged; put back a copy, or scan into a new library."),
    (("unable to open",), "cannot be opened; check the path and its rights, or choose another with --library."),
    (("readonly", "read-only"), "cannot be written to; check its rights."),
    (("disk is full", "no space left"), "cannot grow: the disk is full; make room and start again, nothing is lost."),
    (("authentication failed", "no password supplied"), "refused the user or the password; check the URL."),
)


def _reason(text: str, is_sqlite: bool) -> tuple[str, bool]:
    """Say what the database's words mean and what to do, and whether it may pass."""
    low = text.lower()
    for words, meaning in _REASONS:
        if any(word in low for word in words):
            return meaning, meaning == _BUSY
    advice = "check the disk." if is_sqlite else "check the URL, and that the server runs."
    return f"cannot be used ({_first_line(text)}); {advice}", False
