"""Small files whose tags would take hundreds of megabytes to read."""

import os
import struct
import zlib
from pathlib import Path

from nearsong.audio.headers.truncation import id3_length

MEGABYTE = 1 << 20


def id3_tag(frame: bytes, content: bytes, version: int = 4) -> bytes:
    """Return an ID3 tag with one compressed frame; `content` is what it unpacks to."""
    data = struct.pack(">I", len(content) & 0x7F7F7F7F) + zlib.compress(content, 1)
    length = _seven_bits(len(data)) if version == 4 else struct.pack(">I", len(data))
    whole = frame + length + {3: b"\0\x80", 4: b"\0\x09"}[version] + data
    return b"ID3" + bytes([version]) + b"\0\0" + _seven_bits(len(whole)) + whole


def _seven_bits(number: int) -> bytes:
    return bytes((number >> shift) & 127 for shift in (21, 14, 7, 0))


def with_id3_bomb(path: Path, megabytes: int = 256) -> Path:
    """Give an MP3 file a title that unpacks to some megabytes."""
    sound = path.read_bytes()
    if sound.startswith(b"ID3"):
        sound = sound[id3_length(sound[:10]) :]
    path.write_bytes(id3_tag(b"TIT2", b"\0" + b"a" * (megabytes * MEGABYTE)) + sound)
    return path


def with_sparse_ape_tag(path: Path, megabytes: int = 512) -> Path:
    """Append an APE tag to a file that is a hole of some megabytes; it takes no space on disk."""
    size = megabytes * MEGABYTE
    with open(path, "r+b") as file:
        file.seek(size, os.SEEK_END)
        file.write(b"APETAGEX" + struct.pack("<IIII", 2000, size + 32, 1, 0) + bytes(8))
    return path
