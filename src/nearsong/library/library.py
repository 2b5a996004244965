"""Your music, your listeners, songs nobody has played yet: everything the command line does, from Python."""

import os
from collections.abc import Callable, Iterable, Sequence
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, LibraryError
from nearsong.library.importing import ME, ImportedFile, import_listens
from nearsong.library.learning import Histories, ListenerChoice, evaluate_library, refused_report, train_library
from nearsong.library.map_layout import layout
from nearsong.library.matching import MatchReport
from nearsong.library.played import Played
from nearsong.library.playlist import PlaylistRules
from nearsong.library.projection import import_model, use_model
from nearsong.library.recommend import Filters, Seed, SeedLike, nearest_seed, resolve
from nearsong.library.records import Neighbour, Song
from nearsong.library.scan import ScanOptions, ScanReport, scan
from nearsong.library.snapshot import Newest, Snapshot
from nearsong.library.song_file import open_song_file
from nearsong.library.song_map import check_page, write_map
from nearsong.library.space import Space, agreement
from nearsong.library.status import Status, status_of
from nearsong.library.store import ModelRow, PlaylistTable, Source, Store
from nearsong.library.training import TrainingReport, TrainingSettings
from nearsong.library.why import Why
from nearsong.model import Ear, SimilarityModel
from nearsong.validation import check_count

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


def _silent(stage: str, done: int, total: int) -> None:
    """Show nothing."""


def _unheard(text: str) -> None:
    """Say nothing."""


class Library:
    """A music library that learns from listeners.

    Open one with :meth:`open`; close it with :meth:`close` or a ``with`` block. Seeds of :meth:`similar` and
    :meth:`playlist` are songs, their ids, names such as ``"artist - title"``, or paths, of files inside or outside
    the library.

    Parameters
    ----------
    store : Store
        What it keeps.

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
        self._newest = Newest(store)

    @classmethod
    def open(cls, place: str | os.PathLike[str] | None = None, *, create: bool = True) -> Self:
        """Open a library, making it if it is not there.

        Parameters
        ----------
        place : path-like or str, optional
            A file, a folder, or a URL such as ``postgresql://user@host/name``; by default the environment variable
            ``NEARSONG_LIBRARY``, or a file in the user's data folder.
        create : bool, default=True
            Whether to make one; otherwise one that is not there is a `LibraryError`.
        """
        return cls(Store(place, create=create))

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Where it is."""
        return self._store.name

    @property
    def is_new(self) -> bool:
        """Whether it was made when it was opened."""
        return self._store.is_new

    @property
    def place(self) -> str:
        """Where it is, for :meth:`open` in another process; a password is in it, so it is never shown."""
        return self._store.place

    @property
    def playlists(self) -> PlaylistTable:
        """The playlists that were saved."""
        return self._store.playlists

    @property
    def played(self) -> Played:
        """What was played through the page and players; a training learns from it."""
        return Played(self._store)

    # ---- what comes in

    def scan(
        self,
        *folders: str | os.PathLike[str],
        codebook: str | os.PathLike[str] | None = None,
        progress: Progress = _silent,
        note: Note = _unheard,
        **options: Any,
    ) -> ScanReport:
        """Hear what is new or changed below some folders; without any, below all that were scanned before.

        Parameters
        ----------
        *folders : path-like
        codebook : path-like, optional
            A model file whose codebook to hear with, instead of one learned from the library itself.
        progress, note : callable
            Told (stage, done, total), and what the user should know.
        **options
            Those of :class:`~nearsong.library.scan.ScanOptions`: workers, nice, timeout, prune, retry, seed.
        """
        ear = None if codebook is None else Ear.load(codebook)
        try:
            return scan(self._store, folders, ScanOptions(**options), ear=ear, progress=progress, note=note)
        finally:
            self._newest.forget()

    def import_listens(
        self,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        user: str = ME,
        progress: Progress = _silent,
        note: Note = _unheard,
    ) -> list[ImportedFile]:
        """Read listening histories, of any mix of formats; the same file twice counts once."""
        return import_listens(self._store, paths, format=format, user=user, progress=progress, note=note)

    def listens(self) -> list[Source]:
        """Return the listening histories that were imported."""
        return self._store.listens.sources()

    def remove_listens(self, *sources: int) -> None:
        """Forget listening histories, by id."""
        known = {source.id for source in self.listens()}
        if unknown := sorted(set(sources) - known):
            raise LibraryError(f"there is no listening history {unknown[0]}; `nearsong listens list` shows them.")
        self._store.listens.remove(sources)

    def match_report(self, sources: Iterable[int] | None = None, top: int = 10) -> MatchReport:
        """Say how much of the listens was found in the library, and what was not."""
        return Histories(self._store).report(None if sources is None else list(sources), top)

    # ---- learning

    def train(
        self,
        settings: TrainingSettings | None = None,
        listeners: ListenerChoice | None = None,
        *,
        progress: Progress = _silent,
    ) -> TrainingReport:
        """Learn a metric from the listens; it answers from then on, if it is better than none.

        Returns
        -------
        TrainingReport
            How good it is on held-out artists, beside chance, popularity, the native metric and what listeners
            themselves could tell; and whether it was taken.
        """
        taken, report = train_library(
            self._store, settings or TrainingSettings(), listeners or ListenerChoice(), progress=progress
        )
        if taken is not None:
            self.space.build_graph(progress)
        return report

    def evaluate(
        self,
        settings: TrainingSettings | None = None,
        listeners: ListenerChoice | None = None,
        *,
        progress: Progress = _silent,
    ) -> TrainingReport:
        """Measure again on held-out artists, with the songs and listens there are now; changes nothing."""
        return evaluate_library(
            self._store,
            settings or TrainingSettings(),
            listeners or ListenerChoice(),
            progress=progress,
        )

    def models(self) -> list[ModelRow]:
        """Return all models that are kept, the oldest first."""
        return self._store.models.rows()

    def refused_report(self) -> TrainingReport | None:
        """Return the report of the last training if what it learned was not taken."""
        return refused_report(self._store)

    @property
    def active_model(self) -> int | None:
        """The id of the model that answers."""
        return self._store.models.active

    def use_model(self, model_id: int, progress: Progress = _silent) -> int:
        """Let another model answer; back to an older one, say.

        Returns
        -------
        int
            Songs that have not been heard with its codebook. If there are any it waits: it answers after the next
            scan.
        """
        return use_model(self._store, model_id, progress)

    def remove_model(self, model_id: int) -> None:
        """Forget a model that is not in use."""
        self._store.models.remove(model_id)

    def load_model(self, model_id: int | None = None) -> SimilarityModel:
        """Return a model; by default the one that answers."""
        chosen = self.active_model if model_id is None else model_id
        if chosen is None:
            raise EmptyLibraryError("the library has no model yet; begin with `nearsong scan FOLDER`.")
        self._store.models.row(chosen)
        return SimilarityModel.from_bytes(self._store.models.data(chosen))

    def export_model(self, path: str | os.PathLike[str], model_id: int | None = None) -> None:
        """Write a model to a file that any library, or :class:`nearsong.SimilarityModel`, can read."""
        self.load_model(model_id).save(path)

    def import_model(self, path: str | os.PathLike[str], progress: Progress = _silent) -> tuple[int, bool]:
        """Take a model from a file; return its id and whether it answers already.

        If it hears with another codebook than the library's, the next scan hears all songs again, and then it
        answers.
        """
        model = SimilarityModel.load(path)
        return import_model(self._store, model, {"file": os.path.basename(os.fspath(path))}, progress)

    # ---- asking

    def open_file(self, song: Song) -> FileIO:
        """Open the file of a song, if it is the one that was scanned; else a `NoSuchSongError` says why not."""
        return open_song_file(self._store, song)

    def stamp(self) -> tuple[int, ...]:
        """Return numbers that change when another model answers, or songs or listens come, go or change."""
        return self._newest.stamp()

    def snapshot(self, *, now: bool = False) -> Snapshot:
        """Return the library as it is at this moment, ready to be asked by many threads.

        The same one comes back while nothing changes. Songs that another process adds may go unseen for some
        seconds, unless they have to be there ``now``. `EmptyLibraryError` says that there is nothing to compare yet.
        """
        return self._newest.get(now=now)

    @property
    def space(self) -> Space:
        """The songs in the space of the model that answers; read anew when something has changed."""
        return self.snapshot().space

    def find(self, text: str | int) -> Song:
        """Return the song that an id or a name means.

        Raises
        ------
        UnclearSongError
            If several fit, or none; its ``suggestions`` say what would.
        """
        return self.space.finder.find(str(text))

    def songs(self) -> list[Song]:
        """Return all songs that can be compared, by id."""
        return list(self.space.songs)

    def similar(self, *seeds: SeedLike, n: int = 10, filters: Filters | None = None) -> list[Neighbour]:
        """Return the songs nearest to one or more seeds.

        Parameters
        ----------
        *seeds : Song, int, str or path-like
            With several, a song is as near as to the nearest of them.
        n : int, default=10
        filters : Filters, optional

        Returns
        -------
        list of Neighbour
            Song, distance, and similarity in 0..1.
        """
        snapshot = self.snapshot()  # once: another process may change it while this question is answered
        return snapshot.similar([resolve(snapshot.space, seed) for seed in seeds], n, filters)

    def neighbours(self, *seeds: SeedLike, n: int = 10) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the ids and distances of the songs nearest to one or more seeds."""
        found = self.similar(*seeds, n=n)
        return np.array([near.song.id for near in found], dtype=np.int64), np.array([near.distance for near in found])

    def resolve(self, *seeds: SeedLike) -> list[Seed]:
        """Turn songs, ids, names and paths into seeds; files outside the library are heard."""
        space = self.space
        return [resolve(space, seed) for seed in seeds]

    def playlist(
        self,
        *seeds: SeedLike,
        rules: PlaylistRules | None = None,
        filters: Filters | None = None,
        to: SeedLike | None = None,
    ) -> tuple[list[Song], list[str]]:
        """Make a playlist from seeds, or from the one seed ``to`` another.

        Returns
        -------
        songs : list of Song
        notes : list of str
            What could not be kept to.
        """
        snapshot = self.snapshot()
        found = [resolve(snapshot.space, seed) for seed in seeds]
        return snapshot.playlist(found, rules, filters, None if to is None else resolve(snapshot.space, to))

    def why(self, query: SeedLike, *others: SeedLike) -> list[Why]:
        """Explain why songs are near a query, or far from it: what they sound like, and who listens to both."""
        snapshot = self.snapshot()
        first, *rest = (resolve(snapshot.space, seed) for seed in (query, *others))
        return snapshot.why(first, rest)

    def why_near(self, seeds: Sequence[SeedLike], near: Sequence[Neighbour]) -> list[Why]:
        """Explain answers of :meth:`similar`, each beside the seed that it is nearest to."""
        snapshot = self.snapshot()
        found = [resolve(snapshot.space, seed) for seed in seeds]
        others = [resolve(snapshot.space, one.song) for one in near]
        return snapshot.why_pairs([(nearest_seed(found, other), other) for other in others])

    def map(self, path: str | os.PathLike[str], *, seed: int = 0, progress: Progress = _silent) -> Path:
        """Write the learned space as a page with a map of all songs; return its path."""
        check_page(path)
        space = self.space
        if not space.songs:
            raise EmptyLibraryError("there are no songs to draw; begin with `nearsong scan FOLDER`.")
        positions = layout(space.places, seed=seed, progress=progress)
        progress("finding neighbours", 0, 0)
        near, distances = space.index.nearest(space.places, min(13, len(space.songs)))
        kind = self._store.models.row(space.model_id).kind
        artists = len(set(space.artists.tolist()) - {-1})
        write_map(
            path,
            space.songs,
            positions,
            np.searchsorted(space.ids, near),
            distances,
            title="The library as it sounds",
            facts={"songs": f"{len(space.songs):,}", "artists": f"{artists:,}", "metric": kind},
            similarities=space.calibration.similarity(distances),
        )
        return Path(path)

    def status(self) -> Status:
        """Say what the library holds, what is missing, and what to do next."""
        return status_of(self._store)

    def unreadable(self) -> list[tuple[str, str]]:
        """Return the files that give no sound, and why."""
        return self._store.songs.problems()

    def compare_models(self, first: int, second: int, n: int = 10, sample: int = 500, seed: int = 0) -> float:
        """Return the share of the ``n`` nearest songs that two models have in common, over a sample of songs."""
        spaces = [Space.load(self._store, check_count(model, "model")) for model in (first, second)]
        return agreement(*spaces, n=n, sample=sample, seed=seed)
