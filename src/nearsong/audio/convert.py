"""An audio file of any format -> FLAC, which every browser plays, or MP3, which is smaller.

Audio is streamed: an hour takes no more memory than a minute. FLAC has 16 bits, so conversion is lossless for files
of up to 16 bits. Of damaged files the readable part is converted, as in `decode.py`. The caller has opened the file
already; a worker opens it again and uses it only if it is the same file.
"""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any, NamedTuple

import av
import numpy as np
import numpy.typing as npt
import soundfile

from nearsong.audio.downmix import default_channels, downmix
from nearsong.audio.ffmpeg import DecoderError, channels_of, check_codec, frames_of, opened_by_ffmpeg
from nearsong.errors import (
    ChangedAudioError,
    EmptyAudioError,
    InvalidInputError,
    NotAudioError,
    TooLargeAudioError,
    TooLongAudioError,
    UnreadableAudioError,
)
from nearsong.guarded_file import FileIdentity, identity_of, open_regular

ENCODER_VERSION = f"1 {av.__version__}"
"""Changes when a conversion of the same file may have other bytes."""

BIT_RATES = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
"""Bit rates of MP3 in kbit/s."""

_MP3_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_MIN_RATE = 8_000  # Hz; browsers refuse rates below 3,000
_USUAL_RATE, _MAX_RATE = 96_000, 192_000  # Hz; only DSD files exceed it, with inaudible noise
_BLOCK_SAMPLES = 1 << 16
_NO_SAMPLES = "has no samples; check that it plays."
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

Planes = npt.NDArray[np.float32]
"""Channels x samples, full scale = 1."""


class AudioFormat(NamedTuple):
    """The format of a conversion: MP3 of ``kbit`` kbit/s, or FLAC for 0.

    >>> AudioFormat().extension, AudioFormat().media_type, AudioFormat(128).extension, AudioFormat(128).media_type
    ('flac', 'audio/flac', 'mp3', 'audio/mpeg')
    """

    kbit: int = 0

    @property
    def extension(self) -> str:
        """The file extension, without the dot."""
        return "mp3" if self.kbit else "flac"

    @property
    def media_type(self) -> str:
        """The MIME type."""
        return "audio/mpeg" if self.kbit else "audio/flac"


def mp3_format(max_kbit: int) -> AudioFormat:
    """Return the MP3 format with the highest bit rate up to a limit in kbit/s, or the lowest if none fits.

    >>> mp3_format(200), mp3_format(5), mp3_format(999)
    (AudioFormat(kbit=192), AudioFormat(kbit=32), AudioFormat(kbit=320))
    """
    return AudioFormat(max((rate for rate in BIT_RATES if rate <= max_kbit), default=BIT_RATES[0]))


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
) -> ConversionResult:
    """Convert an audio file; runs in a worker process.

    Parameters
    ----------
    path : path-like
        The file.
    identity : FileIdentity
        Of the file when the caller opened it; a file that has replaced it since is an error.
    target : path-like
        The path of the result, which is replaced. An error may leave an incomplete file.
    form : AudioFormat
    max_seconds : float
        Longer audio is an error.
    max_bytes : int
        A larger result is an error.

    Raises
    ------
    AudioError
        If the file has changed, cannot be read, or is too long.

    Examples
    --------
    >>> import numpy as np, soundfile, tempfile
    >>> from nearsong.audio.convert import AudioFormat, convert_file
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
        sound = _Sound(_decoded(file, path, damages))
        if sound.rate == 0:
            raise EmptyAudioError(path, _NO_SAMPLES)
        try:
            seconds = _write(sound, target, form, limits)
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

    def check(self, seconds: float) -> None:
        """Raise an error if the result exceeds a limit."""
        if seconds > self._seconds:
            limit = f"{self._seconds / 3600:g} hours" if self._seconds >= 7200 else f"{self._seconds:g} seconds"
            raise TooLongAudioError(self._path, f"is longer than {limit}, the limit of a conversion.")
        if os.path.exists(self._target) and os.path.getsize(self._target) > self._bytes:
            raise TooLargeAudioError(self._path, "is too long to convert: the result would exceed the space limit.")


# ---- reading


class _Block(NamedTuple):
    rate: int
    channels: tuple[str, ...]
    planes: Planes


def _decoded(file: FileIO, path: str | os.PathLike[str], damages: list[str]) -> Iterator[_Block]:
    """Read with one decoder, then continue with the other where the first failed, as `decode.py` does."""
    n_read = 0
    reasons: list[str] = []
    for reader in (_ffmpeg_blocks, _soundfile_blocks):
        n_before, n_now = n_read, 0
        file.seek(0)
        try:
            for block in reader(file, os.fspath(path), damages):
                n_now += block.planes.shape[1]
                if n_now > n_read:
                    yield block._replace(planes=block.planes[:, n_read - n_now :])
                    n_read = n_now
        except DecoderError as error:
            reasons.append(str(error))
            continue
        if n_read > n_before or n_read == 0:
            reasons.clear()
            break
    if n_read == 0 and reasons:
        raise NotAudioError(path, f"is not a readable audio file ({'; '.join(reasons)}).")
    damages.extend(reasons)


class _Unnamed:
    """A file as FFmpeg reads it, named by its extension only, which identifies some formats."""

    def __init__(self, file: FileIO, path: str) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell
        self.name = f"sound{os.path.splitext(path)[1].lower()}"


def _ffmpeg_blocks(file: FileIO, path: str, damages: list[str]) -> Iterator[_Block]:
    pending: list[_Block] = []
    with opened_by_ffmpeg(_Unnamed(file, path)) as (packets, tally):
        for frame in frames_of(packets, tally):
            channels = tuple(channel.name for channel in frame.layout.channels)
            block = _Block(frame.sample_rate, channels, channels_of(frame))
            n_pending = sum(part.planes.shape[1] for part in pending)
            if pending and (pending[0][:2] != block[:2] or n_pending >= _BLOCK_SAMPLES):
                yield _joined(pending)
                pending = []
            pending.append(block)
        if pending:
            yield _joined(pending)
    damages.extend(filter(None, [tally.damage]))


def _joined(blocks: list[_Block]) -> _Block:
    """Join the frames of a codec, about a thousand samples each."""
    return blocks[0]._replace(planes=np.concatenate([block.planes for block in blocks], axis=1))


def _soundfile_blocks(file: FileIO, _path: str, _damages: list[str]) -> Iterator[_Block]:
    try:
        with soundfile.SoundFile(file.fileno(), closefd=False) as sound:
            check_codec(sound.subtype, sound.samplerate)
            names = default_channels(sound.channels)
            n_frames = max(1, 2 * _BLOCK_SAMPLES // sound.channels)
            while len(block := sound.read(n_frames, dtype="float32", always_2d=True)):
                yield _Block(sound.samplerate, names, np.ascontiguousarray(block.T))
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        text = getattr(error, "error_string", str(error)).removeprefix("Error : ").rstrip(".")
        raise DecoderError(f"libsndfile: {text}") from error


class _Sound:
    """Decoded blocks, with the sample rate and the one or two channels of the first block."""

    def __init__(self, blocks: Iterator[_Block]) -> None:
        self._blocks = blocks
        self._first = next(blocks, None)
        self.rate = 0 if self._first is None else self._first.rate
        self.channels = 1 if self._first is None or len(self._first.planes) == 1 else 2

    @property
    def layout(self) -> str:
        return "mono" if self.channels == 1 else "stereo"

    def at(self, rate: int) -> Iterator[Planes]:
        """Yield all samples at a rate, in one or two channels."""
        resampler = None
        source_rate = rate
        for block in self._all():
            if resampler is not None and block.rate != source_rate:  # the rate of some broadcast files changes
                yield from _resampled(resampler, None)
                resampler = None
            source_rate = block.rate
            planes = downmix(block.planes, block.channels, self.channels)
            if source_rate == rate:
                yield planes
                continue
            if resampler is None:
                resampler = av.AudioResampler(format="fltp", layout=self.layout, rate=rate)
            yield from _resampled(resampler, self.frame(planes, source_rate))
        if resampler is not None:
            yield from _resampled(resampler, None)

    def frame(self, planes: Planes, rate: int, at: int | None = None) -> Any:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(planes), format="fltp", layout=self.layout)
        frame.sample_rate, frame.pts = rate, at
        return frame

    def _all(self) -> Iterator[_Block]:
        if self._first is not None:
            yield self._first
        yield from self._blocks


def _resampled(resampler: Any, frame: Any) -> Iterator[Planes]:
    for resampled in resampler.resample(frame):
        yield resampled.to_ndarray()


# ---- writing


def rate_for(rate: int, form: AudioFormat) -> int:
    """Return the sample rate of the conversion of a file with some rate.

    >>> [rate_for(rate, AudioFormat()) for rate in (44_100, 192_000, 352_800, 4_000)]
    [44100, 192000, 88200, 8000]
    >>> [rate_for(rate, AudioFormat(128)) for rate in (44_100, 88_200, 96_000, 37_800, 4_000)]
    [44100, 44100, 48000, 44100, 8000]
    """
    if form.kbit:
        if rate > _MP3_RATES[-1]:
            return 44_100 if rate % 44_100 == 0 else 48_000
        return min(mp3_rate for mp3_rate in _MP3_RATES if mp3_rate >= rate)
    if rate > _MAX_RATE:
        while rate > _USUAL_RATE:
            rate //= 2
    return max(rate, _MIN_RATE)


def _write(sound: _Sound, target: str | os.PathLike[str], form: AudioFormat, limits: _Limits) -> float:
    """Write the audio and return its length in seconds."""
    rate, n_written = rate_for(sound.rate, form), 0
    with av.open(os.path.abspath(target), "w", format=form.extension) as file:
        stream = _stream(file, form, rate, sound.layout)
        for planes in sound.at(rate):
            for start in range(0, planes.shape[1], _BLOCK_SAMPLES):
                part = planes[:, start : start + _BLOCK_SAMPLES]
                frame = sound.frame(part, rate, n_written) if form.kbit else _sixteen_bits(part, rate, n_written)
                n_written += part.shape[1]
                for packet in stream.encode(frame):
                    file.mux(packet)
            limits.check(n_written / rate)
        for packet in stream.encode(None):
            file.mux(packet)
    limits.check(n_written / rate)
    return n_written / rate


def _stream(file: Any, form: AudioFormat, rate: int, layout: str) -> Any:
    if form.kbit not in (0, *BIT_RATES):
        raise InvalidInputError(f"MP3 has no bit rate of {form.kbit} kbit/s; choose one of {BIT_RATES}.")
    if form.kbit:
        # takes two thirds of the time of the default level
        stream = file.add_stream("libmp3lame", rate=rate, layout=layout, options={"compression_level": "7"})
        stream.bit_rate = 1000 * form.kbit
        stream.codec_context.format = "fltp"
    else:
        stream = file.add_stream("flac", rate=rate, layout=layout, options={"compression_level": "5"})
        stream.codec_context.format = "s16"
    return stream


def _sixteen_bits(planes: Planes, rate: int, at: int) -> Any:
    """Return a frame of rounded 16-bit integers, without dither, so that 16-bit audio stays the same."""
    rounded = np.rint(np.clip(planes.T * np.float32(32_768), -32_768, 32_767)).astype(np.int16)
    layout = "mono" if len(planes) == 1 else "stereo"
    frame = av.AudioFrame.from_ndarray(rounded.reshape(1, -1), format="s16", layout=layout)
    frame.sample_rate, frame.pts = rate, at
    return frame
