"""Songs -> artists, their albums and the songs on them, as players show a library, with stable ids.

Every song is on exactly one album: without an album tag, on its artist's "(no album)"; without an artist tag, by
"Unknown artist". Whose album it is: `nearsong.library.browsing.album_artists`. Songs of an album are sorted by disc,
track number, and path, which follows track numbers in file names.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nearsong.errors import LibraryError
from nearsong.library.browsing.album_artists import VARIOUS_KEY, album_groups, disc_of
from nearsong.library.browsing.song_list import folded, most_common
from nearsong.library.records import Song
from nearsong.names import primary_artist

UNKNOWN_ARTIST = "Unknown artist"
NO_ALBUM = "(no album)"

_Value = TypeVar("_Value", int, str)
_NO_YEAR = 10_000  # sorts albums without a year last
_NO_TRACK = 10_000
_DIGITS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True)
class Album:
    """Songs that were released together.

    Attributes
    ----------
    id : str
        Stable across restarts.
    name : str
        The most common spelling among its songs.
    artist_id, artist : str
        Whose album it is; perhaps "Various Artists".
    year : int or None
        The most common year among its songs.
    genre : str
        The most common genre among its songs; may be empty.
    songs : tuple of Song
        By disc and track number.
    """

    id: str
    name: str
    artist_id: str
    artist: str
    year: int | None
    genre: str
    songs: tuple[Song, ...]

    @property
    def is_compilation(self) -> bool:
        """Whether it is by various artists."""
        return self.artist_id == VARIOUS_ARTISTS_ID

    @property
    def seconds(self) -> float:
        """Duration of all its songs."""
        return sum(song.seconds for song in self.songs)

    @property
    def added(self) -> float:
        """When its newest song was added, in seconds since 1970."""
        return max(song.added for song in self.songs)


@dataclass(frozen=True)
class Artist:
    """An artist, its albums, and albums of others that it is on.

    Attributes
    ----------
    id : str
        Stable across restarts.
    name : str
        The most common spelling, without guests.
    albums : tuple of Album
        By year, then name; "(no album)" last. Empty for artists who only appear on others' albums.
    appears_on : tuple of Album
        Albums of others, or of various artists, with songs of this artist, in the same order.
    songs : tuple of Song
        All songs of its albums, then its own on albums of others.
    """

    id: str
    name: str
    albums: tuple[Album, ...]
    appears_on: tuple[Album, ...]
    songs: tuple[Song, ...]


class AlbumIndex:
    """The artists and albums of a set of songs.

    Parameters
    ----------
    songs : iterable of Song

    Attributes
    ----------
    artists : list of Artist
        All of songs and of albums, by name, ignoring a leading "The"; "Unknown artist" last.
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
        grouped = album_groups(songs)
        names = _artist_names(grouped)
        keyed = [(fold, key, _album(key, fold, names[key], members)) for (key, fold), members in grouped.items()]
        sort_names = {key: _sort_name(folded(name)) for key, name in names.items()}
        keyed.sort(key=lambda one: (not one[0], _sort_name(one[0]), sort_names[one[1]], one[2].id))
        self.albums = [album for _, _, album in keyed]
        keyed.sort(key=lambda one: (not one[0], one[2].year or _NO_YEAR, _sort_name(one[0]), one[2].id))
        artists = _artists(names, [(key, album) for _, key, album in keyed])
        in_order = sorted(names, key=lambda key: (not key, sort_names[key], artist_id(key)))
        self.artists = [artists[key] for key in in_order]
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

    def album_with(self, song_id: int) -> Album | None:
        """Return the album that a song is on, by the song's id; None if there is no such song."""
        return self._album_of.get(song_id)

    def artist_of(self, song: Song) -> Artist:
        """Return the artist of a song, who is not always that of its album."""
        return self.artist(artist_id(song.artist_key))

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


def is_named(album: Album) -> bool:
    """Return whether songs name the album, so that it is one."""
    return any(song.album.strip() for song in album.songs)


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


VARIOUS_ARTISTS_ID = artist_id(VARIOUS_KEY)


def _artist_names(grouped: Mapping[tuple[str, str], Sequence[tuple[Song, str]]]) -> dict[str, str]:
    """Return the name of each artist by key: the most common spelling of songs and albums."""
    spellings: dict[str, Counter[str]] = {}
    primary: dict[str, str] = {}
    for (key, _), members in grouped.items():
        for song, album_artist in members:
            if song.artist not in primary:
                primary[song.artist] = primary_artist(song.artist)
            spellings.setdefault(song.artist_key, Counter())[primary[song.artist]] += 1
            if key != song.artist_key:
                spellings.setdefault(key, Counter())[album_artist] += 1
    names = {key: most_common(times) for key, times in spellings.items()}
    return {**names, **({"": UNKNOWN_ARTIST} if "" in names else {})}


def _artists(names: Mapping[str, str], albums: Sequence[tuple[str, Album]]) -> dict[str, Artist]:
    """Return all artists by key, with albums in the given order."""
    own: dict[str, list[Album]] = {key: [] for key in names}
    others: dict[str, list[Album]] = {key: [] for key in names}
    for key, album in albums:
        own[key].append(album)
        for guest in {song.artist_key for song in album.songs} - {key}:
            others[guest].append(album)
    return {key: _artist(key, name, own[key], others[key]) for key, name in names.items()}


def _artist(key: str, name: str, albums: Sequence[Album], others: Sequence[Album]) -> Artist:
    songs = [song for album in albums for song in album.songs]
    songs += [song for album in others for song in album.songs if song.artist_key == key]
    return Artist(artist_id(key), name, tuple(albums), tuple(others), tuple(songs))


def _album(key: str, fold: str, artist: str, members: Sequence[tuple[Song, str]]) -> Album:
    songs = [song for song, _ in members]
    years = [song.year for song in songs if song.year is not None]
    genres = [song.genre for song in songs if song.genre]
    return Album(
        id=_album_id(key, fold),
        name=_most_common_value([song.album.strip() for song in songs]) if fold else NO_ALBUM,
        artist_id=artist_id(key),
        artist=artist,
        year=_most_common_value(years) if years else None,
        genre=_most_common_value(genres) if genres else "",
        songs=tuple(sorted(songs, key=_track_sort_key)) if len(songs) > 1 else tuple(songs),
    )


def _track_sort_key(song: Song) -> tuple[object, ...]:
    """Return what songs of an album are sorted by; those without a track number come after those with one."""
    return disc_of(song), song.track_number or _NO_TRACK, _path_sort_key(song.path), song.id


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
