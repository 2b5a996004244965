"""Files that are known but were not found -> songs that are marked missing or removed."""

import os
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from nearsong.library.files.find import Found, FoundFile
from nearsong.library.store import KnownFile, Store
from nearsong.types import Note


class MissingSongs(NamedTuple):
    """How many songs of the scanned folders have no file: removed from the library, or kept and marked missing."""

    removed: int
    missing: int


def account_for_missing(
    store: Store,
    folders: Sequence[str],
    found: Found,
    known: Mapping[str, KnownFile],
    *,
    prune: bool,
    note: Note,
) -> MissingSongs:
    """Mark songs of some folders whose files are gone as missing, or remove them.

    Parameters
    ----------
    store : Store
    folders : sequence of str
        The scanned folders.
    found : Found
        The files in them.
    known : mapping of str to KnownFile
        What the library knew when the scan began.
    prune : bool
        Whether to remove such songs.
    note : callable
        Called with a line for the user.
    """
    lost = _lost_paths(folders, found, known)
    files = {path: file for path, file in store.songs.known_files().items() if path in lost} if lost else {}
    songs = {path: file for path, file in files.items() if file.is_song}
    _remove(store, [file for file in files.values() if not file.is_song])
    if not prune:
        return MissingSongs(removed=0, missing=_mark_missing(store, songs.values()))
    doubtful = _in_empty_folders(songs, folders, found)
    removed = _remove(store, [file for path, file in songs.items() if path not in doubtful])
    missing = _mark_missing(store, [songs[path] for path in doubtful])
    if doubtful:
        note(
            f"{len(doubtful):,} songs are in folders that are empty now, as if a drive were not connected; they were "
            "kept. Prune again to remove them."
        )
    return MissingSongs(removed=removed, missing=missing)


def _remove(store: Store, files: Collection[KnownFile]) -> int:
    """Remove files from the library, and return how many there are."""
    if files:
        store.songs.remove([file.id for file in files])
    return len(files)


def _mark_missing(store: Store, files: Collection[KnownFile]) -> int:
    """Mark songs as missing that are not yet, and return how many are missing now."""
    newly_missing = [file.id for file in files if not file.missing]
    if newly_missing:
        store.songs.set_missing(newly_missing, True)
    return len(files)


def _in_empty_folders(songs: Mapping[str, KnownFile], folders: Sequence[str], found: Found) -> set[str]:
    """Return the songs, not marked missing yet, of folders without any file.

    A drive that is not connected looks like an empty folder, so its songs are removed at the second prune only.
    """
    empty = _inside([folder for folder in folders if _is_empty(folder, found.files)])
    return {path for path, file in songs.items() if path.startswith(empty) and not file.missing}


def _lost_paths(folders: Sequence[str], found: Found, known: Mapping[str, KnownFile]) -> set[str]:
    """Return the known files below the folders that were not found, except where nothing could be looked at."""
    found_paths = {file.path for file in found.files}
    inside, below_inaccessible = _inside(folders), _inside(found.inaccessible)
    lost = {path for path in known if path not in found_paths and path.startswith(inside)}
    return {path for path in lost if path not in found.inaccessible and not path.startswith(below_inaccessible)}


def _inside(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(os.path.join(folder, "") for folder in folders)


def _is_empty(folder: str, files: list[FoundFile]) -> bool:
    """Return whether no file, of a sorted list, is in a folder."""
    start = os.path.join(folder, "")
    first = bisect_left(files, start, key=lambda file: file.path)
    return first == len(files) or not files[first].path.startswith(start)
