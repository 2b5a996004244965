"""Methods that send files: the sound of a song, as it is or made smaller, and its cover."""

import os
from io import FileIO

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.audio.convert import BIT_RATES, Form, mp3_within
from nearsong.library.records import Song
from nearsong.web.converted import ConvertedSound
from nearsong.web.covers import CACHE
from nearsong.web.files import SoundResponse, attachment, etag_of, kept, media_type_of
from nearsong.web.problems import ApiError
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_FOUND, ProtocolError, failed
from nearsong.web.subsonic.routes_playlists import playlist_number

SIZES = (64, 128, 256, 512, 1024)
"""Pixels of a side; few, so that covers that were made small serve again."""

USUAL_SIZE = 512

TRIED = 3
"""Songs of an album or playlist that are looked at for a cover."""


TAGS_AND_PICTURES = 1.2
"""A file may be so much larger than its sound: no song is to be made worse for its cover's sake."""

LEAST_KBIT = 128
"""Of an MP3, where no limit is given: a song that is small already becomes no larger than twice its size, or this."""


class _ByForm(Response):
    """An answer to players that ask with a form; they want parts of it all the same."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        method = "GET" if scope["method"] == "POST" else scope["method"]
        await super().__call__({**scope, "method": method}, receive, send)


class FormSound(_ByForm, SoundResponse):
    """A song's file."""


class FormConverted(_ByForm, ConvertedSound):
    """A song in another form."""


def stream(call: Call) -> Response:
    """Send the sound of a song, whole or in parts; converted if that is asked for or needed."""
    song, (wanted, limit) = call.song(call.asked.need("id")), _wish(call)
    file = call.service.library.open_file(song)
    form = None if wanted == "raw" else _form(call, song, file, wanted, limit)
    if form is None:
        return FormSound(song, file)

    def refused(error: ApiError) -> Response:
        status = 200 if error.status == 422 else error.status  # what is wrong with a song is told in the answer
        return failed(call.asked.text("f"), ProtocolError(GENERAL, error.detail, status, error.headers))

    return FormConverted(call.service.conversions, song, file, form, refused)


def _wish(call: Call) -> tuple[str, int]:
    """Return the format that a player asks for, and its limit in thousands of bits a second; 0 for none."""
    return call.asked.text("format").lower(), call.asked.number("maxBitRate", 0)


def _form(call: Call, song: Song, file: FileIO, wanted: str, limit: int) -> Form | None:
    """Return what a song is to be converted to; None if it is sent as it is."""
    own = os.fstat(file.fileno()).st_size * 8 / 1000 / max(song.seconds, 1.0)
    too_large = limit > 0 and own > TAGS_AND_PICTURES * limit
    is_mp3 = media_type_of(song.path) == "audio/mpeg"
    plays = call.service.conversions.plays(song, file)
    if plays and not too_large and (wanted != "mp3" or is_mp3):
        return None
    if wanted == "flac" and not limit:
        return Form()
    return mp3_within(min(limit or BIT_RATES[-1], max(LEAST_KBIT, int(2 * own))))


def download(call: Call) -> Response:
    """Send the file of a song as it is, to be kept."""
    song = call.song(call.asked.need("id"))
    response = FormSound(song, call.service.library.open_file(song))
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
