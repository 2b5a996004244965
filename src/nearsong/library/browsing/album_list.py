"""Albums and artists -> lists to search, sort and page through, and those that sound like one of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from nearsong.caching import cached_property
from nearsong.library.browsing.albums import VARIOUS_ARTISTS_ID, Album, AlbumIndex, Artist, artist_id, is_named
from nearsong.library.browsing.similar_groups import SongGroups
from nearsong.library.browsing.song_list import folded, song_words, typed_words
from nearsong.library.neighbours.space import Space
from nearsong.validation import check_choice, check_count

ALBUM_SORTS = ("name", "artist", "newest", "year", "played")
ARTIST_SORTS = ("name", "songs", "played")

Item = TypeVar("Item", Album, Artist)


@dataclass(frozen=True)
class ItemPage(Generic[Item]):
    """A page of albums or artists, and how many there are on all pages."""

    items: Sequence[Item]
    total: int


class AlbumBrowser:
    """Searches, sorts and pages through albums and artists, and finds similar ones. Thread-safe.

    Parameters
    ----------
    albums : AlbumIndex
    space : Space
        The songs under the model that similar albums and artists are found by.
    plays : mapping of int to float
        Song id -> number of plays.
    """

    def __init__(self, albums: AlbumIndex, space: Space, plays: Mapping[int, float]) -> None:
        self.index = albums
        self._space, self._plays = space, plays
        self._orders: dict[str, Sequence[Album]] = {}
        self._artist_orders: dict[str, Sequence[Artist]] = {}

    def plays_of(self, item: Album | Artist) -> float:
        """Return the plays of all songs of an album or artist."""
        return sum(self._plays.get(song.id, 0.0) for song in item.songs)

    def albums(
        self, search: str = "", *, genre: str = "", sort: str = "name", offset: int = 0, limit: int = 50
    ) -> ItemPage[Album]:
        """Return a page of albums; songs without an album are on none of them.

        Parameters
        ----------
        search : str
            Words; each must be the beginning of a word of the album's name or artist.
        genre : str
            Only albums with a song of this genre; empty for all.
        sort : str
            name, artist (then year), newest (last added first), year (latest first) or played (most first).
        offset, limit : int
            Index of the first album, and the maximum number of them.

        Raises
        ------
        InvalidInputError
            If the sort order is unknown or a number is negative.
        """
        check_choice(sort, "sort", ALBUM_SORTS)
        wanted = folded(genre)
        found = self._matching(self._sorted_albums(sort), self._album_words, search)
        if wanted:
            found = [album for album in found if wanted in self._album_genres[album.id]]
        return _page(found, offset, limit)

    def artists(self, search: str = "", *, sort: str = "name", offset: int = 0, limit: int = 50) -> ItemPage[Artist]:
        """Return a page of artists.

        Parameters
        ----------
        search : str
            Words; each must be the beginning of a word of the name.
        sort : str
            name, songs (most first) or played (most first).
        offset, limit : int
            Index of the first artist, and the maximum number of them.

        Raises
        ------
        InvalidInputError
            If the sort order is unknown or a number is negative.
        """
        check_choice(sort, "sort", ARTIST_SORTS)
        return _page(self._matching(self._sorted_artists(sort), self._artist_words, search), offset, limit)

    def similar_albums(self, album: Album, n: int = 6) -> list[Album]:
        """Return the albums of other artists that sound most like one, the nearest first."""
        albums = self.index.albums
        allowed = self._named_albums & (self._album_artists != album.artist_id)
        return [albums[row] for row in self._album_groups.nearest(self._album_rows[album.id], n, allowed)]

    def similar_artists(self, artist: Artist, n: int = 6) -> list[Artist]:
        """Return the artists who sound most like one, the nearest first."""
        artists = self.index.artists
        found = self._artist_groups.nearest(self._artist_rows[artist.id], n, self._named_artists)
        return [artists[row] for row in found]

    def recent(self, last_played: Mapping[int, float], n: int) -> list[Album]:
        """Return the albums with the songs that were played last: song id -> when."""
        latest: dict[str, float] = {}
        for song, time in last_played.items():
            album = self.index.album_with(song)
            if album is not None and is_named(album):
                latest[album.id] = max(time, latest.get(album.id, 0.0))
        ids = sorted(latest, key=lambda one: (-latest[one], one))
        return [self.index.album(one) for one in ids[:n]]

    # ---- sorting and searching

    def _sorted_albums(self, sort: str) -> Sequence[Album]:
        if sort not in self._orders:
            albums = [album for album in self.index.albums if is_named(album)]
            if sort == "artist":
                albums = [album for artist in self.index.artists for album in artist.albums if is_named(album)]
            keys: dict[str, Callable[[Album], float]] = {
                "newest": lambda album: -album.added,
                "year": lambda album: -(album.year or 0),
                "played": lambda album: -self.plays_of(album),
            }
            self._orders[sort] = sorted(albums, key=keys[sort]) if sort in keys else albums
        return self._orders[sort]

    def _sorted_artists(self, sort: str) -> Sequence[Artist]:
        if sort not in self._artist_orders:
            keys: dict[str, Callable[[Artist], float]] = {
                "name": lambda artist: 0,
                "songs": lambda artist: -len(artist.songs),
                "played": lambda artist: -self.plays_of(artist),
            }
            self._artist_orders[sort] = sorted(self.index.artists, key=keys[sort])
        return self._artist_orders[sort]

    def _matching(self, items: Sequence[Item], words_of: Mapping[str, str], search: str) -> Sequence[Item]:
        words = [f" {word}" for word in typed_words(search)]
        return [item for item in items if all(word in words_of[item.id] for word in words)] if words else items

    @cached_property
    def _album_words(self) -> dict[str, str]:
        return {album.id: _words(album.name, album.artist) for album in self.index.albums}

    @cached_property
    def _album_genres(self) -> dict[str, frozenset[str]]:
        names = {song.genre for album in self.index.albums for song in album.songs}
        folds = {name: folded(name) for name in names}
        return {album.id: frozenset(folds[song.genre] for song in album.songs) for album in self.index.albums}

    @cached_property
    def _artist_words(self) -> dict[str, str]:
        return {artist.id: _words(artist.name) for artist in self.index.artists}

    # ---- sound

    @cached_property
    def _album_groups(self) -> SongGroups:
        row_of = self._space.row_of
        groups = [[row_of[song.id] for song in album.songs] for album in self.index.albums]
        return SongGroups(self._space.embeddings, groups)

    @cached_property
    def _artist_groups(self) -> SongGroups:
        row_of = self._space.row_of
        groups = [
            [row_of[song.id] for song in artist.songs if artist_id(song.artist_key) == artist.id]
            or [row_of[song.id] for song in artist.songs]  # of various artists, or of one that only albums name
            for artist in self.index.artists
        ]
        return SongGroups(self._space.embeddings, groups)

    @cached_property
    def _album_rows(self) -> dict[str, int]:
        return {album.id: row for row, album in enumerate(self.index.albums)}

    @cached_property
    def _artist_rows(self) -> dict[str, int]:
        return {artist.id: row for row, artist in enumerate(self.index.artists)}

    @cached_property
    def _named_albums(self) -> npt.NDArray[np.bool_]:
        return np.array([is_named(album) for album in self.index.albums], dtype=bool)

    @cached_property
    def _album_artists(self) -> npt.NDArray[np.str_]:
        artists = ["" if album.is_compilation else album.artist_id for album in self.index.albums]
        return np.array(artists, dtype=np.str_)

    @cached_property
    def _named_artists(self) -> npt.NDArray[np.bool_]:
        nobody = (artist_id(""), VARIOUS_ARTISTS_ID)
        return np.array([artist.id not in nobody for artist in self.index.artists], dtype=bool)


def _page(items: Sequence[Item], offset: int, limit: int) -> ItemPage[Item]:
    check_count(offset, "offset", minimum=0)
    check_count(limit, "limit", minimum=0)
    return ItemPage(items[offset : offset + limit], len(items))


def _words(*names: str) -> str:
    return "".join(f" {word}" for name in names for word in sorted(song_words(name)))
