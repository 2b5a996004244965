"""Songs -> artists, their albums and the songs on them, as players show a library, with ids that stay.

Every song is on one album. What has no album is on one of its artist's called "(no album)"; what has no artist is by
"Unknown artist". Songs on an album are in the order of their paths, which is that of track numbers in file names.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nearsong.errors import LibraryError
from nearsong.library.browse import folded, most_common
from nearsong.library.records import Song
from nearsong.names import primary_artist

UNKNOWN_ARTIST = "Unknown artist"
NO_ALBUM = "(no album)"

_Value = TypeVar("_Value", int, str)
_LATER = 10_000  # the year of albums that have none
_NUMBERS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True)
class Album:
    """Songs of one artist that were released together.

    Attributes
    ----------
    id : str
        The same after every restart.
    name : str
        As most of its songs write it.
    artist_id, artist : str
    year : int or None
        Which most of its songs say.
    genre : str
        Which most of its songs say; may be empty.
    songs : tuple of Song
    """

    id: str
    name: str
    artist_id: str
    artist: str
    year: int | None
    genre: str
    songs: tuple[Song, ...]


@dataclass(frozen=True)
class Artist:
    """Someone who makes music.

    Attributes
    ----------
    id : str
        The same after every restart.
    name : str
        As most songs write it, guests left out.
    albums : tuple of Album
        By year, then name; songs without album last.
    """

    id: str
    name: str
    albums: tuple[Album, ...]


class Shelves:
    """All artists and albums of some songs.

    Parameters
    ----------
    songs : iterable of Song

    Attributes
    ----------
    artists : list of Artist
        By name, a leading "The" aside; songs without artist last.
    albums : list of Album
        By name, a leading "The" aside; songs without album last.

    Examples
    --------
    >>> shelves = Shelves([Song(1, "/m/01.mp3", "The Beatles", "Help!", "Help!", "Rock", 1965, 139.0, "beatles")])
    >>> artist = shelves.artists[0]
    >>> artist.id, artist.name, [album.name for album in artist.albums]
    ('ar-3319d96f45cedd30', 'The Beatles', ['Help!'])
    """

    def __init__(self, songs: Iterable[Song]) -> None:
        shelves: dict[str, dict[str, list[Song]]] = {}
        folds: dict[str, str] = {}
        for song in songs:
            if song.album not in folds:
                folds[song.album] = folded(song.album)
            shelves.setdefault(song.artist_key, {}).setdefault(folds[song.album], []).append(song)
        found: list[tuple[tuple[bool, str, str], Artist]] = []
        albums: list[tuple[tuple[bool, str, str, str], Album]] = []
        for key, of_artist in shelves.items():
            artist, in_order = _artist(key, of_artist)
            place = _sort_name(folded(artist.name))
            found.append(((not key, place, artist.id), artist))
            albums += [((*order, place, album.id), album) for order, album in in_order]
        self.artists = [artist for _, artist in sorted(found, key=lambda pair: pair[0])]
        self.albums = [album for _, album in sorted(albums, key=lambda pair: pair[0])]
        self._artists = {artist.id: artist for artist in self.artists}
        self._albums = {album.id: album for album in self.albums}
        self._album_of = {song.id: album for album in self.albums for song in album.songs}

    def artist(self, artist_id: str) -> Artist:
        """Return an artist; a LibraryError if there is none of this id."""
        if (found := self._artists.get(artist_id)) is None:
            raise LibraryError(f"there is no artist {_shown(artist_id)} in the library; look for it by its name.")
        return found

    def album(self, album_id: str) -> Album:
        """Return an album; a LibraryError if there is none of this id."""
        if (found := self._albums.get(album_id)) is None:
            raise LibraryError(f"there is no album {_shown(album_id)} in the library; look for it by its name.")
        return found

    def album_of(self, song: Song) -> Album:
        """Return the album that a song is on."""
        if (found := self._album_of.get(song.id)) is None:
            raise LibraryError(f"song {song.id} is not in the library; look for it by its name.")
        return found


def artist_id(artist_key: str) -> str:
    """Return the id of the artist of some key."""
    return "ar-" + _hash(artist_key)


def album_id(artist_key: str, album: str) -> str:
    """Return the id of an album, however its name is written."""
    return _album_id(artist_key, folded(album))


def _album_id(artist_key: str, fold: str) -> str:
    return "al-" + _hash(f"{artist_key}\0{fold}")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _artist(key: str, albums: dict[str, list[Song]]) -> tuple[Artist, list[tuple[tuple[bool, str], Album]]]:
    """Return an artist, and the albums with what puts them in order of their names."""
    written = Counter(song.artist for songs in albums.values() for song in songs)
    spellings: Counter[str] = Counter()
    for name, times in written.items():
        spellings[primary_artist(name)] += times
    name = most_common(spellings) if key else UNKNOWN_ARTIST
    number = artist_id(key)
    found = [
        ((not fold, _sort_name(fold)), _album(_album_id(key, fold), fold, number, name, songs))
        for fold, songs in albums.items()
    ]
    by_year = sorted(found, key=lambda pair: (pair[0][0], pair[1].year or _LATER, pair[0][1], pair[1].id))
    return Artist(number, name, tuple(album for _, album in by_year)), found


def _album(number: str, fold: str, artist_number: str, artist: str, songs: Sequence[Song]) -> Album:
    years = [song.year for song in songs if song.year is not None]
    genres = [song.genre for song in songs if song.genre]
    return Album(
        number,
        _usual([song.album.strip() for song in songs]) if fold else NO_ALBUM,
        artist_number,
        artist,
        _usual(years) if years else None,
        _usual(genres) if genres else "",
        tuple(sorted(songs, key=lambda song: (_in_order(song.path), song.id))) if len(songs) > 1 else tuple(songs),
    )


def _usual(values: Sequence[_Value]) -> _Value:
    """Return the value that comes most often; of equals the lowest."""
    times = Counter(values)
    return min(times, key=lambda value: (-times[value], value))


def _in_order(path: str) -> list[tuple[int, str]]:
    """Return what puts paths in order: numbers count as numbers, so that 10 is after 9."""
    return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(_NUMBERS.split(path.casefold()))]


def _sort_name(fold: str) -> str:
    """Return what a folded name is sorted by."""
    return fold.removeprefix("the ")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
