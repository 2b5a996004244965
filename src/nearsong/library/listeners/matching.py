"""Track names + the library's songs -> the song and artist that each name refers to.

A name is looked up by its recording MBID, then by artist and title, then by its artist alone (by MBID or by name).
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.matches.records import BY_ARTIST, BY_RECORDING, BY_TITLE, NOT, WAYS, MatchReport
from nearsong.library.records import Song
from nearsong.listens.records import TrackName
from nearsong.names import artist_key, primary_artist, title_key

Indices = npt.NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)

_MIN_RANKED_NAMES = 1_000
"""Most played unmatched names whose spellings are merged in a report."""


@dataclass(frozen=True, eq=False)
class TrackNameColumns:
    """Track names in columns of equal length: as a sequence of `TrackName`, but without an object per name."""

    artist: Sequence[str]
    title: Sequence[str]
    recording_mbid: Sequence[str]
    artist_mbid: Sequence[str]

    def __post_init__(self) -> None:
        lengths = {len(self.artist), len(self.title), len(self.recording_mbid), len(self.artist_mbid)}
        if len(lengths) != 1:
            raise InvalidInputError(f"columns of {sorted(lengths)} names do not belong together; give equally many.")

    def __len__(self) -> int:
        return len(self.artist)

    def __iter__(self) -> Iterator[tuple[str, str, str, str]]:
        return zip(self.artist, self.title, self.recording_mbid, self.artist_mbid, strict=True)

    def name(self, row: int) -> str:
        """Return artist and title for display."""
        return _display(self.artist[row], self.title[row])


@dataclass(frozen=True, eq=False)
class SongCatalogue:
    """The library's songs, indexed for lookup by MBID and by artist and title.

    Attributes
    ----------
    song_ids : ndarray of int64 and shape (n,)
        Ids of the songs, in the given order.
    song_artist : ndarray of int64 and shape (n,)
        Each song's artist, an index into ``artists``; -1 without one.
    artists : list of str
        In order of first appearance, each in its most frequent spelling.
    artist_keys : list of str
        Normalised names by which artists are compared.
    same_as : ndarray of int64 and shape (n,)
        Row of the song that each song is a copy of; its own row if it is no copy. Songs with the same artist and
        title or the same recording MBID, directly or transitively, are copies of the one that lookup prefers.
    """

    song_ids: Indices
    song_artist: Indices
    artists: list[str]
    artist_keys: list[str]
    same_as: Indices
    _artist_of_key: Mapping[str, int]
    _artist_of_mbid: Mapping[str, int]
    _song_of_mbid: Mapping[str, int]
    _song_of_title: Mapping[tuple[int, str], int]

    @classmethod
    def of(cls, songs: Sequence[Song]) -> "SongCatalogue":
        """Build the catalogue of songs.

        Of several songs with the same artist and title, or the same MBID, lookup prefers one whose file exists, then
        the lowest id.

        Examples
        --------
        >>> song = Song(id=7, path="a.mp3", artist="Björk", title="Jóga (Remastered)", artist_key="bjork")
        >>> catalogue = SongCatalogue.of([song])
        >>> tracks = [TrackName("BJORK", "Joga"), TrackName("Björk"), TrackName("Can", "Vitamin C")]
        >>> matched = match(catalogue, tracks)
        >>> matched.song.tolist(), matched.artist.tolist(), [WAYS[how] for how in matched.how]
        ([0, -1, -1], [0, 0, -1], ['artist and title', 'artist', 'not found'])
        """
        song_ids = np.fromiter((song.id for song in songs), np.int64, len(songs))
        song_artist = np.full(len(songs), -1, np.int64)
        artist_of_key: dict[str, int] = {}
        spellings: list[Counter[str]] = []
        primary = [primary_artist(song.artist) for song in songs]
        for row, display in enumerate(primary):
            key = artist_key(display)
            if key:
                artist = artist_of_key.setdefault(key, len(artist_of_key))
                if artist == len(spellings):
                    spellings.append(Counter())
                spellings[artist][display] += 1
                song_artist[row] = artist
        artist_keys = list(artist_of_key)
        for row, song in enumerate(songs):  # the full credit is a valid lookup key too
            if song_artist[row] >= 0 and song.artist != primary[row]:
                artist_of_key.setdefault(artist_key(song.artist), int(song_artist[row]))
        missing = np.fromiter((song.missing for song in songs), bool, len(songs))
        order = np.lexsort((song_ids, missing)).tolist()
        mbids = [normalised_mbid(song.recording_mbid) or None for song in songs]
        titles = _titles(songs, song_artist)
        of_mbid, of_title = _first_with(mbids, order), _first_with(titles, order)
        return cls(
            song_ids=song_ids,
            song_artist=song_artist,
            artists=[counts.most_common(1)[0][0] for counts in spellings],
            artist_keys=artist_keys,
            same_as=_same_as([_all_with(mbids, of_mbid), _all_with(titles, of_title)], order),
            _artist_of_key=artist_of_key,
            _artist_of_mbid=_artists_by_mbid(songs, song_artist),
            _song_of_mbid=of_mbid,
            _song_of_title=of_title,
        )

    def __len__(self) -> int:
        return len(self.song_ids)

    def artist_named(self, name: str) -> int:
        """Return the index of an artist, or -1."""
        artist = self._artist_of_key.get(artist_key(name))
        if artist is None:
            primary = primary_artist(name)
            artist = self._artist_of_key.get(artist_key(primary)) if primary != name else None
        return -1 if artist is None else artist


@dataclass(frozen=True, eq=False)
class Matched:
    """Songs and artists that m names refer to.

    Attributes
    ----------
    song, artist : ndarrays of int64 and shape (m,)
        Rows of the catalogue's songs and artists; -1 where there is none.
    how : ndarray of uint8 and shape (m,)
        How each name was matched, an index into `WAYS` of `matches.records`.
    same_as : ndarray of int64 and shape (n,), optional
        Which of the catalogue's songs are copies of each other, see `SongCatalogue`; None if none are.
    """

    song: Indices
    artist: Indices
    how: npt.NDArray[np.uint8]
    same_as: Indices | None = None

    def __len__(self) -> int:
        return len(self.song)


def match(catalogue: SongCatalogue, tracks: Sequence[TrackName] | TrackNameColumns) -> Matched:
    """Match track names with the songs and artists of a catalogue.

    Parameters
    ----------
    catalogue : SongCatalogue
    tracks : sequence of TrackName, or TrackNameColumns
        m names; a title may be missing.

    Returns
    -------
    Matched
        Rows of the catalogue. A matched song determines the artist.
    """
    columns = tracks if isinstance(tracks, TrackNameColumns) else track_name_columns(tracks)
    songs, artists, how = [-1] * len(columns), [-1] * len(columns), bytearray(len(columns))
    song_artist = catalogue.song_artist.tolist()
    song_of_mbid, song_of_title = catalogue._song_of_mbid, catalogue._song_of_title
    artist_of_mbid = catalogue._artist_of_mbid
    artist_cache: dict[str, int] = {}  # histories repeat the same artists
    for row, (name, title, recording, artist_id) in enumerate(columns):
        song = song_of_mbid.get(normalised_mbid(recording), -1) if recording else -1
        if song >= 0:
            songs[row], artists[row], how[row] = song, song_artist[song], BY_RECORDING
            continue
        artist = artist_of_mbid.get(normalised_mbid(artist_id), -1) if artist_id else -1
        if artist < 0:
            cached = artist_cache.get(name)
            artist = artist_cache[name] = catalogue.artist_named(name) if cached is None else cached
        if artist < 0:
            continue
        song = song_of_title.get((artist, title_key(title)), -1) if title else -1
        songs[row], artists[row], how[row] = song, artist, BY_TITLE if song >= 0 else BY_ARTIST
    ways = np.frombuffer(how, np.uint8)
    return Matched(np.array(songs, np.int64), np.array(artists, np.int64), ways, catalogue.same_as)


def match_report(
    matched: Matched, plays: npt.ArrayLike, tracks: Sequence[TrackName] | TrackNameColumns, top: int = 10
) -> MatchReport:
    """Summarise how many plays and names were matched.

    Parameters
    ----------
    matched : Matched
    plays : array-like of shape (m,)
        Play count of each name.
    tracks : sequence of TrackName, or TrackNameColumns
        The m names.
    top : int
        Number of unmatched names to list, the most played first.
    """
    totals = np.asarray(plays, dtype=np.float64)
    if totals.shape != (len(matched),) or len(tracks) != len(matched):
        raise InvalidInputError(
            f"{len(matched)} matches, plays of shape {totals.shape} and {len(tracks)} names do not belong together; "
            "give one of each for every name."
        )
    by_way = np.bincount(matched.how, weights=totals, minlength=len(WAYS)).tolist()
    names = np.bincount(matched.how, minlength=len(WAYS)).tolist()
    unmatched = np.flatnonzero((matched.how == NOT) & (totals > 0))
    ranked = unmatched[np.argsort(-totals[unmatched], kind="stable")[: max(_MIN_RANKED_NAMES, top)]].tolist()
    return MatchReport(
        plays_matched=sum(by_way[1:]),
        plays_unmatched=by_way[NOT],
        plays_by_way=dict(zip(WAYS, by_way, strict=True)),
        names_by_way=dict(zip(WAYS, names, strict=True)),
        most_played_unmatched=_most_played(tracks, totals, ranked)[:top],
    )


def _most_played(
    tracks: Sequence[TrackName] | TrackNameColumns, totals: Any, ranked: list[int]
) -> list[tuple[str, float]]:
    """Return names and plays, merging spellings of the same name under the most played one."""
    plays: dict[tuple[str, str], float] = {}
    shown: dict[tuple[str, str], str] = {}
    for row in ranked:
        artist, title = _parts_at(tracks, row)
        key = (artist_key(primary_artist(artist)), title_key(title))
        plays[key] = plays.get(key, 0.0) + float(totals[row])
        shown.setdefault(key, _display(artist, title))
    order = sorted(plays, key=lambda key: -plays[key])
    return [(shown[key], plays[key]) for key in order]


def track_name_columns(tracks: Sequence[TrackName]) -> TrackNameColumns:
    """Convert track names to columns."""
    return TrackNameColumns(
        [item.artist for item in tracks],
        [item.title for item in tracks],
        [item.recording_mbid for item in tracks],
        [item.artist_mbid for item in tracks],
    )


def _parts_at(tracks: Sequence[TrackName] | TrackNameColumns, row: int) -> tuple[str, str]:
    if isinstance(tracks, TrackNameColumns):
        return tracks.artist[row], tracks.title[row]
    return tracks[row].artist, tracks[row].title


def _display(artist: str, title: str) -> str:
    return f"{artist} - {title}" if artist and title else artist or title


def normalised_mbid(text: str) -> str:
    """Return an MBID as it is compared."""
    return text.strip().lower()


def _titles(songs: Sequence[Song], song_artist: Indices) -> list[tuple[int, str] | None]:
    """Return the key (artist, title) of each song; None if artist or title is missing."""
    pairs = zip(song_artist.tolist(), songs, strict=True)
    keys = ((artist, title_key(song.title) if artist >= 0 else "") for artist, song in pairs)
    return [key if key[1] else None for key in keys]


def _first_with(keys: Sequence[Key | None], order: Sequence[int]) -> dict[Key, int]:
    """Return the first row, in the given order, with each key."""
    first: dict[Key, int] = {}
    for row in order:
        key = keys[row]
        if key is not None:
            first.setdefault(key, row)
    return first


def _all_with(keys: Sequence[Key | None], first: Mapping[Key, int]) -> Indices:
    """Return, for each song, the first row with its key; its own row if it has no key."""
    rows = (row if key is None else first[key] for row, key in enumerate(keys))
    return np.fromiter(rows, np.int64, len(keys))


def _same_as(links: Sequence[Indices], order: Sequence[int]) -> Indices:
    """Return, for each song, the first song of its connected component."""
    n = len(order)
    if not n:
        return np.empty(0, np.int64)
    ends = np.concatenate(links)
    starts = np.tile(np.arange(n), len(links))
    n_groups, group = connected_components(sp.coo_array((np.ones(len(ends)), (starts, ends)), shape=(n, n)))
    first = np.empty(n_groups, np.int64)
    backwards = np.asarray(order, np.int64)[::-1]
    first[group[backwards]] = backwards  # the last assignment wins, which is the first in order
    return np.asarray(first[group], np.int64)


def _artists_by_mbid(songs: Sequence[Song], song_artist: Indices) -> dict[str, int]:
    """Return the artist that most songs have with each MBID; ties by the lower index."""
    votes: dict[str, Counter[int]] = {}
    for song, artist in zip(songs, song_artist.tolist(), strict=True):
        if song.artist_mbid and artist >= 0:
            votes.setdefault(normalised_mbid(song.artist_mbid), Counter())[artist] += 1
    return {mbid: min(counts, key=lambda artist: (-counts[artist], artist)) for mbid, counts in votes.items()}
