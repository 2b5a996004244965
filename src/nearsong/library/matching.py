"""Names of what was heard + the library's songs -> which song and which artist each name means.

A name is looked up by its recording MBID, then by artist and title, then by its artist alone (by MBID or by name).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.records import Heard, Song
from nearsong.names import artist_key, primary_artist, title_key

Places = npt.NDArray[np.int64]

NOT, BY_RECORDING, BY_TITLE, BY_ARTIST = range(4)
WAYS = ("not found", "recording MBID", "artist and title", "artist")
"""What the numbers in `Matched.how` mean."""


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
    """

    song_ids: Places
    song_artist: Places
    artists: list[str]
    artist_keys: list[str]
    _artist_of_key: Mapping[str, int]
    _artist_of_mbid: Mapping[str, int]
    _song_of_mbid: Mapping[str, int]
    _song_of_title: Mapping[tuple[int, str], int]

    @classmethod
    def of(cls, songs: Sequence[Song]) -> "Catalogue":
        """Take in songs. Of several with the same artist and title, or the same MBID, the lowest id is found.

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
        by_id = np.argsort(song_ids, kind="stable").tolist()
        return cls(
            song_ids=song_ids,
            song_artist=song_artist,
            artists=[counts.most_common(1)[0][0] for counts in spellings],
            artist_keys=artist_keys,
            _artist_of_key=places,
            _artist_of_mbid=_artists_by_mbid(songs, song_artist),
            _song_of_mbid=_songs_by_mbid(songs, by_id),
            _song_of_title=_songs_by_title(songs, song_artist, by_id),
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
    """

    song: Places
    artist: Places
    how: npt.NDArray[np.uint8]

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
    return Matched(np.array(songs, np.int64), np.array(artists, np.int64), np.frombuffer(how, np.uint8))


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
    ranked = unmatched[np.argsort(-totals[unmatched], kind="stable")[:top]].tolist()
    return MatchReport(
        plays_matched=sum(by_way[1:]),
        plays_unmatched=by_way[NOT],
        plays_by_way=dict(zip(WAYS, by_way, strict=True)),
        names_by_way=dict(zip(WAYS, names, strict=True)),
        most_played_unmatched=[(_name_at(heard, place), float(totals[place])) for place in ranked],
    )


def heard_columns(heard: Sequence[Heard]) -> HeardColumns:
    """Return names in columns."""
    return HeardColumns(
        [item.artist for item in heard],
        [item.title for item in heard],
        [item.recording_mbid for item in heard],
        [item.artist_mbid for item in heard],
    )


def _name_at(heard: Sequence[Heard] | HeardColumns, place: int) -> str:
    if isinstance(heard, HeardColumns):
        return heard.name(place)
    return _display(heard[place].artist, heard[place].title)


def _display(artist: str, title: str) -> str:
    return f"{artist} - {title}" if artist and title else artist or title


def _mbid(text: str) -> str:
    return text.strip().lower()


def _songs_by_mbid(songs: Sequence[Song], by_id: list[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for place in by_id:
        if songs[place].recording_mbid:
            found.setdefault(_mbid(songs[place].recording_mbid), place)
    return found


def _songs_by_title(songs: Sequence[Song], song_artist: Places, by_id: list[int]) -> dict[tuple[int, str], int]:
    found: dict[tuple[int, str], int] = {}
    artists = song_artist.tolist()
    for place in by_id:
        key = title_key(songs[place].title) if artists[place] >= 0 else ""
        if key:
            found.setdefault((artists[place], key), place)
    return found


def _artists_by_mbid(songs: Sequence[Song], song_artist: Places) -> dict[str, int]:
    """Return whom most songs mean by an MBID; equals by the lower place."""
    votes: dict[str, Counter[int]] = {}
    for song, artist in zip(songs, song_artist.tolist(), strict=True):
        if song.artist_mbid and artist >= 0:
            votes.setdefault(_mbid(song.artist_mbid), Counter())[artist] += 1
    return {mbid: min(counts, key=lambda artist: (-counts[artist], artist)) for mbid, counts in votes.items()}
