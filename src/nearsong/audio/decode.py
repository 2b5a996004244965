"""A file of any common format -> mono float32 samples at 22,050 Hz, as one array or as a stream of blocks.

Two decoders: libsndfile (soundfile) and FFmpeg (PyAV). Where one gives up in the middle of a
damaged file the other takes over at the same place, so that a song is lost only if neither can hear it.
"""

import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from nearsong.audio.wholeness import missing_end
from nearsong.errors import DamagedAudioWarning, EmptyAudioError, UnreadableAudioError
from nearsong.validation import check_count

SAMPLE_RATE = 22_050
"""Samples a second that all features are computed at (paper III-A)."""

Samples = npt.NDArray[np.float32]
"""Mono samples, full scale = 1."""

_Blocks = Iterator[tuple[int, Samples]]
"""(samples a second, mono samples) as they come from a file."""

_BLOCK = 1 << 17
"""Samples, over all channels, that are decoded at a time."""

_RATES = (1_000, 1_000_000)
"""A header that says less or more is not one of a sound file; resampling from it could take any memory."""

LOUDEST = 1e6
"""Float files can hold anything; louder samples are cut here, so that their power stays within float32."""

# What files begin with that libsndfile is asked for first. FFmpeg decodes Vorbis in two thirds and Opus in a third of
# its time, finds all parts of joined MP3 files, and reads what else there is (docs/decisions/0009-decoders.md).
_SOUNDFILE_FIRST = {b"RIFF", b"RIFX", b"RF64", b"FORM", b"fLaC", b"caff", b".snd"}

# What FFmpeg may take a file for: containers of sound, never playlists, which would make it open other files.
_CONTAINERS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dsf,dts,eac3,flac,flv,iff,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,"
    "mpeg,mpegts,ogg,oma,rm,tak,tta,voc,w64,wav,wv,xwma"
)
# PyAV 19 removed this argument; since then metadata that is not UTF-8 is never an error.
_TOLERANT_METADATA: dict[str, Any] = {"metadata_errors": "ignore"} if int(av.__version__.split(".")[0]) < 19 else {}

# MPEG layer I has not carried music for decades; what looks like it is UTF-16 text, whose mark is its sync word.
_NOT_MUSIC = {"MPEG_LAYER_I", "mp1", "mp1float"}


class DecoderError(Exception):
    """One of the two decoders cannot read on."""


def load_audio(path: str | os.PathLike[str], *, sample_rate: int = SAMPLE_RATE) -> Samples:
    """Read a whole file.

    Parameters
    ----------
    path : path-like
        A file in WAV, FLAC, MP3, Ogg Vorbis, Opus, M4A/AAC, AIFF, WMA or another common format, whatever its name.
    sample_rate : int, default=22050
        Samples a second of the result.

    Returns
    -------
    array of shape (n_samples,), float32
        The mean of the channels, full scale = 1. A sample that is not a number is silence.

    Raises
    ------
    UnreadableAudioError
        If the file is missing, is not audio, or is damaged from the start.
    EmptyAudioError
        If it has no samples.

    Warns
    -----
    DamagedAudioWarning
        If it broke off or skipped; what could be read is returned.

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
    on_damage: Callable[[str], None] | None = None,
) -> Iterator[Samples]:
    """Read a file block by block: the same samples as :func:`load_audio`, in bounded memory.

    Parameters
    ----------
    path, sample_rate
        As in :func:`load_audio`.
    on_damage : callable, optional
        Called with a description if the file broke off or skipped; by default a `DamagedAudioWarning`.

    Yields
    ------
    array of shape (n,), float32
        Consecutive samples; never empty.
    """
    check_count(sample_rate, "sample_rate", _RATES[0])
    _check_file(path)
    damages: list[str] = []
    n_samples = 0
    for block in _resampled(_decoded(path, damages), sample_rate):
        n_samples += len(block)
        yield block
    if n_samples == 0:
        raise EmptyAudioError(path, "it has no samples; there is nothing to hear in it.")
    if damages:
        heard = f"{n_samples / sample_rate:.1f} s could be read"
        message = f"{os.fspath(path)}: damaged ({'; '.join(damages)}); {heard} and are used."
        if on_damage is not None:
            on_damage(message)
        else:
            warnings.warn(message, DamagedAudioWarning, stacklevel=2)


def _check_file(path: str | os.PathLike[str]) -> None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableAudioError(path, f"cannot be opened ({reason}); check the path.") from error
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableAudioError(path, "is not a file; give the path of an audio file.")
    if status.st_size == 0:
        raise EmptyAudioError(path, "the file has no bytes; copy or download it again.")


def _decoded(path: str | os.PathLike[str], damages: list[str]) -> _Blocks:
    """Read with one decoder, then go on with the other where the first gave up."""
    readers = (
        [_soundfile_blocks, _ffmpeg_blocks]
        if _mark(path) in _SOUNDFILE_FIRST
        else [_ffmpeg_blocks, _soundfile_blocks]
    )
    n_read = 0
    reasons: list[str] = []
    nothing = False
    for reader in readers:
        n_before = n_read
        try:
            for rate, block in _skip(reader(path, damages), n_read):
                n_read += len(block)
                yield rate, block
        except DecoderError as error:
            reasons.append(str(error))
            continue
        nothing = n_read == 0
        if n_read > n_before:  # it went on where another gave up, so nothing is lost
            reasons.clear()
            break
    if n_read == 0 and not nothing:
        raise UnreadableAudioError(
            path, f"is not audio that can be read ({'; '.join(reasons)}); check that it plays."
        )
    if n_read:
        damages.extend(reasons)
        damages.extend(filter(None, [missing_end(path)]))


def _mark(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4)
    except OSError as error:
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}); check its permissions.") from error


def _skip(blocks: _Blocks, n: int) -> _Blocks:
    """Leave out the first ``n`` samples: another decoder has given them already."""
    for rate, block in blocks:
        if n < len(block):
            yield rate, block[n:]
        n = max(0, n - len(block))


def _soundfile_blocks(path: str | os.PathLike[str], damages: list[str]) -> _Blocks:
    # a descriptor, not a name: the name's ending would decide what some files are
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with soundfile.SoundFile(descriptor, closefd=False) as file:
            rate, channels = file.samplerate, file.channels
            check_kind(file.subtype, rate)
            buffer = np.empty((max(1, _BLOCK // channels), channels), dtype=np.float32)
            while len(block := file.read(out=buffer)):
                yield rate, _mono(block.T)
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        # LibsndfileError's text names the descriptor; its own words come after the colon
        text = getattr(error, "error_string", str(error)).removeprefix("Error : ").rstrip(".")
        raise DecoderError(f"libsndfile: {text}") from error
    finally:
        os.close(descriptor)


def _ffmpeg_blocks(path: str | os.PathLike[str], damages: list[str]) -> _Blocks:
    # an absolute path, so that a name such as "http:x" is a file all the same
    with opened_by_ffmpeg(os.path.abspath(path)) as (packets, broken):
        yield from _gathered((frame.sample_rate, _mono(channels_of(frame))) for frame in frames_of(packets, broken))
    damages.extend(filter(None, [broken.told]))


@contextmanager
def opened_by_ffmpeg(source: Any) -> "Iterator[tuple[Iterator[Any], Broken]]":
    """Open a path, or what reads like a file, as sound alone; `DecoderError` says that it cannot be read (on).

    Gives the packets of the first sound in it, and where to note those that cannot be decoded; see `frames_of`.
    """
    try:
        with av.open(source, options={"format_whitelist": _CONTAINERS}, **_TOLERANT_METADATA) as container:
            if not container.streams.audio:
                raise DecoderError("FFmpeg: no sound in it")
            stream = container.streams.audio[0]
            if stream.codec_context is None:
                raise DecoderError("FFmpeg: an unknown codec")
            check_kind(stream.codec_context.name, stream.codec_context.sample_rate)
            broken = Broken()
            yield iter(container.demux(stream)), broken
            if broken.packets > broken.sound:
                raise DecoderError(f"FFmpeg: {broken.reason}")
    except (av.error.FFmpegError, ValueError, MemoryError) as error:
        raise DecoderError(f"FFmpeg: {getattr(error, 'strerror', None) or error}") from error


class Broken:
    """Packets that gave sound and packets that did not."""

    def __init__(self) -> None:
        self.sound = 0
        self.packets = 0
        self.reason = ""

    @property
    def told(self) -> str | None:
        """What there is to say of them; None if nothing is."""
        whole = self.packets + self.sound
        return f"{self.packets} of {whole} packets could not be decoded" if self.packets else None


def frames_of(packets: Iterator[Any], broken: Broken) -> Iterator[Any]:
    """Decode packets to FFmpeg's frames; what cannot be decoded is noted and left out."""
    while True:
        try:
            packet = next(packets, None)  # after an error of the container itself this is None
            frames = [] if packet is None else packet.decode()
        except av.error.FFmpegError as error:
            broken.packets += 1
            broken.reason = error.strerror or str(error)
            continue
        if packet is None:
            return
        broken.sound += bool(frames)
        for frame in frames:
            _check_rate(frame.sample_rate)  # what a frame says need not be what the header said
            yield frame


def channels_of(frame: Any) -> npt.NDArray[np.float32]:
    """Return a frame's samples as channels x samples, full scale = 1."""
    values = frame.to_ndarray()
    if not frame.format.is_planar:
        values = values.reshape(-1, frame.layout.nb_channels).T
    if values.dtype == np.uint8:
        return np.asarray((values - np.float32(128)) / np.float32(128))
    if values.dtype.kind == "i":
        return np.asarray(values / -float(np.iinfo(values.dtype).min), dtype=np.float32)
    return np.asarray(values, dtype=np.float32)


def _gathered(frames: _Blocks) -> _Blocks:
    """Join the thousand-sample frames of a codec to blocks worth resampling."""
    parts: list[Samples] = []
    size = 0
    last_rate = 0
    for rate, block in frames:
        if parts and (rate != last_rate or size >= _BLOCK // 2):
            yield last_rate, np.concatenate(parts)
            parts, size = [], 0
        last_rate = rate
        parts.append(block)
        size += len(block)
    if parts:
        yield last_rate, np.concatenate(parts)


def check_kind(codec: str, rate: int) -> None:
    """Refuse what is no music, whatever a decoder takes it for; by `DecoderError`."""
    if codec in _NOT_MUSIC:
        raise DecoderError(f"it looks like {codec}, which text in UTF-16 does")
    _check_rate(rate)


def _check_rate(rate: int) -> None:
    if not _RATES[0] <= rate <= _RATES[1]:
        raise DecoderError(f"it says {rate} samples a second")


def _mono(channels: npt.NDArray[np.float32]) -> Samples:
    """Return the mean of the channels (channels x samples); sums of rows are faster than numpy's mean of columns."""
    mixed = np.array(channels[0])
    with np.errstate(over="ignore", invalid="ignore"):  # float files may hold anything
        for channel in channels[1:]:
            mixed += channel
        if len(channels) > 1:
            mixed *= np.float32(1 / len(channels))
    if len(mixed) and not (mixed.max() <= LOUDEST and mixed.min() >= -LOUDEST):
        np.nan_to_num(mixed, copy=False, nan=0.0, posinf=LOUDEST, neginf=-LOUDEST)
        np.clip(mixed, -LOUDEST, LOUDEST, out=mixed)
    return mixed


def _resampled(blocks: _Blocks, sample_rate: int) -> Iterator[Samples]:
    """Bring blocks to one rate; the result does not depend on where the blocks begin."""
    resampler = None
    rate = sample_rate
    for next_rate, block in blocks:
        if next_rate != rate and resampler is not None:  # some broadcast files change in the middle
            yield from _some(resampler.resample_chunk(np.empty(0, dtype=np.float32), last=True))
            resampler = None
        if resampler is None and next_rate != sample_rate:
            resampler = soxr.ResampleStream(next_rate, sample_rate, 1, dtype="float32", quality="HQ")
        rate = next_rate
        yield from _some(block if resampler is None else resampler.resample_chunk(block))
    if resampler is not None:
        yield from _some(resampler.resample_chunk(np.empty(0, dtype=np.float32), last=True))


def _some(block: Samples) -> Iterator[Samples]:
    if len(block):
        yield block
