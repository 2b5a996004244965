"""Arrays <-> one file of which parts can be read without the rest: ``.npy`` after ``.npy``."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write


def save_arrays(path: Path, *arrays: npt.NDArray[Any]) -> None:
    """Write arrays to a file, which is complete as soon as it exists."""
    with atomic_write(path) as file:
        for array in arrays:
            np.save(file, array)


def map_arrays(path: Path) -> list[npt.NDArray[Any]]:
    """Return the arrays of a file as memory maps: only what is used of them is read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_arrays(Path(folder) / "arrays", np.arange(3), np.array([0.5]))
    ...     [array.tolist() for array in map_arrays(Path(folder) / "arrays")]
    [[0, 1, 2], [0.5]]
    """
    arrays: list[npt.NDArray[Any]] = []
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            start = file.tell()
            empty: npt.NDArray[Any] = np.empty(shape, dtype)
            arrays.append(np.asarray(np.memmap(file, dtype, "r", start, shape)) if empty.size else empty)
            file.seek(start + empty.nbytes)
    return arrays
