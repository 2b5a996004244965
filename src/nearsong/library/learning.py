"""The store's songs and listens -> what a training needs, and what it leaves: a model that answers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import LibraryError
from nearsong.library.listeners import Listening, SourceListens, build_listening
from nearsong.library.matching import Catalogue, Matched, MatchReport, match, match_report
from nearsong.library.projection import add_model, add_native, load_ear
from nearsong.library.records import Heard, Song
from nearsong.library.store import Source, Store
from nearsong.library.training import TrainingData, TrainingReport, TrainingSettings, evaluate, train
from nearsong.model import SimilarityModel

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


@dataclass(frozen=True)
class ListenerChoice:
    """Who counts as a listener.

    Attributes
    ----------
    listeners : str
        ``users``, ``sessions``, ``playlists``, or ``auto``.
    min_plays : float or None
        Plays that make a listener; None chooses by the data.
    gap_minutes : float
        Silence that ends a session.
    """

    listeners: str = "auto"
    min_plays: float | None = None
    gap_minutes: float = 30.0


class Histories:
    """The library's listening histories beside its songs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.songs: list[Song] = store.songs.all()
        self.catalogue = Catalogue.of(self.songs)
        ids, self.heard = store.listens.names()
        self._ids: npt.NDArray[np.int64] = ids

    @cached_property
    def matched(self) -> Matched:
        """Which song and artist each name means."""
        return match(self.catalogue, self.heard)

    def plays(self, sources: list[int] | None = None) -> npt.NDArray[np.float64]:
        """Return how often each name was played."""
        plays = np.zeros(len(self.heard))
        totals = self._store.listens.totals(sources)
        if totals:
            plays[np.searchsorted(self._ids, list(totals))] = list(totals.values())
        return plays

    def report(self, sources: list[int] | None = None, top: int = 10) -> MatchReport:
        """Say what was matched, in some or all histories."""
        plays = self.plays(sources)
        played = np.flatnonzero(plays)
        heard: list[Heard] = [self.heard[i] for i in played]
        found = self.matched
        matched = Matched(found.song[played], found.artist[played], found.how[played])
        return match_report(matched, plays[played], heard, top=top)

    def song_plays(self) -> dict[int, float]:
        """Return how often each song was played, by id; a listen that two histories have counts once."""
        counts = self.listening().song_play_counts
        return {self.songs[row].id: float(counts[row]) for row in np.flatnonzero(counts)}

    def listening(self, choice: ListenerChoice | None = None) -> Listening:
        """Return listeners x artists and listeners x songs."""
        choice = choice or ListenerChoice()
        sources = [self._source(source) for source in self._store.listens.sources()]
        return build_listening(
            sources,
            self.matched,
            len(self.catalogue.artists),
            len(self.songs),
            listeners=choice.listeners,
            min_plays=choice.min_plays,
            gap_minutes=choice.gap_minutes,
        )

    def _source(self, source: Source) -> SourceListens:
        blocks = list(self._store.listens.columns(source.id))
        name = _joined([block.name for block in blocks], np.int32)
        return SourceListens(
            source.kind,
            _joined([block.user for block in blocks], np.int32),
            np.searchsorted(self._ids, name).astype(np.int32),
            _joined([block.plays for block in blocks], np.float32),
            _joined([block.time for block in blocks], np.int64),
        )


def _joined(parts: list[npt.NDArray[Any]], kind: type[Any]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def training_data(store: Store, ear_id: int, choice: ListenerChoice, settings: TrainingSettings) -> TrainingData:
    """Read all that a training needs."""
    if not store.listens.sources():
        raise LibraryError(
            "no listening history was imported, so there is nothing to learn from; "
            "`nearsong listens import FILE` takes Last.fm, ListenBrainz, Spotify, CSV and playlists."
        )
    histories = Histories(store)
    listening = histories.listening(choice)
    played = np.flatnonzero(np.asarray(listening.artist_plays.sum(axis=0)).ravel() > 0)
    wanted = _few_of_each(histories, set(played.tolist()), settings)
    ids, vectors = _vectors(store, ear_id, [histories.songs[row].id for row in wanted])
    row_of = {histories.songs[row].id: row for row in wanted}
    rows = np.array([row_of[song] for song in ids.tolist()], dtype=np.int64)
    return TrainingData(
        vectors=vectors,
        song_artist=histories.catalogue.song_artist[rows],
        artist_plays=listening.artist_plays,
        song_plays=listening.song_plays[:, rows],
        listeners=listening.listeners,
        song_ids=ids,
    )


def _few_of_each(histories: Histories, artists: set[int], settings: TrainingSettings) -> list[int]:
    """Choose the songs whose vectors are read: of artists somebody plays, not more of each than a training takes."""
    random = np.random.default_rng([settings.seed, 29])
    of_artist: dict[int, list[int]] = {}
    for row, artist in enumerate(histories.catalogue.song_artist.tolist()):
        if artist in artists:
            of_artist.setdefault(artist, []).append(row)
    most = 2 * settings.songs_an_artist  # it chooses among them
    chosen: list[int] = []
    for rows in of_artist.values():
        chosen.extend(rows if len(rows) <= most else random.choice(rows, most, replace=False).tolist())
    return sorted(chosen)


def _vectors(store: Store, ear_id: int, ids: list[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    blocks = [block for block in store.songs.vectors(ear_id, ids) if len(block[0])]
    if not blocks:
        raise LibraryError(
            "no song of the library is by an artist in the listening histories; `nearsong listens` shows what was "
            "not found: check the songs' tags."
        )
    return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])


def _current(store: Store) -> int:
    ear_id = store.models.current_ear
    if ear_id is None:
        raise LibraryError("the library holds no songs yet; begin with `nearsong scan FOLDER`.")
    return ear_id


def train_library(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    *,
    progress: Progress = lambda stage, done, total: None,
    note: Note = lambda text: None,
) -> tuple[int | None, TrainingReport]:
    """Learn a metric from the library's listens and let it answer, if it is better than none.

    Returns
    -------
    model_id : int or None
        The new model; None if the native metric was kept.
    report : TrainingReport
    """
    ear_id = _current(store)
    progress("reading listens", 0, 0)
    data = training_data(store, ear_id, choice, settings)
    trained = train(load_ear(store, ear_id), data, settings, progress=progress, note=note)
    facts = {"report": trained.report.as_json()}
    if trained.model is not None:
        return add_model(store, trained.model, ear_id, "learned", facts, progress=progress), trained.report
    if store.models.active is None:
        add_native(store, settings.seed, progress)
    return None, trained.report


def evaluate_library(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    *,
    progress: Progress = lambda stage, done, total: None,
    note: Note = lambda text: None,
) -> TrainingReport:
    """Measure on held-out artists how good the active model's way of learning is, with the listens there are now."""
    ear_id = _current(store)
    active = store.models.active
    model = None if active is None else SimilarityModel.from_bytes(store.models.data(active))
    facts = {} if model is None else dict(model.trained_on)
    imported = model if active is not None and store.models.row(active).kind == "imported" else None
    data = training_data(store, ear_id, choice, settings)
    return evaluate(
        data,
        settings,
        loss=facts.get("loss"),
        C=facts.get("C"),
        model=imported,
        progress=progress,
        note=note,
    )
