"""Well-formed files + a generator -> files that are wrong in one way or another."""

import re
import struct
from collections.abc import Callable, Sequence

import numpy as np

from torture.hostile.songs import Song

EXTREMES = (0, 1, 0x7F, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1)
_NAMED_FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9 ]{3}")
_HEAD_BYTES = 512

Random = np.random.Generator
Mutation = Callable[[bytes, Sequence[Song], Random], bytes]


def _at(data: bytes, random: Random) -> int:
    """Return a position, half of the time in the head, where the structure is."""
    end = min(len(data), _HEAD_BYTES) if random.random() < 0.5 else len(data)
    return int(random.integers(max(end, 1)))


def _span(data: bytes, random: Random) -> slice:
    start = _at(data, random)
    return slice(start, start + int(2 ** random.uniform(0, 13)))


def flip_bits(data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Turn up to a hundred bits over."""
    changed = bytearray(data)
    for _ in range(int(2 ** random.uniform(0, 7))):
        changed[_at(data, random)] ^= 1 << int(random.integers(8))
    return bytes(changed)


def truncate(data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Cut the end off."""
    return data[: _at(data, random)]


def cut_out(data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Leave a piece out."""
    span = _span(data, random)
    return data[: span.start] + data[span.stop :]


def zero(data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Fill a piece with zeros."""
    span = _span(data, random)
    return data[: span.start] + bytes(len(data[span])) + data[span.stop :]


def repeat(data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Repeat a piece."""
    span = _span(data, random)
    return data[: span.stop] + data[span] * int(random.integers(1, 20)) + data[span.stop :]


def splice(data: bytes, others: Sequence[Song], random: Random) -> bytes:
    """Put a piece of another file in."""
    other = others[int(random.integers(len(others)))].data
    at = _at(data, random)
    return data[:at] + other[_span(other, random)] + data[at:]


def foreign_head(data: bytes, others: Sequence[Song], random: Random) -> bytes:
    """Put the head of another file on."""
    other = others[int(random.integers(len(others)))].data
    n_head = int(2 ** random.uniform(2, 10))
    return other[:n_head] + data[n_head:]


def extreme_size(data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Set a number beside a name of four letters, or anywhere in the head, to an extreme."""
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        names = [match.start() for match in _NAMED_FIELD.finditer(data)]
        at = names[int(random.integers(len(names)))] + int(random.choice([-4, 4])) if names else 0
        if random.random() < 0.4:
            at = int(random.integers(min(len(data), _HEAD_BYTES)))
        value = struct.pack(str(random.choice(["<I", ">I"])), int(random.choice(EXTREMES)))
        if 0 <= at <= len(changed) - 4:
            changed[at : at + 4] = value
    return bytes(changed)


def noise(_data: bytes, _others: Sequence[Song], random: Random) -> bytes:
    """Write random bytes instead."""
    return random.bytes(int(2 ** random.uniform(0, 15)))


def empty(_data: bytes, _others: Sequence[Song], _random: Random) -> bytes:
    """Write nothing instead."""
    return b""


MUTATIONS: dict[str, Mutation] = {
    one.__name__: one
    for one in (flip_bits, truncate, cut_out, zero, repeat, splice, foreign_head, extreme_size, noise, empty)
}
_WEIGHTS = np.array([4, 3, 2, 2, 2, 3, 2, 6, 0.5, 0.1])


def mutate(songs: Sequence[Song], random: Random) -> tuple[str, Song]:
    """Return a mutant and how it was made; some are changed twice."""
    song = songs[int(random.integers(len(songs)))]
    kinds, data = [], song.data
    for _ in range(1 + (random.random() < 0.25)):
        kind = str(random.choice(list(MUTATIONS), p=_WEIGHTS / _WEIGHTS.sum()))
        data = MUTATIONS[kind](data, songs, random) if data else data
        kinds.append(kind)
    ending = song.ending
    if random.random() < 0.1:  # the content decides, not the name
        ending = songs[int(random.integers(len(songs)))].ending
    return "+".join(kinds), Song(ending=ending, data=data)


ODD_NAMES = (
    b"\xff\xfe\x80",
    b"new\nline",
    b"tab\tbell\x07escape\x1b[31m",
    b"-rf",
    b"%s%n%00",
    b"quote'\"`$(touch canary)",
    "\u202egnp.\u0000".replace("\0", "").encode(),
    "e\u0301\u0323\u200d\ufeff".encode(),
    "\U0001f3b5".encode() * 40,
    b"x" * 240,
    b" leading and trailing ",
)


def odd_name(number: int, random: Random) -> bytes:
    """Return the beginning of a file name that few programs expect."""
    return ODD_NAMES[int(random.integers(len(ODD_NAMES)))][:240] + str(number).encode()
