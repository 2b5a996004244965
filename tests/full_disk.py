"""A disk without space, as SQLite sees it: a database that cannot grow; and one that cannot be written at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from nearsong.library import Library

NO_SPACE = "PRAGMA max_page_count=1"
"""The database stays as large as it is."""

READ_ONLY = "PRAGMA query_only=ON"

JOB_WITHOUT_SPACE = f"""
import sys
import sqlalchemy as sa
from nearsong.library.store import database
from nearsong.web.jobs import process

make_engine = database._sqlite_engine

def small_engine(url):
    engine = make_engine(url)
    sa.event.listen(engine, "connect", lambda raw, _record: raw.execute({NO_SPACE!r}).close())
    return engine

database._sqlite_engine = small_engine
sys.exit(process.main())
"""
"""A program that runs a job on a library that cannot grow."""


@contextmanager
def every_connection(library: Library, pragma: str) -> Iterator[None]:
    """Give every connection of a library a setting while a block runs."""
    engine = library._store._database._engine

    def restrict(raw: Any, _record: Any) -> None:
        raw.execute(pragma).close()

    sa.event.listen(engine, "connect", restrict)
    engine.dispose()
    try:
        yield
    finally:
        sa.event.remove(engine, "connect", restrict)
        engine.dispose()
