"""An audio file of any format -> blocks of its samples, streamed, in one or two channels and at any rate.

Of damaged files the readable part is read, as in `decode.py`.
"""

import os
from collections.abc import Iterator
from io import FileIO
from typing import Any, NamedTuple

import av
import numpy as np
import numpy.typing as npt
import soundfile

from nearsong.audio.downmix import default_channels, downmix
from nearsong.audio.ffmpeg import DecoderError, channels_of, check_codec, frames_of, opened_by_ffmpeg
from nearsong.errors import NotAudioError

BLOCK_SAMPLES = 1 << 16

Planes = npt.NDArray[np.float32]
"""Channels x samples, full scale = 1."""


class _Block(NamedTuple):
    rate: int
    channels: tuple[str, ...]
    planes: Planes
    is_lossless: bool = False


def decoded(file: FileIO, path: str | os.PathLike[str], damages: list[str]) -> Iterator[_Block]:
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
            block = _Block(frame.sample_rate, channels, channels_of(frame), tally.is_lossless)
            n_pending = sum(part.planes.shape[1] for part in pending)
            if pending and (pending[0][:2] != block[:2] or n_pending >= BLOCK_SAMPLES):
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
            n_frames = max(1, 2 * BLOCK_SAMPLES // sound.channels)
            while len(block := sound.read(n_frames, dtype="float32", always_2d=True)):
                yield _Block(sound.samplerate, names, np.ascontiguousarray(block.T))
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        text = getattr(error, "error_string", str(error)).removeprefix("Error : ").rstrip(".")
        raise DecoderError(f"libsndfile: {text}") from error


class Sound:
    """Decoded blocks, with the sample rate and the one or two channels of the first block."""

    def __init__(self, blocks: Iterator[_Block]) -> None:
        self._blocks = blocks
        self._first = next(blocks, None)
        self.rate = 0 if self._first is None else self._first.rate
        self._is_lossless = self._first is not None and self._first.is_lossless
        self.channels = 1 if self._first is None or len(self._first.planes) == 1 else 2

    @property
    def layout(self) -> str:
        """The name that FFmpeg has for the channels."""
        return "mono" if self.channels == 1 else "stereo"

    def expected_samples(self, seconds: float, rate: int, start: float = 0.0) -> int | None:
        """Return how many samples `at` will yield of a sound of some length; None where that is not certain."""
        is_certain = self._is_lossless and rate == self.rate and seconds > start
        return round(seconds * rate) - round(start * rate) if is_certain else None

    def at(self, rate: int, start: float = 0.0) -> Iterator[Planes]:
        """Yield the samples from a time in seconds on, at a rate, in one or two channels."""
        left_out = round(start * rate)
        for planes in self._at(rate):
            if left_out < planes.shape[1]:
                yield planes[:, left_out:] if left_out else planes
            left_out = max(0, left_out - planes.shape[1])

    def _at(self, rate: int) -> Iterator[Planes]:
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
        """Return samples as a frame of FFmpeg that starts at a sample of the song."""
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
