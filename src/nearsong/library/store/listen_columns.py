"""Rows of a listening history as numbers: packed columns, and the ids of users and track names."""

import operator
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
_SAMPLE_BYTES = 4096
_MAX_SHARE = 0.9


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


class _Known(NamedTuple):
    """Names whose ids are known, and how many rows of the table they added; -1 if some were changed to be stored."""

    names: Sequence[Any] = ()
    ids: npt.NDArray[np.int32] = np.zeros(0, np.int32)
    n_added: int = 0


class Numbers:
    """The ids of names in a table; new names are inserted.

    The blocks of a history share a list of names that grows and has each name once: only those that were added to it
    are looked up, and not even these while all rows of the table are from this list.
    """

    def __init__(self, table: sa.Table, texts_of: Callable[[Sequence[Any]], list[Sequence[str]]]) -> None:
        self._table, self._texts_of = table, texts_of
        self._known = self._fresh = _Known()

    def of(self, connection: Connection, names: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Return the ids of names, in order."""
        self._fresh = known = self._known if names is self._known.names else _Known(names)
        new_names = names[len(known.ids) :]  # once: the list may grow meanwhile
        if new_names:
            texts = self._texts_of(new_names)
            stored = [cleaned(column) for column in texts]
            keys = keys_of(map(_SEPARATOR.join, zip(*stored, strict=True)))
            wanted = dict(zip(keys, zip(*stored, strict=True), strict=True))
            last = connection.execute(sa.select(sa.func.max(self._table.c.id))).scalar() or 0
            n_added = known.n_added if all(map(operator.is_, texts, stored)) else -1
            id_of = {} if last == n_added else ids_by_key(connection, self._table, list(wanted))
            new = [key for key in wanted if key not in id_of]
            new_ids = range(last + 1, last + 1 + len(new))  # writers are serialised
            columns = [column.name for column in self._table.c]
            rows = [(number, key, *wanted[key]) for number, key in zip(new_ids, new, strict=True)]
            insert_rows(connection, self._table, columns, rows)
            id_of |= zip(new, new_ids, strict=True)
            ids = np.fromiter(map(id_of.__getitem__, keys), np.int32, len(keys))
            self._fresh = _Known(names, np.concatenate([known.ids, ids]), n_added + len(new) if n_added >= 0 else -1)
        return self._fresh.ids

    def keep(self) -> None:
        """Keep the ids that the last call of :meth:`of` returned."""
        self._known = self._fresh


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
    """Return columns as bytes: the lowest byte of all values, then the next ones, each packed by itself.

    Their length tells how: one byte stands for all rows, as many as there are rows are the bytes themselves, and all
    else is packed by run lengths.
    """
    n = len(columns.user)
    parts = [n.to_bytes(8, "little")]
    for name, kind in _COLUMNS:
        values = np.ascontiguousarray(getattr(columns, name), dtype=np.dtype(kind).newbyteorder("<"))
        for layer in values.view(np.uint8).reshape(n, values.itemsize).T:
            data = _packed(np.ascontiguousarray(layer))
            parts += [len(data).to_bytes(4, "little"), data]
    return b"".join(parts)


def _packed(layer: npt.NDArray[np.uint8]) -> bytes:
    if (layer == layer[:1]).all():
        return layer[:1].tobytes()
    data = layer.tobytes()
    sample = data[:_SAMPLE_BYTES]
    if len(_packed_runs(sample)) > _MAX_SHARE * len(sample):
        return data  # low bytes of ids are such: packing them takes long and saves little
    packed = _packed_runs(data)
    return packed if len(packed) < len(data) else data


def _packed_runs(data: bytes) -> bytes:
    packer = zlib.compressobj(level=1, strategy=zlib.Z_RLE)
    return packer.compress(data) + packer.flush()


def unpack(data: bytes) -> ListenColumns:
    """Return the columns of bytes from :func:`pack`."""
    n, start = int.from_bytes(data[:8], "little"), 8
    columns: dict[str, Any] = {}
    for name, kind in _COLUMNS:
        layers = np.empty((n, np.dtype(kind).itemsize), np.uint8)
        for layer in layers.T:
            end = start + 4 + int.from_bytes(data[start : start + 4], "little")
            part = data[start + 4 : end]
            layer[:] = np.frombuffer(part if len(part) in (1, n) else zlib.decompress(part), np.uint8)
            start = end
        columns[name] = layers.reshape(-1).view(np.dtype(kind).newbyteorder("<")).astype(kind)
    return ListenColumns(**columns)
