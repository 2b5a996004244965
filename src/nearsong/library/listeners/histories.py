"""The store's listening histories and songs -> matched track names, play counts and listener matrices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.caching import cached_property
from nearsong.library.listeners.matching import Matched, MatchReport, SongCatalogue, match, match_report
from nearsong.library.listeners.matrices import GAP_MINUTES, HistoryListens, build_listening
from nearsong.library.listeners.outside import OutsideArtists, outside_artists
from nearsong.library.listeners.thresholds import Listening
from nearsong.library.records import Song
from nearsong.library.store import PLAYED, History, ListenColumns, Store


@dataclass(frozen=True)
class ListenerChoice:
    """Who counts as a listener.

    Attributes
    ----------
    listeners : str
        ``users``, ``sessions``, ``playlists``, or ``auto``.
    min_plays : float or None
        Plays that make a user or session a listener of an artist or song; by default chosen from the data.
    gap_minutes : float
        A pause longer than this ends a session.
    """

    listeners: str = "auto"
    min_plays: float | None = None
    gap_minutes: float = GAP_MINUTES


class Histories:
    """All listening histories of a library, matched with its songs.

    Attributes
    ----------
    histories : list of History
        The histories at the time of construction.
    songs : list of Song
        Sorted by path, so that results do not depend on ids, which follow the order in which a scan finished.
    catalogue : SongCatalogue
        The same songs, ready for lookup.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # histories before names, so that the names of every history are complete despite concurrent imports
        self.histories, self._played_rows = _read_histories(store)
        self.songs: list[Song] = sorted(store.songs.all(), key=lambda song: song.path)
        self.catalogue = SongCatalogue.of(self.songs)
        self._name_ids, self._names = store.listens.names()

    @cached_property
    def matched(self) -> Matched:
        """Return the song and artist of each track name."""
        return match(self.catalogue, self._names)

    def report(self, history_ids: list[int] | None = None, top: int = 10) -> MatchReport:
        """Return how much of some or all histories was matched."""
        plays = self._plays(history_ids)
        played = np.flatnonzero(plays)
        matched = self.matched
        return match_report(
            Matched(matched.song[played], matched.artist[played], matched.how[played]),
            plays[played],
            [self._names[row] for row in played],
            top=top,
        )

    def song_plays(self) -> dict[int, float]:
        """Return how often each song was played, by id; a listen in two histories counts once."""
        counts = self.listening().song_play_counts
        return {self.songs[row].id: float(counts[row]) for row in np.flatnonzero(counts)}

    def listening(self, choice: ListenerChoice | None = None) -> Listening:
        """Return the matrices listeners x artists and listeners x songs."""
        if choice is not None and choice != ListenerChoice():
            return self._build(choice)
        return self._default_listening

    def listening_to_all(self, choice: ListenerChoice | None = None) -> Listening:
        """Return the same, with the artists that the library does not have in ``all_plays``."""
        return self._build(choice or ListenerChoice(), self._outside.numbers)

    def artist_names(self, listening: Listening) -> list[str]:
        """Return the names of the artists of ``listening.all_plays``, by column."""
        names = [*self.catalogue.artists, *self._outside.names]
        return [names[artist] for artist in listening.all_artists.tolist()]

    @cached_property
    def _outside(self) -> OutsideArtists:
        return outside_artists(self.matched, self._names)

    @cached_property
    def _default_listening(self) -> Listening:
        return self._build(ListenerChoice())

    def _build(self, choice: ListenerChoice, outside: npt.NDArray[np.int64] | None = None) -> Listening:
        return build_listening(
            [self._listens_of(history) for history in self.histories],
            self.matched,
            len(self.catalogue.artists),
            len(self.songs),
            listeners=choice.listeners,
            min_plays=choice.min_plays,
            gap_minutes=choice.gap_minutes,
            outside=outside,
        )

    def _plays(self, history_ids: list[int] | None) -> npt.NDArray[np.float64]:
        """Return how often each track name was played."""
        plays = np.zeros(len(self._names))
        ids = [history.id for history in self.histories] if history_ids is None else history_ids
        for name, count in self._store.listens.totals(ids).items():
            row = int(np.searchsorted(self._name_ids, name))
            if row < len(self._name_ids) and self._name_ids[row] == name:
                plays[row] = count
        return plays

    def _listens_of(self, history: History) -> HistoryListens:
        blocks = self._played_rows.get(history.id) or list(self._store.listens.columns(history.id))
        names = _concatenate([block.name for block in blocks], np.int32)
        return HistoryListens(
            kind=history.kind,
            user=_concatenate([block.user for block in blocks], np.int32),
            name=np.searchsorted(self._name_ids, names).astype(np.int32),
            plays=_concatenate([block.plays for block in blocks], np.float32),
            time=_concatenate([block.time for block in blocks], np.int64),
        )


def _read_histories(store: Store) -> tuple[list[History], dict[int, list[ListenColumns]]]:
    """Return all histories, and the rows of the history of plays, which may be replaced before they are needed."""
    while True:
        histories = store.listens.histories()
        rows = {
            history.id: list(store.listens.columns(history.id)) for history in histories if history.format == PLAYED
        }
        if rows.keys() <= {history.id for history in store.listens.histories()}:  # not replaced while it was read
            return histories, rows


def _concatenate(parts: list[npt.NDArray[Any]], dtype: type[Any]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)
