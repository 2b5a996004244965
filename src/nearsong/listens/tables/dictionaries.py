"""Fields as bytes -> numbers, one for each distinct text; Python strings are made once for each of them.

Open addressing with a random seed of each process, so that nobody can write a file in which all names collide.
"""

import secrets
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Codes = npt.NDArray[np.int32]

_SEED = np.uint64(secrets.randbits(64))
_FACTOR = np.uint64(secrets.randbits(64) | 1)
_MIN_SLOTS = 1 << 10
_READ_AHEAD = 256
_UPPER = np.uint64(0xFFFF_FFFF_0000_0000)
_LENGTH_BITS = np.uint64(24)
_LENGTHS = np.uint64((1 << 24) - 1)


class ByteDictionary:
    """Numbers texts in order of appearance.

    A slot of the table has half of a text's hash, its number and where the text is: one look at memory, and one at
    the text itself.
    """

    def __init__(self) -> None:
        self._n = 0
        self._slots = np.zeros((_MIN_SLOTS, 2), np.uint64)
        self._offsets = np.zeros(_MIN_SLOTS // 2 + 1, np.int64)
        self._text = np.empty(0, np.uint8)

    def __len__(self) -> int:
        return self._n

    def codes(self, data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Codes:
        """Return the number of each text ``data[start:end]``; new texts get new numbers."""
        self._reserve(len(starts), int((ends - starts).sum()))
        found = np.empty(len(starts), np.int32)
        hashes = np.empty(len(starts), np.uint64)
        _hash_all(data, starts, ends, hashes, _SEED, _FACTOR)
        self._n = _encode(data, starts, ends, hashes, found, self._n, self._slots, self._offsets, self._text)
        return found

    def texts(self, first: int) -> list[str]:
        """Return the texts with numbers from ``first`` on."""
        offsets = self._offsets[first : self._n + 1]
        joined = self._text[offsets[0] : offsets[-1]].tobytes()
        bounds = (offsets - offsets[0]).tolist()
        pairs = pairwise(bounds)
        if joined.isascii():
            text = joined.decode()
            return [text[start:end] for start, end in pairs]
        return [joined[start:end].decode() for start, end in pairs]

    def _reserve(self, n_texts: int, n_bytes: int) -> None:
        n_bytes += int(self._offsets[self._n])
        if n_bytes > len(self._text):
            self._text = _longer(self._text, max(n_bytes, 2 * len(self._text)))
        n_slots = len(self._slots)
        while 2 * (self._n + n_texts) > n_slots:
            n_slots *= 2
        if n_slots > len(self._slots):
            self._offsets = _longer(self._offsets, n_slots // 2 + 1)
            self._slots = np.zeros((n_slots, 2), np.uint64)
            starts, ends = self._offsets[: self._n], self._offsets[1 : self._n + 1]
            hashes = np.empty(self._n, np.uint64)
            _hash_all(self._text, starts, ends, hashes, _SEED, _FACTOR)
            _fill_texts(starts, ends, hashes, self._slots)


class PairDictionary:
    """Numbers pairs of numbers in order of appearance."""

    def __init__(self) -> None:
        self._n = 0
        self._slots = np.full(_MIN_SLOTS, -1, np.int32)
        self._hashes = np.empty(_MIN_SLOTS // 2, np.uint64)
        self._pairs = np.empty((_MIN_SLOTS // 2, 2), np.int32)

    def __len__(self) -> int:
        return self._n

    def codes(self, first: Codes, second: Codes) -> Codes:
        """Return the number of each pair; new pairs get new numbers."""
        n_slots = len(self._slots)
        while 2 * (self._n + len(first)) > n_slots:
            n_slots *= 2
        if n_slots > len(self._slots):
            self._slots = np.full(n_slots, -1, np.int32)
            self._hashes = _longer(self._hashes, n_slots // 2)
            self._pairs = _longer(self._pairs, n_slots // 2)
            _fill_slots(self._hashes, self._n, self._slots)
        found = np.empty(len(first), np.int32)
        self._n = _encode_pairs(first, second, found, self._n, self._slots, self._hashes, self._pairs, _SEED, _FACTOR)
        return found

    def pairs(self, codes: Codes) -> tuple[Codes, Codes]:
        """Return the two numbers of each pair."""
        return self._pairs[codes, 0], self._pairs[codes, 1]


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def _mixed(value) -> Any:  # type: ignore[no-untyped-def]
    """Spread all bits of a value over the lower ones."""
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return value ^ (value >> np.uint64(32))


@njit(cache=True, nogil=True)
def _fill_slots(hashes, n, slots) -> None:  # type: ignore[no-untyped-def]
    mask = slots.size - 1
    for code in range(n):
        slot = np.int64(hashes[code] & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = code


@njit(cache=True, nogil=True)
def _word(data, at) -> Any:  # type: ignore[no-untyped-def]
    """Return eight bytes as one number; the compiler makes one load of it."""
    at = np.uint64(at)  # with unsigned indices numba omits its check for negative ones
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    )


@njit(cache=True, nogil=True)
def _is_same(data, start, text, offset, length) -> Any:  # type: ignore[no-untyped-def]
    if length < 8:
        difference = np.uint8(0)
        for i in range(length):
            difference |= data[np.uint64(start + i)] ^ text[np.uint64(offset + i)]
        return difference == 0
    for i in range(0, length - 8, 8):
        if _word(data, start + i) != _word(text, offset + i):
            return False
    return _word(data, start + length - 8) == _word(text, offset + length - 8)  # some bytes a second time


@njit(cache=True, nogil=True)
def _hash(data, start, length, seed, factor) -> Any:  # type: ignore[no-untyped-def]
    value = seed ^ np.uint64(length)
    at, end = start, start + length
    while end - at >= 8:
        value = (((value << np.uint64(23)) | (value >> np.uint64(41))) ^ _word(data, at)) * factor
        at += 8
    if at < end:
        word = np.uint64(0)
        if length >= 8:
            word = _word(data, end - 8)  # some bytes a second time
        else:
            while at < end:
                word = word << np.uint64(8) | np.uint64(data[np.uint64(at)])
                at += 1
        value = (((value << np.uint64(23)) | (value >> np.uint64(41))) ^ word) * factor
    return _mixed(value)


@njit(cache=True, nogil=True)
def _hash_all(data, starts, ends, hashes, seed, factor) -> None:  # type: ignore[no-untyped-def]
    for row in range(starts.size):
        hashes[row] = _hash(data, starts[row], ends[row] - starts[row], seed, factor)


@njit(cache=True, nogil=True)
def _fill_texts(starts, ends, hashes, slots) -> None:  # type: ignore[no-untyped-def]
    mask = np.uint64(slots.shape[0] - 1)
    for code in range(starts.size):
        slot = hashes[code] & mask
        while slots[slot, 0]:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0] = (hashes[code] & _UPPER) | np.uint64(code + 1)
        slots[slot, 1] = np.uint64(starts[code]) << _LENGTH_BITS | np.uint64(ends[code] - starts[code])


@njit(cache=True, nogil=True)
def _touch(hashes, mask, slots, text) -> Any:  # type: ignore[no-untyped-def]
    """Read the slots and texts of some rows, which do not wait for each other, so that they are in the cache."""
    total = 0
    for row in range(hashes.size):
        offset = slots[hashes[row] & mask, 1] >> _LENGTH_BITS
        total += text[offset] if offset < np.uint64(text.size) else 0
    return total


@njit(cache=True, nogil=True)
def _encode(data, starts, ends, hashes, found, n, slots, offsets, text) -> Any:  # type: ignore[no-untyped-def]
    mask = np.uint64(slots.shape[0] - 1)
    for row in range(starts.size):
        if row % _READ_AHEAD == 0:
            found[row] = _touch(hashes[row : row + _READ_AHEAD], mask, slots, text)
        start = starts[row]
        length = ends[row] - start
        upper = hashes[row] & _UPPER
        slot = hashes[row] & mask
        entry = slots[slot, 0]
        while entry:
            if entry & _UPPER == upper:
                position = slots[slot, 1]
                offset = np.int64(position >> _LENGTH_BITS)
                if position & _LENGTHS == np.uint64(length) and _is_same(data, start, text, offset, length):
                    break
            slot = (slot + np.uint64(1)) & mask
            entry = slots[slot, 0]
        if entry == 0:
            offset = offsets[n]
            for i in range(length):
                text[offset + i] = data[start + i]
            n += 1
            offsets[n] = offset + length
            entry = upper | np.uint64(n)
            slots[slot, 0] = entry
            slots[slot, 1] = np.uint64(offset) << _LENGTH_BITS | np.uint64(length)
        found[row] = np.int64(entry & ~_UPPER) - 1
    return n


@njit(cache=True, nogil=True)
def _encode_pairs(first, second, found, n, slots, hashes, pairs, seed, factor) -> Any:  # type: ignore[no-untyped-def]
    mask = slots.size - 1
    for row in range(first.size):
        value = _mixed((np.uint64(first[row]) << np.uint64(32) | np.uint64(second[row])) * factor + seed)
        slot = np.int64(value & np.uint64(mask))
        code = slots[slot]
        while code >= 0 and (pairs[code, 0] != first[row] or pairs[code, 1] != second[row]):
            slot = (slot + 1) & mask
            code = slots[slot]
        if code < 0:
            code = n
            slots[slot] = code
            hashes[code] = value
            pairs[code, 0], pairs[code, 1] = first[row], second[row]
            n += 1
        found[row] = code
    return n
