"""What is in a library: scanned folders, files with problems, histories, status."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nearsong.library.queries import LibraryQueries

if TYPE_CHECKING:
    from nearsong.library.listeners.matches.records import HistoryFacts, MatchList, MatchReport
    from nearsong.library.scanning.folders import ScannedFolder
    from nearsong.library.status import Status
    from nearsong.library.store import SharedState
    from nearsong.relevance import PlaysFolder


class LibraryContents(LibraryQueries):
    """The part of `Library` that tells what it has, and gives up folders."""

    @property
    def folders(self) -> list[str]:
        """The scanned folders."""
        return self._store.songs.roots()

    def scanned_folders(self) -> list[ScannedFolder]:
        """Return the scanned folders, with what is in them."""
        from nearsong.library.scanning.folders import scanned_folders

        return scanned_folders(self._store)

    def remove_folder(self, path: str | os.PathLike[str], *, forget: bool = False) -> str:
        """Scan a folder no longer, and hide its songs until it is scanned again; return that in words.

        With ``forget`` all that is known about its songs is deleted.
        """
        from nearsong.library.scanning.folders import remove_folder

        return remove_folder(self._store, os.fspath(path), forget=forget)

    def status(self) -> Status:
        """Return the content of the library, its problems, and what to do next."""
        from nearsong.library.status import status_of

        return status_of(self._store)

    def shared_state(self) -> SharedState | None:
        """Return what several services on this database share; None on SQLite, which one service has for itself."""
        return self._store.shared_state()

    def unreadable(self) -> list[tuple[str, str]]:
        """Return the files that cannot be read, and why."""
        return self._store.songs.problems()

    def set_aside(self) -> list[tuple[str, str]]:
        """Return the files without music, which are not compared with songs, and why."""
        return self._store.songs.set_aside()

    def damaged(self) -> list[tuple[str, str]]:
        """Return the damaged files of which a part is used, and what is wrong with them."""
        return self._store.songs.damaged()

    def history_list(self) -> list[HistoryFacts]:
        """Return the imported listening histories, and whose they are."""
        from nearsong.library.listeners.history_list import history_list

        return history_list(self._store)

    def match_list(self, imported: list[int] | None = None) -> tuple[MatchList, MatchReport]:
        """Return how much of all histories is in the library, and of those just imported, by default of all together.

        It is kept in the library, and `LibraryReader.match_list` returns it as long as it is true.
        """
        from nearsong.library.listeners.history_list import match_list

        return match_list(self._store, imported)

    def write_plays(self, folder: str | os.PathLike[str]) -> tuple[PlaysFolder, list[str]]:
        """Write how often users played the library's artists into a new folder, some users at a time.

        `nearsong.relevance.jaccard_neighbors_blockwise` finds artists that share listeners in it, on a cluster too.

        Returns
        -------
        plays : PlaysFolder
            Users x artists; each listen counts once, also if two histories have it.
        artists : list of str
            The name of each column.

        Raises
        ------
        LibraryError
            If no user has a listening history.
        """
        from nearsong.library.listeners.histories import Histories
        from nearsong.relevance import PlaysFolder

        histories = Histories(self._store)
        return PlaysFolder.write(os.fspath(folder), histories.artist_counts()), list(histories.catalogue.artists)

    def refresh_match_list(self) -> None:
        """Keep a list of what is found now, if one was kept of songs that have changed since."""
        from nearsong.library.listeners.history_list import refresh_match_list

        refresh_match_list(self._store)

    def history_matches(self) -> dict[int, MatchReport]:
        """Return how many listens of each history match songs of the library."""
        from nearsong.library.listeners.history_list import history_matches

        return history_matches(self._store)
