"""A file of any format -> the same sound as FLAC, which every browser plays, or as MP3, which is smaller.

Sound streams through: an hour takes no more memory than a minute. FLAC has 16 bits, so that what had no more is the
same to the last bit. What is damaged is converted as far as it can be read, as :mod:`nearsong.audio.decode` reads it.
The file is one that was opened elsewhere: here it is opened again, and used only if it is the same one.
"""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any, NamedTuple

import av
import numpy as np
import numpy.typing as npt
import soundfile

from nearsong.audio.decode import Broken, DecoderError, channels_of, check_kind, frames_of, opened_by_ffmpeg
from nearsong.audio.downmix import mixed, names_of
from nearsong.errors import (
    ChangedAudioError,
    EmptyAudioError,
    InvalidInputError,
    TooLargeAudioError,
    TooLongAudioError,
    UnreadableAudioError,
)

RECIPE = f"1 {av.__version__}"
"""Changes when the same file may give other bytes."""

BIT_RATES = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
"""Of MP3, in thousands of bits a second."""

_MP3_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_LEAST_RATE = 8_000  # browsers play no less than 3,000
_USUAL_RATE, _MOST_RATE = 96_000, 192_000  # beyond is what DSD files give: noise that nobody can hear
_BLOCK = 1 << 16
_NOTHING = "it has no samples; there is nothing to hear in it."
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))

Planes = npt.NDArray[np.float32]
"""Channels x samples, full scale = 1."""


class Form(NamedTuple):
    """What a file is converted to: FLAC, or MP3 of so many thousand bits a second.

    >>> Form().ending, Form().media_type, Form(128).ending, Form(128).media_type
    ('flac', 'audio/flac', 'mp3', 'audio/mpeg')
    """

    kbit: int = 0

    @property
    def ending(self) -> str:
        """What a file of this form ends in, without the dot."""
        return "mp3" if self.kbit else "flac"

    @property
    def media_type(self) -> str:
        """Its type on the web."""
        return "audio/mpeg" if self.kbit else "audio/flac"


def mp3_within(kbit: int) -> Form:
    """Return the best MP3 that is no larger than so many thousand bits a second; the smallest if none is.

    >>> mp3_within(200), mp3_within(5), mp3_within(999)
    (Form(kbit=192), Form(kbit=32), Form(kbit=320))
    """
    return Form(max((rate for rate in BIT_RATES if rate <= kbit), default=BIT_RATES[0]))


class FileFacts(NamedTuple):
    """What a file that was opened is known by."""

    device: int
    inode: int
    size: int
    modified: int


def facts_of(file: FileIO) -> FileFacts:
    """Return what an open file is known by."""
    found = os.fstat(file.fileno())
    return FileFacts(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True)
class Converted:
    """What became of a file.

    Attributes
    ----------
    seconds : float
        How long it is.
    damage : str or None
        What was wrong with it, if it was converted all the same.
    no_room : str or None
        Why the result could not be written; then there is none.
    """

    seconds: float = 0.0
    damage: str | None = None
    no_room: str | None = None


def convert_file(
    path: str | os.PathLike[str],
    facts: FileFacts,
    target: str | os.PathLike[str],
    form: Form,
    longest_seconds: float,
    most_bytes: int,
) -> Converted:
    """Convert a file; what the workers of a service do.

    Parameters
    ----------
    path : path-like
        Where it was opened.
    facts : FileFacts
        Which file that was: another one that has its name by now is not touched.
    target : path-like
        Where the result goes; a file of this name is replaced. It may be left there, in part, by an error.
    form : Form
    longest_seconds : float
        A longer sound is an error: half of it would look like the whole.
    most_bytes : int
        The same for what is larger than this when it is converted.

    Returns
    -------
    Converted

    Raises
    ------
    AudioError
        If it is another file, gives no sound, or is too long.

    Examples
    --------
    >>> import numpy as np, soundfile, tempfile
    >>> from nearsong.audio.convert import Form, convert_file, facts_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/song.aiff", np.full((44_100, 2), 0.25), 44_100)
    ...     with open(f"{folder}/song.aiff", "rb", buffering=0) as file:
    ...         done = convert_file(file.name, facts_of(file), f"{folder}/song", Form(), 60.0, 10**6)
    ...     samples, rate = soundfile.read(f"{folder}/song")
    >>> done.seconds, samples.shape, rate, float(samples[0, 0])
    (1.0, (44100, 2), 44100, 0.25)
    """
    damages: list[str] = []
    with _opened(path, facts) as file:
        limits = _Limits(path, target, longest_seconds, most_bytes)
        sound = _Sound(_decoded(file, path, damages))
        if sound.rate == 0:
            raise EmptyAudioError(path, _NOTHING)
        try:
            seconds = _write(sound, target, form, limits)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            return Converted(no_room=os.strerror(error.errno))
        if not seconds:
            raise EmptyAudioError(path, _NOTHING)
        if facts_of(file) != facts:
            raise ChangedAudioError(path, "was changed while it was read; try again.")
    return Converted(seconds, "; ".join(damages) or None)


def _opened(path: str | os.PathLike[str], facts: FileFacts) -> FileIO:
    """Open the file that is known by some facts, and no other."""
    try:
        file = FileIO(os.open(path, _FLAGS), "rb")
    except (OSError, ValueError) as error:
        raise UnreadableAudioError(path, f"cannot be opened ({getattr(error, 'strerror', error)}).") from error
    if facts_of(file) != facts or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ChangedAudioError(path, "was changed while it was read; try again.")
    return file


class _Limits:
    """How long and how large a result may be."""

    def __init__(self, path: Any, target: Any, longest_seconds: float, most_bytes: int) -> None:
        self._path, self._target, self._seconds, self._bytes = path, target, longest_seconds, most_bytes

    def check(self, seconds: float) -> None:
        """Raise the file's error if it is too much."""
        if seconds > self._seconds:
            words = f"{self._seconds / 3600:g} hours" if self._seconds >= 7200 else f"{self._seconds:g} seconds"
            raise TooLongAudioError(self._path, f"is longer than the {words} that are converted.")
        if os.path.exists(self._target) and os.path.getsize(self._target) > self._bytes:
            raise TooLargeAudioError(self._path, "is too long to be converted: there is no room for it.")


# ---- reading


class _Block(NamedTuple):
    rate: int
    channels: tuple[str, ...]
    planes: Planes


def _decoded(file: FileIO, path: str | os.PathLike[str], damages: list[str]) -> Iterator[_Block]:
    """Read with one decoder, then go on with the other where the first gave up, as `nearsong.audio.decode` does."""
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
        raise UnreadableAudioError(path, f"is not audio that can be read ({'; '.join(reasons)}).")
    damages.extend(reasons)


class _Unnamed:
    """A file as FFmpeg reads it: of the name only the ending, which tells some formats."""

    def __init__(self, file: FileIO, path: str) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell
        self.name = f"sound{os.path.splitext(path)[1].lower()}"


def _ffmpeg_blocks(file: FileIO, path: str, damages: list[str]) -> Iterator[_Block]:
    waiting: list[_Block] = []
    broken: Broken
    with opened_by_ffmpeg(_Unnamed(file, path)) as (packets, broken):
        for frame in frames_of(packets, broken):
            block = _Block(frame.sample_rate, tuple(one.name for one in frame.layout.channels), channels_of(frame))
            if waiting and (waiting[0][:2] != block[:2] or sum(one.planes.shape[1] for one in waiting) >= _BLOCK):
                yield _joined(waiting)
                waiting = []
            waiting.append(block)
        if waiting:
            yield _joined(waiting)
    damages.extend(filter(None, [broken.told]))


def _joined(blocks: list[_Block]) -> _Block:
    """Join the thousand-sample frames of a codec."""
    return blocks[0]._replace(planes=np.concatenate([one.planes for one in blocks], axis=1))


def _soundfile_blocks(file: FileIO, _path: str, _damages: list[str]) -> Iterator[_Block]:
    try:
        with soundfile.SoundFile(file.fileno(), closefd=False) as sound:
            check_kind(sound.subtype, sound.samplerate)
            names = names_of(sound.channels)
            while len(block := sound.read(max(1, 2 * _BLOCK // sound.channels), dtype="float32", always_2d=True)):
                yield _Block(sound.samplerate, names, np.ascontiguousarray(block.T))
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        text = getattr(error, "error_string", str(error)).removeprefix("Error : ").rstrip(".")
        raise DecoderError(f"libsndfile: {text}") from error


class _Sound:
    """Blocks as they come, and what the first of them says: the rate and one or two channels for all."""

    def __init__(self, blocks: Iterator[_Block]) -> None:
        self._blocks = blocks
        self._first = next(blocks, None)
        self.rate = 0 if self._first is None else self._first.rate
        self.channels = 1 if self._first is None or len(self._first.planes) == 1 else 2

    @property
    def layout(self) -> str:
        return "mono" if self.channels == 1 else "stereo"

    def at(self, rate: int) -> Iterator[Planes]:
        """Give all samples at a rate, in one or two channels."""
        resampler = None
        came = rate
        for block in self._all():
            if resampler is not None and block.rate != came:  # some broadcast files change in the middle
                yield from _resampled(resampler, None)
                resampler = None
            came = block.rate
            planes = mixed(block.planes, block.channels, self.channels)
            if came == rate:
                yield planes
                continue
            if resampler is None:
                resampler = av.AudioResampler(format="fltp", layout=self.layout, rate=rate)
            yield from _resampled(resampler, self.frame(planes, came))
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
    for done in resampler.resample(frame):
        yield done.to_ndarray()


# ---- writing


def rate_for(rate: int, form: Form) -> int:
    """Return the rate that sound of some rate is written at.

    >>> [rate_for(rate, Form()) for rate in (44_100, 192_000, 352_800, 4_000)]
    [44100, 192000, 88200, 8000]
    >>> [rate_for(rate, Form(128)) for rate in (44_100, 88_200, 96_000, 37_800, 4_000)]
    [44100, 44100, 48000, 44100, 8000]
    """
    if form.kbit:
        if rate > _MP3_RATES[-1]:
            return 44_100 if rate % 44_100 == 0 else 48_000
        return min(one for one in _MP3_RATES if one >= rate)
    if rate > _MOST_RATE:
        while rate > _USUAL_RATE:
            rate //= 2
    return max(rate, _LEAST_RATE)


def _write(sound: _Sound, target: str | os.PathLike[str], form: Form, limits: _Limits) -> float:
    """Write the sound and return how long it is."""
    rate, n_written = rate_for(sound.rate, form), 0
    with av.open(os.path.abspath(target), "w", format=form.ending) as file:
        stream = _stream(file, form, rate, sound.layout)
        for planes in sound.at(rate):
            for start in range(0, planes.shape[1], _BLOCK):
                part = planes[:, start : start + _BLOCK]
                frame = sound.frame(part, rate, n_written) if form.kbit else _sixteen_bits(part, rate, n_written)
                n_written += part.shape[1]
                for packet in stream.encode(frame):
                    file.mux(packet)
            limits.check(n_written / rate)
        for packet in stream.encode(None):
            file.mux(packet)
    limits.check(n_written / rate)
    return n_written / rate


def _stream(file: Any, form: Form, rate: int, layout: str) -> Any:
    if form.kbit not in (0, *BIT_RATES):
        raise InvalidInputError(f"MP3 has no {form.kbit} kbit/s; choose one of {BIT_RATES}.")
    if form.kbit:
        # a level that takes two thirds of the time of the usual one
        stream = file.add_stream("libmp3lame", rate=rate, layout=layout, options={"compression_level": "7"})
        stream.bit_rate = 1000 * form.kbit
        stream.codec_context.format = "fltp"
    else:
        stream = file.add_stream("flac", rate=rate, layout=layout, options={"compression_level": "5"})
        stream.codec_context.format = "s16"
    return stream


def _sixteen_bits(planes: Planes, rate: int, at: int) -> Any:
    """Return a frame of whole numbers, each the nearest; without dither, so that 16 bits stay as they are."""
    whole = np.rint(np.clip(planes.T * np.float32(32_768), -32_768, 32_767)).astype(np.int16)
    layout = "mono" if len(planes) == 1 else "stereo"
    frame = av.AudioFrame.from_ndarray(whole.reshape(1, -1), format="s16", layout=layout)
    frame.sample_rate, frame.pts = rate, at
    return frame
