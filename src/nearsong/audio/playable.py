"""An audio file -> whether browsers and common players can play it, judged by its content.

Only a few bytes are read and nothing is decoded, so that the check is safe for untrusted files and cheap enough for
every song. The extension counts only where the content is inconclusive.
"""

import os
from collections.abc import Iterator
from io import FileIO

from nearsong.audio.headers.truncation import id3_length

_FORMATS = "aif aifc aiff alac ape au caf dsf mka mp2 mpc spx tta wma wv"
_EXTENSIONS = frozenset(f".{name}" for name in _FORMATS.split())
"""Extensions of formats that not every browser plays."""

_UNPLAYABLE = (
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
"""First bytes of formats that no browser plays."""

_OGG_CODECS = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC")
_MP4_CODECS = (b"mp4a", b"Opus", b"fLaC", b".mp3")
_FLOAT, _COMPANDED, _EXTENSIBLE = 3, (6, 7), 0xFFFE  # format codes in the header of a WAV file
_MAX_BOXES = 5_000
_HEAD_BYTES = 64


def is_playable_by_name(path: str | os.PathLike[str]) -> bool:
    """Return whether browsers can play a file, judging by its extension.

    >>> is_playable_by_name("song.MP3"), is_playable_by_name("song.aiff")
    (True, False)
    """
    return os.path.splitext(os.fspath(path))[1].lower() not in _EXTENSIONS


def is_playable(file: FileIO, path: str | os.PathLike[str]) -> bool:
    """Return whether browsers can play a file, judging by its content.

    Parameters
    ----------
    file : FileIO
        An open file; its position does not matter and is changed.
    path : path-like
        Its path, for a file whose content is inconclusive.
    """
    try:
        size = os.fstat(file.fileno()).st_size
        playable = _judge_content(file, size)
    except OSError:
        playable = None
    return is_playable_by_name(path) if playable is None else playable


def _judge_content(file: FileIO, size: int) -> bool | None:
    """Return whether the content can be played; None if it is inconclusive."""
    head = _read(file, 0, _HEAD_BYTES)
    if head[:3] == b"ID3" and len(head) >= 10:
        head = _read(file, id3_length(head), _HEAD_BYTES)
    if head.startswith(_UNPLAYABLE):
        return False
    if head[:4] == b"fLaC":
        return True
    if head[:4] == b"OggS":
        return _plays_ogg(file)
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return _plays_wav(file, size)
    if head[4:8] == b"ftyp":
        return _plays_mp4(file, size)
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return _plays_matroska(head)
    return _plays_mpeg(head)


def _read(file: FileIO, start: int, n: int) -> bytes:
    file.seek(start)
    return file.read(n) or b""


def _plays_mpeg(head: bytes) -> bool | None:
    """Judge the header of an MPEG frame: layer III is MP3, layer "0" is AAC; browsers play no other."""
    if len(head) < 2 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    layer = (head[1] >> 1) & 3
    if layer == 0:
        return True if head[1] & 0xF0 == 0xF0 else None
    return layer == 1


def _plays_matroska(head: bytes) -> bool | None:
    if b"webm" in head:
        return True
    return False if b"matroska" in head else None


def _plays_mp4(file: FileIO, size: int) -> bool | None:
    codec = _codec_of_mp4(file, size)
    return None if codec is None else codec in _MP4_CODECS


def _plays_ogg(file: FileIO) -> bool | None:
    page = _read(file, 0, 27 + 255 + 16)
    if len(page) < 28:
        return None
    packet = page[27 + page[26] :]  # after the segment table, whose length is the last byte of the header
    return packet.startswith(_OGG_CODECS)


def _plays_wav(file: FileIO, size: int) -> bool | None:
    """Judge the ``fmt`` chunk: browsers play integers of up to 32 bits, 32-bit floats, A-law and mu-law."""
    start = 12
    for _ in range(_MAX_BOXES):
        head = _read(file, start, 8 + 40)
        if len(head) < 8 + 16:
            return None
        if head[:4] == b"fmt ":
            codec, bits = int.from_bytes(head[8:10], "little"), int.from_bytes(head[22:24], "little")
            if codec == _EXTENSIBLE and len(head) >= 8 + 26:
                codec = int.from_bytes(head[32:34], "little")
            return codec in _COMPANDED or (codec in (1, _FLOAT) and bits <= 32)
        start += 8 + int.from_bytes(head[4:8], "little") + (head[4] & 1)
        if start >= size:
            return None
    return None


def _codec_of_mp4(file: FileIO, size: int) -> bytes | None:
    """Return the codec of the first audio track of an MP4 file; None if it cannot be found."""
    budget = iter(range(_MAX_BOXES))  # shared by all levels of nested boxes
    for kind, start, end in _boxes(file, 0, size, budget):
        if kind != b"moov":
            continue
        for track, track_start, track_end in _boxes(file, start, end, budget):
            if track != b"trak":
                continue
            media = _inside(file, track_start, track_end, b"mdia", budget)
            handler = None if media is None else _inside(file, *media, b"hdlr", budget)
            if media is None or handler is None or _read(file, handler[0] + 8, 4) != b"soun":
                continue
            box: tuple[int, int] | None = media
            for name in (b"minf", b"stbl", b"stsd"):
                box = None if box is None else _inside(file, *box, name, budget)
            if box is not None:
                return _read(file, box[0] + 12, 4) or None  # after version, count and the length of the first entry
    return None


def _inside(file: FileIO, start: int, end: int, name: bytes, budget: Iterator[int]) -> tuple[int, int] | None:
    """Return where the content of the first box of a name starts and ends."""
    return next(((inner, last) for kind, inner, last in _boxes(file, start, end, budget) if kind == name), None)


def _boxes(file: FileIO, start: int, end: int, budget: Iterator[int]) -> Iterator[tuple[bytes, int, int]]:
    """Yield the boxes between two offsets, while the budget lasts: name, start and end of the content."""
    for _ in budget:
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
