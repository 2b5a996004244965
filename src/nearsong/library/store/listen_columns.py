"""Rows of a listening history as numbers: packed columns, and the ids of users and track names."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.library.store.bulk import ids_by_key, insert_rows
from nearsong.library.store.database import Connection
from nearsong.library.store.schema import listen_names, listen_users
from nearsong.library.store.text import cleaned, keys_of
from nearsong.listens.records import Action

_COLUMNS = (("user", np.int32), ("name", np.int32), ("plays", np.float32), ("time", np.int64), ("action", np.int8))
_SEPARATOR = "\0"  # cannot occur in stored text


@dataclass(frozen=True, eq=False)
class ListenColumns:
    """Rows of a history; ``user`` and ``name`` are ids of the store."""

    user: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]
    action: npt.NDArray[np.int8]

    def at(self, rows: npt.NDArray[np.bool_]) -> "ListenColumns":
        """Return the rows of a mask."""
        return self if rows.all() else ListenColumns(**{name: getattr(self, name)[rows] for name, _ in _COLUMNS})

    def of(self, action: Action) -> "ListenColumns":
        """Return the rows that tell one kind of action."""
        return self.at(self.action == action)

    def up_to(self, name: int) -> "ListenColumns":
        """Return the rows whose name has at most this id."""
        return self.at(self.name <= name)

    def joined_with(self, other: "ListenColumns") -> "ListenColumns":
        """Return the rows of both."""
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name, _ in _COLUMNS}
        return ListenColumns(**both)


class Numbers:
    """The ids of names in a table; new names are inserted.

    The blocks of a history share a list of names that grows: only those that were added to it are looked up.
    """

    def __init__(self, table: sa.Table, texts_of: Callable[[Sequence[Any]], list[Sequence[str]]]) -> None:
        self._table, self._texts_of = table, texts_of
        self._names: Sequence[Any] = ()
        self._ids = np.zeros(0, np.int32)
        self._fresh: tuple[Sequence[Any], npt.NDArray[np.int32]] = (self._names, self._ids)

    def of(self, connection: Connection, names: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Return the ids of names, in order."""
        known = self._ids if names is self._names else np.zeros(0, np.int32)
        new_names = names[len(known) :]  # once: the list may grow meanwhile
        ids = known
        if new_names:
            texts = [cleaned(column) for column in self._texts_of(new_names)]
            rows = list(zip(*texts, strict=True))
            keys = keys_of(map(_SEPARATOR.join, rows))
            last = connection.execute(sa.select(sa.func.max(self._table.c.id))).scalar() or 0
            wanted = dict(zip(keys, rows, strict=True))
            id_of = ids_by_key(connection, self._table, list(wanted)) if last else {}
            new = [key for key in wanted if key not in id_of]
            id_of |= zip(new, range(last + 1, last + 1 + len(new)), strict=True)  # writers are serialised
            columns = [column.name for column in self._table.c]
            insert_rows(connection, self._table, columns, [(id_of[key], key, *wanted[key]) for key in new])
            ids = np.concatenate([known, np.fromiter(map(id_of.__getitem__, keys), np.int32, len(keys))])
        self._fresh = (names, ids)
        return ids

    def keep(self) -> None:
        """Keep the ids that the last call of :meth:`of` returned."""
        self._names, self._ids = self._fresh


def user_numbers() -> Numbers:
    """Return the ids of users."""
    return Numbers(listen_users, lambda users: [users])


def name_numbers() -> Numbers:
    """Return the ids of track names."""
    return Numbers(listen_names, lambda tracks: list(zip(*tracks, strict=True)))


def pack_users(ids: npt.NDArray[np.integer]) -> bytes:
    """Return the ids of the users of a history as bytes."""
    return zlib.compress(ids.astype("<i4").tobytes(), level=1)


def unpack_users(data: bytes) -> npt.NDArray[np.int32]:
    """Return the ids of bytes from :func:`pack_users`."""
    return np.frombuffer(zlib.decompress(data), dtype="<i4").astype(np.int32)


def pack(columns: ListenColumns) -> bytes:
    """Return columns as bytes, the lowest byte of all values first: runs of equal bytes are packed fast and small."""
    n = len(columns.user)
    parts = [n.to_bytes(8, "little")]
    for name, kind in _COLUMNS:
        values = np.ascontiguousarray(getattr(columns, name), dtype=np.dtype(kind).newbyteorder("<"))
        parts.append(values.view(np.uint8).reshape(n, values.itemsize).T.tobytes())
    packer = zlib.compressobj(level=1, strategy=zlib.Z_RLE)
    return packer.compress(b"".join(parts)) + packer.flush()


def unpack(data: bytes) -> ListenColumns:
    """Return the columns of bytes from :func:`pack`."""
    raw = zlib.decompress(data)
    n, start = int.from_bytes(raw[:8], "little"), 8
    columns: dict[str, Any] = {}
    for name, kind in _COLUMNS:
        size = np.dtype(kind).itemsize
        values = np.ascontiguousarray(np.frombuffer(raw, np.uint8, n * size, start).reshape(size, n).T).reshape(-1)
        columns[name] = values.view(np.dtype(kind).newbyteorder("<")).astype(kind)
        start += n * size
    return ListenColumns(**columns)
