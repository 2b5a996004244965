"""A file of any common format -> mono float32 samples at 22,050 Hz, as one array or as a stream of blocks.

Two decoders: libsndfile (soundfile) and FFmpeg (PyAV). Where one fails in the middle of a damaged file the other
continues from the same sample, so that a song is lost only if neither can read it.
"""

import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from nearsong.audio.truncation import missing_end
from nearsong.errors import DamagedAudioWarning, EmptyAudioError, NotAudioError, UnreadableAudioError
from nearsong.validation import check_count

SAMPLE_RATE = 22_050
"""Sample rate of all features, in Hz (paper III-A)."""

Samples = npt.NDArray[np.float32]
"""Mono samples, full scale = 1."""

_Blocks = Iterator[tuple[int, Samples]]
"""(sample rate, mono samples) as decoded from a file."""

_BLOCK_SAMPLES = 1 << 17
"""Samples of all channels that are decoded at a time."""

_SAMPLE_RATES = (1_000, 1_000_000)
"""Sample rates in Hz outside this range are those of a damaged header; resampling from them could take any memory."""

MAX_AMPLITUDE = 1e6
"""Float files can hold any value; samples are clipped here, so that their power stays within float32."""

# First bytes of files for which libsndfile is tried first. FFmpeg decodes Vorbis in two thirds and Opus in a third of
# its time, finds all parts of joined MP3 files, and reads all other formats (docs/decisions/0009-decoders.md).
_SOUNDFILE_FIRST = {b"RIFF", b"RIFX", b"RF64", b"FORM", b"fLaC", b"caff", b".snd"}

# The containers that FFmpeg may recognise: audio only, never playlists, which would make it open other files.
_CONTAINERS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dsf,dts,eac3,flac,flv,iff,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,"
    "mpeg,mpegts,ogg,oma,rm,tak,tta,voc,w64,wav,wv,xwma"
)
# PyAV 19 removed this argument; since then metadata that is not UTF-8 is never an error.
_TOLERANT_METADATA: dict[str, Any] = {"metadata_errors": "ignore"} if int(av.__version__.split(".")[0]) < 19 else {}

# MPEG layer I is obsolete; files that look like it are UTF-16 text, whose byte-order mark is its sync word.
_NOT_MUSIC = {"MPEG_LAYER_I", "mp1", "mp1float"}


@dataclass(frozen=True)
class AudioDamage:
    """What is wrong with a damaged file, and how much of it could be read.

    Attributes
    ----------
    details : tuple of str
        The messages of the decoders.
    seconds : float
        The length of the readable part.

    Examples
    --------
    >>> damage = AudioDamage(("FFmpeg: Invalid data",), 12.5)
    >>> str(damage)
    'damaged (FFmpeg: Invalid data); the readable 12.5 s were used.'
    >>> damage.summary
    'it is damaged; the readable 12.5 s were used.'
    """

    details: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return f"damaged ({'; '.join(self.details)}); {self._used}"

    @property
    def summary(self) -> str:
        """One sentence for the person who sent the file, without technical details."""
        return f"it is damaged; {self._used}"

    @property
    def _used(self) -> str:
        return f"the readable {self.seconds:.1f} s were used."


class DecoderError(Exception):
    """One of the two decoders failed."""


def load_audio(path: str | os.PathLike[str], *, sample_rate: int = SAMPLE_RATE) -> Samples:
    """Read an audio file.

    Parameters
    ----------
    path : path-like
        A file in WAV, FLAC, MP3, Ogg Vorbis, Opus, M4A/AAC, AIFF, WMA or another common format. The content decides,
        not the extension.
    sample_rate : int, default=22050
        Sample rate of the result in Hz.

    Returns
    -------
    array of shape (n_samples,), float32
        The mean of the channels, full scale = 1. NaN samples become 0.

    Raises
    ------
    UnreadableAudioError
        If the file is missing, is not audio, or is damaged from the start.
    EmptyAudioError
        If it has no samples.

    Warns
    -----
    DamagedAudioWarning
        If it is damaged; the readable part is returned.

    Examples
    --------
    >>> import numpy as np, soundfile, tempfile
    >>> from nearsong.audio import load_audio
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stereo = np.full((44_100, 2), [0.5, -0.25])
    ...     soundfile.write(f"{folder}/one_second.flac", stereo, 44_100)
    ...     samples = load_audio(f"{folder}/one_second.flac")
    >>> samples.shape, samples.dtype, round(float(samples[11_025]), 3)
    ((22050,), dtype('float32'), 0.125)
    """
    return np.concatenate(list(stream_audio(path, sample_rate=sample_rate)))


def stream_audio(
    path: str | os.PathLike[str],
    *,
    sample_rate: int = SAMPLE_RATE,
    on_damage: Callable[[AudioDamage], None] | None = None,
) -> Iterator[Samples]:
    """Read an audio file block by block: the same samples as `load_audio`, in bounded memory.

    Parameters
    ----------
    path, sample_rate
        As in `load_audio`.
    on_damage : callable, optional
        Called if the file is damaged, after its last block; by default a `DamagedAudioWarning` is issued.

    Yields
    ------
    array of shape (n,), float32
        Consecutive samples; never empty.
    """
    check_count(sample_rate, "sample_rate", _SAMPLE_RATES[0])
    _check_file(path)
    damages: list[str] = []
    n_samples = 0
    for block in _resampled(_decoded(path, damages), sample_rate):
        n_samples += len(block)
        yield block
    if n_samples == 0:
        raise EmptyAudioError(path, "has no samples; check that it plays.")
    if damages:
        damage = AudioDamage(tuple(damages), n_samples / sample_rate)
        if on_damage is not None:
            on_damage(damage)
        else:
            warnings.warn(f"{os.fspath(path)}: {damage}", DamagedAudioWarning, stacklevel=2)


def _check_file(path: str | os.PathLike[str]) -> None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableAudioError(path, f"cannot be opened ({reason}); check the path.") from error
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableAudioError(path, "is not a file; give the path of an audio file.")
    if status.st_size == 0:
        raise EmptyAudioError(path, "is empty; copy or download it again.")


def _decoded(path: str | os.PathLike[str], damages: list[str]) -> _Blocks:
    """Read with one decoder, then continue with the other where the first failed."""
    readers = (
        [_soundfile_blocks, _ffmpeg_blocks]
        if _first_bytes(path) in _SOUNDFILE_FIRST
        else [_ffmpeg_blocks, _soundfile_blocks]
    )
    n_read = 0
    reasons: list[str] = []
    is_empty = False
    for reader in readers:
        n_before = n_read
        try:
            for rate, block in _skip(reader(path, damages), n_read):
                n_read += len(block)
                yield rate, block
        except DecoderError as error:
            reasons.append(str(error))
            continue
        is_empty = n_read == 0
        if n_read > n_before:  # it continued where the other failed, so nothing is lost
            reasons.clear()
            break
    if n_read == 0 and not is_empty:
        raise NotAudioError(path, f"is not a readable audio file ({'; '.join(reasons)}); check that it plays.")
    if n_read:
        damages.extend(reasons)
        damages.extend(filter(None, [missing_end(path)]))


def _first_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4)
    except OSError as error:
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}); check its permissions.") from error


def _skip(blocks: _Blocks, n: int) -> _Blocks:
    """Skip the first ``n`` samples, which the other decoder has read already."""
    for rate, block in blocks:
        if n < len(block):
            yield rate, block[n:]
        n = max(0, n - len(block))


def _soundfile_blocks(path: str | os.PathLike[str], damages: list[str]) -> _Blocks:
    # a descriptor instead of a path: libsndfile would guess some formats from the extension
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with soundfile.SoundFile(descriptor, closefd=False) as file:
            rate, channels = file.samplerate, file.channels
            check_codec(file.subtype, rate)
            buffer = np.empty((max(1, _BLOCK_SAMPLES // channels), channels), dtype=np.float32)
            while len(block := file.read(out=buffer)):
                yield rate, _mono(block.T)
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        # the text of a LibsndfileError names the descriptor; error_string does not
        text = getattr(error, "error_string", str(error)).removeprefix("Error : ").rstrip(".")
        raise DecoderError(f"libsndfile: {text}") from error
    finally:
        os.close(descriptor)


def _ffmpeg_blocks(path: str | os.PathLike[str], damages: list[str]) -> _Blocks:
    # an absolute path, so that FFmpeg does not take a name such as "http:x" for a URL
    with opened_by_ffmpeg(os.path.abspath(path)) as (packets, tally):
        yield from _gathered((frame.sample_rate, _mono(channels_of(frame))) for frame in frames_of(packets, tally))
    damages.extend(filter(None, [tally.damage]))


@contextmanager
def opened_by_ffmpeg(source: Any) -> "Iterator[tuple[Iterator[Any], PacketTally]]":
    """Open the first audio stream of a path or a file-like object; raises `DecoderError` if it cannot be read.

    Yields its packets, and the tally that `frames_of` fills.
    """
    try:
        with av.open(source, options={"format_whitelist": _CONTAINERS}, **_TOLERANT_METADATA) as container:
            if not container.streams.audio:
                raise DecoderError("FFmpeg: no audio stream")
            stream = container.streams.audio[0]
            if stream.codec_context is None:
                raise DecoderError("FFmpeg: unknown codec")
            check_codec(stream.codec_context.name, stream.codec_context.sample_rate)
            tally = PacketTally()
            yield iter(container.demux(stream)), tally
            if tally.failed > tally.decoded:
                raise DecoderError(f"FFmpeg: {tally.reason}")
    except (av.error.FFmpegError, ValueError, MemoryError) as error:
        raise DecoderError(f"FFmpeg: {getattr(error, 'strerror', None) or error}") from error


@dataclass
class PacketTally:
    """How many packets of a file could be decoded, how many could not, and the last reason."""

    decoded: int = 0
    failed: int = 0
    reason: str = ""

    @property
    def damage(self) -> str | None:
        """The share of packets that could not be decoded, in words; None if all could."""
        total = self.failed + self.decoded
        return f"{self.failed} of {total} packets could not be decoded" if self.failed else None


def frames_of(packets: Iterator[Any], tally: PacketTally) -> Iterator[Any]:
    """Decode packets to FFmpeg frames; packets that cannot be decoded are counted and skipped."""
    while True:
        try:
            packet = next(packets, None)  # after an error of the container itself this is None
            frames = [] if packet is None else packet.decode()
        except av.error.FFmpegError as error:
            tally.failed += 1
            tally.reason = error.strerror or str(error)
            continue
        if packet is None:
            return
        tally.decoded += bool(frames)
        for frame in frames:
            _check_rate(frame.sample_rate)  # the rate of a frame may differ from the header
            yield frame


def channels_of(frame: Any) -> npt.NDArray[np.float32]:
    """Return the samples of a frame as channels x samples, full scale = 1."""
    values = frame.to_ndarray()
    if not frame.format.is_planar:
        values = values.reshape(-1, frame.layout.nb_channels).T
    if values.dtype == np.uint8:
        return np.asarray((values - np.float32(128)) / np.float32(128))
    if values.dtype.kind == "i":
        return np.asarray(values / -float(np.iinfo(values.dtype).min), dtype=np.float32)
    return np.asarray(values, dtype=np.float32)


def _gathered(frames: _Blocks) -> _Blocks:
    """Join the frames of a codec, about a thousand samples each, into larger blocks."""
    parts: list[Samples] = []
    size = 0
    last_rate = 0
    for rate, block in frames:
        if parts and (rate != last_rate or size >= _BLOCK_SAMPLES // 2):
            yield last_rate, np.concatenate(parts)
            parts, size = [], 0
        last_rate = rate
        parts.append(block)
        size += len(block)
    if parts:
        yield last_rate, np.concatenate(parts)


def check_codec(codec: str, rate: int) -> None:
    """Raise `DecoderError` for a codec or a sample rate that only text or a damaged header has."""
    if codec in _NOT_MUSIC:
        raise DecoderError(f"looks like {codec}, as UTF-16 text does")
    _check_rate(rate)


def _check_rate(rate: int) -> None:
    if not _SAMPLE_RATES[0] <= rate <= _SAMPLE_RATES[1]:
        raise DecoderError(f"sample rate of {rate} Hz")


def _mono(channels: npt.NDArray[np.float32]) -> Samples:
    """Return the mean of the channels (channels x samples); adding rows is faster than numpy's mean."""
    mixed = np.array(channels[0])
    with np.errstate(over="ignore", invalid="ignore"):  # float files may hold any value
        for channel in channels[1:]:
            mixed += channel
        if len(channels) > 1:
            mixed *= np.float32(1 / len(channels))
    if len(mixed) and not (mixed.max() <= MAX_AMPLITUDE and mixed.min() >= -MAX_AMPLITUDE):
        np.nan_to_num(mixed, copy=False, nan=0.0, posinf=MAX_AMPLITUDE, neginf=-MAX_AMPLITUDE)
        np.clip(mixed, -MAX_AMPLITUDE, MAX_AMPLITUDE, out=mixed)
    return mixed


def _resampled(blocks: _Blocks, sample_rate: int) -> Iterator[Samples]:
    """Resample blocks to one rate; the result does not depend on the block boundaries."""
    resampler = None
    rate = sample_rate
    for next_rate, block in blocks:
        if next_rate != rate and resampler is not None:  # the rate of some broadcast files changes
            yield from _unless_empty(resampler.resample_chunk(np.empty(0, dtype=np.float32), last=True))
            resampler = None
        if resampler is None and next_rate != sample_rate:
            resampler = soxr.ResampleStream(next_rate, sample_rate, 1, dtype="float32", quality="HQ")
        rate = next_rate
        yield from _unless_empty(block if resampler is None else resampler.resample_chunk(block))
    if resampler is not None:
        yield from _unless_empty(resampler.resample_chunk(np.empty(0, dtype=np.float32), last=True))


def _unless_empty(block: Samples) -> Iterator[Samples]:
    if len(block):
        yield block
