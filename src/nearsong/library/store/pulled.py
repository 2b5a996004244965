"""A listening history that grows: pages of listens -> blocks of a complete history, each page in one transaction."""

import time
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.listen_columns import (
    ListenColumns,
    name_numbers,
    pack,
    pack_users,
    unpack,
    unpack_users,
    user_numbers,
)
from nearsong.library.store.schema import listen_blocks, listen_names, listen_sources, listen_totals
from nearsong.library.store.text import clean_text, path_to_text
from nearsong.listens.records import Action, ListenBlock

MERGED_ROWS = 10_000
"""Pages are joined to blocks of up to so many rows."""

_HEARTS = 0
"""Number of the block with the hearts; listens are in the blocks after it."""

_BATCH_NAMES = 5_000


class PulledHistory:
    """The history of a service and a user; it is stored with its first rows.

    Parameters
    ----------
    database : Database
    name, fingerprint, format : str
        Of the history; the fingerprint identifies it.

    Attributes
    ----------
    source_id : int or None
        Id of the history, None before it has rows.
    position : str
        How far the pull has come, as the caller wrote it; empty before the first rows.
    rows : int
        Rows of the history.
    """

    def __init__(self, database: Database, name: str, fingerprint: str, format: str) -> None:
        self._database = database
        self._facts = {"name": path_to_text(name), "fingerprint": fingerprint, "format": format, "kind": "events"}
        self.source_id: int | None = None
        self.position = ""
        self.rows = 0
        self._time = np.empty(0, np.int64)
        self._track = np.empty(0, np.int64)
        with database.reading() as connection:
            self._load(connection)

    def extend(self, block: ListenBlock | None, position: str) -> int:
        """Add the rows of a page and set the position, in one transaction.

        Returns
        -------
        int
            How many rows are new: same time, artist and title are the same row, even with other MBIDs.
        """
        new = None if block is None else self._without_known(block)
        if self.source_id is None and new is None:
            return 0
        with self._database.writing() as connection:
            source = self._claimed(connection, position)
            if new is not None:
                columns = _numbered(connection, new)
                self._append(connection, source, columns)
                _add_totals(connection, source, columns)
                self._mark(connection, source, self.rows + len(new), columns.user)
        self.source_id, self.position = source, position
        if new is None:
            return 0
        self.rows += len(new)
        self._time = np.concatenate([self._time, new.time])
        self._track = np.concatenate([self._track, _tracks(new)])
        return len(new)

    def replace_hearts(self, block: ListenBlock | None, position: str) -> int:
        """Replace all hearts by those of a block and set the position; return the number of hearts."""
        hearts = 0 if block is None else len(block)
        if self.source_id is None and block is None:
            return 0
        with self._database.writing() as connection:
            source = self._claimed(connection, position)
            mine = (listen_blocks.c.source_id == source) & (listen_blocks.c.number == _HEARTS)
            data = connection.execute(sa.select(listen_blocks.c.data).where(mine)).scalar()
            before = 0 if data is None else len(unpack(data).user)
            columns = None if block is None else _numbered(connection, block)
            packed = None if columns is None else pack(columns)
            if packed != (None if data is None else bytes(data)):
                connection.execute(listen_blocks.delete().where(mine))
                only_hearts = (listen_totals.c.source_id == source) & (listen_totals.c.plays == 0)
                connection.execute(listen_totals.delete().where(only_hearts))
                if columns is not None:
                    row = {"source_id": source, "number": _HEARTS, "data": packed}
                    connection.execute(listen_blocks.insert(), row)
                    _add_totals(connection, source, columns)
                users = np.empty(0, np.int32) if columns is None else columns.user
                self._mark(connection, source, self.rows - before + hearts, users)
        self.rows += hearts - before
        self.source_id, self.position = source, position
        return hearts

    def _load(self, connection: Connection) -> None:
        stored = listen_sources.c.complete & (listen_sources.c.fingerprint == self._facts["fingerprint"])
        row = connection.execute(sa.select(listen_sources).where(stored)).first()
        if row is None:
            return
        self.source_id, self.position, self.rows = int(row.id), str(row.position), int(row.rows)
        names = (
            sa.select(listen_names.c.id, listen_names.c.artist, listen_names.c.title)
            .join(listen_totals, listen_totals.c.name_id == listen_names.c.id)
            .where(listen_totals.c.source_id == self.source_id)
            .order_by(listen_names.c.id)
        )
        known = [(int(id), _track_key(artist, title)) for id, artist, title in connection.execute(names)]
        ids, tracks = np.array(known, np.int64).reshape(-1, 2).T
        blocks = sa.select(listen_blocks.c.data).where(
            listen_blocks.c.source_id == self.source_id, listen_blocks.c.number > _HEARTS
        )
        columns = [unpack(data) for data in connection.execute(blocks).scalars()]
        self._time = np.concatenate([self._time, *(part.time for part in columns)])
        self._track = np.concatenate(
            [self._track, *(tracks[np.searchsorted(ids, part.name)] for part in columns)],
        )

    def _without_known(self, block: ListenBlock) -> ListenBlock | None:
        """Return the rows that are not stored yet, each once; None if there are none."""
        if not len(block):
            return None
        near = (self._time >= block.time.min()) & (self._time <= block.time.max())
        known = set(zip(self._time[near].tolist(), self._track[near].tolist(), strict=True))
        new = []
        for row, key in enumerate(zip(block.time.tolist(), _tracks(block).tolist(), strict=True)):
            if key not in known:
                known.add(key)
                new.append(row)
        if not new:
            return None
        item, inverse = np.unique(block.item[new], return_inverse=True)
        return ListenBlock(
            users=block.users,
            tracks=[block.tracks[i] for i in item.tolist()],  # no names of rows that are left out
            user=block.user[new],
            item=inverse.astype(np.int32),
            plays=block.plays[new],
            time=block.time[new],
            action=None if block.action is None else block.action[new],
        )

    def _claimed(self, connection: Connection, position: str) -> int:
        """Set the position and return the id of the history, which no one else may have changed meanwhile."""
        if self.source_id is None:
            same = listen_sources.c.complete & (listen_sources.c.fingerprint == self._facts["fingerprint"])
            if connection.execute(sa.select(listen_sources.c.id).where(same)).first() is None:
                row = {
                    **self._facts,
                    "rows": 0,
                    "users": pack_users(np.empty(0, np.int32)),
                    "complete": True,
                    "position": position,
                }
                insert = listen_sources.insert().returning(listen_sources.c.id)
                return int(connection.execute(insert, {**row, "imported": time.time()}).scalar_one())
        else:
            mine = (listen_sources.c.id == self.source_id) & (listen_sources.c.position == self.position)
            if connection.execute(listen_sources.update().where(mine), {"position": position}).rowcount:
                return self.source_id
        raise LibraryError(
            f"{self._facts['name']} was removed, or is pulled by another command; wait for that one and pull again."
        )

    def _append(self, connection: Connection, source: int, columns: ListenColumns) -> None:
        """Add rows to the last block of listens, or as a new block where it is full."""
        query = sa.select(listen_blocks.c.number, listen_blocks.c.data).where(listen_blocks.c.source_id == source)
        row = connection.execute(query.order_by(listen_blocks.c.number.desc()).limit(1)).first()
        number = _HEARTS if row is None else int(row.number)
        last = None if row is None or number == _HEARTS else unpack(row.data)
        if last is None or len(last.user) + len(columns.user) > MERGED_ROWS:
            new = {"source_id": source, "number": number + 1, "data": pack(columns)}
            connection.execute(listen_blocks.insert(), new)
            return
        mine = (listen_blocks.c.source_id == source) & (listen_blocks.c.number == number)
        connection.execute(listen_blocks.update().where(mine), {"data": pack(last.joined_with(columns))})

    def _mark(self, connection: Connection, source: int, rows: int, users: npt.NDArray[np.int32]) -> None:
        mine = listen_sources.c.id == source
        packed = connection.execute(sa.select(listen_sources.c.users).where(mine)).scalar_one()
        both = np.union1d(unpack_users(packed), users)
        changes = {"rows": rows, "users": pack_users(both), "imported": time.time()}
        connection.execute(listen_sources.update().where(mine), changes)


def _numbered(connection: Connection, block: ListenBlock) -> ListenColumns:
    """Return a block with the ids of its users and track names, which are stored where they are new."""
    return ListenColumns(
        user=user_numbers().of(connection, block.users)[block.user],
        name=name_numbers().of(connection, block.tracks)[block.item],
        plays=block.plays,
        time=block.time,
        action=np.zeros(len(block), np.int8) if block.action is None else block.action,
    )


def _add_totals(connection: Connection, source: int, columns: ListenColumns) -> None:
    """Add the plays of rows to the totals; names that were not played get 0, as their names are in use."""
    names, inverse = np.unique(columns.name, return_inverse=True)
    listens = np.where(columns.action == Action.LISTEN, columns.plays, 0).astype(np.float64)
    plays = np.bincount(inverse, listens, len(names))
    totals = sa.select(listen_totals.c.name_id, listen_totals.c.plays).where(listen_totals.c.source_id == source)
    for start in range(0, len(names), _BATCH_NAMES):
        part = names[start : start + _BATCH_NAMES].tolist()
        before = {id: float(n) for id, n in connection.execute(totals.where(listen_totals.c.name_id.in_(part)))}
        counts = plays[start : start + _BATCH_NAMES].tolist()
        rows = [(source, name, before.get(name, 0.0) + n) for name, n in zip(part, counts, strict=True)]
        insert_rows(connection, listen_totals, ("source_id", "name_id", "plays"), rows, ("source_id", "name_id"))


def _tracks(block: ListenBlock) -> npt.NDArray[np.int64]:
    """Return a number for the artist and title of each row."""
    keys = np.array([_track_key(track.artist, track.title) for track in block.tracks], np.int64)
    return keys[block.item]


def _track_key(artist: str, title: str) -> int:
    text = f"{clean_text(artist)}\0{clean_text(title)}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)
