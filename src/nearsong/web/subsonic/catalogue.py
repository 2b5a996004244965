"""A snapshot -> what players browse beyond it: the alphabet, genres, albums in other orders, artists by their names.

Each is made when first asked for and kept as long as the snapshot is.
"""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from nearsong.library.browse import Browser, folded, song_words, typed_words
from nearsong.library.made_once import made_once
from nearsong.library.records import Song
from nearsong.library.shelves import Album, Artist, Shelves
from nearsong.library.snapshot import Snapshot

IGNORED_ARTICLES = "The"


class Catalogue:
    """What players browse in a snapshot.

    Attributes
    ----------
    shelves : Shelves
    plays : dict of int to float
    made : float
        When, in seconds since 1970.
    """

    def __init__(self, snapshot: Snapshot) -> None:  # which it does not keep: it would never be let go
        self.shelves: Shelves = snapshot.shelves
        self.plays: dict[int, float] = snapshot.plays
        self._browser: Browser = snapshot.browser
        self.made = time.time()

    @made_once
    def letters(self) -> list[tuple[str, list[Artist]]]:
        """Return artists under the letters they begin with; ``#`` for what is no letter."""
        found: dict[str, list[Artist]] = {}
        for artist in self.shelves.artists:
            first = folded(artist.name).removeprefix("the ")[:1].upper()
            found.setdefault(first if first.isalpha() else "#", []).append(artist)
        return sorted(found.items())

    @made_once
    def genres(self) -> list[tuple[str, int, int]]:
        """Return genres, with how many songs and albums have each; the most songs first."""
        albums: Counter[str] = Counter()
        for album in self.shelves.albums:
            albums.update({folded(song.genre) for song in album.songs})
        return [(name, songs, albums[folded(name)]) for name, songs in self._browser.genres()]

    @made_once
    def tracks(self) -> dict[int, int]:
        """Return the place of each song on its album, from 1."""
        return {song.id: place for album in self.shelves.albums for place, song in enumerate(album.songs, 1)}

    @made_once
    def newest(self) -> list[Album]:
        """Return albums, the one with the last song that came first."""
        last = {album.id: max((song.added, song.id) for song in album.songs) for album in self.shelves.albums}
        return sorted(self.shelves.albums, key=lambda album: last[album.id], reverse=True)

    @made_once
    def frequent(self) -> list[Album]:
        """Return albums that were played, the most often first."""
        played = [(self.album_plays(album), album) for album in self.shelves.albums]
        return [album for plays, album in sorted(played, key=lambda pair: -pair[0]) if plays > 0]

    def album_plays(self, album: Album) -> float:
        """Return how often the songs of an album were played."""
        return sum(self.plays.get(song.id, 0.0) for song in album.songs)

    def album_of(self, song: Song) -> Album:
        """Return the album that a song is on."""
        return self.shelves.album_of(song)

    def artists_named(self, query: str) -> list[Artist]:
        """Return artists whose names have all words of a query, or their beginnings; all for none."""
        return [self.shelves.artists[row] for row in _fitting(self._artist_words, query)]

    def albums_named(self, query: str) -> list[Album]:
        """Return albums whose name or artist has all words of a query, or their beginnings; all for none."""
        return [self.shelves.albums[row] for row in _fitting(self._album_words, query)]

    @made_once
    def _artist_words(self) -> list[str]:
        return [_words(artist.name) for artist in self.shelves.artists]

    @made_once
    def _album_words(self) -> list[str]:
        return [_words(album.name, album.artist) for album in self.shelves.albums]


_kept: WeakKeyDictionary[Snapshot, Catalogue] = WeakKeyDictionary()
_making = threading.Lock()


def catalogue_of(snapshot: Snapshot) -> Catalogue:
    """Return the catalogue of a snapshot, made once."""
    with _making:
        found = _kept.get(snapshot)
        if found is None:
            found = _kept[snapshot] = Catalogue(snapshot)
        return found


def _words(*names: str) -> str:
    return "".join(f" {word}" for name in names for word in sorted(song_words(name)))


def _fitting(texts: Sequence[str], query: str) -> Sequence[int]:
    words = [f" {word}" for word in typed_words(query)]
    if not words:
        return range(len(texts))
    return [row for row, text in enumerate(texts) if all(word in text for word in words)]
