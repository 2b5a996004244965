"""A sound file -> whether browsers, and other players, can be expected to play it; by what is in it.

A few bytes are read and nothing is decoded, so that it may be asked of strangers' files and of every song. A file's
name counts only where its bytes say nothing.
"""

import os
from collections.abc import Iterator
from io import FileIO

_FORMATS = "aif aifc aiff alac ape au caf dsf mka mp2 mpc spx tta wma wv"
_ENDINGS = frozenset(f".{name}" for name in _FORMATS.split())
"""What songs end in that no browser plays, or not every one."""

_FOREIGN = (
    b"FORM",  # AIFF
    b".snd",
    b"caff",
    b"RF64",
    b"RIFX",
    b"MAC ",  # APE
    b"wvpk",
    b"MP+",
    b"MPCK",
    b"TTA1",
    b"DSD ",
    b"FRM8",
    b"tBaK",
    b"ADIF",
    bytes.fromhex("3026b2758e66cf11"),  # WMA
)
"""What files begin with that no browser knows."""

_IN_OGG = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC")
_IN_MP4 = (b"mp4a", b"Opus", b"fLaC", b".mp3")
_FLOAT, _COMPANDED, _EXTENSIBLE = 3, (6, 7), 0xFFFE  # in the head of a WAV file
_MOST_BOXES = 5_000
_HEAD = 64


def is_playable_by_name(path: str | os.PathLike[str]) -> bool:
    """Say what can be said without opening a file.

    >>> is_playable_by_name("song.MP3"), is_playable_by_name("song.aiff")
    (True, False)
    """
    return os.path.splitext(os.fspath(path))[1].lower() not in _ENDINGS


def is_playable(file: FileIO, path: str | os.PathLike[str]) -> bool:
    """Say whether browsers and players can be expected to play a file.

    Parameters
    ----------
    file : FileIO
        Open; where it stands does not matter, before and after.
    path : path-like
        Its name, for a file that says nothing.
    """
    try:
        size = os.fstat(file.fileno()).st_size
        found = _look(file, size)
    except OSError:
        found = None
    return is_playable_by_name(path) if found is None else found


def _look(file: FileIO, size: int) -> bool | None:
    """Return what a file's bytes say; None if nothing."""
    head = _read(file, 0, _HEAD)
    if head[:3] == b"ID3" and len(head) >= 10:  # a tag, of four 7-bit digits' length, comes first
        start = 10 + sum((digit & 0x7F) << shift for digit, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
        head = _read(file, start, _HEAD)
    if head.startswith(_FOREIGN):
        return False
    if head[:4] == b"fLaC":
        return True
    if head[:4] == b"OggS":
        return _plays_ogg(file)
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return _plays_wav(file, size)
    if head[4:8] == b"ftyp":
        codec = _codec_of_mp4(file, size)
        return None if codec is None else codec in _IN_MP4
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return b"webm" in head or (None if b"matroska" not in head else False)
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0:
        return _plays_mpeg(head[1])
    return None


def _read(file: FileIO, start: int, n: int) -> bytes:
    file.seek(start)
    return file.read(n) or b""


def _plays_mpeg(second: int) -> bool | None:
    """Judge the second byte of an MPEG frame: layer III is MP3, layer "0" is AAC; browsers have no other."""
    layer = (second >> 1) & 3
    if layer == 0:
        return True if second & 0xF0 == 0xF0 else None
    return layer == 1


def _plays_ogg(file: FileIO) -> bool | None:
    page = _read(file, 0, 27 + 255 + 16)
    if len(page) < 28:
        return None
    packet = page[27 + page[26] :]  # after as many lengths as the last byte of the head says
    return packet.startswith(_IN_OGG)


def _plays_wav(file: FileIO, size: int) -> bool | None:
    """Judge the ``fmt`` chunk: browsers know whole numbers of up to 32 bits, floats of 32, A-law and mu-law."""
    place = 12
    for _ in range(_MOST_BOXES):
        head = _read(file, place, 8 + 40)
        if len(head) < 8 + 16:
            return None
        if head[:4] == b"fmt ":
            codec, bits = int.from_bytes(head[8:10], "little"), int.from_bytes(head[22:24], "little")
            if codec == _EXTENSIBLE and len(head) >= 8 + 26:
                codec = int.from_bytes(head[32:34], "little")
            return codec in _COMPANDED or (codec in (1, _FLOAT) and bits <= 32)
        place += 8 + int.from_bytes(head[4:8], "little") + (head[4] & 1)
        if place >= size:
            return None
    return None


def _codec_of_mp4(file: FileIO, size: int) -> bytes | None:
    """Return what the first sound in an MP4 file is coded as; None if that cannot be found."""
    looks = iter(range(_MOST_BOXES))  # for all of them together: boxes in boxes in boxes are many
    for kind, start, end in _boxes(file, 0, size, looks):
        if kind != b"moov":
            continue
        for track, track_start, track_end in _boxes(file, start, end, looks):
            if track != b"trak":
                continue
            media = _inside(file, track_start, track_end, b"mdia", looks)
            handler = None if media is None else _inside(file, *media, b"hdlr", looks)
            if media is None or handler is None or _read(file, handler[0] + 8, 4) != b"soun":
                continue
            place: tuple[int, int] | None = media
            for name in (b"minf", b"stbl", b"stsd"):
                place = None if place is None else _inside(file, *place, name, looks)
            if place is not None:
                return _read(file, place[0] + 12, 4) or None  # after version, count and the first entry's length
    return None


def _inside(file: FileIO, start: int, end: int, name: bytes, looks: Iterator[int]) -> tuple[int, int] | None:
    return next(((inner, last) for kind, inner, last in _boxes(file, start, end, looks) if kind == name), None)


def _boxes(file: FileIO, start: int, end: int, looks: Iterator[int]) -> Iterator[tuple[bytes, int, int]]:
    """Give the boxes between two places, while one may look: name, where its content begins, where it ends."""
    for _ in looks:
        head = _read(file, start, 16) if start + 8 <= end else b""
        if len(head) < 8:
            return
        length, inner = int.from_bytes(head[:4], "big"), start + 8
        if length == 1:
            length, inner = int.from_bytes(head[8:16], "big"), start + 16
        last = end if length == 0 else start + length
        if last < inner or last > end:
            return
        yield head[4:8], inner, last
        start = last
