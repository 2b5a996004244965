"""A file's own word on how long it is -> whether its end is missing.

Decoders read what is there and do not complain: a download that stopped half-way is a shorter song to them. WAV,
AIFF, MP3 and Ogg files say how long they are, or that they are at their end.
"""

import os
from typing import BinaryIO

_TAIL = 1 << 16
"""An Ogg page is shorter than this."""


def missing_end(path: str | os.PathLike[str]) -> str | None:
    """Return what a file lacks by its own account, or None if it says nothing or is whole."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        mark = file.read(12)
        if mark[:4] in (b"RIFF", b"FORM"):
            announced = 8 + int.from_bytes(mark[4:8], "little" if mark[:4] == b"RIFF" else "big")
            # streams are written with a length of 0 or of all ones
            if 8 < announced < 2**32 - 1 and announced > size + 1:
                return _lacks(announced - size)
        elif mark[:4] == b"OggS":
            return _unfinished_ogg(file, size)
        elif mark[:3] == b"ID3" or (len(mark) > 1 and mark[0] == 0xFF and mark[1] & 0xE0 == 0xE0):
            return _unfinished_mp3(file, mark, size)
    return None


def _lacks(n_bytes: int) -> str:
    return f"its last {n_bytes:,} bytes are missing"


def _unfinished_ogg(file: BinaryIO, size: int) -> str | None:
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    last = tail.rfind(b"OggS")
    finished = last >= 0 and len(tail) > last + 5 and tail[last + 5] & 4
    return None if finished else "its end is missing"


def _unfinished_mp3(file: BinaryIO, mark: bytes, size: int) -> str | None:
    """Compare with the length in the Xing (or Info) tag that most encoders write into the first frame."""
    start = 0
    if mark[:3] == b"ID3":  # a tag of four 7-bit digits' length comes first
        start = 10 + sum((digit & 0x7F) << shift for digit, shift in zip(mark[6:10], (21, 14, 7, 0), strict=True))
    file.seek(start)
    frame = file.read(256)
    place = max(frame.find(b"Xing"), frame.find(b"Info"))
    if place < 0 or len(frame) < place + 16:
        return None
    flags = frame[place + 7]
    if not flags & 2:
        return None
    at = place + 8 + (4 if flags & 1 else 0)
    announced = start + int.from_bytes(frame[at : at + 4], "big")
    # some encoders count their first frame, some do not
    return _lacks(announced - size) if announced > size + 4_096 else None
