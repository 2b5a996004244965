"""A listening history in parts -> one history: what was finished of an interrupted import is not written again."""

import json
import secrets
import time
from typing import Any

import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.listens import HistoryWriter, ListenTable, delete_source
from nearsong.library.store.schema import listen_blocks, listen_sources
from nearsong.library.store.text import path_to_text


class PartitionedWriter(HistoryWriter):
    """Writes a history part by part; the next writer of the same one continues after the last part that was ended.

    Its row says in ``position`` how many parts and blocks are finished, and who writes: a writer that another one has
    taken over from cannot write any more.

    Parameters
    ----------
    database : Database
    name, fingerprint, format, kind : str
        Of the history; the fingerprint identifies it.

    Attributes
    ----------
    parts : int
        Parts that are finished.
    rows : int
        Rows that are written.
    """

    def __init__(self, database: Database, name: str, fingerprint: str, format: str, kind: str) -> None:
        facts = {"name": path_to_text(name), "fingerprint": fingerprint, "format": format, "kind": kind}
        self._writer = secrets.token_hex(8)
        with database.writing() as connection:
            source, self.parts, n_blocks = self._claimed(connection, facts)
        super().__init__(database, source)
        self._position = self._position_after(self.parts, n_blocks)
        for columns in ListenTable(database).columns(source):
            self._count(columns)

    @property
    def rows(self) -> int:
        """Rows that are written."""
        return self._rows

    def end_part(self) -> None:
        """Note that all rows of a part are written."""
        position = self._position_after(self.parts + 1, self._number)
        with self._database.writing() as connection:
            self._mark(connection, position=position, imported=time.time())
        self._position = position
        self.parts += 1

    def _claimed(self, connection: Connection, facts: dict[str, str]) -> tuple[int, int, int]:
        """Return the id of the unfinished history, or of a new one, and its finished parts and blocks."""
        unfinished = ~listen_sources.c.complete & (listen_sources.c.position != "")
        same = unfinished & (listen_sources.c.fingerprint == facts["fingerprint"])
        row = connection.execute(sa.select(listen_sources).where(same).order_by(listen_sources.c.id)).first()
        if row is not None:
            source, state = int(row.id), json.loads(row.position)
            parts, n_blocks = int(state["parts"]), int(state["blocks"])
            values = {"position": self._position_after(parts, n_blocks), "imported": time.time()}
            connection.execute(listen_sources.update().where(listen_sources.c.id == source), values)
            rest = (listen_blocks.c.source_id == source) & (listen_blocks.c.number >= n_blocks)
            connection.execute(listen_blocks.delete().where(rest))
            return source, parts, n_blocks
        earlier = unfinished & (listen_sources.c.name == facts["name"])  # with other content: nobody can continue it
        for other in connection.execute(sa.select(listen_sources.c.id).where(earlier)).scalars().all():
            delete_source(connection, other)
        state = {"rows": 0, "users": b"", "complete": False, "imported": time.time()}
        new = {**facts, **state, "position": self._position_after(0, 0)}
        return int(connection.execute(listen_sources.insert().returning(listen_sources.c.id), new).scalar_one()), 0, 0

    def _position_after(self, parts: int, n_blocks: int) -> str:
        return json.dumps({"parts": parts, "blocks": n_blocks, "writer": self._writer})

    def _mark(self, connection: Connection, **columns: Any) -> None:
        if columns.get("complete"):
            columns["position"] = ""
        mine = (listen_sources.c.id == self.source_id) & (listen_sources.c.position == self._position)
        if not connection.execute(listen_sources.update().where(mine), columns).rowcount:
            raise LibraryError("this import was removed as unfinished, or another one continues it; import again.")
