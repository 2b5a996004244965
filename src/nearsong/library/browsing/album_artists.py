"""Songs -> whose album each is on: that of the tag, of various artists, or of the artist that its songs share.

Songs of an album differ in how they name their artists: "A", "A feat. B", "A & C". Bands have such names too, so that
a name is only taken apart beside other songs of the same album in the same folder.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nearsong.library.browsing.song_list import folded
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist
from nearsong.path_names import disc_of_folder, is_various_artists

VARIOUS_ARTISTS = "Various Artists"
VARIOUS_KEY = artist_key(VARIOUS_ARTISTS)

_UNKNOWN = frozenset({"unknown", "unknown artist"})
_FURTHER_ARTISTS = re.compile(
    r"\s*,\s+|\s+[&+x\u00d7]\s+|\s+(?:and|with|vs|versus|meets|presents|pres)\b\.?\s+", re.IGNORECASE
)


class AlbumArtist(NamedTuple):
    """Whose album a song is on: the key, and the name as this song has it; both empty if unknown."""

    key: str
    name: str


class _Names:
    """Names -> keys, each computed once."""

    def __init__(self) -> None:
        self.folded: dict[str, str] = {}
        self._named: dict[str, AlbumArtist] = {}
        self._leads: dict[str, AlbumArtist] = {}

    def fold(self, text: str) -> str:
        if text not in self.folded:
            self.folded[text] = folded(text)
        return self.folded[text]

    def named(self, text: str) -> AlbumArtist:
        """Return the artist that a text names, without guests."""
        if text not in self._named:
            self._named[text] = _named(text)
        return self._named[text]

    def lead(self, text: str) -> AlbumArtist:
        """Return the first of the artists that a text names together."""
        if text not in self._leads:
            first = _FURTHER_ARTISTS.split(primary_artist(text), maxsplit=1)[0]
            self._leads[text] = _named(first or text)
        return self._leads[text]


def _named(text: str) -> AlbumArtist:
    name = primary_artist(text)
    key = artist_key(name) if name else ""
    if is_various_artists(name):
        return AlbumArtist("", "") if key in _UNKNOWN else AlbumArtist(VARIOUS_KEY, VARIOUS_ARTISTS)
    return AlbumArtist(key, name)


def album_groups(songs: Iterable[Song]) -> dict[tuple[str, str], list[tuple[Song, str]]]:
    """Return the songs of each album, with the name that each gives the album's artist.

    Parameters
    ----------
    songs : iterable of Song

    Returns
    -------
    dict of (str, str) to list of (Song, str)
        By the key of the album's artist and the folded name of the album. Each song is in one of them:

        1. of the artist that its tags name as that of the album;
        2. of various artists, if songs of several artists in one folder are tagged as a compilation of this name;
        3. of the first of several artists ("A & B"), if another song of the album in this folder is theirs alone, or
           all songs there have the same first artist but not the same artists;
        4. otherwise of its own artist, and always so without the name of an album.
    """
    names = _Names()
    groups: dict[tuple[str, str], list[tuple[Song, str]]] = {}
    in_folders: dict[tuple[str, str], list[Song]] = {}
    for song in songs:
        fold = names.fold(song.album)
        of_album = names.named(song.album_artist) if fold and song.album_artist else AlbumArtist("", "")
        if of_album.key:
            groups.setdefault((of_album.key, fold), []).append((song, of_album.name))
        elif fold:
            in_folders.setdefault((_album_folder(song.path), fold), []).append(song)
        else:
            groups.setdefault((song.artist_key, fold), []).append((song, primary_artist(song.artist)))
    for (_, fold), together in in_folders.items():
        for song, artist in zip(together, _artists_in_folder(together, names), strict=True):
            groups.setdefault((artist.key, fold), []).append((song, artist.name))
    return groups


def _artists_in_folder(songs: Sequence[Song], names: _Names) -> list[AlbumArtist]:
    """Return the album artist of songs without one that are in one folder and on albums of one name."""
    own = [AlbumArtist(song.artist_key, primary_artist(song.artist)) for song in songs]
    keys = {artist.key for artist in own}
    if len(keys) == 1:
        return own
    flagged = {artist.key for song, artist in zip(songs, own, strict=True) if song.is_compilation}
    is_compilation = len(flagged) > 1
    leads = [names.lead(song.artist) for song in songs]
    is_shared = len({lead.key for lead in leads}) == 1
    return [
        AlbumArtist(VARIOUS_KEY, VARIOUS_ARTISTS)
        if is_compilation and song.is_compilation
        else lead
        if lead.key and (is_shared or lead.key in keys)
        else artist
        for song, artist, lead in zip(songs, own, leads, strict=True)
    ]


def _album_folder(path: str) -> str:
    """Return the folder of a song's album; the discs of an album may have folders of their own."""
    folder = path.rpartition("/")[0]
    parent, _, name = folder.rpartition("/")
    return parent if disc_of_folder(name) is not None else folder


def disc_of(song: Song) -> int:
    """Return the number of the disc that a song is on: of its tags, or of a folder such as "CD 2"; otherwise 1."""
    return song.disc_number or disc_of_folder(song.path.rpartition("/")[0].rpartition("/")[2]) or 1
