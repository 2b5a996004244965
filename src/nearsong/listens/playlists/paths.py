"""The path of a song -> its line in a playlist file."""

import ntpath
import os
from contextlib import suppress
from types import ModuleType

from nearsong.listens.playlists.playlist_format import file_url, one_line
from nearsong.path_names import is_remote, is_streamed


def path_line(path: str, folder: str | None) -> str:
    """Return a path in one line, relative to a folder; absolute if that is None.

    A path that cannot be written as a line of UTF-8 (with a line break, or bytes that are not UTF-8) becomes a
    ``file:`` URL, which players also support. A streamed song keeps its address, which names it and plays nowhere;
    one of shared storage its URL.
    """
    if is_streamed(path) or is_remote(path):
        return path
    absolute = line = os.path.abspath(path)
    if folder is not None:
        # Links are resolved for the folders of both files, since ".." leads up from there; a song that is a link
        # itself keeps its name.
        absolute = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
        line = relative_path(absolute, os.path.realpath(folder), os.path)
    return line if one_line(line) == line else file_url(absolute)


def relative_path(path: str, folder: str, flavour: ModuleType) -> str:
    """Return a path relative to a folder, with ``/``; the absolute path if they are on different drives."""
    with suppress(ValueError):
        path = flavour.relpath(path, folder)
    return path.replace("\\", "/") if flavour is ntpath else path
