"""An ordered list of songs -> a playlist file, or its text, in any format of :mod:`nearsong.listens.playlists`."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from nearsong.atomic_write import atomic_write
from nearsong.errors import InvalidInputError, LibraryError
from nearsong.listens.playlists import PLAYLIST_FORMATS, ListedSong
from nearsong.names import readable
from nearsong.validation import check_choice


def write_playlist(path: str | os.PathLike[str], songs: Iterable[ListedSong], title: str = "") -> Path:
    """Write a playlist in the format given by the file name's extension.

    Parameters
    ----------
    path : path-like
        An existing file is replaced atomically.
    songs : iterable of ListedSong
    title : str
        Title of the playlist; formats that require one default to the file name.

    Raises
    ------
    InvalidInputError
        If no format has this extension.
    LibraryError
        If the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    format = next((format for format in PLAYLIST_FORMATS.values() if ending in format.endings), None)
    if format is None:
        endings = [ending for format in PLAYLIST_FORMATS.values() for ending in format.endings]
        raise InvalidInputError(
            f"Unknown playlist format: {readable(path.name)}; use {', '.join(endings[:-1])} or {endings[-1]}."
        )
    text = format.write(songs, title or (path.stem if format.needs_title else ""), str(path.parent))
    try:
        with atomic_write(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise LibraryError(
            f"{readable(str(path))} cannot be written ({error.strerror}); choose another file or folder."
        ) from error
    return path


def folder_of_songs(songs: Collection[ListedSong], folders: Collection[str]) -> str | None:
    """Return the scanned folder that some songs are in; of several, the folder above them; None if there is none.

    A playlist in it can have relative paths, which hold on a phone too, wherever it keeps a copy of the folder.
    """
    starts = {folder: os.path.join(folder, "") for folder in folders}
    inside = {
        folder
        for folder in starts
        if any(song.path.startswith(starts[folder]) for song in songs)
        and not any(starts[folder].startswith(start) for other, start in starts.items() if other != folder)
    }
    if not inside or not all(song.path.startswith(tuple(starts.values())) for song in songs):
        return None
    try:
        return os.path.commonpath(sorted(inside))
    except ValueError:  # on different drives
        return None


def playlist_text(
    songs: Iterable[ListedSong], format: str, title: str = "", folder: str | os.PathLike[str] | None = None
) -> str:
    """Return a playlist file as text, to be encoded as UTF-8.

    Parameters
    ----------
    songs : iterable of ListedSong
    format : str
        A name in ``PLAYLIST_FORMATS``.
    title : str
        Title of the playlist.
    folder : path-like, optional
        Folder that paths are relative to; by default paths are absolute.
    """
    check_choice(format, "format", tuple(PLAYLIST_FORMATS))
    return PLAYLIST_FORMATS[format].write(songs, title, None if folder is None else os.fspath(folder))
