"""Listening histories: the tables `listen_*`. Listens are stored in compressed column blocks, a few bytes per row."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.light.records import PLAYED, History, digest_of
from nearsong.library.store.listen_columns import (
    ListenColumns,
    name_numbers,
    pack,
    pack_users,
    unpack,
    unpack_users,
    user_numbers,
)
from nearsong.library.store.recorded.plays import delete_plays
from nearsong.library.store.schema import (
    listen_blocks,
    listen_names,
    listen_sources,
    listen_totals,
    listen_users,
)
from nearsong.library.store.text import clean_text, key_of, path_to_text, text_to_path
from nearsong.listens.records import Action, ListenBlock, TrackName

CONTINUABLE_SECONDS = 7 * 24 * 3600.0
"""How long an interrupted import of several parts can be continued."""

_BATCH_ROWS = 10_000


class HistoryWriter:
    """Writes the blocks of one history, which becomes visible when :meth:`finish` is called.

    Each block is a transaction of its own, so that a long import does not block other writers. The rows of an
    interrupted import are never read, and a later import deletes them.
    """

    def __init__(self, database: Database, source_id: int) -> None:
        self._database = database
        self.source_id = source_id
        self._users = user_numbers()
        self._names = name_numbers()
        self._plays = np.zeros(0)
        self._named = np.zeros(0, dtype=bool)
        self._used = np.zeros(0, dtype=bool)
        self._number = 0
        self._rows = 0

    def add(self, block: ListenBlock) -> None:
        """Write one block."""
        with self._database.writing() as connection:
            self._mark(connection, imported=time.time())
            users = self._users.of(connection, block.users)
            names = self._names.of(connection, block.tracks)
            columns = ListenColumns(
                user=users[block.user],
                name=names[block.item],
                plays=block.plays,
                time=block.time,
                action=np.zeros(len(block), np.int8) if block.action is None else block.action,
            )
            row = {"source_id": self.source_id, "number": self._number, "data": pack(columns)}
            connection.execute(listen_blocks.insert(), row)
        for numbers in (self._users, self._names):
            numbers.keep()  # only after the commit
        self._count(columns)

    def _count(self, columns: ListenColumns) -> None:
        """Note a block that is stored."""
        self._plays = grown(self._plays, columns.name)
        self._named = grown(self._named, columns.name)
        self._used = grown(self._used, columns.user)
        listens = columns.of(Action.LISTEN)
        np.add.at(self._plays, listens.name, listens.plays.astype(np.float64))
        self._named[columns.name] = True
        self._used[columns.user] = True
        self._number += 1
        self._rows += len(columns.user)

    def finish(self, replaced: Sequence[int] = (), *, alone: bool = False) -> bool:
        """Publish the history and delete those it replaces.

        Parameters
        ----------
        replaced : sequence of int
            Ids of histories to delete.
        alone : bool
            Whether to delete all other complete histories of this format as well. Names that only these used stay
            until a history is removed: finding them requires a pass over all histories.

        Returns
        -------
        bool
            False if another import has stored the same history meanwhile; this one is deleted then.
        """
        names = np.flatnonzero(self._named)
        with self._database.writing() as connection:
            for source in [*replaced, *(self._other_histories(connection) if alone else ())]:
                delete_source(connection, source)
            if self._is_imported(connection):
                delete_source(connection, self.source_id)
                return False
            users = pack_users(np.flatnonzero(self._used))
            self._mark(connection, complete=True, rows=self._rows, users=users, imported=time.time())
            for start in range(0, len(names), _BATCH_ROWS):
                part = names[start : start + _BATCH_ROWS]
                plays = self._plays[part].tolist()
                rows = [(self.source_id, name, count) for name, count in zip(part.tolist(), plays, strict=True)]
                insert_rows(connection, listen_totals, ("source_id", "name_id", "plays"), rows)
            if replaced:
                delete_unused(connection)
        return True

    def _is_imported(self, connection: Connection) -> bool:
        mine = sa.select(listen_sources.c.fingerprint).where(listen_sources.c.id == self.source_id).scalar_subquery()
        same = sa.select(listen_sources.c.id).where(listen_sources.c.complete, listen_sources.c.fingerprint == mine)
        return connection.execute(same).first() is not None

    def _other_histories(self, connection: Connection) -> Sequence[int]:
        """Return the ids of other complete histories of the same format."""
        current = connection.execute(sa.select(listen_sources).where(listen_sources.c.id == self.source_id)).first()
        same = sa.select(listen_sources.c.id).where(
            listen_sources.c.complete,
            listen_sources.c.format == (current.format if current else ""),
            listen_sources.c.fingerprint != (current.fingerprint if current else ""),
        )
        return connection.execute(same).scalars().all()

    def _mark(self, connection: Connection, **columns: Any) -> None:
        mine = listen_sources.c.id == self.source_id
        if not connection.execute(listen_sources.update().where(mine), columns).rowcount:
            raise LibraryError("this import was removed as unfinished; import the file again.")


class ListenTable:
    """Reads and writes listening histories."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, name: str, fingerprint: str, format: str, kind: str) -> HistoryWriter:
        """Start writing a history."""
        row = {"name": path_to_text(name), "fingerprint": fingerprint, "format": format, "kind": kind}
        with self._database.writing() as connection:
            unfinished = {**row, "rows": 0, "users": b"", "complete": False, "imported": time.time()}
            result = connection.execute(listen_sources.insert().returning(listen_sources.c.id), unfinished)
            source = int(result.scalar_one())
        return HistoryWriter(self._database, source)

    def sweep(self, older_than: float = 3600.0) -> None:
        """Delete the rows of interrupted imports: those without a write for ``older_than`` seconds.

        Those that can be continued, since parts of them are finished, stay for `CONTINUABLE_SECONDS`.
        """
        now = time.time()
        seconds = sa.case((listen_sources.c.position == "", older_than), else_=CONTINUABLE_SECONDS)
        stale = sa.select(listen_sources.c.id).where(
            ~listen_sources.c.complete, listen_sources.c.imported <= now - seconds
        )
        with self._database.reading() as connection:
            stale_ids = connection.execute(stale).scalars().all()
        if stale_ids:
            self._remove_unfinished(stale_ids)

    def abandon(self, writer: HistoryWriter) -> None:
        """Delete an unfinished history; a finished one stays, even if :meth:`HistoryWriter.finish` raised."""
        self._remove_unfinished([writer.source_id])

    def _remove_unfinished(self, sources: Sequence[int]) -> None:
        unfinished = sa.select(listen_sources.c.id).where(~listen_sources.c.complete)
        with self._database.writing() as connection:
            for source in set(connection.execute(unfinished).scalars()).intersection(sources):
                delete_source(connection, source)
            delete_unused(connection)

    def histories(self) -> list[History]:
        """Return all complete histories."""
        columns = [listen_sources.c[name] for name in History.__dataclass_fields__]
        query = sa.select(*columns).where(listen_sources.c.complete).order_by(listen_sources.c.id)
        with self._database.reading() as connection:
            return [History(id, text_to_path(name), *rest) for id, name, *rest in connection.execute(query)]

    def digest(self) -> str:
        """Return a hash that changes when a history is added, replaced or removed."""
        return digest_of(self.histories())

    def remove(self, sources: Iterable[int], *, played: bool | None = None) -> None:
        """Delete histories; with ``played``, or if the history of plays is among them, all that was recorded too.

        With ``played=False`` what was recorded stays in any case.
        """
        gone = set(sources)
        with self._database.writing() as connection:
            query = sa.select(listen_sources.c.id, listen_sources.c.complete).where(listen_sources.c.format == PLAYED)
            of_plays = connection.execute(query).all()
            if played is None:
                played = any(complete and source in gone for source, complete in of_plays)
            if played:
                delete_plays(connection)
                gone.update(source for source, _ in of_plays)  # one being built would restore the plays
            for source in gone:
                delete_source(connection, source)
            delete_unused(connection)

    def columns(self, source: int) -> Iterator[ListenColumns]:
        """Read the rows of a history, block by block."""
        query = sa.select(listen_blocks.c.number, listen_blocks.c.data).where(listen_blocks.c.source_id == source)
        last = -1
        while True:
            with self._database.reading() as connection:
                page = query.where(listen_blocks.c.number > last).order_by(listen_blocks.c.number).limit(1)
                row = connection.execute(page).first()
            if row is None:
                return
            last = row[0]
            yield unpack(row[1])

    def names(self, ids: npt.NDArray[np.integer] | None = None) -> tuple[npt.NDArray[np.int64], list[TrackName]]:
        """Return the ids and track names of everything that was played, by id; or only those of some ids."""
        query = sa.select(
            listen_names.c.id,
            listen_names.c.artist,
            listen_names.c.title,
            listen_names.c.recording_mbid,
            listen_names.c.artist_mbid,
        ).order_by(listen_names.c.id)
        with self._database.reading() as connection:
            if ids is None:
                rows = list(connection.execute(query))
            else:
                wanted = np.unique(ids).tolist()
                parts = (wanted[start : start + _BATCH_ROWS] for start in range(0, len(wanted), _BATCH_ROWS))
                rows = [row for part in parts for row in connection.execute(query.where(listen_names.c.id.in_(part)))]
        return np.array([row[0] for row in rows], dtype=np.int64), [TrackName(*row[1:]) for row in rows]

    def user_id(self, name: str) -> int | None:
        """Return the id of a user; None if no history has one of this name."""
        with self._database.reading() as connection:
            return user_id(connection, name)

    def user_names(self, ids: npt.NDArray[np.integer]) -> dict[int, str]:
        """Return the names of users and playlists by id."""
        wanted = np.unique(ids).tolist()
        parts = (wanted[start : start + _BATCH_ROWS] for start in range(0, len(wanted), _BATCH_ROWS))
        query = sa.select(listen_users.c.id, listen_users.c.name)
        with self._database.reading() as connection:
            rows = (row for part in parts for row in connection.execute(query.where(listen_users.c.id.in_(part))))
            return {int(number): str(name) for number, name in rows}

    def totals(self, sources: Sequence[int] | None = None) -> dict[int, float]:
        """Return the play count of each name in the given, or all, complete histories."""
        query = (
            sa.select(listen_totals.c.name_id, sa.func.sum(listen_totals.c.plays))
            .join(listen_sources, listen_sources.c.id == listen_totals.c.source_id)
            .where(listen_sources.c.complete)
            .group_by(listen_totals.c.name_id)
            .order_by(listen_totals.c.name_id)
        )
        if sources is not None:
            query = query.where(listen_totals.c.source_id.in_(list(sources)))
        with self._database.reading() as connection:
            return {int(name): float(plays) for name, plays in connection.execute(query)}

    def users_of_histories(self) -> dict[int, npt.NDArray[np.int32]]:
        """Return the ids of the users of each complete history."""
        query = sa.select(listen_sources.c.id, listen_sources.c.users).where(listen_sources.c.complete)
        with self._database.reading() as connection:
            return {int(source): unpack_users(users) for source, users in connection.execute(query)}

    def n_users(self) -> int:
        """Return the number of users and playlists in all complete histories."""
        with self._database.reading() as connection:
            return len(used_users(connection))


def user_id(connection: Connection, name: str) -> int | None:
    """Return the id of a user; None if no history has one of this name."""
    key = key_of(clean_text(name).encode())
    return connection.execute(sa.select(listen_users.c.id).where(listen_users.c.key == key)).scalar()


def delete_source(connection: Connection, source: int) -> None:
    """Delete a history."""
    for table, column in (
        (listen_totals, listen_totals.c.source_id),
        (listen_blocks, listen_blocks.c.source_id),
        (listen_sources, listen_sources.c.id),
    ):
        connection.execute(table.delete().where(column == source))


def delete_unused(connection: Connection) -> None:
    """Delete names and users that no history uses; skipped during an import, which may use any of them."""
    unfinished = connection.execute(sa.select(listen_sources.c.id).where(~listen_sources.c.complete)).first()
    if unfinished is not None:
        return
    named = connection.execute(sa.select(listen_totals.c.name_id).distinct()).scalars().all()
    for table, used in ((listen_names, np.array(named, dtype=np.int64)), (listen_users, used_users(connection))):
        ids = np.array(connection.execute(sa.select(table.c.id)).scalars().all(), dtype=np.int64)
        unused = np.setdiff1d(ids, used).tolist()
        if len(unused) == len(ids):
            connection.execute(table.delete())
            continue
        for start in range(0, len(unused), _BATCH_ROWS):
            connection.execute(table.delete().where(table.c.id.in_(unused[start : start + _BATCH_ROWS])))


def used_users(connection: Connection) -> npt.NDArray[np.int64]:
    """Return the ids of the users of all complete histories."""
    packed = connection.execute(sa.select(listen_sources.c.users).where(listen_sources.c.complete)).scalars()
    ids = [unpack_users(data) for data in packed]
    return np.unique(np.concatenate(ids)).astype(np.int64) if ids else np.empty(0, np.int64)


def grown(array: npt.NDArray[Any], ids: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return the array, extended by zeros so that every id is a valid index."""
    needed = int(ids.max(initial=-1)) + 1
    if needed <= len(array):
        return array
    return np.concatenate([array, np.zeros(max(needed, 2 * len(array)) - len(array), array.dtype)])
