"""An address -> `Library`: everything the command line does, from Python."""

import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, NoSuchHistoryError
from nearsong.library.answers.filters import Filters
from nearsong.library.answers.playlist.rules import PlaylistRules
from nearsong.library.answers.seeds import SeedLike
from nearsong.library.answers.why.reasons import Why
from nearsong.library.files.open_song import open_song_file
from nearsong.library.listeners.histories import Histories, ListenerChoice
from nearsong.library.listeners.importing import DEFAULT_USER, ImportedFile, import_listens
from nearsong.library.listeners.matching import MatchReport
from nearsong.library.listeners.plays import PlayLog
from nearsong.library.maps.export import export_map
from nearsong.library.models import encoder_list
from nearsong.library.models.encoder_list import EncoderStatus, LookedUp
from nearsong.library.models.lifecycle import import_model, use_model
from nearsong.library.neighbours.space import Space, agreement
from nearsong.library.records import Neighbour, Song, VersionStamp
from nearsong.library.scanning.scan import ScanOptions, ScanReport, scan
from nearsong.library.snapshot import Snapshot
from nearsong.library.snapshot_cache import SnapshotCache
from nearsong.library.status import Status, status_of
from nearsong.library.store import History, ModelRow, PlaylistTable, Store
from nearsong.library.training.fit import TrainingReport, TrainingSettings
from nearsong.library.training.train import evaluate_library, rejected_report, train_library
from nearsong.model import SimilarityModel
from nearsong.model.encoders import load_encoder
from nearsong.types import Note, Progress, no_note, no_progress
from nearsong.validation import check_count


class Library:
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

    def __init__(self, store: Store) -> None:
        self._store = store
        self._snapshots = SnapshotCache(store)

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

    @property
    def playlists(self) -> PlaylistTable:
        """The saved playlists."""
        return self._store.playlists

    @property
    def play_log(self) -> PlayLog:
        """Plays recorded by the page and by players; training uses them."""
        return PlayLog(self._store)

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
            seed, encoders, excerpt.
        """
        encoder = None if codebook is None else load_encoder(codebook)
        try:
            return scan(self._store, folders, ScanOptions(**options), encoder=encoder, progress=progress, note=note)
        finally:
            self._snapshots.clear()

    def import_listens(
        self,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        user: str = DEFAULT_USER,
        name: str | None = None,
        progress: Progress = no_progress,
        note: Note = no_note,
    ) -> list[ImportedFile]:
        """Import listening histories of any supported format; a file imported again replaces its earlier import.

        Parameters
        ----------
        *paths : path-like
            Files and folders.
        format : str, optional
            Detected for each file by default.
        user : str
            The listener, if a file names none.
        name : str, optional
            The name of a single file, by default its path; a later import under the same name replaces it.
        progress, note : callable
        """
        return import_listens(self._store, paths, format=format, user=user, name=name, progress=progress, note=note)

    def listens(self) -> list[History]:
        """Return the imported listening histories."""
        return self._store.listens.histories()

    def remove_listens(self, *sources: int) -> None:
        """Remove listening histories by id."""
        known = {source.id for source in self.listens()}
        if unknown := sorted(set(sources) - known):
            raise NoSuchHistoryError(f"listening history not found: {unknown[0]}; see `nearsong listens list`.")
        self._store.listens.remove(sources)

    def match_report(self, sources: Iterable[int] | None = None, top: int = 10) -> MatchReport:
        """Return how many listens match songs of the library, and the most frequent ones that do not."""
        return Histories(self._store).report(None if sources is None else list(sources), top)

    # ---- encoders

    def encoders(self) -> list[EncoderStatus]:
        """Return all encoders and whether this library uses them."""
        return encoder_list.list_encoders(self._store)

    def add_encoder(self, name: str, progress: Progress = no_progress) -> int:
        """Use one more encoder; return how many songs the next scan will analyse with it."""
        return encoder_list.add_encoder(self._store, name, progress)

    def add_vectors(self, path: str | os.PathLike[str]) -> LookedUp:
        """Look up vectors of songs in a Parquet or npz file; they replace those of an earlier file."""
        return encoder_list.add_vectors(self._store, path)

    def remove_encoder(self, name: str) -> bool:
        """Stop using an encoder and delete its vectors; return False if a model in use still needs them."""
        return encoder_list.remove_encoder(self._store, name)

    # ---- learning

    def train(
        self,
        settings: TrainingSettings | None = None,
        listeners: ListenerChoice | None = None,
        *,
        progress: Progress = no_progress,
    ) -> TrainingReport:
        """Learn a metric from the listens; it becomes active if it is better than the native one.

        Returns
        -------
        TrainingReport
            Scores on held-out artists, compared with chance, popularity, the native metric and the listeners
            themselves; and whether the metric became active.
        """
        model_id, report = train_library(
            self._store, settings or TrainingSettings(), listeners or ListenerChoice(), progress=progress
        )
        if model_id is not None:
            self.space.build_graph(progress)
        return report

    def evaluate(
        self,
        settings: TrainingSettings | None = None,
        listeners: ListenerChoice | None = None,
        *,
        progress: Progress = no_progress,
    ) -> TrainingReport:
        """Evaluate on held-out artists with the current songs and listens, without storing anything."""
        return evaluate_library(
            self._store, settings or TrainingSettings(), listeners or ListenerChoice(), progress=progress
        )

    def models(self) -> list[ModelRow]:
        """Return all stored models, the oldest first."""
        return self._store.models.rows()

    def rejected_report(self) -> TrainingReport | None:
        """Return the report of the last training if its metric did not become active."""
        return rejected_report(self._store)

    @property
    def active_model(self) -> int | None:
        """The id of the active model."""
        return self._store.models.active

    def use_model(self, model_id: int, progress: Progress = no_progress) -> int:
        """Make another model active, such as an earlier one; return how many songs its encoders have not analysed.

        If there are any, the model is pending until the next scan.
        """
        return use_model(self._store, model_id, progress)

    def remove_model(self, model_id: int) -> None:
        """Remove a model that is not active."""
        self._store.models.remove(model_id)

    def load_model(self, model_id: int | None = None) -> SimilarityModel:
        """Return a model; by default the active one."""
        chosen = self.active_model if model_id is None else model_id
        if chosen is None:
            raise EmptyLibraryError("the library has no model yet; start with `nearsong scan FOLDER`.")
        self._store.models.row(chosen)
        return SimilarityModel.from_bytes(self._store.models.data(chosen))

    def export_model(self, path: str | os.PathLike[str], model_id: int | None = None) -> None:
        """Write a model to a file that any library, or :class:`nearsong.SimilarityModel`, can read."""
        self.load_model(model_id).save(path)

    def import_model(self, path: str | os.PathLike[str], progress: Progress = no_progress) -> tuple[int, bool]:
        """Import a model from a file; return its id and whether it is active already.

        If it needs other encoders than the library's, it is pending: the next scan analyses all songs with them and
        activates it.
        """
        model = SimilarityModel.load(path)
        return import_model(self._store, model, {"file": os.path.basename(os.fspath(path))}, progress)

    # ---- queries

    def snapshot(self, *, now: bool = False) -> Snapshot:
        """Return a snapshot of the library, for queries from many threads.

        The same snapshot is returned until the library changes. Songs added by another process may be missing for
        some seconds, unless ``now`` is set. Raises an `EmptyLibraryError` if there are no songs to compare yet.
        """
        return self._snapshots.get(now=now)

    def version_stamp(self) -> VersionStamp:
        """Return a record that changes with the active model, the songs and the listening histories."""
        return self._store.version_stamp()

    @property
    def space(self) -> Space:
        """The songs and their embeddings under the active model."""
        return self.snapshot().space

    def songs(self) -> list[Song]:
        """Return all songs that can be compared, by id."""
        return list(self.space.songs)

    def find(self, text: str | int) -> Song:
        """Return the song with an id or a name.

        Raises
        ------
        UnclearSongError
            If several songs match, or none; its ``suggestions`` name the likely ones.
        """
        return self.space.finder.find(str(text))

    def similar(
        self, *seeds: SeedLike, n: int = 10, filters: Filters | None = None, adventurousness: float = 0.0
    ) -> list[Neighbour]:
        """Return the songs nearest to one or more seeds.

        Parameters
        ----------
        *seeds : Song, int, str or path-like
            With several, the distance of a song is that to the nearest of them.
        n : int, default=10
        filters : Filters, optional
        adventurousness : float from -1, what many people play, to 1, what few play

        Returns
        -------
        list of Neighbour
            Song, distance, and similarity in 0..1.
        """
        return self.snapshot().similar(seeds, n, filters, adventurousness=adventurousness)

    def neighbours(self, *seeds: SeedLike, n: int = 10) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the ids and distances of the songs nearest to one or more seeds, both (n,)."""
        found = [(neighbour.song.id, neighbour.distance) for neighbour in self.similar(*seeds, n=n)]
        return np.array([row[0] for row in found], np.int64), np.array([row[1] for row in found], np.float64)

    def playlist(
        self,
        *seeds: SeedLike,
        rules: PlaylistRules | None = None,
        filters: Filters | None = None,
        to: SeedLike | None = None,
    ) -> tuple[list[Song], list[str]]:
        """Return a playlist around seeds, or a path from a single seed ``to`` another.

        Returns
        -------
        songs : list of Song
        notes : list of str
            Rules that could not be met.
        """
        return self.snapshot().playlist(seeds, rules, filters, to)

    def why(self, query: SeedLike, *others: SeedLike) -> list[Why]:
        """Explain why songs are near a query, or far from it: by sound and by shared listeners."""
        return self.snapshot().why([query], others)

    def open_file(self, song: Song) -> FileIO:
        """Open the file of a song; raise a `NoSuchSongError` if it is not the file that was scanned."""
        return open_song_file(self._store, song)

    @property
    def folders(self) -> list[str]:
        """The scanned folders."""
        return self._store.songs.roots()

    def map(self, path: str | os.PathLike[str], *, seed: int = 0, progress: Progress = no_progress) -> Path:
        """Write an HTML page with a map of all songs under the active model; return its path."""
        return export_map(path, self.snapshot, seed=seed, progress=progress)

    def status(self) -> Status:
        """Return the content of the library, its problems, and what to do next."""
        return status_of(self._store)

    def unreadable(self) -> list[tuple[str, str]]:
        """Return the files that cannot be read, and why."""
        return self._store.songs.problems()

    def compare_models(self, first: int, second: int) -> float:
        """Return the share of the ten nearest songs that two models have in common, over a sample of songs."""
        spaces = [Space.load(self._store, check_count(model, "model")) for model in (first, second)]
        return agreement(*spaces)
