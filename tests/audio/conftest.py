"""Sounds, and files of every format made of them on the fly."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from ffmpeg_files import write_ffmpeg

# name -> (samples a second, how far a decoded tone may be from the original: codecs are not exact)
FORMATS = {
    "song.wav": (44_100, 1e-3),
    "song.flac": (96_000, 1e-3),
    "song.aiff": (44_100, 1e-3),
    "float.wav": (32_000, 1e-3),
    "song.mp3": (44_100, 0.03),
    "song.ogg": (44_100, 0.03),
    "song.opus": (48_000, 0.03),
    "song.m4a": (44_100, 0.03),
    "song.wma": (44_100, 0.05),
    "alac.m4a": (44_100, 1e-3),
    "song.aac": (44_100, 0.03),
}
SOUNDFILE = {
    "song.wav": ("WAV", "PCM_16"),
    "float.wav": ("WAV", "FLOAT"),
    "song.flac": ("FLAC", "PCM_24"),
    "song.aiff": ("AIFF", "PCM_16"),
    "song.mp3": ("MP3", "MPEG_LAYER_III"),
    "song.ogg": ("OGG", "VORBIS"),
    "song.opus": ("OGG", "OPUS"),
}
FFMPEG = {
    "song.m4a": ("aac", "ipod", "fltp"),
    "song.wma": ("wmav2", "asf", "fltp"),
    "alac.m4a": ("alac", "ipod", "s16p"),
    "song.aac": ("aac", "adts", "fltp"),
}


def tone(rate: int, seconds: float = 2.0, frequency: float = 440.0, level: float = 0.4) -> np.ndarray:
    return (level * np.sin(2 * np.pi * frequency * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def write_sound(path: Path, samples: np.ndarray, rate: int, kind: str | None = None) -> Path:
    """Write samples (n x channels) in the format that a name of `FORMATS` stands for."""
    kind = kind or path.name
    if kind in SOUNDFILE:
        container, codec = SOUNDFILE[kind]
        with soundfile.SoundFile(path, "w", rate, samples.shape[1], format=container, subtype=codec) as file:
            for start in range(0, len(samples), 4_096):  # libsndfile's Opus writer fails on long blocks
                file.write(samples[start : start + 4_096])
        return path
    codec, container, layout = FFMPEG[kind]
    channels = {1: "mono", 2: "stereo"}[samples.shape[1]]
    planes = np.round(samples.T * 32_767).astype(np.int16) if layout == "s16p" else samples.T
    return write_ffmpeg(path, planes, rate, codec, container, layout, channels, bit_rate=192_000)


@pytest.fixture
def make_sound(tmp_path) -> Callable[..., Path]:
    """Return a function that writes a stereo tone with a little noise: left 440 Hz, right half as loud."""

    def make(name: str, kind: str | None = None, seconds: float = 2.0, rate: int | None = None) -> Path:
        kind = kind or name
        rate = rate or FORMATS[kind][0]
        left = tone(rate, seconds)
        noise = np.random.default_rng(0).normal(scale=1e-3, size=(len(left), 2))
        stereo = (np.stack([left, left / 2], axis=1) + noise).astype(np.float32)
        return write_sound(tmp_path / name, stereo, rate, kind)

    return make
