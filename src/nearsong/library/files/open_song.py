"""A song -> its file, open for reading, if it is the file that was scanned.

Anyone who can write to a music folder could replace a song by a symbolic link to any file, and a service with more
permissions would serve it. So the file is opened once, and all checks are made on the open descriptor. It is served

- if its path contains no link, or only links within the scanned folders. No other check is made, so that a song whose
  tags were edited plays before the next scan;
- if links lead out of those folders (to an album on another disk, for example), only if size and modification time
  are those of the scan; otherwise it has to be scanned again. Checking every file this strictly would block whole
  albums after their tags were edited, and audio files cannot be recognised reliably by their content.
"""

import os
import stat
from io import FileIO

from nearsong.errors import NoSuchSongError
from nearsong.library.files.find import MAX_MODIFIED_NS
from nearsong.library.records import Song
from nearsong.library.store import Store

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)  # non-blocking: opening a pipe would wait for a writer


def open_song_file(store: Store, song: Song) -> FileIO:
    """Open the file of a song.

    Parameters
    ----------
    store : Store
        Provides the scanned folders and files.
    song : Song

    Returns
    -------
    FileIO
        A regular file, positioned at the start; the caller closes it.

    Raises
    ------
    NoSuchSongError
        If the file does not exist or is not the one that was scanned.
    """
    try:
        descriptor = os.open(song.path, _FLAGS)
    except (OSError, ValueError):
        raise _missing_file_error(song) from None
    file: FileIO | None = None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise _missing_file_error(song)
        if not _is_scanned_file(store, song, facts):
            raise NoSuchSongError(
                f"the file of song {song.id} is a link to a file outside the scanned folders; scan again."
            )
        file = FileIO(descriptor, "rb")
        return file
    finally:
        if file is None:
            os.close(descriptor)


def _missing_file_error(song: Song) -> NoSuchSongError:
    return NoSuchSongError(f"the file of song {song.id} is missing; restore it and scan again.")


def _is_scanned_file(store: Store, song: Song, facts: os.stat_result) -> bool:
    """Return whether the open file is the one that was scanned under the song's path."""
    real = os.path.realpath(song.path)
    if _is_at(real, facts) and (real == song.path or any(_is_below(real, root) for root in store.songs.roots())):
        return True
    known = store.songs.known_file(song.path)
    return known is not None and (known.size, known.modified) == (
        facts.st_size,
        min(facts.st_mtime_ns, MAX_MODIFIED_NS),
    )


def _is_at(path: str, facts: os.stat_result) -> bool:
    """Return whether a resolved path refers to the open file: links may have changed after it was opened."""
    try:
        return os.path.samestat(os.lstat(path), facts)
    except OSError:
        return False


def _is_below(real: str, root: str) -> bool:
    top = os.path.realpath(root)
    return real == top or real.startswith(os.path.join(top, ""))
