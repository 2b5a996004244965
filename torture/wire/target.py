"""A small library with a running service: what the probes of the wire attack."""

import io
import shutil
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from mutagen.flac import FLAC, Picture
from PIL import Image

from benchmarks.random_library import make_library_of
from torture import material
from torture.attack import Workshop
from torture.processes import RunningService

CODEWORDS = 64
LONG_SECONDS = 240
MUSIC_ARTISTS = 12
RATE = 22_050


@dataclass(frozen=True, kw_only=True)
class Target:
    """A service and what is known of its library.

    Attributes
    ----------
    service : RunningService
    library : Path
        The file of the library.
    songs : sequence of Path
        Small files of audio; song i + 1 of the library is ``songs[i]``.
    long_song : int
        The id of a song whose file is larger than what buffers of a connection hold.
    bombs : sequence of int
        The ids of songs with hostile covers.
    scratch : Path
        A folder of the attack's own.
    max_connections : int
        How many connections the service takes.
    """

    service: RunningService
    library: Path
    songs: Sequence[Path]
    long_song: int
    bombs: Sequence[int]
    scratch: Path
    max_connections: int

    @property
    def n_songs(self) -> int:
        return len(self.songs) + 1 + len(self.bombs)


@dataclass(frozen=True, kw_only=True)
class Collection:
    """The files of a library; its songs are numbered as they are here: `songs`, `long_song`, `bombs`."""

    library: Path
    songs: Sequence[Path]
    long_song: Path
    bombs: Sequence[Path]


def collection(workshop: Workshop) -> Collection:
    """Return a library of some songs, a long one, and songs with hostile covers; copy it before you change it."""
    songs = sorted(path for path in material.music(workshop, MUSIC_ARTISTS).rglob("*") if path.is_file())
    others = workshop.material("wire-music", lambda folder: _make_others(folder, songs[0]))
    bombs = sorted(others.rglob("*.flac"))
    paths = [*map(str, songs), str(others / "long.wav"), *map(str, bombs)]
    library = workshop.material(
        "wire-library", lambda folder: make_library_of(folder / "library.sqlite", paths, CODEWORDS)
    )
    return Collection(library=library / "library.sqlite", songs=songs, long_song=others / "long.wav", bombs=bombs)


def _make_others(folder: Path, song: Path) -> None:
    noise = np.random.default_rng(0).standard_normal(LONG_SECONDS * RATE) * 0.1
    soundfile.write(folder / "long.wav", noise, RATE)
    samples, rate = soundfile.read(song)
    for name, picture in _bombs().items():
        place = folder / name
        place.mkdir()
        soundfile.write(place / "song.flac", samples, rate)
        (place / "cover.png").write_bytes(picture)
    embedded = folder / "embedded"
    shutil.copytree(folder / "at the limit", embedded)
    (embedded / "cover.png").rename(embedded / "picture")
    file = FLAC(embedded / "song.flac")
    picture = Picture()
    picture.data, picture.type, picture.mime = (embedded / "picture").read_bytes(), 3, "image/png"
    file.add_picture(picture)
    file.save()


def _bombs() -> dict[str, bytes]:
    """Return pictures that are small as files and large, or endless, when read."""
    limit = _png(Image.new("RGBA", (4000, 4000), (9, 9, 9, 9)))
    return {
        "at the limit": limit,
        "a large JPEG": _saved(Image.new("RGB", (6000, 6000)), "JPEG", progressive=True),
        "a large WebP": _saved(Image.new("RGB", (4000, 4000)), "WEBP"),
        "above the limit": _png(Image.new("1", (20_000, 20_000))),
        "only its size": _chunks((b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 6, 0, 0, 0))),
        "a long text": _chunks(
            (b"IHDR", struct.pack(">IIBBBBB", 100, 100, 8, 2, 0, 0, 0)),
            (b"zTXt", b"Comment\0\0" + zlib.compress(bytes(64 << 20), 9)),
            (b"IDAT", zlib.compress(bytes(100 * 301))),
        ),
        "cut off": limit[: len(limit) // 2],
    }


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _png(image: Image.Image) -> bytes:
    return _saved(image, "PNG", compress_level=1)


def _chunks(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of these chunks and an end."""
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in (*chunks, (b"IEND", b"")):
        png += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return png
