"""The length that a file declares -> whether its end is missing.

Decoders do not report a download that stopped half-way: to them it is a shorter song. WAV, AIFF and MP3 files declare
their length, and the last page of an Ogg file is marked.
"""

import os
from typing import BinaryIO

_OGG_PAGE_BYTES = 1 << 16
"""Maximum length of an Ogg page."""


def missing_end(path: str | os.PathLike[str]) -> str | None:
    """Return what is missing according to the file itself; None if it is complete or declares no length."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(12)
        if head[:4] in (b"RIFF", b"FORM"):
            declared = 8 + int.from_bytes(head[4:8], "little" if head[:4] == b"RIFF" else "big")
            # streams declare a length of 0 or of all ones
            if 8 < declared < 2**32 - 1 and declared > size + 1:
                return _missing_bytes(declared - size)
        elif head[:4] == b"OggS":
            return _truncated_ogg(file, size)
        elif head[:3] == b"ID3" or (len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0):
            return _truncated_mp3(file, head, size)
    return None


def id3_length(head: bytes) -> int:
    """Return the bytes of an ID3v2 tag, header included, from its first ten: a size of four 7-bit digits.

    >>> id3_length(b"ID3" + bytes([4, 0, 0, 0, 0, 2, 1]))
    267
    """
    return 10 + sum((digit & 0x7F) << shift for digit, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))


def _missing_bytes(n_bytes: int) -> str:
    return f"its last {n_bytes:,} bytes are missing"


def _truncated_ogg(file: BinaryIO, size: int) -> str | None:
    file.seek(max(0, size - _OGG_PAGE_BYTES))
    tail = file.read()
    last = tail.rfind(b"OggS")
    finished = last >= 0 and len(tail) > last + 5 and tail[last + 5] & 4
    return None if finished else "its end is missing"


def _truncated_mp3(file: BinaryIO, head: bytes, size: int) -> str | None:
    """Compare with the length in the Xing or Info header, which most encoders write into the first frame."""
    start = 0
    if head[:3] == b"ID3":
        start = id3_length(head)
    file.seek(start)
    frame = file.read(256)
    xing = max(frame.find(b"Xing"), frame.find(b"Info"))
    if xing < 0 or len(frame) < xing + 16:
        return None
    flags = frame[xing + 7]
    if not flags & 2:
        return None
    at = xing + 8 + (4 if flags & 1 else 0)
    declared = start + int.from_bytes(frame[at : at + 4], "big")
    # some encoders include the first frame, some do not
    return _missing_bytes(declared - size) if declared > size + 4_096 else None
