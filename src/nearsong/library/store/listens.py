"""Listening histories: the tables `listen_*`. Rows are kept in columns, a few bytes each, so that millions fit."""

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.records import Heard, ListenBlock
from nearsong.library.store.bulk import ids_by_key, insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.plays import delete_plays
from nearsong.library.store.schema import (
    listen_blocks,
    listen_names,
    listen_sources,
    listen_totals,
    listen_users,
)
from nearsong.library.store.text import clean_text, key_of, path_to_text, text_to_path

PLAYED = "played"
"""The format of the one history that is made of the library's own table of plays."""

_BATCH = 10_000
_REMEMBERED = 400_000
"""Users, and names, whose ids an import remembers; it asks again for the others."""

_COLUMNS = (("user", np.int32), ("name", np.int32), ("plays", np.float32), ("time", np.int64))
_SEPARATOR = "\0"  # no text in a database has it


@dataclass(frozen=True)
class Source:
    """A listening history that was imported."""

    id: int
    name: str
    fingerprint: str
    format: str
    kind: str
    rows: int
    imported: float


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows of a history; ``user`` and ``name`` are ids of the store."""

    user: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]


class SourceWriter:
    """Takes the blocks of one history; it counts only when :meth:`finish` has been called.

    Blocks are written one by one, so that a long import keeps nobody else waiting; one that is broken off leaves
    rows that nobody reads, and a later import sweeps them away.
    """

    def __init__(self, database: Database, source_id: int) -> None:
        self._database = database
        self.source_id = source_id
        self._users = _Numbers(listen_users, _user_row)
        self._names = _Numbers(listen_names, _name_row)
        self._plays = np.zeros(0)
        self._named = np.zeros(0, dtype=bool)
        self._used = np.zeros(0, dtype=bool)
        self._number = 0
        self._rows = 0

    def add(self, block: ListenBlock) -> None:
        """Write a block."""
        with self._database.writing() as connection:
            self._mark(connection, imported=time.time())
            users = self._users.of(connection, block.users)
            names = self._names.of(connection, [_joined(item) for item in block.heard])
            columns = Columns(users[block.user], names[block.item], block.plays, block.time)
            row = {"source_id": self.source_id, "number": self._number, "data": _pack(columns)}
            connection.execute(listen_blocks.insert(), row)
        for numbers in (self._users, self._names):
            numbers.keep()  # not before they are in the database
        self._plays = _grown(self._plays, columns.name)
        self._named = _grown(self._named, columns.name)
        self._used = _grown(self._used, columns.user)
        np.add.at(self._plays, columns.name, columns.plays.astype(np.float64))
        self._named[columns.name] = True
        self._used[columns.user] = True
        self._number += 1
        self._rows += len(block)

    def finish(self, replaced: Sequence[int] = (), *, alone: bool = False) -> bool:
        """Make it count, in place of others; False if another import has brought in the same history meanwhile.

        With ``alone``, whatever else of its format counts by now is replaced. Names that were only there stay until a
        history is removed: looking for them means to look at all histories.
        """
        names = np.flatnonzero(self._named)
        with self._database.writing() as connection:
            for source in [*replaced, *(self._others(connection) if alone else ())]:
                _delete_source(connection, source)
            if self._came_twice(connection):
                _delete_source(connection, self.source_id)
                return False
            users = zlib.compress(np.flatnonzero(self._used).astype("<i4").tobytes(), level=1)
            self._mark(connection, complete=True, rows=self._rows, users=users, imported=time.time())
            for start in range(0, len(names), _BATCH):
                part = names[start : start + _BATCH]
                plays = self._plays[part].tolist()
                rows = [(self.source_id, name, count) for name, count in zip(part.tolist(), plays, strict=True)]
                insert_rows(connection, listen_totals, ("source_id", "name_id", "plays"), rows)
            if replaced:
                _forget_unused(connection)
        return True

    def _came_twice(self, connection: Connection) -> bool:
        mine = sa.select(listen_sources.c.fingerprint).where(listen_sources.c.id == self.source_id).scalar_subquery()
        same = sa.select(listen_sources.c.id).where(listen_sources.c.complete, listen_sources.c.fingerprint == mine)
        return connection.execute(same).first() is not None

    def _others(self, connection: Connection) -> Sequence[int]:
        """Return what is of the same format, counts, and has other rows."""
        me = connection.execute(sa.select(listen_sources).where(listen_sources.c.id == self.source_id)).first()
        same = sa.select(listen_sources.c.id).where(
            listen_sources.c.complete,
            listen_sources.c.format == (me.format if me else ""),
            listen_sources.c.fingerprint != (me.fingerprint if me else ""),
        )
        return connection.execute(same).scalars().all()

    def _mark(self, connection: Connection, **columns: Any) -> None:
        mine = listen_sources.c.id == self.source_id
        if not connection.execute(listen_sources.update().where(mine), columns).rowcount:
            raise LibraryError("this import was taken for one that was broken off and removed; import it again.")


class _Numbers:
    """The ids of texts in a table; new ones are added."""

    def __init__(self, table: sa.Table, row_of: Callable[[str], tuple[Any, ...]]) -> None:
        self._table, self._row_of = table, row_of
        self._known: dict[str, int] = {}
        self._fresh: dict[str, int] = {}

    def of(self, connection: Connection, texts: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the ids of texts, in order."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known]
        if unknown:
            rows = [self._row_of(text) for text in unknown]
            last = connection.execute(sa.select(sa.func.max(self._table.c.id))).scalar() or 0
            wanted = {row[0]: row for row in rows}
            ids = ids_by_key(connection, self._table, list(wanted)) if last else {}
            new = {key: row for key, row in wanted.items() if key not in ids}
            numbers = dict(zip(new, range(last + 1, last + 1 + len(new)), strict=True))  # nobody else writes now
            columns = [column.name for column in self._table.c]
            insert_rows(connection, self._table, columns, [(numbers[key], *row) for key, row in new.items()])
            ids |= numbers
            self._fresh = {text: ids[row[0]] for text, row in zip(unknown, rows, strict=True)}
        known, fresh = self._known, self._fresh
        return np.array([fresh[t] if t in fresh else known[t] for t in texts], dtype=np.int32)

    def keep(self) -> None:
        """Remember what was found last."""
        if len(self._known) + len(self._fresh) > _REMEMBERED:
            self._known = {}
        self._known |= self._fresh
        self._fresh = {}


class ListenTable:
    """Reads and writes listening histories."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, name: str, fingerprint: str, format: str, kind: str) -> SourceWriter:
        """Begin to write a history."""
        row = {"name": path_to_text(name), "fingerprint": fingerprint, "format": format, "kind": kind}
        with self._database.writing() as connection:
            unfinished = {**row, "rows": 0, "users": b"", "complete": False, "imported": time.time()}
            result = connection.execute(listen_sources.insert().returning(listen_sources.c.id), unfinished)
            source = int(result.scalar_one())
        return SourceWriter(self._database, source)

    def sweep(self, older_than: float = 3600.0) -> None:
        """Remove what imports have left behind that were broken off and wrote nothing for some seconds."""
        stale = sa.select(listen_sources.c.id).where(
            ~listen_sources.c.complete, listen_sources.c.imported <= time.time() - older_than
        )
        with self._database.reading() as connection:
            found = connection.execute(stale).scalars().all()
        if found:
            self._remove_unfinished(found)

    def abandon(self, writer: SourceWriter) -> None:
        """Remove a history that could not be read to its end; one that counts stays, whatever was heard of it."""
        self._remove_unfinished([writer.source_id])

    def _remove_unfinished(self, sources: Sequence[int]) -> None:
        unfinished = sa.select(listen_sources.c.id).where(~listen_sources.c.complete)
        with self._database.writing() as connection:
            for source in set(connection.execute(unfinished).scalars()).intersection(sources):
                _delete_source(connection, source)
            _forget_unused(connection)

    def sources(self) -> list[Source]:
        """Return the histories that count."""
        columns = [listen_sources.c[name] for name in Source.__dataclass_fields__]
        query = sa.select(*columns).where(listen_sources.c.complete).order_by(listen_sources.c.id)
        with self._database.reading() as connection:
            return [Source(id, text_to_path(name), *rest) for id, name, *rest in connection.execute(query)]

    def remove(self, sources: Iterable[int], *, played: bool = False) -> None:
        """Forget histories; with ``played``, or if the one of plays is among them, every play that was noted too."""
        gone = set(sources)
        with self._database.writing() as connection:
            query = sa.select(listen_sources.c.id, listen_sources.c.complete).where(listen_sources.c.format == PLAYED)
            of_plays = connection.execute(query).all()
            if played or any(complete and source in gone for source, complete in of_plays):
                delete_plays(connection)
                gone.update(source for source, _ in of_plays)  # one that is being made would bring them back
            for source in gone:
                _delete_source(connection, source)
            _forget_unused(connection)

    def columns(self, source: int) -> Iterator[Columns]:
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
            yield _unpack(row[1])

    def names(self) -> tuple[npt.NDArray[np.int64], list[Heard]]:
        """Return all that was played: ids and names, by id."""
        query = sa.select(
            listen_names.c.id,
            listen_names.c.artist,
            listen_names.c.title,
            listen_names.c.recording_mbid,
            listen_names.c.artist_mbid,
        ).order_by(listen_names.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return np.array([row[0] for row in rows], dtype=np.int64), [Heard(*row[1:]) for row in rows]

    def totals(self, sources: Sequence[int] | None = None) -> dict[int, float]:
        """Return how often each name was played, in some or all histories that count."""
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

    def n_users(self) -> int:
        """Return how many users and playlists the histories that count have."""
        with self._database.reading() as connection:
            return len(_used_users(connection))


def _delete_source(connection: Connection, source: int) -> None:
    for table, column in (
        (listen_totals, listen_totals.c.source_id),
        (listen_blocks, listen_blocks.c.source_id),
        (listen_sources, listen_sources.c.id),
    ):
        connection.execute(table.delete().where(column == source))


def _forget_unused(connection: Connection) -> None:
    """Remove names and users that no history has; an import that is under way may have any of them."""
    unfinished = connection.execute(sa.select(listen_sources.c.id).where(~listen_sources.c.complete)).first()
    if unfinished is not None:
        return
    named = connection.execute(sa.select(listen_totals.c.name_id).distinct()).scalars().all()
    for table, used in ((listen_names, np.array(named, dtype=np.int64)), (listen_users, _used_users(connection))):
        there = np.array(connection.execute(sa.select(table.c.id)).scalars().all(), dtype=np.int64)
        unused = np.setdiff1d(there, used).tolist()
        if len(unused) == len(there):
            connection.execute(table.delete())
            continue
        for start in range(0, len(unused), _BATCH):
            connection.execute(table.delete().where(table.c.id.in_(unused[start : start + _BATCH])))


def _used_users(connection: Connection) -> npt.NDArray[np.int64]:
    packed = connection.execute(sa.select(listen_sources.c.users).where(listen_sources.c.complete)).scalars()
    found = [np.frombuffer(zlib.decompress(data), dtype="<i4") for data in packed]
    return np.unique(np.concatenate(found)).astype(np.int64) if found else np.empty(0, np.int64)


def _grown(array: npt.NDArray[Any], ids: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return an array that has a place for each id."""
    needed = int(ids.max(initial=-1)) + 1
    if needed <= len(array):
        return array
    return np.concatenate([array, np.zeros(max(needed, 2 * len(array)) - len(array), array.dtype)])


def _joined(item: Heard) -> str:
    text = _SEPARATOR.join((item.artist, item.title, item.recording_mbid, item.artist_mbid))
    if text.count(_SEPARATOR) == 3:
        return text
    return _SEPARATOR.join(map(clean_text, (item.artist, item.title, item.recording_mbid, item.artist_mbid)))


def _user_row(name: str) -> tuple[Any, ...]:
    text = clean_text(name)
    return key_of(text.encode()), text


def _name_row(joined: str) -> tuple[Any, ...]:
    fields = joined.split(_SEPARATOR) if joined.isascii() else [clean_text(part) for part in joined.split(_SEPARATOR)]
    return key_of(_SEPARATOR.join(fields).encode()), *fields


def _pack(columns: Columns) -> bytes:
    parts = [len(columns.user).to_bytes(8, "little")]
    for name, kind in _COLUMNS:
        parts.append(np.ascontiguousarray(getattr(columns, name), dtype=np.dtype(kind).newbyteorder("<")).tobytes())
    return zlib.compress(b"".join(parts), level=1)


def _unpack(data: bytes) -> Columns:
    raw = zlib.decompress(data)
    n, start = int.from_bytes(raw[:8], "little"), 8
    found: dict[str, Any] = {}
    for name, kind in _COLUMNS:
        stop = start + n * np.dtype(kind).itemsize
        found[name] = np.frombuffer(raw[start:stop], dtype=np.dtype(kind).newbyteorder("<")).astype(kind)
        start = stop
    return Columns(**found)
