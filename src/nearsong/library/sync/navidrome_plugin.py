"""Navidrome and its plugin -> songs that Navidrome names, found in the library; and the plugin as a file.

Navidrome's server answers OpenSubsonic's `sonicSimilarity` by a plugin. The one here hands Navidrome's questions to
nearsong as they are, so that all that knows their shape is `navidrome.py` of the API and this module.
"""

import os
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from urllib.parse import quote, unquote

from nearsong.atomic_write import atomic_write
from nearsong.audio.tags import Tags
from nearsong.errors import LibraryError
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.library.sync.match_songs import SongLookup
from nearsong.library.sync.server_songs import ServerSong
from nearsong.names import readable
from nearsong.path_names import is_streamed

PARTS = ("manifest.json", "plugin.wasm")
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip has: the same version gives the same bytes


class _NamedSongs:
    """Songs of a library by what a server calls them."""

    def __init__(self, songs: Sequence[Song]) -> None:
        self.known = SongLookup(songs)
        self.by_id = {song.path.rpartition("/")[2]: song for song in songs if is_streamed(song.path)}


@lru_cache(maxsize=1)
def _named(space: Space) -> _NamedSongs:
    """Return the songs of a space, for many questions."""
    return _NamedSongs(space.songs)


def find_named_song(
    space: Space, *, id: str, title: str, artist: str, album: str, recording_mbid: str, seconds: float
) -> Song | None:
    """Return the song that a server means: by its own id if it was streamed from there, else by MBID or name."""
    songs = _named(space)
    tags = Tags(artist=artist, title=title, album=album, recording_mbid=recording_mbid)
    wanted = ServerSong(id=id, album_id="", path="", size=0, modified=0, seconds=seconds, tags=tags)
    return (songs.by_id.get(quote(id, safe="")) if id else None) or songs.known.find(wanted, ())


def id_on_server(song: Song) -> str:
    """Return the id of a song on the server that it was streamed from; empty if it was not."""
    return unquote(song.path.rpartition("/")[2]) if is_streamed(song.path) else ""


def write_plugin(path: str | os.PathLike[str]) -> None:
    """Write Navidrome's plugin, an ``.ndp`` file."""
    folder = files("nearsong.library.sync").joinpath("navidrome")
    try:
        with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
            for name in PARTS:
                package.writestr(zipfile.ZipInfo(name, _DATE), folder.joinpath(name).read_bytes())
    except OSError as error:
        raise LibraryError(
            f"{readable(os.fspath(path))} cannot be written ({error.strerror}); choose another file or folder."
        ) from error
