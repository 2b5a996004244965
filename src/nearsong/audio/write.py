"""Samples -> an audio file in the format that its name ends with; what :mod:`nearsong.audio.decode` reads back."""

import os
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import soundfile

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

# ending -> libsndfile's container and codec
_SOUNDFILE = {
    "wav": ("WAV", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
}
# ending -> FFmpeg's container, codec, layout of samples and options. libsndfile cannot write M4A; 20 s of stereo
# take it 0.34 s as MP3 and 0.39 s as Opus, and FFmpeg with these options 0.23 s and 0.12 s.
_FFMPEG: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "mp3": ("mp3", "libmp3lame", "fltp", {"compression_level": "7"}),
    "opus": ("opus", "libopus", "flt", {}),
    "m4a": ("ipod", "aac", "fltp", {"aac_coder": "fast"}),
}
ENDINGS = (*_SOUNDFILE, *_FFMPEG)
"""Formats that can be written."""

# ending -> rates its codec has; the others take any
_RATES = {
    "mp3": (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000),
    "opus": (8_000, 12_000, 16_000, 24_000, 48_000),
    "m4a": (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000),
}
_LEAST_RATE, _MOST_RATE = 1_000, 384_000
_BIT_RATE = 64_000  # of lossy formats, a channel


def write_audio(path: str | os.PathLike[str], samples: npt.ArrayLike, sample_rate: int) -> Path:
    """Write sound in the format that the file's name ends with.

    Parameters
    ----------
    path : path-like
        Ends in ``.wav``, ``.flac``, ``.ogg`` (Vorbis), ``.mp3``, ``.opus`` or ``.m4a`` (AAC), in upper or lower
        case. Its folder must exist; a file of that name is replaced.
    samples : array-like of shape (n,) or (n, 2)
        Mono or stereo, full scale = 1; what is louder is cut off there.
    sample_rate : int
        Samples a second. MP3, Opus and M4A have a few rates only; 24,000 and 48,000 suit all formats.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InvalidInputError
        If the ending, the shape, a value or the rate cannot be written.

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
    ending = file.suffix[1:].lower()
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{file.name!r} does not end in a format that can be written; choose one of {', '.join(sorted(ENDINGS))}."
        )
    rate = _check_sample_rate(sample_rate, ending)
    channels = _check_samples(samples)
    try:
        if ending in _FFMPEG:
            _write_with_ffmpeg(file, channels, rate, *_FFMPEG[ending])
        else:
            container, codec = _SOUNDFILE[ending]
            soundfile.write(file, channels, rate, format=container, subtype=codec)
    except (OSError, soundfile.LibsndfileError) as error:
        raise InvalidInputError(f"{file}: cannot be written ({error}); check the folder and its space.") from error
    return file


def _check_sample_rate(value: Any, ending: str) -> int:
    rate = check_count(value, "sample_rate", _LEAST_RATE)
    rates = _RATES.get(ending)
    if rates is not None and rate not in rates:
        raise InvalidInputError(f"sample_rate={rate} is none of {ending}'s rates; choose one of {rates}.")
    if rate > _MOST_RATE:
        raise InvalidInputError(f"sample_rate={rate} is more than files have; choose at most {_MOST_RATE}.")
    return rate


def _check_samples(samples: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return samples x channels within full scale."""
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
        place = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidInputError(
            f"samples has a NaN or infinite value, first at sample {place}; a file cannot hold such a sound."
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
    values = samples.T if sample_format == "fltp" else samples.reshape(1, -1)  # channel by channel, or in turn
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(values), format=sample_format, layout=layout)
    frame.sample_rate = rate
    with av.open(str(file), "w", format=container) as sound:
        stream: Any = sound.add_stream(codec, rate=rate, layout=layout, options=options)
        stream.bit_rate = _BIT_RATE * n_channels
        for part in (frame, None):  # None: the end
            sound.mux(stream.encode(part))
