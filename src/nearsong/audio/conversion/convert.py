"""An audio file of any format -> FLAC, which every browser plays, or MP3 or Opus, which are smaller.

Audio is streamed: an hour takes no more memory than a minute, and the result can be read while it is written. FLAC
has 16 bits, so conversion is lossless for files of up to 16 bits. FLAC and Opus have as many samples as the song, and
MP3 says how many to leave out, so that songs follow each other without a gap: from its first byte on where the song
is lossless, so that its length is exact before it is decoded. The caller has opened the file already;
a worker opens it again and uses it only if it is the same file.
"""

import contextlib
import errno
import os
from dataclasses import dataclass
from io import FileIO
from typing import Any

import av
import numpy as np

from nearsong.audio.conversion.forms import (
    BIT_RATES,
    HEAD_BYTES,
    OPUS_BIT_RATES,
    AudioFormat,
    expected_mp3_bytes,
    filler,
    rate_for,
    with_samples,
)
from nearsong.audio.conversion.source import BLOCK_SAMPLES, Planes, Sound, decoded
from nearsong.errors import (
    ChangedAudioError,
    EmptyAudioError,
    InvalidInputError,
    TooLargeAudioError,
    TooLongAudioError,
    UnreadableAudioError,
)
from nearsong.guarded_file import FileIdentity, identity_of, open_regular

_NO_SAMPLES = "has no samples; check that it plays."
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


@dataclass(frozen=True)
class ConversionResult:
    """The result of a conversion.

    Attributes
    ----------
    seconds : float
        Length of the audio.
    damage : str or None
        What is wrong with the file, if only a part could be read.
    write_error : str or None
        Why the result could not be written: the disk is full or read-only.
    """

    seconds: float = 0.0
    damage: str | None = None
    write_error: str | None = None


def convert_file(
    path: str | os.PathLike[str],
    identity: FileIdentity,
    target: str | os.PathLike[str],
    form: AudioFormat,
    max_seconds: float,
    max_bytes: int,
    expected_seconds: float = 0.0,
) -> ConversionResult:
    """Convert an audio file; runs in a worker process.

    Parameters
    ----------
    path : path-like
        The file.
    identity : FileIdentity
        Of the file when the caller opened it; a file that has replaced it since is an error.
    target : path-like
        The path of the result, which is replaced. An error may leave an incomplete file. If somebody removes it, the
        result is no longer wanted, and the conversion ends with an error.
    form : AudioFormat
    max_seconds : float
        Longer audio is an error.
    max_bytes : int
        A larger result is an error.
    expected_seconds : float, default=0
        Length of the sound, as a scan has heard it. An MP3 that is shorter is filled up with an empty tag, so that
        its length in bytes is known when it begins.

    Raises
    ------
    AudioError
        If the file has changed, cannot be read, or is too long.

    Examples
    --------
    >>> import numpy as np, soundfile, tempfile
    >>> from nearsong.audio.conversion.convert import AudioFormat, convert_file
    >>> from nearsong.guarded_file import identity_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/song.aiff", np.full((44_100, 2), 0.25), 44_100)
    ...     with open(f"{folder}/song.aiff", "rb", buffering=0) as file:
    ...         done = convert_file(file.name, identity_of(file), f"{folder}/song", AudioFormat(), 60.0, 10**6)
    ...     samples, rate = soundfile.read(f"{folder}/song")
    >>> done.seconds, samples.shape, rate, float(samples[0, 0])
    (1.0, (44100, 2), 44100, 0.25)
    """
    damages: list[str] = []
    with _opened(path, identity) as file:
        limits = _Limits(path, target, max_seconds, max_bytes)
        sound = Sound(decoded(file, path, damages))
        if sound.rate == 0:
            raise EmptyAudioError(path, _NO_SAMPLES)
        try:
            seconds = _write(sound, target, form, limits, expected_seconds)
            if form.is_mp3 and seconds:
                _fill_up(target, expected_seconds)
        except OSError as error:
            if error.errno not in _DISK_ERRORS:
                raise
            return ConversionResult(write_error=os.strerror(error.errno))
        if not seconds:
            raise EmptyAudioError(path, _NO_SAMPLES)
        if identity_of(file) != identity:
            raise ChangedAudioError(path, "changed while it was read; try again.")
    return ConversionResult(seconds, "; ".join(damages) or None)


def _opened(path: str | os.PathLike[str], identity: FileIdentity) -> FileIO:
    """Open a file; raise an error if it is not the one with this identity."""
    try:
        return open_regular(path, identity)
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise ChangedAudioError(path, "changed while it was read; try again.") from error
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}).") from error


class _Limits:
    """The maximum length and size of a result."""

    def __init__(self, path: Any, target: Any, max_seconds: float, max_bytes: int) -> None:
        self._path, self._target, self._seconds, self._bytes = path, target, max_seconds, max_bytes
        self._has_target = os.path.exists(target)  # else FFmpeg makes it, later

    def check(self, seconds: float) -> None:
        """Raise an error if the result exceeds a limit."""
        if seconds > self._seconds:
            limit = f"{self._seconds / 3600:g} hours" if self._seconds >= 7200 else f"{self._seconds:g} seconds"
            raise TooLongAudioError(self._path, f"is longer than {limit}, the limit of a conversion.")
        try:
            size = os.path.getsize(self._target)
        except FileNotFoundError:
            if self._has_target:
                raise UnreadableAudioError(self._path, "is no longer wanted.") from None
            return
        if size > self._bytes:
            raise TooLargeAudioError(self._path, "is too long to convert: the result would exceed the space limit.")


# ---- writing


def _write(
    sound: Sound, target: str | os.PathLike[str], form: AudioFormat, limits: _Limits, expected_seconds: float
) -> float:
    """Write the audio and return its length in seconds."""
    rate, n_written = rate_for(sound.rate, form), 0
    n_expected = sound.expected_samples(expected_seconds, rate, form.start)
    # each packet at once, for those who read the file while it is written
    options = {"flush_packets": "1"}
    with av.open(os.path.abspath(target), "w", format=form.extension, container_options=options) as file:
        stream = _stream(file, form, rate, sound.layout)
        for planes in sound.at(rate, form.start):
            for start in range(0, planes.shape[1], BLOCK_SAMPLES):
                part = planes[:, start : start + BLOCK_SAMPLES]
                frame = _frame(sound, part, form, rate, n_written)
                n_written += part.shape[1]
                for packet in stream.encode(frame):
                    file.mux(packet)
                    if n_expected:  # before anybody reads the first bytes: `HEAD_BYTES` are not there yet
                        _say_samples(target, n_expected)
                        n_expected = None
            limits.check(n_written / rate)
        for packet in stream.encode(None):
            file.mux(packet)
    if form.is_mp3 and n_written:  # FFmpeg counts a short last frame as a longer one
        _say_samples(target, n_written)
    limits.check(n_written / rate)
    return n_written / rate


def _stream(file: Any, form: AudioFormat, rate: int, layout: str) -> Any:
    rates = OPUS_BIT_RATES if form.is_opus else (0, *BIT_RATES)
    if form.kbit not in rates:
        raise InvalidInputError(
            f"{form.extension.upper()} has no bit rate of {form.kbit} kbit/s; choose one of {rates}."
        )
    if form.is_opus:
        stream = file.add_stream("libopus", rate=rate, layout=layout, options={"compression_level": "7"})
        stream.bit_rate = 1000 * form.kbit
        stream.codec_context.format = "flt"
    elif form.kbit:
        # takes two thirds of the time of the default level
        stream = file.add_stream("libmp3lame", rate=rate, layout=layout, options={"compression_level": "7"})
        stream.bit_rate = 1000 * form.kbit
        stream.codec_context.format = "fltp"
    else:
        stream = file.add_stream("flac", rate=rate, layout=layout, options={"compression_level": "5"})
        stream.codec_context.format = "s16"
    return stream


def _frame(sound: Sound, planes: Planes, form: AudioFormat, rate: int, at: int) -> Any:
    if form.is_mp3:
        return sound.frame(planes, rate, at)
    if not form.is_opus:
        return _sixteen_bits(planes, rate, at)
    packed = np.ascontiguousarray(planes.T).reshape(1, -1)
    frame = av.AudioFrame.from_ndarray(packed, format="flt", layout=sound.layout)
    frame.sample_rate, frame.pts = rate, at
    return frame


def _say_samples(target: str | os.PathLike[str], n_samples: int) -> None:
    """Write into the first bytes how many samples there are."""
    with contextlib.suppress(FileNotFoundError), open(target, "r+b") as file:  # removed: no longer wanted
        about = with_samples(file.read(HEAD_BYTES), n_samples)
        file.seek(0)
        file.write(about)


def _fill_up(target: str | os.PathLike[str], seconds: float) -> None:
    """Append a tag that says nothing, up to the length that the first bytes promise."""
    with open(target, "r+b") as file:
        expected = expected_mp3_bytes(file.read(HEAD_BYTES), seconds)
        n_missing = (expected or 0) - file.seek(0, os.SEEK_END)
        if n_missing > 0:
            file.write(filler(n_missing))


def _sixteen_bits(planes: Planes, rate: int, at: int) -> Any:
    """Return a frame of rounded 16-bit integers, without dither, so that 16-bit audio stays the same."""
    rounded = np.rint(np.clip(planes.T * np.float32(32_768), -32_768, 32_767)).astype(np.int16)
    layout = "mono" if len(planes) == 1 else "stereo"
    frame = av.AudioFrame.from_ndarray(rounded.reshape(1, -1), format="s16", layout=layout)
    frame.sample_rate, frame.pts = rate, at
    return frame
