"""A song -> its file, open for reading; only if it is the file that the library means.

Whoever may write into a music folder could put a link to any file in the place of a song and have it read by a
program that may read more than they may. So a file is opened once, and whatever is found out is found out about what
was opened. It is served

- if no link leads to it, or only links within the folders that were scanned. Nothing else is asked: a song that was
  tagged anew plays before the next scan;
- if links lead out of those folders, as those to an album on another disk do, only if it still has the size and the
  date that the scan saw. One that was changed since has to be scanned again; asking as much of every file would
  silence whole albums after a change of tags, and their contents cannot be told from other files by a look at them.
"""

import os
import stat
from io import FileIO

from nearsong.errors import NoSuchSongError
from nearsong.library.records import Song
from nearsong.library.store import Store
from nearsong.library.walk import LATEST

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)  # a pipe in the place of a file must not make us wait for a writer


def open_song_file(store: Store, song: Song) -> FileIO:
    """Open the file of a song.

    Parameters
    ----------
    store : Store
        Knows what was scanned.
    song : Song

    Returns
    -------
    FileIO
        A regular file at its beginning; to be closed by the caller.

    Raises
    ------
    NoSuchSongError
        If it is not there, or is not the one that was scanned.
    """
    try:
        number = os.open(song.path, _FLAGS)
    except (OSError, ValueError):
        raise _gone(song) from None
    file: FileIO | None = None
    try:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise _gone(song)
        if not _is_meant(store, song, facts):
            raise NoSuchSongError(
                f"the file of song {song.id} is a link that leads out of the folders that were scanned, to one that "
                "the scan did not see; scan again."
            )
        file = FileIO(number, "rb")
        return file
    finally:
        if file is None:
            os.close(number)


def _gone(song: Song) -> NoSuchSongError:
    return NoSuchSongError(f"the file of song {song.id} is gone; bring it back and scan again.")


def _is_meant(store: Store, song: Song, facts: os.stat_result) -> bool:
    """Say whether a file that was opened is the one that was scanned under a song's path."""
    real = os.path.realpath(song.path)
    if _is_at(real, facts) and (real == song.path or any(_is_below(real, root) for root in store.songs.roots())):
        return True
    known = store.songs.known_file(song.path, ear_id=-1)
    return known is not None and (known.size, known.modified) == (facts.st_size, min(facts.st_mtime_ns, LATEST))


def _is_at(path: str, facts: os.stat_result) -> bool:
    """Say whether a path without links leads to what was opened: the links may have been others a moment ago."""
    try:
        return os.path.samestat(os.lstat(path), facts)
    except OSError:
        return False


def _is_below(real: str, root: str) -> bool:
    top = os.path.realpath(root)
    return real == top or real.startswith(os.path.join(top, ""))
