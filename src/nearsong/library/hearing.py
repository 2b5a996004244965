"""A file -> what a scan keeps of it: its sound, its tags, and what tells whether it has changed."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearsong.errors import AudioError, UnreadableAudioError
from nearsong.library.file_tags import read_tags
from nearsong.library.records import Tags
from nearsong.library.walk import LATEST, content_key
from nearsong.model import Ear, EncodedFile


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
        raise UnreadableAudioError(name, "was changed while it was read; scan again.")
    return heard


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
