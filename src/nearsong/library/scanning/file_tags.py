"""Files whose sound may be known already, as they were moved, copied or touched -> content and tags, read in workers.

Not in the scan's own process: a file on a network may take for ever to open.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from nearsong.audio import map_audio_files
from nearsong.audio.tags import Tags, read_tags
from nearsong.errors import AudioError, UnreadableAudioError
from nearsong.library.files.find import content_key
from nearsong.library.files.storage import at_hand
from nearsong.library.scanning.report import ScanOptions


class TaggedContent(NamedTuple):
    """What a file holds: the key of its content, and its tags."""

    content: str
    tags: Tags


def tags_of_files(
    paths: Iterable[str], roots: Sequence[str], options: ScanOptions, map_files: Callable[..., Any] | None = None
) -> Iterator[tuple[str, TaggedContent | AudioError]]:
    """Yield content and tags of files in order of completion; an error if a worker crashed or exceeded its limits.

    They are read by `map_audio_files` here, or by what does the same on a cluster.
    """
    read = partial(tags_of_file, tuple(roots))
    reading = map_files or map_audio_files
    results = reading(read, paths, workers=options.workers, timeout=options.timeout, nice=options.nice)
    for path, result in results:
        yield os.fspath(path), result


def tags_of_file(roots: Sequence[str], path: str | os.PathLike[str]) -> TaggedContent:
    """Return a file's content and tags, completed from its path below a scanned folder; runs in a scan's workers."""
    name = os.fspath(path)
    with at_hand(name) as file:
        try:
            content = content_key(file)
        except OSError as error:
            raise UnreadableAudioError(name, f"cannot be opened ({error.strerror}).") from error
        return TaggedContent(content, read_tags(file, root_of(name, roots), named=name))


def root_of(path: str, roots: Sequence[str]) -> str | None:
    """Return the outermost of some folders that a file is in: the path below it may name artist and album."""
    containing = [root for root in roots if path.startswith(os.path.join(root, ""))]
    return min(containing, key=len, default=None)
