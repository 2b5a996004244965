"""Methods that send files: the audio of a song, original or converted, and covers."""

import os
from io import FileIO
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.audio.conversion.forms import BIT_RATES, AudioFormat, mp3_format, opus_format
from nearsong.library import Picture, Song
from nearsong.web.http.problems import ApiError
from nearsong.web.media.converted_sound import ConvertedSound
from nearsong.web.media.covers import CACHE_CONTROL
from nearsong.web.media.files import SoundResponse, attachment, etag_of, not_modified
from nearsong.web.service.own_playlists import visible_playlist
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_FOUND, ProtocolError, failed
from nearsong.web.subsonic.routes.playlists import is_made, made_playlist, playlist_number

COVER_SIZES = (64, 128, 256, 512, 1024)
"""Longest sides in pixels; only a few, so that cached thumbnails are reused."""

DEFAULT_COVER_SIZE = 512
MAX_NAME_CHARACTERS = 100

MAX_COVER_SONGS = 3
"""Songs of an album or playlist that are searched for a cover."""

SIZE_TOLERANCE = 1.2
"""A file may exceed the bit rate limit by this factor, as tags and pictures count too, without being converted."""

_ENDINGS = {"mp3": (".mp3", ".mp2"), "opus": (".opus",)}
"""Formats that a player gets if it asks for them -> endings of files that have them already."""

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
    song, wanted = call.song(call.parameters.require("id")), _wanted(call)
    file = call.service.library.open_file(song)
    form = None if wanted.format == "raw" else _form(call, song, file, wanted)
    if form is None:
        return FormSound(song, file)

    def error_response(error: ApiError) -> Response:
        status = 200 if error.status == 422 else error.status  # the protocol reports errors of a song in the body
        return failed(call.parameters.text("f"), ProtocolError(GENERAL, error.detail, status, error.headers))

    return FormConverted(call.service.conversions, song, file, form, error_response)


class _Wanted(NamedTuple):
    """What a player wants: a format, at most so many kbit/s (0 for any), from a second on."""

    format: str
    limit: int
    start: int


def _wanted(call: Call) -> _Wanted:
    parameters = call.parameters
    return _Wanted(
        parameters.text("format").lower(), parameters.number("maxBitRate", 0), parameters.number("timeOffset", 0)
    )


def _form(call: Call, song: Song, file: FileIO, wanted: _Wanted) -> AudioFormat | None:
    """Return the format to convert a song to; None to send the original."""
    format, limit = wanted.format, wanted.limit
    start = min(wanted.start, max(0, int(song.seconds) - 1))
    own_kbit = os.fstat(file.fileno()).st_size * 8 / 1000 / max(song.seconds, 1.0)
    too_large = limit > 0 and own_kbit > SIZE_TOLERANCE * limit
    is_other = format in _ENDINGS and not song.path.lower().endswith(_ENDINGS[format])
    is_playable = call.service.conversions.is_playable(song, file)
    if is_playable and not too_large and not is_other and not start:
        return None
    if format == "flac" and not limit:
        return AudioFormat(start=start)
    most = min(limit or BIT_RATES[-1], max(MIN_KBIT, int(2 * own_kbit)))
    return (opus_format(most) if format in ("opus", "ogg") else mp3_format(most))._replace(start=start)


def download(call: Call) -> Response:
    """Send the original file of a song as a download."""
    song = call.song(call.parameters.require("id"))
    response = FormSound(song, call.service.library.open_file(song))
    name, ending = os.path.splitext(os.path.basename(song.path))
    response.headers["Content-Disposition"] = attachment(name, ending[1:])
    return response


def get_cover_art(call: Call) -> Response:
    """Send the cover of a song, an album, an artist or a playlist; the drawing of the page if it has none."""
    wanted, size = call.parameters.require("id"), _picture_size(call)
    songs = _songs_for_cover(call, wanted)
    if not songs:
        raise ProtocolError(NOT_FOUND, f"{wanted[:40]!r} has no songs, and so no cover.")
    pictures = (call.service.covers.thumbnail(song, size) for song in songs)
    picture = next((picture for picture in pictures if picture is not None), None)
    if picture is None:
        title = "" if wanted.startswith("ar-") else songs[0].album or songs[0].title
        picture = call.service.covers.painting(songs[0].artist, title, size)
    return _sent_picture(call, picture)


def get_avatar(call: Call) -> Response:
    """Send a drawing with the initials of a user; nobody has a picture."""
    name = call.parameters.text("username") or call.user
    return _sent_picture(call, call.service.covers.painting(name[:MAX_NAME_CHARACTERS], "", _picture_size(call)))


def _picture_size(call: Call) -> int:
    min_size = call.parameters.number("size", DEFAULT_COVER_SIZE, minimum=1, maximum=COVER_SIZES[-1])
    return next(size for size in COVER_SIZES if size >= min_size)


def _sent_picture(call: Call, picture: Picture) -> Response:
    etag = etag_of(picture.data)
    headers = {"ETag": etag, "Cache-Control": CACHE_CONTROL}
    known = not_modified(call.request, etag, CACHE_CONTROL)
    return known or Response(picture.data, headers=headers, media_type=picture.media_type)


def _songs_for_cover(call: Call, wanted: str) -> list[Song]:
    if not wanted.startswith("pl-"):
        return call.songs_of(wanted)[:MAX_COVER_SONGS]
    if is_made(wanted):
        return list(made_playlist(call, wanted).songs[:MAX_COVER_SONGS])
    songs = visible_playlist(call.service, call.caller, playlist_number(wanted)).songs
    known = call.snapshot.space.row_of
    return [call.snapshot.song(song) for song in songs if song in known][:MAX_COVER_SONGS]


METHODS: dict[str, Method] = {
    "stream": stream,
    "download": download,
    "getCoverArt": get_cover_art,
    "getAvatar": get_avatar,
}
