"""Songs for tests in formats that browsers cannot play, and one that they can, in a library of their own."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import soundfile

import music_library
from ffmpeg_files import write_ffmpeg
from library_store import store_of
from nearsong.audio.conversion.convert import ConversionResult, convert_file
from nearsong.audio.conversion.source import Sound
from nearsong.audio.tags import Tags, write_tags
from nearsong.guarded_file import FileIdentity
from nearsong.library import Library
from waiting import wait_for

SECONDS, RATE = 3.0, 44_100
SONGS = {"AIFF": "aiff", "Apple Lossless": "m4a", "AAC": "m4a", "WMA": "wma"}
"""Title -> what its file ends in."""

_FFMPEG = {
    "Apple Lossless": ("alac", "ipod", "s16p"),
    "AAC": ("aac", "ipod", "fltp"),
    "WMA": ("wmav2", "asf", "fltp"),
}


def samples(seed: int, seconds: float = SECONDS) -> np.ndarray:
    """Stereo sound of 16 bits."""
    sides = [music_library.sound(0, 1000 + 2 * seed + side, seconds * RATE / music_library.RATE) for side in (0, 1)]
    return np.round(32_000 * np.stack(sides, axis=1)).astype(np.int16)


def write_song(path: Path, title: str, seed: int, seconds: float = SECONDS) -> Path:
    """Write a song in the format that is its title."""
    sound = samples(seed, seconds)
    if title not in _FFMPEG:
        soundfile.write(path, sound, RATE, format="AIFF", subtype="PCM_16")
    else:
        codec, container, layout = _FFMPEG[title]
        values = sound.T if layout == "s16p" else sound.T / np.float32(32_768)
        write_ffmpeg(path, values, RATE, codec, container, layout, "stereo", bit_rate=192_000)
    write_tags(path, Tags("Foreigners", title, "Formats", "low hum", 2001))
    return path


def make_library(trained_file: Path, folder: Path) -> Path:
    """Copy a trained library, add a song of each format, and return where it is."""
    music = folder / "music"
    music.mkdir(parents=True)
    for seed, (title, ending) in enumerate(SONGS.items()):
        write_song(music / f"{title}.{ending}", title, seed)
    address = Path(shutil.copy(trained_file, folder / "library.sqlite"))
    with Library.open(address) as library:
        library.scan(music, workers=1)
    return address


def move_library(address: Path, folder: Path) -> Path:
    """Copy such a library with its foreign songs, so that their files may be changed."""
    music = folder / "music"
    shutil.copytree(address.parent / "music", music)
    copied = Path(shutil.copy(address, folder / "library.sqlite"))
    with Library.open(copied) as library, store_of(library) as store:
        songs = [song for song in library.snapshot().space.songs if song.artist == "Foreigners"]
        store.songs.add_root(str(music))
        with store.writing() as connection:
            for song in songs:
                path = music / Path(song.path).name
                tags = Tags(song.artist, song.title, song.album, song.genre, song.year)
                facts = path.stat()
                store.songs.move(connection, song.id, str(path), facts.st_size, facts.st_mtime_ns, tags)
    return copied


def number_of(library: Library, title: str) -> int:
    """Return the number of the song of a title."""
    return next(song.id for song in library.snapshot().space.songs if song.title == title)


def address_of(library: Library, title: str) -> str:
    """Where the sound of a song is."""
    return f"/api/v1/songs/{number_of(library, title)}/audio"


def complete(client: httpx.Client, where: str, **asked: Any) -> httpx.Response:
    """Return what is sent of a song when it is not being made any more: only then FLAC says how long it is."""
    assert client.head(where, **asked).status_code == 200
    return client.get(where, **asked)


def file_of(library: Library, title: str) -> Path:
    """The file of a song."""
    return Path(library.snapshot().song(number_of(library, title)).path)


def left_in(folder: Path) -> list[str]:
    """What is in the temporary folders of conversions, but for their marks."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != "in-use")


def convert_in_steps(path: str, identity: FileIdentity, target: str, *rest: Any, n_free: int = 1) -> ConversionResult:
    """Convert the first blocks of a song, and the rest when a file beside it says so; "fail" in it is an error."""
    at, gate = Sound.at, Path(f"{path}.go")

    def held(sound: Sound, *given: Any) -> Iterator[np.ndarray]:
        for n_before, planes in enumerate(at(sound, *given)):
            yield planes
            if n_before + 1 < n_free:
                continue
            wait_for(lambda: gate.exists() or not os.path.exists(target))
            if gate.exists() and gate.read_text() == "fail":
                raise ValueError("a bug of a decoder")

    Sound.at = held
    try:
        return convert_file(path, identity, target, *rest)
    finally:
        Sound.at = at


def be_killed(_path, _facts, target: str, *_limits) -> None:
    """A conversion that the system ends in the middle, as it does when memory is short."""
    Path(target).write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
