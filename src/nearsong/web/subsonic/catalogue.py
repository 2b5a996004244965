"""A snapshot -> what players browse: the alphabet, genres, albums in other orders, artists by name.

Each is computed on first use and cached for the lifetime of the snapshot.
"""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from weakref import WeakKeyDictionary

from cachetools import cached

from nearsong.caching import cached_property
from nearsong.library import (
    Album,
    AlbumIndex,
    Artist,
    Browser,
    Snapshot,
    Song,
    disc_of,
    folded,
    song_words,
    typed_words,
)

IGNORED_ARTICLES = "The"


class SubsonicCatalogue:
    """What players browse in a snapshot.

    Attributes
    ----------
    albums : AlbumIndex
    plays : dict of int to float
    created : float
        Time it was built, in seconds since 1970.
    """

    def __init__(self, snapshot: Snapshot) -> None:  # not referenced, or the cache below would never release it
        self.albums: AlbumIndex = snapshot.albums
        self.plays: dict[int, float] = snapshot.plays
        self._browser: Browser = snapshot.browser
        self.created = time.time()

    @cached_property
    def letters(self) -> list[tuple[str, list[Artist]]]:
        """Artists by first letter; ``#`` for other characters."""
        letters: dict[str, list[Artist]] = {}
        for artist in self.albums.artists:
            first = folded(artist.name).removeprefix("the ")[:1].upper()
            letters.setdefault(first if first.isalpha() else "#", []).append(artist)
        return sorted(letters.items())

    @cached_property
    def genres(self) -> list[tuple[str, int, int]]:
        """Genres with their numbers of songs and albums, most songs first."""
        albums: Counter[str] = Counter()
        for album in self.albums.albums:
            albums.update({folded(song.genre) for song in album.songs})
        return [(name, songs, albums[folded(name)]) for name, songs in self._browser.genres()]

    @cached_property
    def tracks(self) -> dict[int, int]:
        """Song id -> track number on its disc: that of its tag, or else its position, from 1."""
        tracks: dict[int, int] = {}
        for album in self.albums.albums:
            for _, songs in groupby(album.songs, key=disc_of):
                tracks |= {song.id: song.track_number or position for position, song in enumerate(songs, 1)}
        return tracks

    @cached_property
    def newest(self) -> list[Album]:
        """Albums by their newest song, the latest first."""
        last = {album.id: max((song.added, song.id) for song in album.songs) for album in self.albums.albums}
        return sorted(self.albums.albums, key=lambda album: last[album.id], reverse=True)

    @cached_property
    def frequent(self) -> list[Album]:
        """Albums that were played, most plays first."""
        played = [(self.album_plays(album), album) for album in self.albums.albums]
        return [album for plays, album in sorted(played, key=lambda pair: -pair[0]) if plays > 0]

    def album_plays(self, album: Album) -> float:
        """Return the total number of plays of the songs of an album."""
        return sum(self.plays.get(song.id, 0.0) for song in album.songs)

    def album_of(self, song: Song) -> Album:
        """Return the album that a song is on."""
        return self.albums.album_of(song)

    def artist_of(self, song: Song) -> Artist:
        """Return the artist of a song, who is not always that of its album."""
        return self.albums.artist_of(song)

    def artists_named(self, query: str) -> list[Artist]:
        """Return artists in whose name each word of a query is a prefix of some word; all for an empty query."""
        return [self.albums.artists[row] for row in _matching_rows(self._artist_words, query)]

    def albums_named(self, query: str) -> list[Album]:
        """Return albums whose name or artist matches each word of a query; all for an empty query."""
        return [self.albums.albums[row] for row in _matching_rows(self._album_words, query)]

    @cached_property
    def _artist_words(self) -> list[str]:
        return [_words(artist.name) for artist in self.albums.artists]

    @cached_property
    def _album_words(self) -> list[str]:
        return [_words(album.name, album.artist) for album in self.albums.albums]


@cached(WeakKeyDictionary(), key=lambda snapshot: snapshot, lock=threading.Lock())
def catalogue_of(snapshot: Snapshot) -> SubsonicCatalogue:
    """Return the catalogue of a snapshot, built once."""
    return SubsonicCatalogue(snapshot)


def _words(*names: str) -> str:
    return "".join(f" {word}" for name in names for word in sorted(song_words(name)))


def _matching_rows(texts: Sequence[str], query: str) -> Sequence[int]:
    words = [f" {word}" for word in typed_words(query)]
    if not words:
        return range(len(texts))
    return [row for row, text in enumerate(texts) if all(word in text for word in words)]
