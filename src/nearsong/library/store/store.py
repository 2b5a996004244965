"""A path or URL -> all tables of a library."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from nearsong.library.records import VersionStamp
from nearsong.library.store.backup import write_backup
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.light.address import default_address
from nearsong.library.store.listener_rows import ListenerRows
from nearsong.library.store.listens import ListenTable
from nearsong.library.store.models import ModelTable
from nearsong.library.store.partitioned import PartitionedWriter
from nearsong.library.store.playlists import PlaylistTable
from nearsong.library.store.pulled import PulledHistory
from nearsong.library.store.recorded.accounts import AccountTable
from nearsong.library.store.recorded.bookmarks import BookmarkTable
from nearsong.library.store.recorded.play_queues import PlayQueueTable
from nearsong.library.store.recorded.plays import PlayTable
from nearsong.library.store.recorded.reactions import ReactionTable
from nearsong.library.store.shared.state import SharedState
from nearsong.library.store.songs import SongTable


class Store:
    """The stored data of a library.

    Parameters
    ----------
    address : path-like or str, optional
        A file, a folder or a URL; by default :func:`default_address`.
    create : bool, default=True
        Whether to create it if it does not exist.

    Attributes
    ----------
    songs, listens, models, playlists, plays, reactions, play_queues, bookmarks, accounts
        The tables.
    listener_rows
        What all tables have of one listener.
    """

    def __init__(self, address: str | os.PathLike[str] | None = None, *, create: bool = True) -> None:
        self._database = Database(default_address() if address is None else address, create=create)
        self.songs = SongTable(self._database)
        self.listens = ListenTable(self._database)
        self.models = ModelTable(self._database)
        self.playlists = PlaylistTable(self._database)
        self.plays = PlayTable(self._database)
        self.reactions = ReactionTable(self._database)
        self.play_queues = PlayQueueTable(self._database)
        self.bookmarks = BookmarkTable(self._database)
        self.accounts = AccountTable(self._database)
        self.listener_rows = ListenerRows(self._database)

    @property
    def name(self) -> str:
        """Path, or URL without the password; safe to display."""
        return self._database.name

    @property
    def is_new(self) -> bool:
        """Whether it was created when it was opened."""
        return self._database.is_new

    @property
    def address(self) -> str:
        """Path or URL with which another process can open it. Contains the password: do not display it."""
        return self._database.address

    @property
    def folder(self) -> str | None:
        """The folder of the SQLite file; None on PostgreSQL."""
        return None if self._database.path is None else str(self._database.path.parent)

    @property
    def cache(self) -> Path:
        """Folder for data that can be recomputed; it may not exist yet."""
        return self._database.cache

    def pulled_history(self, name: str, fingerprint: str, format: str) -> PulledHistory:
        """Return the history of a service and a user, which grows with every pull."""
        return PulledHistory(self._database, name, fingerprint, format)

    def partitioned_history(self, name: str, fingerprint: str, format: str, kind: str) -> PartitionedWriter:
        """Start writing a history in parts, or continue where an import was interrupted."""
        return PartitionedWriter(self._database, name, fingerprint, format, kind)

    def complete(self) -> "Store":
        """Return this store, which can be asked for everything."""
        return self

    def shared_state(self) -> SharedState | None:
        """Return what services on this database share; None on SQLite, which one service has for itself."""
        return None if self._database.is_sqlite else SharedState(self._database)

    def version_stamp(self) -> VersionStamp:
        """Return a record that changes with the active model, the songs and the listening histories."""
        model = self.models.active  # first: reading notices that the file was replaced
        return VersionStamp(
            file=self._database.replaced, model=model, songs=self.songs.changes(), listens=self.listens.digest()
        )

    def writing(self, timeout_seconds: float | None = None) -> AbstractContextManager[Connection]:
        """Return a context manager of a write transaction: committed on exit, rolled back on error.

        It waits for others that write, by default as long as :meth:`set_lock_timeout` says.
        """
        return self._database.writing(timeout_seconds)

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for others that write."""
        self._database.lock_timeout_seconds = seconds

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk, where the database does not by itself."""
        self._database.compact()

    def backup(self, path: str | os.PathLike[str], *, replace: bool = False) -> Path:
        """Write everything to one file, as of this moment, while others go on; return it."""
        return write_backup(self._database, path, replace=replace)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()
