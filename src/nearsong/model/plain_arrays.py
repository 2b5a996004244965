"""An ``.npz`` file of plain arrays -> its arrays, safely in several threads.

`numpy.load` parses every array's header to a syntax tree, and Python 3.11 sometimes fails where two threads do so at
the same time. A service reads models and maps in several threads, so headers are read with a regular expression.
"""

import math
import re
import struct
import zipfile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

_MAGIC = b"\x93NUMPY"
_ENDING = ".npy"
_MAX_HEADER_BYTES = 4096
_NPY_HEADER = re.compile(
    rb"\{'descr': '(?P<kind>[<>|=]?[biufcSU]\d+)', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:\d+,? ?)*)\), \} *\n"
)


def array_names(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the arrays in a file that `numpy.savez` wrote."""
    return [name.removesuffix(_ENDING) for name in archive.namelist()]


def read_array(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """Return one array of a file that `numpy.savez` wrote; objects and records are refused.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, songs=np.arange(3))
    >>> with zipfile.ZipFile(file) as archive:
    ...     array_names(archive), read_array(archive, "songs")
    (['songs'], array([0, 1, 2]))

    Raises
    ------
    KeyError
        If there is no array of this name.
    ValueError
        If it is not a plain array, or its size is not as declared.
    """
    entry = archive.getinfo(f"{name}{_ENDING}")
    with archive.open(entry) as file:
        array = _empty(file, entry)
        rest = memoryview(array.reshape(-1, order="A").view(np.uint8))  # type: ignore[arg-type]
        while rest:
            if not (taken := file.readinto(rest)):  # type: ignore[attr-defined]
                raise ValueError(f"{name} ends early")
            rest = rest[taken:]
        file.read(1)  # reading to the end verifies the checksum of the entry
    return array


def _empty(file: IO[bytes], entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Read an array's header and return an uninitialised array."""
    start = file.read(8)
    if start[:6] != _MAGIC or start[6:] not in (b"\1\0", b"\2\0"):
        raise ValueError(f"{entry.filename} is not an array")
    length = struct.unpack("<H", file.read(2))[0] if start[6] == 1 else struct.unpack("<I", file.read(4))[0]
    facts = _NPY_HEADER.fullmatch(file.read(min(length, _MAX_HEADER_BYTES)))
    if facts is None:
        raise ValueError(f"{entry.filename} is not a plain array")
    kind, shape = np.dtype(facts["kind"].decode()), tuple(int(part) for part in re.findall(rb"\d+", facts["shape"]))
    header = 8 + (2 if start[6] == 1 else 4) + length
    if header + kind.itemsize * math.prod(shape) != entry.file_size:  # before memory is allocated
        raise ValueError(f"{entry.filename} does not have the size it declares")
    return np.empty(shape, kind, order="F" if facts["fortran"] == b"True" else "C")
