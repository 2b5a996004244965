"""Users x items play counts <-> a folder of partitions, so that no process needs them all at the same time.

A partition holds consecutive users in one ``.npz`` file. ``header.json`` lists the partitions and is written last, so
that a folder without it is unfinished.
"""

import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.atomic_write import atomic_write
from nearsong.errors import InvalidInputError
from nearsong.relevance.plays import check_plays
from nearsong.temporary import remove_unfinished
from nearsong.validation import check_count

PARTITION_PLAYS = 2**21
"""Entries of a partition; only a user with more entries has a larger one."""

_HEADER = "header.json"
_FORMAT, _VERSION = "nearsong plays", 1


@dataclass(frozen=True)
class Partition:
    """Consecutive users of a folder: the file, how much is in it, and a checksum of its arrays."""

    file: str
    users: int
    plays: int
    checksum: int


@dataclass(frozen=True)
class PlaysFolder:
    """Play counts, users x items, in partitions.

    Attributes
    ----------
    path : Path
    items : int
        The number of items.
    partitions : tuple of Partition
        In the order of their users.

    Examples
    --------
    >>> import tempfile
    >>> plays = [[12, 30, 0], [15, 0, 40]]
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = PlaysFolder.write(path, [plays, plays])
    ...     folder.items, len(folder.partitions)
    ...     PlaysFolder.open(path).read(1).toarray()
    (3, 2)
    array([[12, 30,  0],
           [15,  0, 40]])
    """

    path: Path
    items: int
    partitions: tuple[Partition, ...]

    @classmethod
    def write(cls, path: str | Path, parts: Iterable[Any], partition_plays: int = PARTITION_PLAYS) -> Self:
        """Write play counts into a new folder.

        Parameters
        ----------
        path : path-like
            An empty folder, or one that is created, or one whose writing was interrupted, which starts again.
        parts : iterable of sparse matrix or array-like of shape (n_users, n_items)
            The users, some after the other; only one part is in memory. All plays of a user are in one row of one
            part, where duplicate entries are summed.
        partition_plays : int
            Entries of a partition. It bounds the memory of whoever reads it.

        Raises
        ------
        InvalidInputError
            If the folder holds plays already, or the parts are no play counts or of different widths.
        """
        folder, most = Path(path), check_count(partition_plays, "partition_plays")
        if (folder / _HEADER).exists():
            raise InvalidInputError(f"{folder} holds plays already; remove it, or write to another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(folder)
        partitions: list[Partition] = []
        items: int | None = None
        for part in parts:
            plays = check_plays(part)
            items = plays.shape[1] if items is None else items
            if plays.shape[1] != items:
                raise InvalidInputError(
                    f"a part of the plays has {plays.shape[1]} items and those before have {items}; "
                    "all need the same."
                )
            for first, last in _ranges(plays.indptr, most):
                partitions.append(_write_partition(folder, len(partitions), plays[first:last]))
        if items is None:
            raise InvalidInputError("there are no parts of plays, so nothing was written; give at least one.")
        written = {"format": _FORMAT, "version": _VERSION, "items": items}
        with atomic_write(folder / _HEADER) as file:
            file.write(json.dumps({**written, "partitions": [asdict(each) for each in partitions]}).encode())
        return cls(folder, items, tuple(partitions))

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a folder that was written completely."""
        folder = Path(path)
        try:
            header = json.loads((folder / _HEADER).read_bytes())
            is_known = header["format"] == _FORMAT and header["version"] == _VERSION
            partitions = tuple(Partition(**each) for each in header["partitions"])
            if is_known:
                return cls(folder, int(header["items"]), partitions)
        except FileNotFoundError as error:
            raise InvalidInputError(f"{folder} has no {_HEADER}, so it holds no plays; write them first.") from error
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInputError(f"{folder / _HEADER} is damaged ({error}); write the plays again.") from error
        raise InvalidInputError(f"{folder} was written by another version of nearsong; write the plays again.")

    def read(self, number: int) -> sp.csr_array:
        """Return the users of a partition, in memory; raise if the file is not what was written."""
        partition = self.partitions[number]
        file = self.path / partition.file
        try:
            with file.open("rb") as content, np.load(content) as stored:
                starts, items, plays = stored["starts"], stored["items"], stored["plays"]
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise InvalidInputError(f"{file} cannot be read ({error}); write the plays again.") from error
        if _checksum(starts, items, plays) != partition.checksum:
            raise InvalidInputError(f"{file} is not the file that {_HEADER} lists; write the plays again.")
        return sp.csr_array((plays, items, starts), shape=(partition.users, self.items))


def _write_partition(folder: Path, number: int, plays: sp.csr_array) -> Partition:
    name = f"users-{number:05}.npz"
    starts, items = np.asarray(plays.indptr, np.int64), np.asarray(plays.indices, np.int32)
    with atomic_write(folder / name) as file:
        np.savez(file, starts=starts, items=items, plays=plays.data)
    return Partition(file=name, users=plays.shape[0], plays=items.size, checksum=_checksum(starts, items, plays.data))


def _ranges(indptr: npt.NDArray[Any], most: int) -> list[tuple[int, int]]:
    """Return ranges of rows with at most this many entries, or one row."""
    ranges, first, n_rows = [], 0, indptr.size - 1
    while first < n_rows:
        last = int(np.searchsorted(indptr, int(indptr[first]) + most, side="right")) - 1
        ranges.append((first, max(last, first + 1)))
        first = ranges[-1][1]
    return ranges


def _checksum(*arrays: npt.NDArray[Any]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(array.tobytes(), zlib.crc32(array.dtype.str.encode(), checksum))
    return checksum
