"""The store's songs and listens -> what a training needs, and what it leaves: a model that answers."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, InvalidInputError, LibraryError
from nearsong.library.listeners import Listening, SourceListens, build_listening
from nearsong.library.made_once import made_once
from nearsong.library.matching import Catalogue, Matched, MatchReport, match, match_report
from nearsong.library.played import Played
from nearsong.library.projection import add_model, add_native, load_ear
from nearsong.library.records import Heard, Song
from nearsong.library.store import PENDING, PLAYED, Columns, Source, Store
from nearsong.library.training import TrainingData, TrainingReport, TrainingSettings, evaluate, train
from nearsong.model import SimilarityModel

Progress = Callable[[str, int, int], None]

REFUSED = "training_refused"
"""Setting: what there was to learn from when a metric was last not taken."""

REFUSED_REPORT = "training_refused_report"
"""Setting: the report of that training, as JSON."""


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
        self.sources, self._played = _sources(store)  # first: names of what is imported from now on are not needed
        # by path and not by id: ids follow the order in which songs were heard, which no two scans share
        self.songs: list[Song] = sorted(store.songs.all(), key=lambda song: song.path)
        self.catalogue = Catalogue.of(self.songs)
        ids, self.heard = store.listens.names()
        self._ids: npt.NDArray[np.int64] = ids

    @made_once
    def matched(self) -> Matched:
        """Return which song and artist each name means."""
        return match(self.catalogue, self.heard)

    def plays(self, sources: list[int] | None = None) -> npt.NDArray[np.float64]:
        """Return how often each name was played."""
        plays = np.zeros(len(self.heard))
        known = [source.id for source in self.sources]
        totals = self._store.listens.totals(known if sources is None else sources)
        for name, count in totals.items():
            place = int(np.searchsorted(self._ids, name))
            if place < len(self._ids) and self._ids[place] == name:
                plays[place] = count
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
        if choice is not None and choice != ListenerChoice():
            return self._built(choice)
        return self._usual

    @made_once
    def _usual(self) -> Listening:
        return self._built(ListenerChoice())

    def _built(self, choice: ListenerChoice) -> Listening:
        return build_listening(
            [self._source(source) for source in self.sources],
            self.matched,
            len(self.catalogue.artists),
            len(self.songs),
            listeners=choice.listeners,
            min_plays=choice.min_plays,
            gap_minutes=choice.gap_minutes,
        )

    def _source(self, source: Source) -> SourceListens:
        blocks = self._played.get(source.id) or list(self._store.listens.columns(source.id))
        name = _joined([block.name for block in blocks], np.int32)
        return SourceListens(
            source.kind,
            _joined([block.user for block in blocks], np.int32),
            np.searchsorted(self._ids, name).astype(np.int32),
            _joined([block.plays for block in blocks], np.float32),
            _joined([block.time for block in blocks], np.int64),
        )


def _sources(store: Store) -> tuple[list[Source], dict[int, list[Columns]]]:
    """Return all histories, and the rows of that of plays: it is soon replaced, and would be gone when needed."""
    while True:
        sources = store.listens.sources()
        rows = {source.id: list(store.listens.columns(source.id)) for source in sources if source.format == PLAYED}
        if rows.keys() <= {source.id for source in store.listens.sources()}:  # it was there while it was read
            return sources, rows


def _joined(parts: list[npt.NDArray[Any]], kind: type[Any]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def training_data(
    store: Store, ear_id: int, choice: ListenerChoice, settings: TrainingSettings, progress: Progress
) -> tuple[TrainingData, str]:
    """Read all that a training needs, and say in words who the listeners are."""
    progress("reading listens", 0, 0)
    histories = Histories(store)
    if not histories.sources:
        raise LibraryError(
            "no listening history was imported, so there is nothing to learn from; "
            "`nearsong listens import FILE` takes Last.fm, ListenBrainz, Spotify, CSV and playlists."
        )
    progress("looking them up", 0, 0)
    listening = histories.listening(choice)
    progress("reading songs", 0, 0)
    wanted = _few_of_each(histories, listening, settings)
    ids, vectors = _vectors(store, ear_id, [histories.songs[row].id for row in wanted])
    row_of = {histories.songs[row].id: row for row in wanted}
    rows = np.array([row_of[song] for song in ids.tolist()], dtype=np.int64)
    order = np.argsort(rows)
    ids, vectors, rows = ids[order], vectors[order], rows[order]
    data = TrainingData(
        vectors=vectors,
        song_artist=histories.catalogue.song_artist[rows],
        artist_plays=listening.artist_plays,
        song_plays=listening.song_plays[:, rows],
        listeners=listening.listeners,
        song_ids=ids,
    )
    return data, listening.how


def _few_of_each(histories: Histories, listening: Listening, settings: TrainingSettings) -> list[int]:
    """Choose the songs whose vectors are read: of artists somebody plays, several times what a training takes.

    Songs that somebody plays come first, so that song by song there is something to learn from.
    """
    random = np.random.default_rng([settings.seed, 29])
    played = np.asarray(listening.artist_plays.sum(axis=0)).ravel() > 0
    known = np.asarray(listening.song_plays.sum(axis=0)).ravel() > 0
    of_artist: dict[int, list[int]] = {}
    for row, artist in enumerate(histories.catalogue.song_artist.tolist()):
        if artist >= 0 and played[artist]:
            of_artist.setdefault(artist, []).append(row)
    most = min(2 * settings.songs_an_artist, max(1, 6 * settings.max_songs // max(1, len(of_artist))))
    chosen: list[int] = []
    for rows in of_artist.values():
        order = np.array(rows)[np.lexsort((random.random(len(rows)), ~known[rows]))]
        chosen.extend(order[:most].tolist())
    return sorted(chosen)


def _vectors(store: Store, ear_id: int, ids: list[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    blocks = [block for block in store.songs.vectors(ear_id, ids) if len(block[0])]
    if not blocks:
        raise LibraryError(
            "no song of the library is by an artist in the listening histories; `nearsong listens list` shows what "
            "was not found: check the songs' tags."
        )
    return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])


def _current(store: Store) -> int:
    """Return the ear that all songs were heard with."""
    ear_id = store.models.current_ear
    if ear_id is None:
        raise EmptyLibraryError("the library holds no songs yet; begin with `nearsong scan FOLDER`.")
    unheard = store.songs.unheard(ear_id)
    if store.models.setting(PENDING) is not None and unheard:
        raise LibraryError(
            f"{unheard:,} songs are still to be heard with the new codebook; run `nearsong scan` first."
        )
    return ear_id


def train_library(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    *,
    progress: Progress = lambda stage, done, total: None,
) -> tuple[int | None, TrainingReport]:
    """Learn a metric from the library's listens and let it answer, if it is better than none.

    Returns
    -------
    model_id : int or None
        The new model; None if the native metric was kept.
    report : TrainingReport
    """
    ear_id = _current(store)
    Played(store).gather()
    data, how = training_data(store, ear_id, choice, settings, progress)
    trained = train(load_ear(store, ear_id), data, settings, progress=progress)
    report = replace(trained.report, notes=(*trained.report.notes, f"Listeners: {how}."))
    if store.models.current_ear != ear_id:
        raise LibraryError("the codebook was changed while this ran, so the metric does not fit; train again.")
    if trained.model is not None:
        model_id = add_model(store, trained.model, ear_id, "learned", {"report": report.as_json()}, progress=progress)
        _remember_refusal(store, None)
        return model_id, report
    if store.models.active is None:
        add_native(store, settings.seed, progress)
    _remember_refusal(store, report)
    return None, report


def refusal_mark(store: Store) -> str:
    """Return what changes when there is more to learn from: the histories and how many songs there are.

    What is played here grows all the time, and counts as more when it has become twice as much.
    """
    sources = [
        f"played {source.rows.bit_length()}" if source.format == PLAYED else source.id
        for source in store.listens.sources()
    ]
    return f"{sources} {store.songs.counts(None)['songs']}"


def refused_report(store: Store) -> TrainingReport | None:
    """Return the report of the last training if nothing was taken from it; None if something was."""
    kept = store.models.setting(REFUSED_REPORT)
    try:
        return None if kept is None else TrainingReport.from_json(json.loads(kept))
    except InvalidInputError:  # of a later version
        return None


def _remember_refusal(store: Store, report: TrainingReport | None) -> None:
    mark = None if report is None else refusal_mark(store)
    with store.writing() as connection:
        store.models.set(connection, REFUSED, mark)
        store.models.set(connection, REFUSED_REPORT, None if report is None else json.dumps(report.as_json()))


def evaluate_library(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    *,
    progress: Progress = lambda stage, done, total: None,
) -> TrainingReport:
    """Measure on held-out artists how good the active model's way of learning is, with the listens there are now."""
    ear_id = _current(store)
    active = store.models.active
    row = None if active is None else store.models.row(active)
    facts: dict[str, Any] = {}
    imported, seen = None, False
    if row is not None and row.kind != "native":
        model = SimilarityModel.from_bytes(store.models.data(row.id))
        facts = dict(model.trained_on)
        if row.kind == "imported" and row.ear_id == ear_id:
            imported, seen = model, _is_of_this_library(store, facts)
    data, _ = training_data(store, ear_id, choice, settings, progress)
    return evaluate(
        data,
        settings,
        loss=facts.get("loss", "auc"),
        C=facts.get("C", 1e3),
        model=imported,
        seen=seen,
        progress=progress,
    )


def _is_of_this_library(store: Store, facts: dict[str, Any]) -> bool:
    """Say whether a model was trained here, exported and brought back: then it has seen these artists."""
    learned = [row.id for row in store.models.rows() if row.kind == "learned"]
    return any(dict(SimilarityModel.from_bytes(store.models.data(model)).trained_on) == facts for model in learned)
