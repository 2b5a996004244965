"""Embeddings -> the same numbers in a file that is mapped into memory: processes on one machine share one copy.

A file is named by the hash of its content and never changes, so that whoever needs the same embeddings finds it.
"""

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

from nearsong.atomic_write import atomic_write
from nearsong.library.neighbours.exact import Floats

SUFFIX = ".embeddings"
MAX_FILES = 3
"""As many are kept in a cache: those of the active and the native model, and of songs that come next."""


def shared_rows(rows: Floats, cache: Path) -> Floats:
    """Return rows, read-only, from a file of the cache, which is written if it is missing or damaged.

    If it cannot be, they are returned as they are.

    Parameters
    ----------
    rows : array of float32 and shape (n_songs, r)
    cache : path
    """
    contiguous = np.ascontiguousarray(rows, dtype=np.float32)
    name = _hash_of(contiguous)
    file = cache / f"{name}{SUFFIX}"
    with suppress(OSError, ValueError):
        mapped = _open(file, rows.shape, name)
        if mapped is None:
            cache.mkdir(parents=True, exist_ok=True)
            with atomic_write(file) as stream:
                stream.write(contiguous.data)
            _tidy(cache)
            mapped = _open(file, rows.shape, name)
        return rows if mapped is None else mapped
    return rows


def file_of(rows: Floats, cache: Path) -> Path:
    """Return the file of a cache in which rows are, if :func:`shared_rows` could write it."""
    return cache / f"{_hash_of(rows)}{SUFFIX}"


def _open(file: Path, shape: tuple[int, ...], name: str) -> Floats | None:
    """Map a file; None if there is none, or it does not have what its name says."""
    if not file.is_file() or file.stat().st_size != 4 * shape[0] * shape[1]:
        return None
    mapped = np.memmap(file, dtype=np.float32, mode="r", shape=shape)
    return mapped.view(np.ndarray) if _hash_of(mapped) == name else None


def _hash_of(rows: Floats) -> str:
    digest = blake2b(f"{rows.shape}".encode(), digest_size=16)
    digest.update(rows.data)
    return digest.hexdigest()


def _tidy(cache: Path) -> None:
    """Remove all but the newest files; processes that have mapped one keep it."""
    files = sorted(cache.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime)
    for file in files[:-MAX_FILES]:
        file.unlink(missing_ok=True)
