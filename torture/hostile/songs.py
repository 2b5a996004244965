"""A folder -> one short, tagged song with a cover in every format that can be written here; others as headers."""

import base64
import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutagen
import numpy as np
import soundfile
from mutagen import apev2, id3
from mutagen.asf import ASFByteArrayAttribute
from mutagen.flac import Picture
from mutagen.mp4 import MP4Cover

import music_library
import pictures
from ffmpeg_files import write_ffmpeg
from nearsong.audio.tags import Tags, write_tags

RATE = music_library.RATE

_SOUNDFILE = {"wav": "WAV", "flac": "FLAC", "ogg": "OGG", "aiff": "AIFF", "au": "AU", "caf": "CAF"}
_FFMPEG = {  # codec, container, sample format
    "opus": ("libopus", "opus", "flt"),
    "mp3": ("libmp3lame", "mp3", "fltp"),
    "mp2": ("mp2", "mp2", "s16"),
    "aac": ("aac", "adts", "fltp"),
    "m4a": ("aac", "ipod", "fltp"),
    "alac.m4a": ("alac", "ipod", "s16p"),
    "wma": ("wmav2", "asf", "fltp"),
    "wv": ("wavpack", "wv", "fltp"),
    "tta": ("tta", "tta", "s16"),
    "mka": ("flac", "matroska", "s16"),
    "webm": ("libopus", "webm", "flt"),
}
_RATES = {"opus": 48_000, "webm": 48_000}


@dataclass(frozen=True, kw_only=True)
class Song:
    """A well-formed file: its extension, its bytes."""

    ending: str
    data: bytes


def make_songs(folder: Path, seconds: float = 1.0) -> None:
    """Write a song in each format, named by it, and some with other kinds of tags."""
    sound = music_library.sound(1, 7, seconds).astype(np.float32)
    for ending, kind in _SOUNDFILE.items():
        soundfile.write(folder / f"song.{ending}", sound, RATE, format=kind)
    for name, (codec, container, form) in _FFMPEG.items():
        rate = _RATES.get(name, RATE)
        samples = (
            sound
            if rate == RATE
            else np.interp(np.arange(int(seconds * rate)) * RATE / rate, np.arange(len(sound)), sound)
        )
        values = np.round(32_000 * samples).astype(np.int16) if form.startswith("s16") else samples.astype(np.float32)
        bit_rate = 64_000 if name == "wma" else None
        write_ffmpeg(folder / f"song.{name}", values[None], rate, codec, container, form, bit_rate=bit_rate)
    (folder / "song.ape").write_bytes(monkeys_audio())
    (folder / "song.mpc").write_bytes(musepack())
    for path in sorted(folder.iterdir()):
        tag(path)
    for version in (3, 4):
        data = (folder / "song.mp3").read_bytes()
        path = folder / f"id3v2{version}.mp3"
        path.write_bytes(data)
        id3.ID3(path).save(path, v2_version=version)  # type: ignore[no-untyped-call]
    path = folder / "apev2.mp3"
    path.write_bytes((folder / "song.mp2").read_bytes())
    _tag_ape(path)


def read_songs(folder: Path) -> list[Song]:
    """Return what `make_songs` wrote."""
    return [Song(ending=path.suffix[1:], data=path.read_bytes()) for path in sorted(folder.iterdir())]


def tag(path: Path) -> None:
    """Write tags and a cover in the way of the format, where it has one."""
    if path.suffix in (".ape", ".mpc", ".wv", ".tta", ".aac", ".au", ".caf", ".mka", ".webm", ".mp2"):
        _tag_ape(path)
        return
    write_tags(path, Tags("Strangers", f"A song in {path.suffix[1:]}", "Formats", "noise", 1999))
    file: Any = mutagen.File(path)  # type: ignore[attr-defined]
    picture = Picture()  # type: ignore[no-untyped-call]
    picture.data, picture.type, picture.mime = pictures.RED, 3, "image/jpeg"
    put: dict[str, Callable[[], Any]] = {
        ".flac": lambda: file.add_picture(picture),
        ".m4a": lambda: file.tags.update(covr=[MP4Cover(pictures.BLUE, MP4Cover.FORMAT_PNG)]),  # type: ignore[no-untyped-call]
        ".wma": lambda: file.tags.update({"WM/Picture": [ASFByteArrayAttribute(_asf_picture(pictures.RED))]}),  # type: ignore[no-untyped-call]
    }
    ogg = lambda: file.tags.update(metadata_block_picture=[base64.b64encode(picture.write()).decode()])  # noqa: E731
    in_id3 = lambda: file.tags.add(id3.APIC(encoding=3, mime="image/jpeg", type=3, desc="", data=pictures.RED))  # type: ignore[no-untyped-call]  # noqa: E731
    put.get(path.suffix, ogg if path.suffix in (".ogg", ".opus") else in_id3)()
    file.save()


def _tag_ape(path: Path) -> None:
    tags = apev2.APEv2()  # type: ignore[no-untyped-call]
    tags["Artist"], tags["Title"] = "Strangers", f"A song in {path.suffix[1:]}"
    tags["Cover Art (Front)"] = apev2.APEValue(b"cover.png\0" + pictures.BLUE, apev2.BINARY)  # type: ignore[no-untyped-call]
    tags.save(str(path))


def _asf_picture(data: bytes) -> bytes:
    return struct.pack("<BI", 3, len(data)) + "image/jpeg".encode("utf-16-le") + b"\0\0" + b"\0\0" + data


def monkeys_audio(n_frames: int = 1, seek_bytes: int = 4, blocks: int = 73_728) -> bytes:
    """Return the descriptor, header and seek table of Monkey's Audio 3.99, and noise as its only frame."""
    body = np.random.default_rng(3).bytes(4_000)
    header = struct.pack("<HHIIIHHI", 2000, 0, blocks, min(blocks, 22_050), n_frames, 16, 1, RATE)
    descriptor = struct.pack(
        "<4sHHIIIIIII16s", b"MAC ", 3990, 0, 52, len(header), seek_bytes, 0, len(body), 0, 0, bytes(16)
    )
    table = struct.pack("<I", 52 + len(header) + 4)
    return descriptor + header + table + body


def musepack() -> bytes:
    """Return the header of a Musepack stream, version 7, and noise as its frames."""
    return b"MP+\x07" + struct.pack("<IIIIII", 40, 0x0C00, 0, 0, 0, 0) + np.random.default_rng(4).bytes(4_000)


def png(width: int, height: int, data: bytes) -> bytes:
    """Return a grey PNG of any declared size with any compressed data."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    file = io.BytesIO(b"\x89PNG\r\n\x1a\n")
    file.seek(8)
    file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)))
    file.write(chunk(b"IDAT", data) + chunk(b"IEND", b""))
    return file.getvalue()
