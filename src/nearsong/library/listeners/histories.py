"""The store's listening histories and songs -> matched track names, play counts and listener matrices."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.caching import cached_property
from nearsong.errors import LibraryError
from nearsong.library.listeners.deduplicate import PORTION_ROWS, HistoryListens, ListenRows, portions
from nearsong.library.listeners.known_listens import KnownListens
from nearsong.library.listeners.matches.records import MatchReport
from nearsong.library.listeners.matching import Matched, SongCatalogue, match, match_report
from nearsong.library.listeners.matrices import GAP_MINUTES, artist_counts, build_listening
from nearsong.library.listeners.outside import OutsideArtists, outside_artists
from nearsong.library.listeners.same_track import named_tracks
from nearsong.library.listeners.thresholds import Listening
from nearsong.library.records import Song
from nearsong.library.store import PLAYED, History, ListenColumns, Store
from nearsong.listens.records import Action, TrackName
from nearsong.names import visible_name

MIN_TITLED_SHARE = 0.5
"""Below this share of matched plays that name a title, a song without plays may have been played often."""

N_COMMON_ARTISTS = 5
"""Artists of the library that a report names."""


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


class HistoryRow(NamedTuple):
    """A row of a history; ``plays`` is the number of stars of a rating."""

    track: TrackName
    action: Action
    plays: float
    time: int


class Histories:
    """All listening histories of a library, matched with its songs.

    Parameters
    ----------
    store : Store
    users : sequence of int, optional
        Ids of users, of whom only the rows are read; by default of all.

    Attributes
    ----------
    histories : list of History
        The histories at the time of construction.
    songs : list of Song
        Sorted by path, so that results do not depend on ids, which follow the order in which a scan finished.
    catalogue : SongCatalogue
        The same songs, ready for lookup.
    """

    def __init__(self, store: Store, users: Sequence[int] | None = None) -> None:
        self._store = store
        # histories before names, so that the names of every history are complete despite concurrent imports
        self.histories, self._rows = _read_histories(store)
        used = None
        if users is not None:
            self._rows = rows_of_users(store, self.histories, self._rows, users)
            self.histories = [history for history in self.histories if history.id in self._rows]
            used = _concatenate([block.name for blocks in self._rows.values() for block in blocks], np.int32)
        self.songs: list[Song] = sorted(store.songs.all(), key=lambda song: song.path)
        self.catalogue = SongCatalogue.of(self.songs)
        self._name_ids, self._names = store.listens.names(used)

    @classmethod
    def of_user(cls, store: Store, name: str) -> "Histories":
        """Return the histories with the rows of one user only."""
        number = store.listens.user_id(name)
        return cls(store, users=[] if number is None else [number])

    @cached_property
    def matched(self) -> Matched:
        """Return the song and artist of each track name."""
        return match(self.catalogue, self._names)

    def report(self, history_ids: list[int] | None = None, top: int = 10) -> MatchReport:
        """Return how much of some or all histories was matched; a listen that two of them report counts once."""
        plays = self._plays(history_ids)
        played = np.flatnonzero(plays)
        matched, names = self.matched, [self._names[row] for row in played]
        report = match_report(
            Matched(matched.song[played], matched.artist[played], matched.how[played]), plays[played], names, top=top
        )
        is_swapped = bool(names) and not report.names_matched and self._is_swapped(names)
        return replace(report, **self._library_facts, is_swapped=is_swapped)

    def _is_swapped(self, names: list[TrackName]) -> bool:
        """Return whether some names match a song once artist and title are exchanged."""
        exchanged = [TrackName(name.title, name.artist) for name in names if name.artist and name.title]
        return bool((match(self.catalogue, exchanged).song >= 0).any())

    @cached_property
    def _library_facts(self) -> dict[str, Any]:
        """Return what a report says about the library."""
        artists = Counter(
            artist
            for song, artist in zip(self.songs, self.catalogue.song_artist.tolist(), strict=True)
            if artist >= 0 and not song.missing
        )
        common = tuple(self.catalogue.artists[artist] for artist, _ in artists.most_common(N_COMMON_ARTISTS))
        n_songs = sum(not song.missing for song in self.songs)
        return {"songs": n_songs, "artists": len(artists), "common_artists": common}

    def rows(self, kind: str) -> Iterator[HistoryRow]:
        """Yield the rows of all histories of a kind: listens first, each once, then all that is no listen."""
        if kind == "events":
            for events in self._events(self.histories):
                columns = events.name.tolist(), events.plays.tolist(), events.time.tolist()
                for name, plays, time in zip(*columns, strict=True):
                    yield HistoryRow(self._names[name], Action.LISTEN, plays, time)
        for history in self.histories:
            for block in self._blocks(history) if history.kind == kind else ():
                others = block.at(block.action != Action.LISTEN) if kind == "events" else block
                names = np.searchsorted(self._name_ids, others.name).tolist()
                facts = names, others.action.tolist(), others.plays.tolist(), others.time.tolist()
                for name, action, plays, time in zip(*facts, strict=True):
                    yield HistoryRow(self._names[name], Action(action), plays, time)

    def n_repeated(self) -> int:
        """Return how many listens are left out, since another row is the same listen."""
        events = [history for history in self.histories if history.kind == "events"]
        n_listens = sum(int((self._listens_of(history).plays > 0).sum()) for history in events)
        return n_listens - sum(len(rows.user) for rows in self._events(events))

    def song_plays(self) -> dict[int, float]:
        """Return how often each song was played, by id; a listen in two histories counts once."""
        counts = self.listening().song_play_counts
        return {self.songs[row].id: float(counts[row]) for row in np.flatnonzero(counts)}

    def tell_songs(self) -> bool:
        """Return whether enough of the matched plays name titles to tell which songs were never played."""
        return self.listening().titled_share >= MIN_TITLED_SHARE

    def song_ids(self, tracks: Sequence[TrackName]) -> list[int | None]:
        """Return the id of the song that each track name means; None if there is none."""
        rows = match(self.catalogue, tracks).song.tolist()
        return [int(self.catalogue.song_ids[row]) if row >= 0 else None for row in rows]

    def last_played(self, listener: str) -> dict[int, int]:
        """Return song id -> when a listener last played it with nearsong, by id or by name, in seconds since 1970."""
        last = self._store.plays.last_played(visible_name(listener))
        named = self._store.plays.last_named(visible_name(listener))
        for song, at in zip(self.song_ids(list(named)), named.values(), strict=True):
            if song is not None:
                last[song] = max(at, last.get(song, at))
        return last

    def listening(self, choice: ListenerChoice | None = None) -> Listening:
        """Return the matrices listeners x artists and listeners x songs."""
        if choice is not None and choice != ListenerChoice():
            return self._build(choice)
        return self._default_listening

    def listening_to_all(self, choice: ListenerChoice | None = None, known: KnownListens | None = None) -> Listening:
        """Return the same, with the artists that the library does not have in ``all_plays``; perhaps of a part."""
        return self._build(choice or ListenerChoice(), self._outside.numbers, known)

    def known_listens(self) -> KnownListens:
        """Return what a model that learns from these histories will have known."""
        newest = 0
        for history in self.histories:
            for block in self._blocks(history) if history.kind == "events" else ():
                newest = max(newest, int(block.time.max(initial=0)))
        return KnownListens.of((history.name for history in self.histories), newest)

    def artist_counts(self, most_rows: int = PORTION_ROWS) -> Iterator[sp.csr_array]:
        """Yield how often users played the library's artists, (n_users, n_artists), some users at a time.

        All blocks are read once for each part, and rows of one part alone are in memory. Playlists are left out. A
        user without listens may have an empty row.

        Parameters
        ----------
        most_rows : int
            Rows of the histories in a part; only a user with more has a larger one.

        Raises
        ------
        LibraryError
            If no user has a history.
        """
        histories = [history for history in self.histories if history.kind != "playlists"]
        rows_until = np.cumsum(self._rows_of_users(histories))
        if not rows_until.any():
            raise LibraryError(
                "no listening history of a user has been imported yet; `nearsong listens import FILE` takes them."
            )
        low = 0
        while low < len(rows_until):
            before = rows_until[low - 1] if low else 0
            high = max(low + 1, int(np.searchsorted(rows_until, before + most_rows, side="right")))
            listens = [self._listens_of(history, (low, high)) for history in histories]
            yield from artist_counts(listens, self.matched, len(self.catalogue.artists), self._names)
            low = high

    def _rows_of_users(self, histories: Sequence[History]) -> npt.NDArray[np.int64]:
        """Return how many rows each user has in some histories."""
        n_rows = np.zeros(0, np.int64)
        for block in (block for history in histories for block in self._blocks(history)):
            counted = np.bincount(block.user, minlength=len(n_rows))
            counted[: len(n_rows)] += n_rows
            n_rows = counted
        return n_rows

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

    def _build(
        self,
        choice: ListenerChoice,
        outside: npt.NDArray[np.int64] | None = None,
        known: KnownListens | None = None,
    ) -> Listening:
        listens = [self._listens_of(history) for history in self.histories]
        if known is not None:
            names = [history.name for history in self.histories]
            listens = [known.part_of(name, part) for name, part in zip(names, listens, strict=True)]
        return build_listening(
            listens,
            self.matched,
            len(self.catalogue.artists),
            len(self.songs),
            listeners=choice.listeners,
            min_plays=choice.min_plays,
            gap_minutes=choice.gap_minutes,
            outside=outside,
            names=self._names,
        )

    def _plays(self, history_ids: list[int] | None) -> npt.NDArray[np.float64]:
        """Return how often each track name was played, each listen once."""
        chosen = [history for history in self.histories if history_ids is None or history.id in history_ids]
        others = [history for history in chosen if history.kind != "events"]
        plays = self._totals([history.id for history in others if history.id not in self._rows])
        for rows in (self._listens_of(history) for history in others if history.id in self._rows):
            plays += np.bincount(rows.name, rows.plays, len(plays))
        for events in self._events(chosen):
            plays += np.bincount(events.name, events.plays, len(plays))
        return plays

    def _events(self, histories: Sequence[History]) -> Iterator[ListenRows]:
        """Yield the listens of histories with events, each once, a range of users at a time."""
        sources = [self._listens_of(history) for history in histories if history.kind == "events"]
        tracks_of = partial(named_tracks, self.matched, self._names)
        for _, _, events in portions([source for source in sources if len(source)], len(self._names), tracks_of):
            yield events

    def _totals(self, history_ids: list[int]) -> npt.NDArray[np.float64]:
        """Return how often each track name was played in histories without events, whose rows are never the same."""
        plays = np.zeros(len(self._names))
        totals = self._store.listens.totals(history_ids) if history_ids else {}
        if totals:
            ids, counts = np.array(list(totals)), np.array(list(totals.values()))
            known = np.isin(ids, self._name_ids)  # a name may be newer than those that were read
            plays[np.searchsorted(self._name_ids, ids[known])] = counts[known]
        return plays

    def _blocks(self, history: History) -> Iterator[ListenColumns]:
        last = self._name_ids[-1] if len(self._name_ids) else -1
        for block in self._rows.get(history.id) or self._store.listens.columns(history.id):
            yield block.up_to(last)  # a pull may have added rows since the names were read

    def _listens_of(self, history: History, users: tuple[int, int] | None = None) -> HistoryListens:
        """Return the listens of a history; of a range of users numbered from its first on."""
        low, high = users or (0, 0)
        blocks = [
            listens if users is None else listens.at((low <= listens.user) & (listens.user < high))
            for listens in (block.of(Action.LISTEN) for block in self._blocks(history))
        ]
        names = _concatenate([block.name for block in blocks], np.int32)
        return HistoryListens(
            kind=history.kind,
            user=_concatenate([block.user for block in blocks], np.int32) - np.int32(low),
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


def rows_of_users(
    store: Store, histories: Sequence[History], read: dict[int, list[ListenColumns]], users: Sequence[int]
) -> dict[int, list[ListenColumns]]:
    """Return the rows of some users in each history that has some."""
    users_of = store.listens.users_of_histories()
    rows: dict[int, list[ListenColumns]] = {}
    for history in histories:
        if history.kind == "playlists" or not np.isin(users_of.get(history.id, ()), users).any():
            continue
        for block in read.get(history.id) or store.listens.columns(history.id):
            if (chosen := np.isin(block.user, users)).any():
                rows.setdefault(history.id, []).append(block.at(chosen))
    return rows


def _concatenate(parts: list[npt.NDArray[Any]], dtype: type[Any]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)
