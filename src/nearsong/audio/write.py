"""Samples -> an audio file, in the format of its extension."""

import os
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import soundfile

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

# extension -> container and codec of libsndfile
_SOUNDFILE = {
    "wav": ("WAV", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
}
# extension -> container, codec, sample format and options of FFmpeg. libsndfile cannot write M4A; it takes 0.34 s for
# 20 s of stereo MP3 and 0.39 s for Opus, FFmpeg with these options 0.23 s and 0.12 s.
_FFMPEG: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "mp3": ("mp3", "libmp3lame", "fltp", {"compression_level": "7"}),
    "opus": ("opus", "libopus", "flt", {}),
    "m4a": ("ipod", "aac", "fltp", {"aac_coder": "fast"}),
}
EXTENSIONS = (*_SOUNDFILE, *_FFMPEG)
"""Extensions of the formats that can be written."""

# extension -> the sample rates of its codec in Hz; the others take any
_RATES = {
    "mp3": (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000),
    "opus": (8_000, 12_000, 16_000, 24_000, 48_000),
    "m4a": (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000),
}
_MIN_RATE, _MAX_RATE = 1_000, 384_000  # Hz
_BIT_RATE = 64_000  # of lossy formats, per channel


def write_audio(path: str | os.PathLike[str], samples: npt.ArrayLike, sample_rate: int) -> Path:
    """Write audio in the format of the file's extension.

    Parameters
    ----------
    path : path-like
        With the extension ``.wav``, ``.flac``, ``.ogg`` (Vorbis), ``.mp3``, ``.opus`` or ``.m4a`` (AAC), in upper or
        lower case. Its folder must exist; an existing file is replaced.
    samples : array-like of shape (n,) or (n, 2)
        Mono or stereo, full scale = 1; louder samples are clipped.
    sample_rate : int
        Sample rate in Hz. MP3, Opus and M4A support a few rates only; 24,000 and 48,000 suit all formats.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InvalidInputError
        If the format, the shape, a value or the rate is not supported.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from nearsong.audio import load_audio
    >>> from nearsong.audio.write import write_audio
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_audio(f"{folder}/half a second.flac", np.full(12_000, 0.25), 24_000)
    ...     samples = load_audio(file, sample_rate=24_000)
    >>> samples.shape, float(samples[0])
    ((12000,), 0.25)
    """
    file = Path(path)
    extension = file.suffix[1:].lower()
    if extension not in EXTENSIONS:
        choices = ", ".join(sorted(EXTENSIONS))
        raise InvalidInputError(f"{file.name!r} is not in a format that can be written; choose one of {choices}.")
    rate = _check_sample_rate(sample_rate, extension)
    channels = _check_samples(samples)
    try:
        if extension in _FFMPEG:
            _write_with_ffmpeg(file, channels, rate, *_FFMPEG[extension])
        else:
            container, codec = _SOUNDFILE[extension]
            soundfile.write(file, channels, rate, format=container, subtype=codec)
    except (OSError, soundfile.LibsndfileError) as error:
        raise InvalidInputError(f"{file}: cannot be written ({error}); check the folder and its space.") from error
    return file


def _check_sample_rate(value: Any, extension: str) -> int:
    rate = check_count(value, "sample_rate", _MIN_RATE)
    rates = _RATES.get(extension)
    if rates is not None and rate not in rates:
        raise InvalidInputError(f"sample_rate={rate} is not supported by {extension}; choose one of {rates}.")
    if rate > _MAX_RATE:
        raise InvalidInputError(f"sample_rate={rate} is too high; choose at most {_MAX_RATE}.")
    return rate


def _check_samples(samples: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return samples x channels, clipped to full scale."""
    try:
        array = np.asarray(samples, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"samples cannot be read as an array of numbers ({error}).") from error
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] not in (1, 2) or len(array) == 0:
        raise InvalidInputError(
            f"samples has shape {np.shape(samples)}; (n,) for mono or (n, 2) for stereo is needed, with n above 0."
        )
    if not np.isfinite(array).all():
        first = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidInputError(
            f"samples has a NaN or infinite value, first at sample {first}; replace such samples."
        )
    return np.clip(array, -1.0, 1.0)


def _write_with_ffmpeg(
    file: Path,
    samples: npt.NDArray[np.float32],
    rate: int,
    container: str,
    codec: str,
    sample_format: str,
    options: dict[str, str],
) -> None:
    n_channels = samples.shape[1]
    layout = {1: "mono", 2: "stereo"}[n_channels]
    values = samples.T if sample_format == "fltp" else samples.reshape(1, -1)  # planar, or interleaved
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(values), format=sample_format, layout=layout)
    frame.sample_rate = rate
    with av.open(str(file), "w", format=container) as sound:
        stream: Any = sound.add_stream(codec, rate=rate, layout=layout, options=options)
        stream.bit_rate = _BIT_RATE * n_channels
        for part in (frame, None):  # None flushes the encoder
            sound.mux(stream.encode(part))
