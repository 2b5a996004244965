"""A file of any common format -> mono float32 samples at 22,050 Hz, as one array or as a stream of blocks.

Two decoders: libsndfile (soundfile) and FFmpeg (PyAV). Where one fails in the middle of a damaged file the other
continues from the same sample, so that a song is lost only if neither can read it.
"""

import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from nearsong.audio.excerpt import Excerpt, Span, check_excerpt, frames_from, middle, middle_of_packets
from nearsong.audio.ffmpeg import SAMPLE_RATES, DecoderError, channels_of, check_codec, frames_of, opened_by_ffmpeg
from nearsong.audio.headers.truncation import missing_end
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

MAX_AMPLITUDE = 1e6
"""Float files can hold any value; samples are clipped here, so that their power stays within float32."""

# First bytes of files for which libsndfile is tried first. FFmpeg decodes Vorbis in two thirds and Opus in a third of
# its time, finds all parts of joined MP3 files, and reads all other formats (docs/decisions/0009-decoders.md).
_SOUNDFILE_FIRST = {b"RIFF", b"RIFX", b"RF64", b"FORM", b"fLaC", b"caff", b".snd"}


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
    excerpt: float = 0.0,
    on_length: Callable[[float], None] | None = None,
) -> Iterator[Samples]:
    """Read an audio file block by block: the same samples as `load_audio`, in bounded memory.

    Parameters
    ----------
    path, sample_rate
        As in `load_audio`.
    on_damage : callable, optional
        Called if the file is damaged, after its last block; by default a `DamagedAudioWarning` is issued.
    excerpt : float, default=0
        Read only this many seconds from the middle of the song; 0 for all of it.
    on_length : callable, optional
        Called with the length of the complete song in seconds, after the last block.

    Yields
    ------
    array of shape (n,), float32
        Consecutive samples; never empty.
    """
    check_count(sample_rate, "sample_rate", SAMPLE_RATES[0])
    excerpt = check_excerpt(excerpt)
    _check_file(path)
    damages: list[str] = []
    n_samples, song_seconds = 0, None
    for part in _excerpts(path, excerpt):
        damages.clear()
        try:
            for block in _resampled(_decoded(path, damages, part.span), sample_rate):
                n_samples += len(block)
                yield block
        except NotAudioError:
            if n_samples or part.span.origin is None:
                raise
        if n_samples:
            song_seconds = None if part.span == Span() else part.song_seconds
            damages = list(part.damages) or damages
            break
    if n_samples == 0:
        raise EmptyAudioError(path, "has no samples; check that it plays.")
    if on_length is not None:
        on_length(n_samples / sample_rate if song_seconds is None else song_seconds)
    if damages:
        damage = AudioDamage(tuple(damages), n_samples / sample_rate)
        if on_damage is not None:
            on_damage(damage)
        else:
            warnings.warn(f"{os.fspath(path)}: {damage}", DamagedAudioWarning, stacklevel=2)


def _excerpts(path: str | os.PathLike[str], seconds: float) -> Iterator[Excerpt]:
    """Yield where to read a file: for an excerpt what its header or packets say, then what counting its samples says.

    The second is needed if the first is not known, or if nothing can be read there.
    """
    if seconds == 0:
        yield Excerpt(Span(), 0.0)
        return
    try:
        found = _soundfile_excerpt(path, seconds) if _is_for_soundfile(path) else _ffmpeg_excerpt(path, seconds)
    except DecoderError:
        found = None
    if found is not None:
        yield found
    n_samples = rate = 0
    damages: list[str] = []
    for block_rate, block in _decoded(path, damages, Span()):
        n_samples, rate = n_samples + len(block), rate or block_rate
    if n_samples:
        yield replace(middle(n_samples, rate, seconds), damages=tuple(damages))


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


def _decoded(path: str | os.PathLike[str], damages: list[str], span: Span) -> _Blocks:
    """Read with one decoder, then continue with the other where the first failed."""
    readers = [_ffmpeg_blocks, _soundfile_blocks]
    if _is_for_soundfile(path):
        readers.reverse()
    n_first = n_read = span.start
    reasons: list[str] = []
    is_empty = False
    for reader in readers:
        n_before = n_read
        try:
            for rate, block in reader(path, damages, span):
                n_read += len(block)
                yield rate, block
        except DecoderError as error:
            reasons.append(str(error))
            span = replace(span, start=n_read, origin=None)
            continue
        is_empty = n_read == n_first
        if n_read > n_before:  # it continued where the other failed, so nothing is lost
            reasons.clear()
            break
        span = replace(span, origin=None)
    n_read -= n_first
    if n_read == 0 and not is_empty:
        raise NotAudioError(path, f"is not a readable audio file ({'; '.join(reasons)}); check that it plays.")
    if n_read:
        damages.extend(reasons)
        damages.extend(filter(None, [missing_end(path)]))


def _is_for_soundfile(path: str | os.PathLike[str]) -> bool:
    """Return whether libsndfile is tried first."""
    return _first_bytes(path) in _SOUNDFILE_FIRST


def _first_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4)
    except OSError as error:
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}); check its permissions.") from error


def _cut(blocks: _Blocks, n_skipped: int, n_wanted: int | None) -> _Blocks:
    """Skip the first samples and return some of the following, all if their number is None."""
    for rate, block in blocks:
        part = block[n_skipped:] if n_wanted is None else block[n_skipped : n_skipped + n_wanted]
        n_skipped = max(0, n_skipped - len(block))
        if n_wanted is not None:
            n_wanted -= len(part)
        if len(part):
            yield rate, part
        if n_wanted == 0:
            return


def _n_wanted(span: Span) -> int | None:
    return None if span.stop is None else span.stop - span.start


@contextmanager
def _opened_by_soundfile(path: str | os.PathLike[str]) -> Iterator[soundfile.SoundFile]:
    # a descriptor instead of a path: libsndfile would guess some formats from the extension
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with soundfile.SoundFile(descriptor, closefd=False) as file:
            check_codec(file.subtype, file.samplerate)
            yield file
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        # the text of a LibsndfileError names the descriptor; error_string does not
        text = getattr(error, "error_string", str(error)).removeprefix("Error : ").rstrip(".")
        raise DecoderError(f"libsndfile: {text}") from error
    finally:
        os.close(descriptor)


def _soundfile_blocks(path: str | os.PathLike[str], damages: list[str], span: Span) -> _Blocks:
    with _opened_by_soundfile(path) as file:
        n_skipped = span.start if span.origin is None else 0
        if span.origin is not None:
            file.seek(span.start)
        yield from _cut(_read_by_soundfile(file), n_skipped, _n_wanted(span))


def _read_by_soundfile(file: soundfile.SoundFile) -> _Blocks:
    buffer = np.empty((max(1, _BLOCK_SAMPLES // file.channels), file.channels), dtype=np.float32)
    while len(block := file.read(out=buffer)):
        yield file.samplerate, _mono(block.T)


def _soundfile_excerpt(path: str | os.PathLike[str], seconds: float) -> Excerpt | None:
    """Return the middle of a song by its header; None if the file ends before what it declares."""
    with _opened_by_soundfile(path) as file:
        is_known = file.frames > 0 and file.seek(file.frames - 1) >= 0 and len(file.read(1)) == 1
        return middle(file.frames, file.samplerate, seconds, Fraction(0)) if is_known else None


def _ffmpeg_blocks(path: str | os.PathLike[str], damages: list[str], span: Span) -> _Blocks:
    # an absolute path, so that FFmpeg does not take a name such as "http:x" for a URL
    with opened_by_ffmpeg(os.path.abspath(path)) as (packets, tally):
        all_frames = ((frame, 0) for frame in frames_of(packets, tally))
        frames = all_frames if span.origin is None else frames_from(packets, tally, span)
        blocks = _gathered((frame.sample_rate, _mono(channels_of(frame))[n_before:]) for frame, n_before in frames)
        yield from _cut(blocks, span.start if span.origin is None else 0, _n_wanted(span))
    damages.extend(filter(None, [tally.damage]))


def _ffmpeg_excerpt(path: str | os.PathLike[str], seconds: float) -> Excerpt | None:
    """Return the middle of a song by its packets; None if these cannot tell."""
    with opened_by_ffmpeg(os.path.abspath(path)) as (packets, _):
        return middle_of_packets(packets, seconds)


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
