"""Files whose sound is known already, as they were moved, copied or touched -> their tags, read in workers."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from nearsong.audio import map_audio_files
from nearsong.audio.tags import Tags, read_tags
from nearsong.errors import AudioError
from nearsong.library.scanning.report import ScanOptions


def tags_of_files(
    paths: Iterable[str], roots: Sequence[str], options: ScanOptions
) -> Iterator[tuple[str, Tags | AudioError]]:
    """Yield the tags of files in order of completion; an error if a file's worker crashed or exceeded its limits."""
    read = partial(tags_of_file, tuple(roots))
    results = map_audio_files(read, paths, workers=options.workers, timeout=options.timeout, nice=options.nice)
    for path, result in results:
        yield os.fspath(path), result


def tags_of_file(roots: Sequence[str], path: str | os.PathLike[str]) -> Tags:
    """Return the tags of a file, completed from its path below a scanned folder; runs in a scan's workers."""
    return read_tags(path, root_of(os.fspath(path), roots))


def root_of(path: str, roots: Sequence[str]) -> str | None:
    """Return the outermost of some folders that a file is in: the path below it may name artist and album."""
    containing = [root for root in roots if path.startswith(os.path.join(root, ""))]
    return min(containing, key=len, default=None)
