"""A TensorFlow checkpoint (format V2) -> its arrays by name, without TensorFlow.

A checkpoint is an index and one data file. The index is a sorted string table as in LevelDB: blocks of entries whose
keys share prefixes, an index block that points to them, and a footer that points to the index block. Each value is a
protocol buffer with type, shape, offset and length of an array in the data file. Formats: ``table_format.md`` of
LevelDB and ``tensor_bundle.proto`` of TensorFlow. Checksums in the file are not read: the caller knows the hash.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError

_FOOTER_BYTES = 48
_MAGIC = bytes.fromhex("57fb808b247547db")
_FLOAT32 = 1
"""``DT_FLOAT`` of TensorFlow's types; other arrays, such as step counters, are left out."""


def read_checkpoint(index: bytes, data: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """Return the single-precision arrays of a checkpoint.

    Parameters
    ----------
    index : bytes
        Content of the ``.index`` file.
    data : bytes
        Content of the only ``.data-00000-of-00001`` file.

    Returns
    -------
    dict
        Name of a variable -> array.

    Raises
    ------
    InvalidInputError
        If the bytes are not a checkpoint, or are truncated.
    """
    try:
        return {name.decode(): array for name, value in _entries(index) for array in _arrays(name, value, data)}
    except (IndexError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"not a TensorFlow checkpoint ({error}); download it again.") from error


def _entries(index: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a sorted string table."""
    footer = index[-_FOOTER_BYTES:]
    if footer[-len(_MAGIC) :] != _MAGIC:
        raise ValueError("its index is truncated")
    _, at = _handle(footer, 0)  # of the meta index, which is empty
    (offset, size), _ = _handle(footer, at)
    for _, handle in _block(index, offset, size):
        (start, length), _ = _handle(handle, 0)
        yield from _block(index, start, length)


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Return offset and length of a block, and where the next value starts."""
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _block(index: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block; each key is a prefix of the one before and a rest."""
    if index[offset + size] != 0:
        raise ValueError("the index is compressed")
    block = index[offset : offset + size]
    n_restarts = int.from_bytes(block[-4:], "little")
    end = size - 4 - 4 * n_restarts
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        rest, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + rest]
        yield key, block[at + rest : at + rest + length]
        at += rest + length


def _arrays(name: bytes, value: bytes, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the array that an entry describes, or nothing if it is of another type."""
    fields = _fields(value)
    if not name or fields.get(1) != _FLOAT32:  # the empty name is the header
        return
    offset, size = _number(fields, 4), _number(fields, 5)
    raw = data[offset : offset + size]
    if len(raw) != size:
        raise ValueError(f"the numbers of {name.decode()} are truncated")
    yield np.frombuffer(raw, "<f4").reshape(_shape(fields.get(2, b"")))


def _shape(message: int | bytes) -> tuple[int, ...]:
    """Return the sizes in a ``TensorShapeProto``: field 2, once for each axis, holds the size as field 1."""
    sizes, at = [], 0
    message = bytes(message) if isinstance(message, bytes) else b""
    while at < len(message):
        length, at = _varint(message, at + 1)
        sizes.append(_number(_fields(message[at : at + length]), 1))
        at += length
    return tuple(sizes)


def _number(fields: dict[int, int | bytes], field: int) -> int:
    value = fields.get(field, 0)
    return value if isinstance(value, int) else 0


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Return the fields of a protocol buffer; of a repeated one the last."""
    fields: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            fields[tag >> 3], at = _varint(message, at)
        elif kind == 2:
            length, at = _varint(message, at)
            fields[tag >> 3] = message[at : at + length]
            at += length
        elif kind == 5:
            fields[tag >> 3] = int.from_bytes(message[at : at + 4], "little")
            at += 4
        else:
            raise ValueError(f"a field of kind {kind}")
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, lowest first, and where the next value starts."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at
