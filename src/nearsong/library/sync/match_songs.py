"""Songs of a server + songs of the library -> which are the same: by path, recording MBID, or artist and title."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nearsong.errors import InvalidInputError
from nearsong.library.records import Song
from nearsong.library.sync.server_songs import ServerSong
from nearsong.names import artist_key, primary_artist, title_key

MAX_DIFFERENCE_SECONDS = 3.0
"""Songs of one name whose lengths differ by more are different recordings."""


@dataclass(frozen=True)
class SharedFolder:
    """A folder of this machine that the server reads too, perhaps under another path.

    >>> shared = SharedFolder.of("/music=/mnt/nas/music")
    >>> shared.local("/music/a/b.mp3"), shared.local("a/b.mp3"), shared.local("/other/b.mp3")
    ('/mnt/nas/music/a/b.mp3', '/mnt/nas/music/a/b.mp3', None)
    """

    folder: str
    server_folder: str = ""

    @classmethod
    def of(cls, text: str) -> "SharedFolder":
        """Return what ``FOLDER`` or ``SERVER_FOLDER=FOLDER`` means."""
        server, separator, folder = text.partition("=")
        if os.path.isdir(os.path.expanduser(text)) or not separator:
            server, folder = "", text
        if not folder:
            raise InvalidInputError(f"--folder {text}: give FOLDER, or SERVER_FOLDER=FOLDER.")
        return cls(os.path.realpath(os.path.expanduser(folder)), server.rstrip("/"))

    def local(self, path: str) -> str | None:
        """Return where a file of the server is on this machine; None if it is not in this folder."""
        if path.startswith("/"):
            start = f"{self.server_folder or self.folder}/"
            if not path.startswith(start):
                return None
            path = path.removeprefix(start)
        return os.path.join(self.folder, path) if path else None


def match_songs(
    server_songs: Iterable[ServerSong], songs: Sequence[Song], shared: Sequence[SharedFolder] = ()
) -> dict[str, int]:
    """Return the id on the server -> the id in the library of each song that both have.

    A path decides first, then a recording MBID, then artist and title with a similar length, of the same album if
    there are several. Songs whose files are missing are not matched.
    """
    known = SongLookup([song for song in songs if not song.missing])
    found: dict[str, int] = {}
    for one in server_songs:
        song = known.find(one, [local for folder in shared if (local := folder.local(one.path))])
        if song is not None:
            found[one.id] = song.id
    return found


def ids_on_server(matched: Mapping[str, int]) -> dict[int, str]:
    """Return the id in the library -> the first id on the server."""
    ids: dict[int, str] = {}
    for server_id, song in matched.items():
        ids.setdefault(song, server_id)
    return ids


class SongLookup:
    """Songs of the library, by what a server may know of them."""

    def __init__(self, songs: Sequence[Song]) -> None:
        self._by_path = {song.path: song for song in songs}
        self._by_mbid: dict[str, list[Song]] = {}
        self._by_name: dict[tuple[str, str], list[Song]] = {}
        for song in songs:
            if song.recording_mbid:
                self._by_mbid.setdefault(song.recording_mbid.lower(), []).append(song)
            if name := _name(song.artist, song.title):
                self._by_name.setdefault(name, []).append(song)

    def find(self, one: ServerSong, paths: Sequence[str]) -> Song | None:
        """Return the song that one of a server is, None if there is none."""
        for path in paths:
            if path in self._by_path:
                return self._by_path[path]
        for candidates in (
            self._by_mbid.get(one.tags.recording_mbid.lower(), ()),
            self._by_name.get(_name(one.tags.artist, one.tags.title) or ("", ""), ()),
        ):
            near = [song for song in candidates if _distance(song, one) <= MAX_DIFFERENCE_SECONDS]
            if near:
                return min(near, key=lambda song: (song.album != one.tags.album, _distance(song, one), song.id))
        return None


def _name(artist: str, title: str) -> tuple[str, str] | None:
    name = artist_key(primary_artist(artist)), title_key(title)
    return name if all(name) else None


def _distance(song: Song, one: ServerSong) -> float:
    """Return by how many seconds lengths differ; servers round them."""
    return abs(song.seconds - one.seconds) if song.seconds and one.seconds else 0.0
