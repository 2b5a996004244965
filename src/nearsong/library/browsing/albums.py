"""Songs -> artists, their albums and the songs on them, as players show a library, with stable ids.

Every song is on exactly one album: without an album tag, on its artist's "(no album)"; without an artist tag, by
"Unknown artist". Songs of an album are sorted by path, which follows track numbers in file names.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nearsong.errors import LibraryError
from nearsong.library.browsing.song_list import folded, most_common
from nearsong.library.records import Song
from nearsong.names import primary_artist

UNKNOWN_ARTIST = "Unknown artist"
NO_ALBUM = "(no album)"

_Value = TypeVar("_Value", int, str)
_NO_YEAR = 10_000  # sorts albums without a year last
_DIGITS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True)
class Album:
    """Songs of one artist that were released together.

    Attributes
    ----------
    id : str
        Stable across restarts.
    name : str
        The most common spelling among its songs.
    artist_id, artist : str
    year : int or None
        The most common year among its songs.
    genre : str
        The most common genre among its songs; may be empty.
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
    """An artist and its albums.

    Attributes
    ----------
    id : str
        Stable across restarts.
    name : str
        The most common spelling, without guests.
    albums : tuple of Album
        By year, then name; "(no album)" last.
    """

    id: str
    name: str
    albums: tuple[Album, ...]


class AlbumIndex:
    """The artists and albums of a set of songs.

    Parameters
    ----------
    songs : iterable of Song

    Attributes
    ----------
    artists : list of Artist
        By name, ignoring a leading "The"; "Unknown artist" last.
    albums : list of Album
        By name, ignoring a leading "The"; "(no album)" last.

    Examples
    --------
    >>> song = Song(id=1, path="/m/01.mp3", artist="The Beatles", title="Help!", album="Help!", artist_key="beatles")
    >>> artist = AlbumIndex([song]).artists[0]
    >>> artist.id, artist.name, [album.name for album in artist.albums]
    ('ar-3319d96f45cedd30', 'The Beatles', ['Help!'])
    """

    def __init__(self, songs: Iterable[Song]) -> None:
        grouped: dict[str, dict[str, list[Song]]] = {}
        folds: dict[str, str] = {}
        for song in songs:
            if song.album not in folds:
                folds[song.album] = folded(song.album)
            grouped.setdefault(song.artist_key, {}).setdefault(folds[song.album], []).append(song)
        artists: list[tuple[tuple[bool, str, str], Artist]] = []
        albums: list[tuple[tuple[bool, str, str, str], Album]] = []
        for key, of_artist in grouped.items():
            artist, in_order = _artist(key, of_artist)
            sort_name = _sort_name(folded(artist.name))
            artists.append(((not key, sort_name, artist.id), artist))
            albums += [((*order, sort_name, album.id), album) for order, album in in_order]
        self.artists = [artist for _, artist in sorted(artists, key=lambda pair: pair[0])]
        self.albums = [album for _, album in sorted(albums, key=lambda pair: pair[0])]
        self._artists = {artist.id: artist for artist in self.artists}
        self._albums = {album.id: album for album in self.albums}
        self._album_of = {song.id: album for album in self.albums for song in album.songs}

    def artist(self, artist_id: str) -> Artist:
        """Return an artist by id; raise a LibraryError if there is none."""
        if (artist := self._artists.get(artist_id)) is None:
            raise LibraryError(f"artist not found: {_quoted(artist_id)}; search for it by name.")
        return artist

    def album(self, album_id: str) -> Album:
        """Return an album by id; raise a LibraryError if there is none."""
        if (album := self._albums.get(album_id)) is None:
            raise LibraryError(f"album not found: {_quoted(album_id)}; search for it by name.")
        return album

    def has_artist(self, artist_id: str) -> bool:
        """Return whether there is an artist with this id."""
        return artist_id in self._artists

    def has_album(self, album_id: str) -> bool:
        """Return whether there is an album with this id."""
        return album_id in self._albums

    def album_of(self, song: Song) -> Album:
        """Return the album that a song is on."""
        if (album := self._album_of.get(song.id)) is None:
            raise LibraryError(f"song not found: {song.id}; search for it by name.")
        return album


def artist_id(artist_key: str) -> str:
    """Return the id of the artist with a key."""
    return "ar-" + _hash(artist_key)


def album_id(artist_key: str, album: str) -> str:
    """Return the id of an album, independent of case, accents and punctuation in its name."""
    return _album_id(artist_key, folded(album))


def _album_id(artist_key: str, fold: str) -> str:
    return "al-" + _hash(f"{artist_key}\0{fold}")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _artist(key: str, albums: dict[str, list[Song]]) -> tuple[Artist, list[tuple[tuple[bool, str], Album]]]:
    """Return an artist, and its albums with keys that sort them by name."""
    written = Counter(song.artist for songs in albums.values() for song in songs)
    spellings: Counter[str] = Counter()
    for name, times in written.items():
        spellings[primary_artist(name)] += times
    name = most_common(spellings) if key else UNKNOWN_ARTIST
    number = artist_id(key)
    keyed_albums = [
        ((not fold, _sort_name(fold)), _album(_album_id(key, fold), fold, number, name, songs))
        for fold, songs in albums.items()
    ]
    by_year = sorted(keyed_albums, key=lambda pair: (pair[0][0], pair[1].year or _NO_YEAR, pair[0][1], pair[1].id))
    return Artist(number, name, tuple(album for _, album in by_year)), keyed_albums


def _album(number: str, fold: str, artist_number: str, artist: str, songs: Sequence[Song]) -> Album:
    years = [song.year for song in songs if song.year is not None]
    genres = [song.genre for song in songs if song.genre]
    return Album(
        id=number,
        name=_most_common_value([song.album.strip() for song in songs]) if fold else NO_ALBUM,
        artist_id=artist_number,
        artist=artist,
        year=_most_common_value(years) if years else None,
        genre=_most_common_value(genres) if genres else "",
        songs=tuple(sorted(songs, key=lambda song: (_path_sort_key(song.path), song.id)))
        if len(songs) > 1
        else tuple(songs),
    )


def _most_common_value(values: Sequence[_Value]) -> _Value:
    """Return the most common value; the lowest in a tie."""
    times = Counter(values)
    return min(times, key=lambda value: (-times[value], value))


def _path_sort_key(path: str) -> list[tuple[int, str]]:
    """Return a key that sorts paths with numbers by value, so that 10 comes after 9."""
    return [(int(part), "") if i % 2 else (0, part) for i, part in enumerate(_DIGITS.split(path.casefold()))]


def _sort_name(fold: str) -> str:
    """Return the sort key of a folded name."""
    return fold.removeprefix("the ")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
