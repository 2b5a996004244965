"""Methods that send files: the sound of a song as it is, and its cover."""

import os

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.library.records import Song
from nearsong.web.covers import CACHE
from nearsong.web.files import SoundResponse, attachment, etag_of, kept
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import NOT_FOUND, ProtocolError
from nearsong.web.subsonic.routes_playlists import playlist_number

SIZES = (64, 128, 256, 512, 1024)
"""Pixels of a side; few, so that covers that were made small serve again."""

USUAL_SIZE = 512

TRIED = 3
"""Songs of an album or playlist that are looked at for a cover."""


class FormSound(SoundResponse):
    """A song's file for players that ask with a form; they want parts of it all the same."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        method = "GET" if scope["method"] == "POST" else scope["method"]
        await super().__call__({**scope, "method": method}, receive, send)


def stream(call: Call) -> Response:
    """Send the sound of a song, whole or in parts; never converted."""
    return FormSound(call.song(call.asked.need("id")), call.service.library)


def download(call: Call) -> Response:
    """Send the file of a song, to be kept."""
    song = call.song(call.asked.need("id"))
    response = FormSound(song, call.service.library)
    name, ending = os.path.splitext(os.path.basename(song.path))
    response.headers["Content-Disposition"] = attachment(name, ending[1:])
    return response


def get_cover_art(call: Call) -> Response:
    """Send the cover of a song, an album, an artist or a playlist; a failure if it has none."""
    wanted = call.asked.need("id")
    asked = call.asked.number("size", USUAL_SIZE, least=1, most=SIZES[-1])
    size = min(one for one in SIZES if one >= asked)
    for song in _songs_of_cover(call, wanted):
        picture = call.service.covers.small(song, size)
        if picture is not None:
            etag = etag_of(picture.data)
            headers = {"ETag": etag, "Cache-Control": CACHE}
            known = kept(call.request, etag, CACHE)
            return known or Response(picture.data, headers=headers, media_type=picture.media_type)
    raise ProtocolError(NOT_FOUND, f"{wanted[:40]!r} has no cover.")


def _songs_of_cover(call: Call, wanted: str) -> list[Song]:
    if not wanted.startswith("pl-"):
        return call.songs_behind(wanted)[:TRIED]
    songs = call.service.library.playlists.get(playlist_number(wanted)).songs
    known = call.snapshot.space.row_of
    return [call.snapshot.song(song) for song in songs if song in known][:TRIED]


METHODS: dict[str, Method] = {"stream": stream, "download": download, "getCoverArt": get_cover_art}
