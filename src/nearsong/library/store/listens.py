"""Listening histories: the tables `listen_*`. Listens are stored in compressed column blocks, a few bytes per row."""

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.errors import LibraryError
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
from nearsong.listens.records import ListenBlock, TrackName

PLAYED = "played"
"""Format of the history that is built from the library's own table of plays."""

_BATCH_ROWS = 10_000
_MAX_CACHED_IDS = 400_000
"""User ids, and name ids, cached during an import."""

_COLUMNS = (("user", np.int32), ("name", np.int32), ("plays", np.float32), ("time", np.int64))
_SEPARATOR = "\0"  # cannot occur in stored text


@dataclass(frozen=True)
class History:
    """An imported listening history."""

    id: int
    name: str
    fingerprint: str
    format: str
    kind: str
    rows: int
    imported: float


@dataclass(frozen=True, eq=False)
class ListenColumns:
    """Rows of a history; ``user`` and ``name`` are ids of the store."""

    user: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]


class HistoryWriter:
    """Writes the blocks of one history, which becomes visible when :meth:`finish` is called.

    Each block is a transaction of its own, so that a long import does not block other writers. The rows of an
    interrupted import are never read, and a later import deletes them.
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
        """Write one block."""
        with self._database.writing() as connection:
            self._mark(connection, imported=time.time())
            users = self._users.of(connection, block.users)
            names = self._names.of(connection, [_joined(item) for item in block.tracks])
            columns = ListenColumns(users[block.user], names[block.item], block.plays, block.time)
            row = {"source_id": self.source_id, "number": self._number, "data": _pack(columns)}
            connection.execute(listen_blocks.insert(), row)
        for numbers in (self._users, self._names):
            numbers.keep()  # only after the commit
        self._plays = _grown(self._plays, columns.name)
        self._named = _grown(self._named, columns.name)
        self._used = _grown(self._used, columns.user)
        np.add.at(self._plays, columns.name, columns.plays.astype(np.float64))
        self._named[columns.name] = True
        self._used[columns.user] = True
        self._number += 1
        self._rows += len(block)

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
                _delete_source(connection, source)
            if self._is_imported(connection):
                _delete_source(connection, self.source_id)
                return False
            users = zlib.compress(np.flatnonzero(self._used).astype("<i4").tobytes(), level=1)
            self._mark(connection, complete=True, rows=self._rows, users=users, imported=time.time())
            for start in range(0, len(names), _BATCH_ROWS):
                part = names[start : start + _BATCH_ROWS]
                plays = self._plays[part].tolist()
                rows = [(self.source_id, name, count) for name, count in zip(part.tolist(), plays, strict=True)]
                insert_rows(connection, listen_totals, ("source_id", "name_id", "plays"), rows)
            if replaced:
                _delete_unused(connection)
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


class _Numbers:
    """Cached ids of texts in a table; new texts are inserted."""

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
            numbers = dict(zip(new, range(last + 1, last + 1 + len(new)), strict=True))  # writers are serialised
            columns = [column.name for column in self._table.c]
            insert_rows(connection, self._table, columns, [(numbers[key], *row) for key, row in new.items()])
            ids |= numbers
            self._fresh = {text: ids[row[0]] for text, row in zip(unknown, rows, strict=True)}
        known, fresh = self._known, self._fresh
        return np.array([fresh[t] if t in fresh else known[t] for t in texts], dtype=np.int32)

    def keep(self) -> None:
        """Cache the ids returned by the last call of :meth:`of`."""
        if len(self._known) + len(self._fresh) > _MAX_CACHED_IDS:
            self._known = {}
        self._known |= self._fresh
        self._fresh = {}


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
        """Delete the rows of interrupted imports: those without a write for ``older_than`` seconds."""
        stale = sa.select(listen_sources.c.id).where(
            ~listen_sources.c.complete, listen_sources.c.imported <= time.time() - older_than
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
                _delete_source(connection, source)
            _delete_unused(connection)

    def histories(self) -> list[History]:
        """Return all complete histories."""
        columns = [listen_sources.c[name] for name in History.__dataclass_fields__]
        query = sa.select(*columns).where(listen_sources.c.complete).order_by(listen_sources.c.id)
        with self._database.reading() as connection:
            return [History(id, text_to_path(name), *rest) for id, name, *rest in connection.execute(query)]

    def digest(self) -> str:
        """Return a hash that changes when a history is added, replaced or removed."""
        facts = [(history.id, history.rows, history.imported) for history in self.histories()]
        return blake2b(repr(facts).encode(), digest_size=8).hexdigest()

    def remove(self, sources: Iterable[int], *, played: bool = False) -> None:
        """Delete histories; with ``played``, or if the history of plays is among them, all recorded plays too."""
        gone = set(sources)
        with self._database.writing() as connection:
            query = sa.select(listen_sources.c.id, listen_sources.c.complete).where(listen_sources.c.format == PLAYED)
            of_plays = connection.execute(query).all()
            if played or any(complete and source in gone for source, complete in of_plays):
                delete_plays(connection)
                gone.update(source for source, _ in of_plays)  # one being built would restore the plays
            for source in gone:
                _delete_source(connection, source)
            _delete_unused(connection)

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
            yield _unpack(row[1])

    def names(self) -> tuple[npt.NDArray[np.int64], list[TrackName]]:
        """Return the ids and track names of everything that was played, by id."""
        query = sa.select(
            listen_names.c.id,
            listen_names.c.artist,
            listen_names.c.title,
            listen_names.c.recording_mbid,
            listen_names.c.artist_mbid,
        ).order_by(listen_names.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return np.array([row[0] for row in rows], dtype=np.int64), [TrackName(*row[1:]) for row in rows]

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

    def n_users(self) -> int:
        """Return the number of users and playlists in all complete histories."""
        with self._database.reading() as connection:
            return len(_used_users(connection))


def _delete_source(connection: Connection, source: int) -> None:
    for table, column in (
        (listen_totals, listen_totals.c.source_id),
        (listen_blocks, listen_blocks.c.source_id),
        (listen_sources, listen_sources.c.id),
    ):
        connection.execute(table.delete().where(column == source))


def _delete_unused(connection: Connection) -> None:
    """Delete names and users that no history uses; skipped during an import, which may use any of them."""
    unfinished = connection.execute(sa.select(listen_sources.c.id).where(~listen_sources.c.complete)).first()
    if unfinished is not None:
        return
    named = connection.execute(sa.select(listen_totals.c.name_id).distinct()).scalars().all()
    for table, used in ((listen_names, np.array(named, dtype=np.int64)), (listen_users, _used_users(connection))):
        ids = np.array(connection.execute(sa.select(table.c.id)).scalars().all(), dtype=np.int64)
        unused = np.setdiff1d(ids, used).tolist()
        if len(unused) == len(ids):
            connection.execute(table.delete())
            continue
        for start in range(0, len(unused), _BATCH_ROWS):
            connection.execute(table.delete().where(table.c.id.in_(unused[start : start + _BATCH_ROWS])))


def _used_users(connection: Connection) -> npt.NDArray[np.int64]:
    packed = connection.execute(sa.select(listen_sources.c.users).where(listen_sources.c.complete)).scalars()
    ids = [np.frombuffer(zlib.decompress(data), dtype="<i4") for data in packed]
    return np.unique(np.concatenate(ids)).astype(np.int64) if ids else np.empty(0, np.int64)


def _grown(array: npt.NDArray[Any], ids: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return the array, extended by zeros so that every id is a valid index."""
    needed = int(ids.max(initial=-1)) + 1
    if needed <= len(array):
        return array
    return np.concatenate([array, np.zeros(max(needed, 2 * len(array)) - len(array), array.dtype)])


def _joined(item: TrackName) -> str:
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


def _pack(columns: ListenColumns) -> bytes:
    parts = [len(columns.user).to_bytes(8, "little")]
    for name, kind in _COLUMNS:
        parts.append(np.ascontiguousarray(getattr(columns, name), dtype=np.dtype(kind).newbyteorder("<")).tobytes())
    return zlib.compress(b"".join(parts), level=1)


def _unpack(data: bytes) -> ListenColumns:
    raw = zlib.decompress(data)
    n, start = int.from_bytes(raw[:8], "little"), 8
    columns: dict[str, Any] = {}
    for name, kind in _COLUMNS:
        stop = start + n * np.dtype(kind).itemsize
        columns[name] = np.frombuffer(raw[start:stop], dtype=np.dtype(kind).newbyteorder("<")).astype(kind)
        start = stop
    return ListenColumns(**columns)
