"""An address -> `Library`: everything the command line does, from Python.

Each method imports what it needs, so that a command loads no more than it uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nearsong.errors import EmptyLibraryError
from nearsong.library.contents import LibraryContents
from nearsong.library.store import History, ModelRow, PlaylistTable, Store
from nearsong.library.store.light.records import check_histories
from nearsong.types import Note, Progress, no_note, no_progress

if TYPE_CHECKING:
    from nearsong.library.accounts.accounts import Accounts
    from nearsong.library.automation.stored import StoredAutomation
    from nearsong.library.listeners.histories import ListenerChoice
    from nearsong.library.listeners.importing import ImportedFile
    from nearsong.library.listeners.matches.records import MatchReport
    from nearsong.library.listeners.pull.pulling import PullReport
    from nearsong.library.listeners.recorded.bookmarks import Bookmarks
    from nearsong.library.listeners.recorded.play_queues import PlayQueues
    from nearsong.library.listeners.recorded.plays import PlayLog
    from nearsong.library.listeners.recorded.reactions import ReactionLog
    from nearsong.library.models.encoder_list import EncoderStatus, LookedUp
    from nearsong.library.scanning.scan import ScanReport
    from nearsong.library.sync.sync import SyncReport
    from nearsong.library.training.fit import TrainingReport, TrainingSettings
    from nearsong.model import SimilarityModel


class Library(LibraryContents):
    """A music library that learns from listeners.

    Open one with :meth:`open`; close it with :meth:`close` or a ``with`` block. Seeds of :meth:`similar`, :meth:`why`
    and :meth:`playlist` are songs, their ids, names such as ``"artist - title"``, or paths of files inside or outside
    the library. For many queries, use one :meth:`snapshot`, which has the same methods.

    Examples
    --------
    >>> import tempfile
    >>> from nearsong import Library
    >>> with tempfile.TemporaryDirectory() as folder, Library.open(folder) as library:
    ...     print(library.status().next[0])
    Scan a folder of music: nearsong scan FOLDER
    """

    @classmethod
    def open(cls, address: str | os.PathLike[str] | None = None, *, create: bool = True) -> Self:
        """Open a library, creating it if it does not exist.

        Parameters
        ----------
        address : path-like or str, optional
            A file, a folder, or a URL such as ``postgresql://user@host/name``; by default the environment variable
            ``NEARSONG_LIBRARY``, or a file in the user's data folder.
        create : bool, default=True
            Whether to create a missing library; otherwise a `LibraryError` is raised.
        """
        return cls(Store(address, create=create))

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The address, without password."""
        return self._store.name

    @property
    def is_new(self) -> bool:
        """Whether it was created by :meth:`open`."""
        return self._store.is_new

    @property
    def address(self) -> str:
        """The address to :meth:`open` in another process; it may contain a password, so it must not be shown."""
        return self._store.address

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for others; then it raises a transient `DatabaseError`. By default a minute."""
        self._store.set_lock_timeout(seconds)

    def backup(self, path: str | os.PathLike[str], *, replace: bool = False) -> Path:
        """Write all that is stored to one SQLite file, while others go on; `restore` makes a library of it.

        A file that is there stays, unless ``replace`` is true.
        """
        return self._store.backup(path, replace=replace)

    @property
    def playlists(self) -> PlaylistTable:
        """The saved playlists."""
        return self._store.playlists

    @property
    def accounts(self) -> Accounts:
        """The listeners who log in."""
        from nearsong.library.accounts.accounts import Accounts

        return Accounts(self._store)

    @property
    def automation(self) -> StoredAutomation:
        """What the service may do, has done and will do by itself."""
        from nearsong.library.automation.stored import StoredAutomation

        return StoredAutomation(self._store)

    @property
    def play_log(self) -> PlayLog:
        """Plays recorded by the page and by players; training uses them."""
        from nearsong.library.listeners.recorded.plays import PlayLog

        return PlayLog(self._store)

    @property
    def reactions(self) -> ReactionLog:
        """Hearts, ratings and skips recorded by the page and by players."""
        from nearsong.library.listeners.recorded.reactions import ReactionLog

        return ReactionLog(self._store)

    @property
    def play_queues(self) -> PlayQueues:
        """What each listener has queued in a player, to go on with another."""
        from nearsong.library.listeners.recorded.play_queues import PlayQueues

        return PlayQueues(self._store)

    @property
    def bookmarks(self) -> Bookmarks:
        """Where each listener wants to go on in long songs."""
        from nearsong.library.listeners.recorded.bookmarks import Bookmarks

        return Bookmarks(self._store)

    # ---- songs and listens

    def scan(
        self,
        *folders: str | os.PathLike[str],
        codebook: str | os.PathLike[str] | None = None,
        progress: Progress = no_progress,
        note: Note = no_note,
        **options: Any,
    ) -> ScanReport:
        """Analyse new and changed files of some folders; without any, of all folders scanned before.

        Parameters
        ----------
        *folders : path-like
        codebook : path-like, optional
            A model file whose encoders are used instead of those fitted to the library.
        progress, note : callable
            Called with (stage, done, total), and with lines for the user.
        **options
            Those of :class:`~nearsong.library.scanning.scan.ScanOptions`: workers, nice, timeout, prune, retry,
            keep_all, seed, encoders, excerpt, cluster.
        """
        from nearsong.library.scanning.scan import ScanOptions, scan
        from nearsong.model.encoders import load_encoder

        encoder = None if codebook is None else load_encoder(codebook)
        try:
            report = scan(self._store, folders, ScanOptions(**options), encoder=encoder, progress=progress, note=note)
        finally:
            self._snapshots.clear()
        self.refresh_match_list()
        return report

    def import_listens(
        self, *paths: str | os.PathLike[str], progress: Progress = no_progress, note: Note = no_note, **options: Any
    ) -> list[ImportedFile]:
        """Import listening histories of any supported format; a file imported again replaces its earlier import.

        Parameters
        ----------
        *paths : path-like
            Files and folders. A file that holds listens and playlists gives two histories.
        progress, note : callable
        **options
            Those of :func:`~nearsong.library.listeners.importing.import_listens`: format, user, name, max_bytes.
        """
        from nearsong.library.listeners.importing import import_listens

        return import_listens(self._store, paths, progress=progress, note=note, **options)

    def pull_listens(self, service: str, name: str | None = None, **options: Any) -> PullReport:
        """Fetch what is new on a service: ``listenbrainz``, ``lastfm`` or ``subsonic``.

        ``name`` is the user's name there; options are those of
        :func:`~nearsong.library.listeners.pull.pulling.pull_listens`: url, user, reached, note.
        """
        from nearsong.library.listeners.pull.pulling import pull_listens

        return pull_listens(self._store, service, name, **options)

    def sync_subsonic(
        self,
        url: str,
        name: str | None = None,
        *,
        password: str | None = None,
        progress: Progress = no_progress,
        note: Note = no_note,
        **options: Any,
    ) -> SyncReport:
        """Read the songs and listens of a Subsonic server, and write playlists and "For you" to it.

        Parameters
        ----------
        url : str
        name : str, optional
            The user's name there; the URL may hold it.
        password : str, optional
            By default from the environment.
        progress, note : callable
        **options
            Those of :class:`~nearsong.library.sync.sync.SyncOptions`: listener, shared, stream, listens, playlists,
            for_you, streaming.
        """
        from nearsong.library.listeners.pull.subsonic_server import SubsonicServer
        from nearsong.library.sync.sync import SubsonicSync, SyncOptions

        server = SubsonicServer(url, name, password=password)
        sync = SubsonicSync(self._store, server, SyncOptions(**options), progress, note)
        sync.read()
        self._snapshots.clear()
        sync.write(self.for_you)
        return sync.report

    def listens(self) -> list[History]:
        """Return the imported listening histories."""
        return self._store.listens.histories()

    def remove_listens(self, *sources: int) -> None:
        """Remove listening histories by id."""
        check_histories(sources, self.listens())
        self._store.listens.remove(sources)

    def match_report(self, sources: Iterable[int] | None = None, top: int = 10) -> MatchReport:
        """Return how many listens match songs of the library, and the most frequent ones that do not."""
        from nearsong.library.listeners.histories import Histories

        return Histories(self._store).report(None if sources is None else list(sources), top)

    # ---- encoders

    def encoders(self) -> list[EncoderStatus]:
        """Return all encoders and whether this library uses them."""
        from nearsong.library.models import encoder_list

        return encoder_list.list_encoders(self._store)

    def add_encoder(self, name: str, progress: Progress = no_progress) -> int:
        """Use one more encoder; return how many songs the next scan will analyse with it."""
        from nearsong.library.models import encoder_list

        return encoder_list.add_encoder(self._store, name, progress)

    def add_vectors(self, path: str | os.PathLike[str]) -> LookedUp:
        """Look up vectors of songs in a Parquet or npz file; they replace those of an earlier file."""
        from nearsong.library.models import encoder_list

        return encoder_list.add_vectors(self._store, path)

    def remove_encoder(self, name: str) -> bool:
        """Stop using an encoder and delete its vectors; return False if a model in use still needs them."""
        from nearsong.library.models import encoder_list

        return encoder_list.remove_encoder(self._store, name)

    # ---- learning

    def train(
        self,
        settings: TrainingSettings | None = None,
        listeners: ListenerChoice | None = None,
        *,
        even_if_unchanged: bool = False,
        cluster: str | None = None,
        progress: Progress = no_progress,
    ) -> TrainingReport:
        """Learn a model from the listens; it becomes active if it is better than sound alone and the active model.

        If neither songs, listens nor settings have changed since the last training, nothing is learned and no model
        is added, unless ``even_if_unchanged``. With ``cluster``, the address of a Dask scheduler, its workers learn
        in the splits. The report has the scores on held-out artists, compared with chance, popularity, sound alone,
        the active model and the listeners themselves; and whether the new model became active.
        """
        from nearsong.library.listeners.histories import ListenerChoice
        from nearsong.library.training.fit import TrainingSettings
        from nearsong.library.training.train import train_library

        model_id, report = train_library(
            self._store,
            settings or TrainingSettings(),
            listeners or ListenerChoice(),
            even_if_unchanged=even_if_unchanged,
            cluster=cluster,
            progress=progress,
        )
        if model_id is not None and (note := self.space.build_graph(progress)):
            report = replace(report, notes=(*report.notes, note))
        self.refresh_match_list()
        return report

    def evaluate(
        self,
        settings: TrainingSettings | None = None,
        listeners: ListenerChoice | None = None,
        *,
        cluster: str | None = None,
        progress: Progress = no_progress,
    ) -> TrainingReport:
        """Evaluate on held-out artists with the current songs and listens, without storing anything."""
        from nearsong.library.listeners.histories import ListenerChoice
        from nearsong.library.training.fit import TrainingSettings
        from nearsong.library.training.train import evaluate_library

        chosen = settings or TrainingSettings(), listeners or ListenerChoice()
        return evaluate_library(self._store, *chosen, cluster=cluster, progress=progress)

    def models(self) -> list[ModelRow]:
        """Return all stored models, the oldest first."""
        return self._store.models.rows()

    def rejected_report(self) -> TrainingReport | None:
        """Return the report of the last training if its metric did not become active."""
        from nearsong.library.training.train import rejected_report

        return rejected_report(self._store)

    @property
    def active_model(self) -> int | None:
        """The id of the active model."""
        return self._store.models.active

    def use_model(self, model_id: int, progress: Progress = no_progress) -> int:
        """Make another model active, such as an earlier one; return how many songs its encoders have not analysed.

        If there are any, the model is pending until the next scan.
        """
        from nearsong.library.models.lifecycle import use_model

        return use_model(self._store, model_id, progress)

    def remove_model(self, model_id: int) -> None:
        """Remove a model that is not active."""
        self._store.models.remove(model_id)

    def load_model(self, model_id: int | None = None) -> SimilarityModel:
        """Return a model; by default the active one."""
        from nearsong.model import SimilarityModel

        chosen = self.active_model if model_id is None else model_id
        if chosen is None:
            raise EmptyLibraryError("the library has no model yet; start with `nearsong scan FOLDER`.")
        self._store.models.row(chosen)
        return SimilarityModel.from_bytes(self._store.models.data(chosen))

    def export_model(self, path: str | os.PathLike[str], model_id: int | None = None) -> None:
        """Write a model and its report to a file that any library, or :class:`nearsong.SimilarityModel`, can read."""
        from nearsong.library.training.retraining.imported_report import travelling_facts

        model = self.load_model(model_id)
        chosen = self.active_model if model_id is None else model_id
        row = next(row for row in self.models() if row.id == chosen)
        replace(model, trained_on={**model.trained_on, **travelling_facts(row.facts, row.kind)}).save(path)

    def import_model(self, path: str | os.PathLike[str], progress: Progress = no_progress) -> tuple[int, bool]:
        """Import a model from a file; return its id and whether it is active already.

        If it needs other encoders than the library's, it is pending: the next scan analyses all songs with them and
        activates it. It keeps the report of its training, so that its scores are shown as those of others are.
        """
        from nearsong.library.models.lifecycle import import_model
        from nearsong.library.training.retraining.imported_report import KIND, REPORT, arrived_facts
        from nearsong.model import SimilarityModel

        model = SimilarityModel.load(path)
        facts = {"file": os.path.basename(os.fspath(path)), **arrived_facts(model.trained_on)}
        own = {name: fact for name, fact in model.trained_on.items() if name not in (KIND, REPORT)}
        return import_model(self._store, replace(model, trained_on=own), facts, progress)
