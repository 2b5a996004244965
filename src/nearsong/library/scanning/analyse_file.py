"""A file -> what a scan stores of it: song vectors, tags, and a hash of its content.

An uploaded file is analysed once, up to a length, and not stored: `analyse_upload`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from nearsong.audio import stream_audio
from nearsong.audio.decode import AudioDamage, Samples
from nearsong.audio.tags import Tags, guess_from_path, read_tags
from nearsong.errors import AudioError, ChangedAudioError, SilentAudioError, TooShortAudioError, UnreadableAudioError
from nearsong.guarded_file import open_regular
from nearsong.library.files.find import MAX_MODIFIED_NS, content_key
from nearsong.library.files.storage import at_hand, remote_size_and_date
from nearsong.library.scanning.file_tags import root_of
from nearsong.library.scanning.set_aside import SoundOutline
from nearsong.model import EncodedFile, SongEncoder
from nearsong.model.encoders import encode_file, load_encoder
from nearsong.model.encoders.base import encode_samples, readers_of
from nearsong.path_names import is_remote
from nearsong.types import FloatArray

MAX_SILENCE = 1e-4
"""Peak of a file that is silent, -80 dB: dithered silence stays below."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AnalysedFile:
    """A file as a worker analysed it; ``vectors`` by encoder id, none if it is ``set_aside`` for a reason."""

    vectors: dict[int, FloatArray]
    seconds: float
    damage: str | None
    content: str
    tags: Tags
    set_aside: str = ""


def analyse_file(
    encoders: Mapping[int, SongEncoder],
    roots: Sequence[str],
    path: str | os.PathLike[str],
    *,
    keep_all: bool = False,
) -> AnalysedFile:
    """Encode a file and read its content and tags; runs in a scan's workers.

    Of a file without music there is the reason instead of vectors, unless all files are kept.
    """
    name = os.fspath(path)
    before = size_and_date(name)
    with at_hand(name) as file:
        analysed = _analyse(encoders, roots, name, file, keep_all)
    if size_and_date(name) != before:
        raise ChangedAudioError(name, "changed while it was read; scan again.")
    return analysed


def _analyse(
    encoders: Mapping[int, SongEncoder], roots: Sequence[str], name: str, file: str, keep_all: bool
) -> AnalysedFile:
    """Encode the file of a song that is stored under a name."""
    try:
        content = content_key(file)
    except OSError as error:
        raise UnreadableAudioError(name, f"cannot be opened ({error.strerror}).") from error
    outlines: list[SoundOutline] = []

    def measured(blocks: Iterator[Samples], rate: int) -> Iterator[Samples]:
        outlines.append(SoundOutline(blocks, rate))
        return iter(outlines[-1])

    encoded = encode_file(tuple(encoders.values()), file, measured)
    set_aside = "" if keep_all else outlines[0].reason(encoded.seconds)
    damages = [encoded.damage] if encoded.damage else []
    tags = read_tags(file, root_of(name, roots), damages.append, named=name)
    return AnalysedFile(
        vectors={} if set_aside else dict(zip(encoders, encoded.vectors, strict=True)),
        seconds=encoded.seconds,
        damage=damages[0] if damages else None,
        content=content,
        tags=tags,
        set_aside=set_aside,
    )


@dataclass(frozen=True, eq=False)
class AnalysedUpload:
    """An uploaded file as a worker analysed it.

    ``damage_details`` are the decoders' own messages about a damaged file, for the log.
    """

    sound: EncodedFile
    tags: Tags
    damage_details: str = ""


def analyse_upload(
    encoder: SongEncoder, path: str | os.PathLike[str], name: str, max_seconds: float
) -> AnalysedUpload:
    """Analyse a file that is not to be stored.

    Parameters
    ----------
    encoder : SongEncoder
    path : path-like
        A temporary file; nothing is guessed from its path.
    name : str
        The sender's file name, which may name artist and title if the tags do not.
    max_seconds : float
        Only this much of a longer file is used: half an hour is enough to describe a concert. Its ``damage`` says so.

    Raises
    ------
    AudioError
        If it cannot be read, is too short or silent.
    """
    file = os.fspath(path)
    damages: list[AudioDamage] = []
    vectors: dict[int, FloatArray] = {}
    is_cut, peak, seconds = False, 0.0, 0.0
    for (rate, excerpt), chosen in readers_of(encoder.encoders).items():
        limit = _SampleLimit(int(max_seconds * rate))
        lengths: list[float] = []
        blocks = stream_audio(
            file, sample_rate=rate, on_damage=damages.append, excerpt=excerpt, on_length=lengths.append
        )
        encoders = [encoder.encoders[i] for i in chosen]
        encoded, n_samples = encode_samples(encoders, _long_enough(limit.apply(blocks), file, encoders))
        vectors |= dict(zip(chosen, encoded, strict=True))
        is_cut, peak = is_cut or limit.is_cut, max(peak, limit.peak)
        seconds = lengths[0] if lengths else n_samples / rate
    if peak <= MAX_SILENCE:
        raise SilentAudioError(file, "is silent; there is nothing to compare.")
    damage = damages[0].summary if damages else None
    if is_cut:
        damage = f"it is longer than {_in_words(max_seconds)}; only its beginning was used."
    encoded_file = EncodedFile((np.concatenate([vectors[i] for i in sorted(vectors)]),), seconds, damage)
    return AnalysedUpload(encoded_file, _tags_of_upload(file, name), "; ".join(map(str, damages)))


def analyse_upload_with(
    path: str | os.PathLike[str], encoder_file: str | os.PathLike[str], name: str, max_seconds: float
) -> AnalysedUpload:
    """Analyse a file with the encoder of a model file; runs in the service's workers, which cache the encoder."""
    return analyse_upload(_encoder_of(os.fspath(encoder_file)), path, name, max_seconds)


@lru_cache(maxsize=1)
def _encoder_of(file: str) -> SongEncoder:
    return load_encoder(file)


class _SampleLimit:
    """Passes samples on up to a number, and measures their peak."""

    def __init__(self, max_samples: int) -> None:
        self._left = max_samples
        self.peak = 0.0
        self.is_cut = False

    def apply(self, blocks: Iterator[Samples]) -> Iterator[Samples]:
        for block in blocks:
            if not self._left:
                self.is_cut = True
                return
            part = block[: self._left]
            self._left -= len(part)
            self.is_cut = len(part) < len(block)
            self.peak = max(self.peak, float(np.abs(part).max()))
            yield part
            if self.is_cut:
                return


def _long_enough(blocks: Iterator[Samples], path: str, encoders: Sequence[SongEncoder]) -> Iterator[Samples]:
    """Pass samples on; raise if there are too few of them."""
    n_samples = 0
    for block in blocks:
        n_samples += len(block)
        yield block
    n_needed = max(encoder.features.min_samples for encoder in encoders)
    if n_samples < n_needed:
        milliseconds = 1000 * n_needed / encoders[0].features.sample_rate
        raise TooShortAudioError(path, f"is shorter than {milliseconds:.0f} ms, too short to analyse.")


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"


def _tags_of_upload(path: str, name: str) -> Tags:
    """Return the tags of a file; what is missing is guessed from the sender's file name, not from the path."""
    folder = os.path.dirname(path)
    tags, from_path, from_name = read_tags(path, folder), guess_from_path(path, folder), guess_from_path(name)
    guessed = [field.name for field in fields(Tags) if getattr(tags, field.name) == getattr(from_path, field.name)]
    return replace(tags, **{name: getattr(from_name, name) for name in guessed})


def size_and_date(path: str) -> tuple[int, int]:
    """Return size in bytes and modification time in nanoseconds since 1970."""
    if is_remote(path):
        return remote_size_and_date(path)
    try:
        status = os.stat(path)
    except OSError as error:
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}).") from error
    return status.st_size, min(status.st_mtime_ns, MAX_MODIFIED_NS)


def can_be_opened(path: str) -> bool:
    """Return whether a file can be opened for reading; of a remote one it is known when it was fetched."""
    if is_remote(path):
        return True
    try:
        with open_regular(path) as file:
            file.read(1)
    except OSError:
        return False
    return True


def is_unchanged(path: str, size: int, modified: int) -> bool:
    """Return whether a file exists with the size and date that it had."""
    try:
        return size_and_date(path) == (size, modified)
    except AudioError:
        return False


def is_same_content(path: str, size: int, modified: int, content: str) -> bool:
    """Return whether a file has a content, or at least the size and date that it had with it.

    A remote file is not fetched to know this: if it has changed, it counts as another one.
    """
    if is_remote(path):
        return is_unchanged(path, size, modified)
    try:
        return is_unchanged(path, size, modified) or content_key(path) == content
    except OSError:
        return False
