"""Scanned folders -> whether files have come or gone since the last scan, at little cost, on any file system.

The time of change of each folder tells whether an entry was added, renamed or removed; only folders that changed are
listed again. So a look at 10,000 folders takes some hundredths of a second on a disk of this machine, and network
folders, where the system cannot notify about changes, work the same. A file that is changed in its folder is found by
the regular scan.
"""

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from time import perf_counter

LOOK_SECONDS = 60.0
"""Shortest time between two looks."""

MAX_SHARE = 0.01
"""Share of the time that looking may take: after a slow look the next one is later."""

SETTLED_SECONDS = 90.0
"""Files are scanned when none have come for this long: an album may still be being copied."""

MAX_UNSETTLED_SECONDS = 1800.0
"""After this long they are scanned even if more are coming."""

MAX_FOLDERS = 500_000


class FolderWatch:
    """Looks for changes in folders.

    Parameters
    ----------
    now : callable
        Returns the time in seconds since 1970.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._next_look = 0.0
        self._listed: dict[str, tuple[int, list[str]]] = {}
        self._digest = ""
        self._first_change: float | None = None
        self._last_change = 0.0

    def digest(self, folders: Sequence[str]) -> str:
        """Return a text that changes with the entries of the folders and those inside them; empty for none."""
        listed: dict[str, tuple[int, list[str]]] = {}
        digest = blake2b(digest_size=16)
        waiting = list(folders)
        while waiting and len(listed) < MAX_FOLDERS:
            folder = waiting.pop()
            if folder in listed:
                continue
            found = self._list(folder)
            if found is None:
                continue
            listed[folder] = found
            digest.update(f"{folder}\0{found[0]}\0".encode("utf-8", "surrogateescape"))
            waiting.extend(found[1])
        self._listed = listed
        return digest.hexdigest() if listed else ""

    def _list(self, folder: str) -> tuple[int, list[str]] | None:
        """Return when a folder changed and the folders in it, sorted; None if it cannot be read."""
        try:
            changed = os.stat(folder).st_mtime_ns
            known = self._listed.get(folder)
            if known is not None and known[0] == changed:
                return known
            with os.scandir(folder) as entries:
                return changed, sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            return None

    def files_at(self, folders: Sequence[str], digest_before: str) -> float | None:
        """Return when to scan, if anything has changed since a digest was taken; None if not.

        Parameters
        ----------
        folders : sequence of str
        digest_before : str
            Taken before the last scan; empty if there was none, so that nothing is known.
        """
        now = self._now()
        if now >= self._next_look:
            begun = perf_counter()
            digest = self.digest(folders)
            self._next_look = now + max(LOOK_SECONDS, (perf_counter() - begun) / MAX_SHARE)
            if digest != self._digest:
                self._digest, self._last_change = digest, now
        if not self._digest or not digest_before or self._digest == digest_before:
            self._first_change = None
            return None
        if self._first_change is None:
            self._first_change = now
        return min(self._last_change + SETTLED_SECONDS, self._first_change + MAX_UNSETTLED_SECONDS)
