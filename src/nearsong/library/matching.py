"""Names of what was heard + the library's songs -> which song and which artist each name means.

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
from nearsong.library.records import Heard, Song
from nearsong.names import artist_key, primary_artist, title_key

Places = npt.NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)

NOT, BY_RECORDING, BY_TITLE, BY_ARTIST = range(4)
WAYS = ("not found", "recording MBID", "artist and title", "artist")
"""What the numbers in `Matched.how` mean."""

_LOOKED_AT = 1_000
"""Of the most played names that were not found: those among which other spellings are looked for."""


@dataclass(frozen=True, eq=False)
class HeardColumns:
    """What was played, in columns of equal length; the same as a sequence of `Heard`, without a million objects."""

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

    def name(self, place: int) -> str:
        """Return artist and title as a person would write them."""
        return _display(self.artist[place], self.title[place])


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The library's songs, ready to be looked up.

    Attributes
    ----------
    song_ids : ndarray of int64 and shape (n,)
        As given.
    song_artist : ndarray of int64 and shape (n,)
        Each song's artist, a place in ``artists``; -1 without one.
    artists : list of str
        In the order in which songs name them, each in the spelling that most songs have.
    artist_keys : list of str
        What they are compared by.
    same_as : ndarray of int64 and shape (n,)
        The place of the song that each is a copy of, mostly its own: songs with the same artist and title or the
        same recording MBID, directly or by way of a third, are copies of the first that would be found.
    """

    song_ids: Places
    song_artist: Places
    artists: list[str]
    artist_keys: list[str]
    same_as: Places
    _artist_of_key: Mapping[str, int]
    _artist_of_mbid: Mapping[str, int]
    _song_of_mbid: Mapping[str, int]
    _song_of_title: Mapping[tuple[int, str], int]

    @classmethod
    def of(cls, songs: Sequence[Song]) -> "Catalogue":
        """Take in songs.

        Of several with the same artist and title, or the same MBID, one whose file is there is found before one whose
        file is missing, then the lowest id.

        Examples
        --------
        >>> song = Song(7, "a.mp3", "Björk", "Jóga (Remastered)", "", "", 1997, 305.0, "bjork")
        >>> catalogue = Catalogue.of([song])
        >>> found = match(catalogue, [Heard("BJORK", "Joga"), Heard("Björk"), Heard("Can", "Vitamin C")])
        >>> found.song.tolist(), found.artist.tolist(), [WAYS[how] for how in found.how]
        ([0, -1, -1], [0, 0, -1], ['artist and title', 'artist', 'not found'])
        """
        song_ids = np.fromiter((song.id for song in songs), np.int64, len(songs))
        song_artist = np.full(len(songs), -1, np.int64)
        places: dict[str, int] = {}
        spellings: list[Counter[str]] = []
        spelled = [primary_artist(song.artist) for song in songs]
        for place, display in enumerate(spelled):
            key = artist_key(display)
            if key:
                artist = places.setdefault(key, len(places))
                if artist == len(spellings):
                    spellings.append(Counter())
                spellings[artist][display] += 1
                song_artist[place] = artist
        artist_keys = list(places)
        for place, song in enumerate(songs):  # a band whose whole name was cut is found by it all the same
            if song_artist[place] >= 0 and song.artist != spelled[place]:
                places.setdefault(artist_key(song.artist), int(song_artist[place]))
        missing = np.fromiter((song.missing for song in songs), bool, len(songs))
        order = np.lexsort((song_ids, missing)).tolist()
        mbids = [_mbid(song.recording_mbid) or None for song in songs]
        titles = _titles(songs, song_artist)
        of_mbid, of_title = _first_with(mbids, order), _first_with(titles, order)
        return cls(
            song_ids=song_ids,
            song_artist=song_artist,
            artists=[counts.most_common(1)[0][0] for counts in spellings],
            artist_keys=artist_keys,
            same_as=_same_as([_all_with(mbids, of_mbid), _all_with(titles, of_title)], order),
            _artist_of_key=places,
            _artist_of_mbid=_artists_by_mbid(songs, song_artist),
            _song_of_mbid=of_mbid,
            _song_of_title=of_title,
        )

    def __len__(self) -> int:
        return len(self.song_ids)

    def artist_named(self, name: str) -> int:
        """Return the place of an artist, or -1."""
        found = self._artist_of_key.get(artist_key(name))
        if found is None:
            first = primary_artist(name)
            found = self._artist_of_key.get(artist_key(first)) if first != name else None
        return -1 if found is None else found


@dataclass(frozen=True, eq=False)
class Matched:
    """What each of m names means.

    Attributes
    ----------
    song, artist : ndarrays of int64 and shape (m,)
        Places in the catalogue's songs and artists; -1 where there is none.
    how : ndarray of uint8 and shape (m,)
        Which of `WAYS` found it.
    same_as : ndarray of int64 and shape (n,), optional
        Which of the catalogue's songs are copies of each other, see `Catalogue`; None if none are.
    """

    song: Places
    artist: Places
    how: npt.NDArray[np.uint8]
    same_as: Places | None = None

    def __len__(self) -> int:
        return len(self.song)


def match(catalogue: Catalogue, heard: Sequence[Heard] | HeardColumns) -> Matched:
    """Find what names mean.

    Parameters
    ----------
    catalogue : Catalogue
    heard : sequence of Heard, or HeardColumns
        m names; a title may be missing.

    Returns
    -------
    Matched
        Places in the catalogue. A song that was found says who its artist is.
    """
    columns = heard if isinstance(heard, HeardColumns) else heard_columns(heard)
    songs, artists, how = [-1] * len(columns), [-1] * len(columns), bytearray(len(columns))
    song_artist = catalogue.song_artist.tolist()
    song_of_mbid, song_of_title = catalogue._song_of_mbid, catalogue._song_of_title
    artist_of_mbid = catalogue._artist_of_mbid
    known: dict[str, int] = {}  # histories name the same artists again and again
    for place, (name, title, recording, artist_id) in enumerate(columns):
        song = song_of_mbid.get(_mbid(recording), -1) if recording else -1
        if song >= 0:
            songs[place], artists[place], how[place] = song, song_artist[song], BY_RECORDING
            continue
        artist = artist_of_mbid.get(_mbid(artist_id), -1) if artist_id else -1
        if artist < 0:
            found = known.get(name)
            artist = known[name] = catalogue.artist_named(name) if found is None else found
        if artist < 0:
            continue
        song = song_of_title.get((artist, title_key(title)), -1) if title else -1
        songs[place], artists[place], how[place] = song, artist, BY_TITLE if song >= 0 else BY_ARTIST
    ways = np.frombuffer(how, np.uint8)
    return Matched(np.array(songs, np.int64), np.array(artists, np.int64), ways, catalogue.same_as)


@dataclass(frozen=True)
class MatchReport:
    """How much of what was heard the library has.

    Attributes
    ----------
    plays_matched, plays_unmatched : float
    plays_by_way, names_by_way : dict
        Each of `WAYS` -> plays, names.
    most_played_unmatched : list of (name, plays)
        The most played first, equals in the order they came.
    """

    plays_matched: float
    plays_unmatched: float
    plays_by_way: dict[str, float]
    names_by_way: dict[str, int]
    most_played_unmatched: list[tuple[str, float]]

    @property
    def names_matched(self) -> int:
        """Names that mean something in the library."""
        return sum(self.names_by_way.values()) - self.names_unmatched

    @property
    def names_unmatched(self) -> int:
        """Names that mean nothing in the library."""
        return self.names_by_way[WAYS[NOT]]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {
            "plays_matched": self.plays_matched,
            "plays_unmatched": self.plays_unmatched,
            "plays_by_way": self.plays_by_way,
            "names_by_way": self.names_by_way,
            "most_played_unmatched": [{"name": name, "plays": plays} for name, plays in self.most_played_unmatched],
        }


def match_report(
    matched: Matched, plays: npt.ArrayLike, heard: Sequence[Heard] | HeardColumns, top: int = 10
) -> MatchReport:
    """Say how much was found.

    Parameters
    ----------
    matched : Matched
    plays : array-like of shape (m,)
        How often each name was played.
    heard : sequence of Heard, or HeardColumns
        The m names.
    top : int
        How many of the most played names that were not found to tell.

    Returns
    -------
    MatchReport
    """
    totals = np.asarray(plays, dtype=np.float64)
    if totals.shape != (len(matched),) or len(heard) != len(matched):
        raise InvalidInputError(
            f"{len(matched)} matches, plays of shape {totals.shape} and {len(heard)} names do not belong together; "
            "give one of each for every name."
        )
    by_way = np.bincount(matched.how, weights=totals, minlength=len(WAYS)).tolist()
    names = np.bincount(matched.how, minlength=len(WAYS)).tolist()
    unmatched = np.flatnonzero((matched.how == NOT) & (totals > 0))
    ranked = unmatched[np.argsort(-totals[unmatched], kind="stable")[: max(_LOOKED_AT, top)]].tolist()
    return MatchReport(
        plays_matched=sum(by_way[1:]),
        plays_unmatched=by_way[NOT],
        plays_by_way=dict(zip(WAYS, by_way, strict=True)),
        names_by_way=dict(zip(WAYS, names, strict=True)),
        most_played_unmatched=_most_played(heard, totals, ranked)[:top],
    )


def _most_played(heard: Sequence[Heard] | HeardColumns, totals: Any, ranked: list[int]) -> list[tuple[str, float]]:
    """Return names and plays, spellings of the same name together under the one played most."""
    plays: dict[tuple[str, str], float] = {}
    shown: dict[tuple[str, str], str] = {}
    for place in ranked:
        artist, title = _parts_at(heard, place)
        key = (artist_key(primary_artist(artist)), title_key(title))
        plays[key] = plays.get(key, 0.0) + float(totals[place])
        shown.setdefault(key, _display(artist, title))
    order = sorted(plays, key=lambda key: -plays[key])
    return [(shown[key], plays[key]) for key in order]


def heard_columns(heard: Sequence[Heard]) -> HeardColumns:
    """Return names in columns."""
    return HeardColumns(
        [item.artist for item in heard],
        [item.title for item in heard],
        [item.recording_mbid for item in heard],
        [item.artist_mbid for item in heard],
    )


def _parts_at(heard: Sequence[Heard] | HeardColumns, place: int) -> tuple[str, str]:
    if isinstance(heard, HeardColumns):
        return heard.artist[place], heard.title[place]
    return heard[place].artist, heard[place].title


def _display(artist: str, title: str) -> str:
    return f"{artist} - {title}" if artist and title else artist or title


def _mbid(text: str) -> str:
    return text.strip().lower()


def _titles(songs: Sequence[Song], song_artist: Places) -> list[tuple[int, str] | None]:
    """Return artist and title as they are compared; None where one is missing."""
    pairs = zip(song_artist.tolist(), songs, strict=True)
    keys = ((artist, title_key(song.title) if artist >= 0 else "") for artist, song in pairs)
    return [key if key[1] else None for key in keys]


def _first_with(keys: Sequence[Key | None], order: Sequence[int]) -> dict[Key, int]:
    """Return the place of the first song with each key."""
    found: dict[Key, int] = {}
    for place in order:
        key = keys[place]
        if key is not None:
            found.setdefault(key, place)
    return found


def _all_with(keys: Sequence[Key | None], first: Mapping[Key, int]) -> Places:
    """Return, for each song, the first one with its key; itself without a key."""
    places = (place if key is None else first[key] for place, key in enumerate(keys))
    return np.fromiter(places, np.int64, len(keys))


def _same_as(links: Sequence[Places], order: Sequence[int]) -> Places:
    """Return the first of all songs that links lead to, for each."""
    n = len(order)
    if not n:
        return np.empty(0, np.int64)
    ends = np.concatenate(links)
    starts = np.tile(np.arange(n), len(links))
    n_groups, group = connected_components(sp.coo_array((np.ones(len(ends)), (starts, ends)), shape=(n, n)))
    first = np.empty(n_groups, np.int64)
    backwards = np.asarray(order, np.int64)[::-1]
    first[group[backwards]] = backwards  # of several, the last one written stays
    return np.asarray(first[group], np.int64)


def _artists_by_mbid(songs: Sequence[Song], song_artist: Places) -> dict[str, int]:
    """Return whom most songs mean by an MBID; equals by the lower place."""
    votes: dict[str, Counter[int]] = {}
    for song, artist in zip(songs, song_artist.tolist(), strict=True):
        if song.artist_mbid and artist >= 0:
            votes.setdefault(_mbid(song.artist_mbid), Counter())[artist] += 1
    return {mbid: min(counts, key=lambda artist: (-counts[artist], artist)) for mbid, counts in votes.items()}
