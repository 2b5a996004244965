"""Real music for benchmarks, in every format: a folder of one's own, or a freely licensed soundtrack.

The soundtrack is that of the game Battle for Wesnoth (GPL and CC BY-SA, 41 Ogg Vorbis files, 150 MB), out of a
Debian package that is fetched and unpacked without root. Where there is neither, music can be synthesised.
"""

import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import soundfile

PACKAGES = ["wesnoth-1.16-music", "wesnoth-1.18-music", "wesnoth-1.14-music"]
"""Debian releases differ in which of them they have."""

ENDINGS = {".aac", ".aif", ".aiff", ".flac", ".m4a", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wma"}

FORMATS = {
    "ogg": ("OGG", "VORBIS", 44_100),
    "mp3": ("MP3", "MPEG_LAYER_III", 44_100),
    "flac": ("FLAC", "PCM_16", 44_100),
    "m4a": ("ipod", "aac", 44_100),
    "opus": ("OGG", "OPUS", 48_000),
    "wav": ("WAV", "PCM_16", 44_100),
}
"""Format -> container, codec, samples a second; FFmpeg's names for M4A, which libsndfile cannot write."""

Stereo = npt.NDArray[np.float32]
"""Samples of shape (n, 2), full scale = 1."""


def music_files(folder: str | None, cache: Path) -> list[Path]:
    """Find music: all audio files below a folder, or a soundtrack that is fetched once.

    Parameters
    ----------
    folder : str or None
        Where one's own music is. None for the soundtrack.
    cache : Path
        Where the soundtrack is kept.

    Returns
    -------
    list of Path
        In order of their names; empty if there is no such file, or no Debian or no network to fetch the soundtrack.
    """
    if folder is not None:
        return _audio_below(Path(folder))
    for package in PACKAGES:
        if (cache / package).exists() or _fetch(package, cache):
            return _audio_below(cache / package)
    return []


def _audio_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())


def _fetch(package: str, cache: Path) -> bool:
    """Download and unpack a package into the cache; what is there under its name is complete."""
    cache.mkdir(parents=True, exist_ok=True)
    download = ["apt-get", "-qq", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15", "download", package]
    part = cache / f"{package}.part"
    try:
        subprocess.run(download, cwd=cache, check=True, capture_output=True)
        archive = next(cache.glob(f"{package}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(archive), str(part)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError, StopIteration):
        return False
    part.rename(cache / package)
    archive.unlink()
    return True


def seconds_of(path: Path) -> float:
    """Return how long a file says it is; 0 if it says nothing or FFmpeg cannot open it."""
    try:
        with av.open(str(path)) as container:
            return (container.duration or 0) / 1e6
    except av.error.FFmpegError:
        return 0.0


def full_songs(files: list[Path], n: int) -> list[Path]:
    """Choose songs of two to six minutes, evenly over the list; of any length if there are too few."""
    length = {path: seconds_of(path) for path in files}
    songs = [path for path in files if 120 <= length[path] <= 360]
    if len(songs) < n:
        songs = [path for path in files if length[path] > 0]
    embeddings = np.linspace(0, len(songs) - 1, min(n, len(songs))).round().astype(int)
    return [songs[row] for row in embeddings]


def synthesised_music(folder: Path, n_songs: int, seconds: float) -> list[Path]:
    """Write songs of chords with attacks, noise and rests, as Ogg Vorbis."""
    paths = [folder / f"synthesised-{song}.ogg" for song in range(n_songs)]
    for song, path in enumerate(paths):
        write_music(path, _chords(seconds, 44_100, np.random.default_rng(song)))
    return paths


def _chords(seconds: float, rate: int, random: np.random.Generator) -> Iterator[Stereo]:
    time = np.arange(rate // 4) / rate
    for _ in range(round(4 * seconds)):
        pitches = random.uniform(80, 4_000, size=(3, 1))
        chord = 0.15 * np.sin(2 * np.pi * pitches * time).sum(axis=0)
        sound = chord[:, None] + random.normal(scale=0.02, size=(len(time), 2))
        decay = np.exp(-time / random.uniform(0.01, 0.2)) * (random.random() > 0.1)
        yield (sound * decay[:, None]).astype(np.float32)


def in_format(files: list[Path], ending: str, folder: Path) -> list[Path]:
    """Bring files to a format, two at a time; those that have it stay where they are, as do those made before.

    Parameters
    ----------
    files : list of Path
        Any music.
    ending : str
        One of `FORMATS`.
    folder : Path
        Where new files go.

    Returns
    -------
    list of Path
        In the order of ``files``.
    """
    targets = [folder / f"{row}.{ending}" for row in range(len(files))]  # names may occur twice
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(_re_encoded, files, targets))


def _re_encoded(path: Path, target: Path) -> Path:
    if path.suffix.lower() == target.suffix:
        return path
    if not target.exists():
        write_music(target, _stereo(path, FORMATS[target.suffix[1:]][2]))
    return target


def _stereo(path: Path, rate: int) -> Iterator[Stereo]:
    resampler = av.AudioResampler(format="fltp", layout="stereo", rate=rate)
    with av.open(str(path)) as container:
        for frame in container.decode(audio=0):
            for part in resampler.resample(frame):
                yield part.to_ndarray().T
    for part in resampler.resample(None):
        yield part.to_ndarray().T


def write_music(path: Path, blocks: Iterable[Stereo]) -> None:
    """Write stereo blocks in the format that the file's ending says, at that format's rate."""
    container, codec, rate = FORMATS[path.suffix[1:]]
    if path.suffix == ".m4a":
        _write_with_ffmpeg(path, blocks, container, codec, rate)
        return
    with soundfile.SoundFile(path, "w", rate, 2, format=container, subtype=codec) as file:
        for block in blocks:
            for start in range(0, len(block), 4_096):  # libsndfile's Opus writer fails on long blocks
                file.write(block[start : start + 4_096])


def _write_with_ffmpeg(path: Path, blocks: Iterable[Stereo], container: str, codec: str, rate: int) -> None:
    with av.open(str(path), "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate, layout="stereo")
        stream.bit_rate = 192_000
        for block in blocks:
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block.T), format="fltp", layout="stereo")
            frame.sample_rate = rate
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))


def repeat_file(path: Path, seconds: float, target: Path) -> Path:
    """Make a long file of a song, over and over; its packets are copied and nothing is encoded anew."""
    with av.open(str(target), "w") as output:
        stream, position = None, 0
        while True:
            with av.open(str(path)) as source:
                stream = stream or output.add_stream_from_template(source.streams.audio[0])
                for packet in source.demux(audio=0):
                    if position * packet.time_base >= seconds:
                        return target
                    if packet.size:
                        packet.pts = packet.dts = position
                        position += packet.duration
                        packet.stream = stream
                        output.mux(packet)
