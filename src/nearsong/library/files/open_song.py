"""A song -> its file, open for reading, if it is the file that was scanned.

Anyone who can write to a music folder could replace a song by a symbolic link to any file, and a service with more
permissions would serve it. So the file is opened once, through `guarded_file`. It is served

- if its path contains no link, or only links within the scanned folders. No other check is made, so that a song whose
  tags were edited plays before the next scan;
- if links lead out of those folders (to an album on another disk, for example), only if size and modification time
  are those of the scan; otherwise it has to be scanned again. Checking every file this strictly would block whole
  albums after their tags were edited, and audio files cannot be recognised reliably by their content.
"""

import os
from io import FileIO

from nearsong.errors import NoSuchSongError
from nearsong.guarded_file import leads_within, open_regular
from nearsong.library.files.find import MAX_MODIFIED_NS
from nearsong.library.records import Song
from nearsong.library.store import Store
from nearsong.path_names import STREAMED_PREFIX, is_remote, is_streamed


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
    if is_streamed(song.path):
        server = song.path.removeprefix(STREAMED_PREFIX).partition("/")[0]
        raise NoSuchSongError(f"the file of song {song.id} is on the server {server}; play it there.")
    if is_remote(song.path):
        raise NoSuchSongError(
            f"the file of song {song.id} is in shared storage ({song.path}), which nearsong analyses but does not "
            "play; mount it as a folder and scan that to play it."
        )
    try:
        file = open_regular(song.path)
    except OSError:
        raise NoSuchSongError(f"the file of song {song.id} is missing; restore it and scan again.") from None
    try:
        if not _is_scanned_file(store, song, file):
            raise NoSuchSongError(
                f"the file of song {song.id} is a link to a file outside the scanned folders; scan again."
            )
    except BaseException:
        file.close()
        raise
    return file


def _is_scanned_file(store: Store, song: Song, file: FileIO) -> bool:
    """Return whether the open file is the one that was scanned under the song's path."""
    if leads_within(file, song.path, store.songs.roots):
        return True
    known, facts = store.songs.known_file(song.path), os.fstat(file.fileno())
    return known is not None and (known.size, known.modified) == (
        facts.st_size,
        min(facts.st_mtime_ns, MAX_MODIFIED_NS),
    )
