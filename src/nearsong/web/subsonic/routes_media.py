"""Methods that send files: the audio of a song, original or converted, and covers."""

import os
from io import FileIO

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.audio.convert import BIT_RATES, AudioFormat, mp3_format
from nearsong.library import Song
from nearsong.web.http.problems import ApiError
from nearsong.web.media.converted_sound import ConvertedSound
from nearsong.web.media.covers import CACHE_CONTROL
from nearsong.web.media.files import SoundResponse, attachment, etag_of, media_type_of, not_modified
from nearsong.web.service.own_playlists import visible_playlist
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_FOUND, ProtocolError, failed
from nearsong.web.subsonic.routes_playlists import is_made, made_playlist, playlist_number

COVER_SIZES = (64, 128, 256, 512, 1024)
"""Longest sides in pixels; only a few, so that cached thumbnails are reused."""

DEFAULT_COVER_SIZE = 512

MAX_COVER_SONGS = 3
"""Songs of an album or playlist that are searched for a cover."""

SIZE_TOLERANCE = 1.2
"""A file may exceed the bit rate limit by this factor, as tags and pictures count too, without being converted."""

MIN_KBIT = 128
"""Conversions use at most twice the song's own bit rate, but at least this, unless a lower limit is requested."""


class _FormResponse(Response):
    """A response to players that POST a form; treated as GET, since ranges are only defined for GET."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        method = "GET" if scope["method"] == "POST" else scope["method"]
        await super().__call__({**scope, "method": method}, receive, send)


class FormSound(_FormResponse, SoundResponse):
    """A song's file."""


class FormConverted(_FormResponse, ConvertedSound):
    """A converted song."""


def stream(call: Call) -> Response:
    """Send the audio of a song, whole or in ranges; converted if requested or needed."""
    song, (format, limit) = call.song(call.parameters.require("id")), _requested_format(call)
    file = call.service.library.open_file(song)
    form = None if format == "raw" else _form(call, song, file, format, limit)
    if form is None:
        return FormSound(song, file)

    def error_response(error: ApiError) -> Response:
        status = 200 if error.status == 422 else error.status  # the protocol reports errors of a song in the body
        return failed(call.parameters.text("f"), ProtocolError(GENERAL, error.detail, status, error.headers))

    return FormConverted(call.service.conversions, song, file, form, error_response)


def _requested_format(call: Call) -> tuple[str, int]:
    """Return the requested format and its limit in kbit/s; 0 for none."""
    return call.parameters.text("format").lower(), call.parameters.number("maxBitRate", 0)


def _form(call: Call, song: Song, file: FileIO, format: str, limit: int) -> AudioFormat | None:
    """Return the format to convert a song to; None to send the original."""
    own_kbit = os.fstat(file.fileno()).st_size * 8 / 1000 / max(song.seconds, 1.0)
    too_large = limit > 0 and own_kbit > SIZE_TOLERANCE * limit
    is_mp3 = media_type_of(song.path) == "audio/mpeg"
    is_playable = call.service.conversions.is_playable(song, file)
    if is_playable and not too_large and (format != "mp3" or is_mp3):
        return None
    if format == "flac" and not limit:
        return AudioFormat()
    return mp3_format(min(limit or BIT_RATES[-1], max(MIN_KBIT, int(2 * own_kbit))))


def download(call: Call) -> Response:
    """Send the original file of a song as a download."""
    song = call.song(call.parameters.require("id"))
    response = FormSound(song, call.service.library.open_file(song))
    name, ending = os.path.splitext(os.path.basename(song.path))
    response.headers["Content-Disposition"] = attachment(name, ending[1:])
    return response


def get_cover_art(call: Call) -> Response:
    """Send the cover of a song, an album, an artist or a playlist; an error if it has none."""
    wanted = call.parameters.require("id")
    min_size = call.parameters.number("size", DEFAULT_COVER_SIZE, minimum=1, maximum=COVER_SIZES[-1])
    size = next(size for size in COVER_SIZES if size >= min_size)
    for song in _songs_for_cover(call, wanted):
        picture = call.service.covers.thumbnail(song, size)
        if picture is not None:
            etag = etag_of(picture.data)
            headers = {"ETag": etag, "Cache-Control": CACHE_CONTROL}
            known = not_modified(call.request, etag, CACHE_CONTROL)
            return known or Response(picture.data, headers=headers, media_type=picture.media_type)
    raise ProtocolError(NOT_FOUND, f"{wanted[:40]!r} has no cover.")


def _songs_for_cover(call: Call, wanted: str) -> list[Song]:
    if not wanted.startswith("pl-"):
        return call.songs_of(wanted)[:MAX_COVER_SONGS]
    if is_made(wanted):
        return list(made_playlist(call, wanted).songs[:MAX_COVER_SONGS])
    songs = visible_playlist(call.service, call.caller, playlist_number(wanted)).songs
    known = call.snapshot.space.row_of
    return [call.snapshot.song(song) for song in songs if song in known][:MAX_COVER_SONGS]


METHODS: dict[str, Method] = {"stream": stream, "download": download, "getCoverArt": get_cover_art}
