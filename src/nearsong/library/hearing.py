"""A file -> what a scan keeps of it: its sound, its tags, and what tells whether it has changed.

A file that was sent is heard once, up to a length, and nothing of it is kept: `hear_upload`.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from nearsong.audio import stream_audio
from nearsong.audio.decode import Samples
from nearsong.errors import AudioError, ChangedAudioError, TooShortAudioError, UnreadableAudioError
from nearsong.library.file_tags import guess_from_path, read_tags
from nearsong.library.records import Tags
from nearsong.library.walk import LATEST, content_key
from nearsong.model import Ear, EncodedFile

SILENCE = 1e-4
"""A file that is nowhere louder, -80 dB, has nothing to compare: dithered silence stays below."""


@dataclass(frozen=True, eq=False)
class HeardFile:
    """What a worker brings back."""

    sound: EncodedFile
    content: str
    tags: Tags


def hear_file(ear: Ear, roots: Sequence[str], path: str | os.PathLike[str]) -> HeardFile:
    """Read a file's sound, content and tags; what a scan's workers do."""
    name = os.fspath(path)
    before = size_and_date(name)
    try:
        content = content_key(name)
    except OSError as error:
        raise UnreadableAudioError(name, f"cannot be opened ({error.strerror}).") from error
    sound = ear.encode_file(name)
    if sound.damage is not None:
        sound = replace(sound, damage=sound.damage.removeprefix(f"{name}: "))
    heard = HeardFile(sound, content, read_tags(name, root_of(name, roots)))
    if size_and_date(name) != before:
        raise ChangedAudioError(name, "was changed while it was read; scan again.")
    return heard


@dataclass(frozen=True, eq=False)
class HeardUpload:
    """What a worker brings back of a file that was sent: its sound, as far as it was heard, and its tags."""

    sound: EncodedFile
    tags: Tags


def hear_upload(ear: Ear, path: str | os.PathLike[str], name: str, longest_seconds: float) -> HeardUpload:
    """Hear a file that is not to be kept.

    Parameters
    ----------
    ear : Ear
    path : path-like
        Where it is just now; nothing is guessed from this.
    name : str
        What the sender calls it, which may tell artist and title if the file does not.
    longest_seconds : float
        Of a longer file only so much is heard: half an hour tells what it sounds like, and whoever asks about a
        concert would rather have an answer than a refusal. Its ``damage`` says so.

    Raises
    ------
    AudioError
        If it gives no sound, too little, or silence alone.
    """
    file = os.fspath(path)
    features = ear.features
    said: list[str] = []
    listened = _Listened(int(longest_seconds * features.sample_rate))
    sound = listened.to(stream_audio(file, sample_rate=features.sample_rate, on_damage=said.append))
    vector, n_frames = ear.count(features.stream(_long_enough(sound, file, ear)))
    if listened.peak <= SILENCE:
        raise UnreadableAudioError(file, "holds silence alone; there is nothing to compare.")
    damage = said[0].removeprefix(f"{file}: ") if said else None
    if listened.cut:
        damage = f"it is longer than {_in_words(longest_seconds)}; so much from its start was heard."
    encoded = EncodedFile(vector, (n_frames - 1) * features.seconds_a_frame, damage)
    return HeardUpload(encoded, _tags_of_upload(file, name))


def hear_upload_with(
    path: str | os.PathLike[str], ear_file: str | os.PathLike[str], name: str, longest_seconds: float
) -> HeardUpload:
    """Hear a file with the ear of a model file; what the workers of a service do, which keep the last ear."""
    return hear_upload(_ear_of(os.fspath(ear_file)), path, name, longest_seconds)


@lru_cache(maxsize=1)
def _ear_of(file: str) -> Ear:
    return Ear.load(file)


class _Listened:
    """Lets samples through up to a number, and remembers how loud they were."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.peak = 0.0
        self.cut = False

    def to(self, blocks: Iterator[Samples]) -> Iterator[Samples]:
        for block in blocks:
            if not self._left:
                self.cut = True
                return
            part = block[: self._left]
            self._left -= len(part)
            self.cut = len(part) < len(block)
            self.peak = max(self.peak, float(np.abs(part).max()))
            yield part
            if self.cut:
                return


def _long_enough(blocks: Iterator[Samples], path: str, ear: Ear) -> Iterator[Samples]:
    """Let samples through; too few of them are an error of the file."""
    n_samples = 0
    for block in blocks:
        n_samples += len(block)
        yield block
    if n_samples < ear.features.min_samples:
        least = 1000 * ear.features.min_samples / ear.features.sample_rate
        raise TooShortAudioError(path, f"is shorter than the {least:.0f} ms that are needed; take a longer piece.")


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"


def _tags_of_upload(path: str, name: str) -> Tags:
    """Return what the file says; what it does not say is guessed from the sender's name, not from the path."""
    folder = os.path.dirname(path)
    tags, from_path, from_name = read_tags(path, folder), guess_from_path(path, folder), guess_from_path(name)
    guessed = [one.name for one in fields(Tags) if getattr(tags, one.name) == getattr(from_path, one.name)]
    return replace(tags, **{field: getattr(from_name, field) for field in guessed})


def root_of(path: str, roots: Sequence[str]) -> str | None:
    """Return the outermost of some folders that a file is in: what lies below it may tell artist and album."""
    around = [root for root in roots if path.startswith(os.path.join(root, ""))]
    return min(around, key=len, default=None)


def size_and_date(path: str) -> tuple[int, int]:
    """Return what tells whether a file has changed: bytes, and nanoseconds since 1970."""
    try:
        facts = os.stat(path)
    except OSError as error:
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}).") from error
    return facts.st_size, min(facts.st_mtime_ns, LATEST)


def can_be_opened(path: str) -> bool:
    """Say whether a file can be read at all, whatever is in it."""
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError:
        return False
    return True


def is_as_it_was(path: str, size: int, modified: int) -> bool:
    """Say whether a file is there with the size and date that it had."""
    try:
        return size_and_date(path) == (size, modified)
    except AudioError:
        return False


def is_still_there(path: str, size: int, modified: int, content: str) -> bool:
    """Say whether a file has the content that it had when it was of some size and date."""
    try:
        return is_as_it_was(path, size, modified) or content_key(path) == content
    except OSError:
        return False
