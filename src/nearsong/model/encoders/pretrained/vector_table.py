"""A Parquet or npz file -> vectors that a user computed elsewhere, each with the key of a song.

Keys are paths, MBIDs of recordings, or content keys of nearsong. A Parquet file has a column of keys, named ``path``,
``mbid`` or ``content``, and the vectors in a column of lists, or in one column of numbers for each dimension. An npz
file has an array of keys with such a name, and an array ``vectors``.
"""

import hashlib
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError, install_command
from nearsong.model.plain_arrays import array_names, read_array

KEY_NAMES = {"path": "path", "mbid": "mbid", "recording_mbid": "mbid", "content": "content"}
"""Name of a column or array -> what its keys are."""

MAX_TABLE_NUMBERS = 500_000_000
"""Numbers of the largest table that is read: 2 GB."""

MAX_VECTOR_DIMENSIONS = 16_384
"""Longer vectors are not embeddings of songs."""

_HOW = "a key column (path, mbid or content) and one vector for each"


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Vectors by key.

    Attributes
    ----------
    kind : str
        What the keys are: path, mbid or content.
    keys : sequence of str
        Each once.
    vectors : array of shape (n_keys, n_dimensions), float32
        Finite.
    """

    kind: str
    keys: Sequence[str]
    vectors: npt.NDArray[np.float32]

    @property
    def digest(self) -> str:
        """A hash of the content."""
        digest = hashlib.sha256("\0".join([self.kind, *self.keys]).encode("utf-8", "surrogateescape"))
        digest.update(self.vectors.tobytes())
        return digest.hexdigest()[:16]


def read_vector_table(path: str | os.PathLike[str]) -> VectorTable:
    """Read and check a table of vectors.

    Raises
    ------
    InvalidInputError
        If it is not such a file, or a vector is not finite, or a key occurs twice.
    """
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    if suffix not in (".npz", ".parquet"):
        raise InvalidInputError(f"{name}: vectors are read from .npz and .parquet files; convert it.")
    if not Path(name).is_file():
        raise InvalidInputError(f"{name}: file not found; check the path.")
    kind, keys, vectors = _read_npz(name) if suffix == ".npz" else _read_parquet(name)
    return _checked(name, kind, keys, vectors)


def _checked(name: str, kind: str, keys: list[str], vectors: npt.NDArray[Any]) -> VectorTable:
    if vectors.ndim != 2 or len(vectors) != len(keys) or not vectors.size:
        raise InvalidInputError(
            f"{name} has {len(keys)} keys and vectors of shape {vectors.shape}; {_HOW} is needed."
        )
    if vectors.dtype.kind not in "fiu" or vectors.shape[1] > MAX_VECTOR_DIMENSIONS:
        raise InvalidInputError(
            f"{name} has vectors of {vectors.shape[1]} x {vectors.dtype}; at most {MAX_VECTOR_DIMENSIONS:,} real "
            "numbers are possible."
        )
    if not all(keys):
        raise InvalidInputError(f"{name} has an empty key in row {keys.index('')}; remove the row.")
    if len(set(keys)) < len(keys):
        seen: set[str] = set()
        twice = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidInputError(f"{name} has the key {twice!r} more than once; keep one vector of each song.")
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(vectors, np.float32)
    finite = np.isfinite(numbers).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise InvalidInputError(f"{name} has a NaN or infinite number for {keys[row]!r} (row {row}); remove the row.")
    return VectorTable(kind, tuple(keys), numbers)


def _read_npz(name: str) -> tuple[str, list[str], npt.NDArray[Any]]:
    try:
        with zipfile.ZipFile(name) as archive:
            names = array_names(archive)
            key_name = _key_name(name, names)
            if "vectors" not in names:
                raise InvalidInputError(f"{name} has no array 'vectors' ({', '.join(names)}); {_HOW} is needed.")
            size = sum(archive.getinfo(f"{part}.npy").file_size for part in (key_name, "vectors"))
            if size > 4 * MAX_TABLE_NUMBERS:
                raise InvalidInputError(f"{name} is too large; divide it, or give vectors with fewer dimensions.")
            keys, vectors = read_array(archive, key_name), read_array(archive, "vectors")
    except (OSError, ValueError, KeyError, NotImplementedError, zipfile.BadZipFile, MemoryError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} is not an npz file of plain arrays ({error}); write it again.") from error
    if keys.ndim != 1 or keys.dtype.kind not in "US":
        raise InvalidInputError(f"{name}: {key_name} must be a list of texts, one for each row of vectors.")
    texts = [key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key) for key in keys.tolist()]
    return KEY_NAMES[key_name], texts, vectors


def _read_parquet(name: str) -> tuple[str, list[str], npt.NDArray[Any]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InvalidInputError(f"{name}: reading Parquet needs pyarrow: {install_command('parquet')}") from error
    try:
        with pyarrow.parquet.ParquetFile(name) as file:
            key_name = _key_name(name, file.schema_arrow.names)
            types = {field.name: str(field.type) for field in file.schema_arrow}
            lists = [column for column, kind in types.items() if "list" in kind]
            columns = lists[:1] or [column for column, kind in types.items() if _is_number(kind)]
            if not columns or file.metadata.num_rows * max(len(columns), 1) > MAX_TABLE_NUMBERS:
                raise InvalidInputError(f"{name} has no vectors, or too many; {_HOW} is needed.")
            table = file.read(columns=[key_name, *columns])
        keys = [str(key or "") for key in table.column(key_name).to_pylist()]
        if lists:
            return KEY_NAMES[key_name], keys, _rows_of_lists(name, table.column(columns[0]))
        parts = [table.column(column).to_numpy(zero_copy_only=False) for column in columns]
        return KEY_NAMES[key_name], keys, np.stack(parts, axis=1).astype(np.float64)
    except (pyarrow.ArrowException, OSError, MemoryError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(f"{name} is not a readable Parquet file ({reason}); write it again.") from error


def _is_number(kind: str) -> bool:
    return kind.startswith(("int", "uint", "float", "double", "halffloat"))


def _rows_of_lists(name: str, column: Any) -> npt.NDArray[Any]:
    """Return a column of lists as an array (n_rows, n_dimensions); all lists have the same length."""
    lengths = np.array([0 if row is None else len(row) for row in column.to_pylist()])
    if len(lengths) and not (lengths == lengths[0]).all():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise InvalidInputError(
            f"{name} has vectors of {lengths[0]} and of {lengths[row]} numbers (row {row}); all need the same length."
        )
    flat = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks])
    return flat.reshape(len(lengths), -1)


def _key_name(name: str, names: Sequence[str]) -> str:
    """Return which column or array has the keys."""
    found = [column for column in names if column in KEY_NAMES]
    if len(found) != 1:
        came = f"several ({', '.join(found)})" if found else f"none ({', '.join(names[:5]) or 'no columns'})"
        raise InvalidInputError(f"{name} needs one key column, path, mbid or content, and has {came}.")
    return found[0]
