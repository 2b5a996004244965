"""A library -> the folders that are scanned, what is in them, and what removing one of them does."""

import os
from dataclasses import dataclass

from nearsong.errors import InvalidInputError
from nearsong.library.files.find import printable
from nearsong.library.store import Store
from nearsong.names import count, readable
from nearsong.path_names import is_remote


@dataclass(frozen=True, kw_only=True)
class ScannedFolder:
    """A folder that scans read.

    Attributes
    ----------
    path : str
    scanned : float
        When a scan of it last began, in seconds since 1970.
    songs, missing, unreadable : int
        Songs below it, songs whose files are missing, and files that could not be read.
    exists : bool
        Whether the folder is there now; a drive may not be connected. Shared storage is not asked.
    """

    path: str
    scanned: float
    songs: int
    missing: int
    unreadable: int
    exists: bool

    @property
    def removal_words(self) -> str:
        """What removing it does, and how it can be undone."""
        if not self.songs:
            return "No song is in it. Its files stay as they are."
        songs, them = ("Its 1 song leaves", "it") if self.songs == 1 else (f"Its {self.songs:,} songs leave", "them")
        return (
            f"{songs} the library: nothing finds, plays or draws {them} any more. Files, plays, hearts and playlists "
            f"stay as they are, and so does what is known about the sound: scan the folder again, and all of it is "
            "back within seconds."
        )


def scanned_folders(store: Store) -> list[ScannedFolder]:
    """Return the folders that scans read, sorted."""
    return [  # from the rows of the store, and the disk
        ScannedFolder(**root._asdict(), exists=is_remote(root.path) or os.path.isdir(root.path))
        for root in store.songs.root_facts()
    ]


def remove_folder(store: Store, path: str, *, forget: bool = False) -> str:
    """Scan a folder no longer; return what became of its songs, in words.

    Parameters
    ----------
    store : Store
    path : str
        As :func:`scanned_folders` gives it, as :func:`~nearsong.names.readable` shows it, or another path to it.
    forget : bool
        Whether to delete what is known about its songs, too; otherwise they are hidden until it is scanned again.

    Raises
    ------
    InvalidInputError
        If it is not one of the folders.
    """
    known = store.songs.roots()
    wanted = {path, os.path.realpath(os.path.expanduser(path))} if "\0" not in path else {path}
    found = next((root for root in known if root in wanted), None)
    found = found or next((root for root in known if readable(root) == path), None)
    if found is None:
        folders = ", ".join(map(printable, known)) or "none"
        raise InvalidInputError(f"{printable(path)} is not a scanned folder; those are: {folders}.")
    n_songs = store.songs.remove_root(found, forget=forget)
    name = printable(found)
    if not n_songs:
        return f"{name} is no longer scanned; no song was in it alone."
    if forget:
        return f"{name} is no longer scanned, and {count(n_songs, 'song')} with all about them deleted."
    return f"{name} is no longer scanned, and {count(n_songs, 'song')} hidden. To bring all back, scan it again."
