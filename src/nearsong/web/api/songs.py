"""Songs: search and page, one song, its audio and its cover.

A song is requested by its id, never by a path.
"""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from nearsong.audio.conversion.forms import AudioFormat
from nearsong.names import readable
from nearsong.web.api.reactions import Listening, hearted_songs
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.answers import Json, song_json
from nearsong.web.json.schemas import GenreOut, SongDetail, SongId, SongPage
from nearsong.web.media.converted_sound import ConvertedSound
from nearsong.web.media.covers import CACHE_CONTROL, PLACEHOLDER_POLICY
from nearsong.web.media.files import (
    MEDIA_TYPES,
    UNKNOWN_MEDIA_TYPE,
    SoundResponse,
    etag_of,
    in_file_thread,
    media_type_of,
    not_modified,
    size_of,
)
from nearsong.web.service.service import Service, Shared

router = APIRouter(tags=["songs"])

Number = Annotated[SongId, Path(description="Id of a song in the library.")]
Word = Annotated[str, Query(max_length=300)]

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_AUDIO_TYPES = dict.fromkeys(sorted({*MEDIA_TYPES.values(), UNKNOWN_MEDIA_TYPE}), _BINARY)
_PICTURE_TYPES = dict.fromkeys(("image/webp", "image/jpeg", "image/png", "image/svg+xml"), _BINARY)


@router.get(
    "/songs",
    response_model=SongPage,
    response_description="A page of songs.",
    summary="Search songs",
    responses=responses(403, 409, 422),
)
def songs(
    service: Shared,
    listener: Listening,
    search: Annotated[
        str, Query(max_length=300, description="Words, or their beginnings, in artist, title, album or genre.")
    ] = "",
    artist: Word = "",
    album: Word = "",
    genre: Word = "",
    hearts: Annotated[bool, Query(description="Only songs that the listener gave a heart.")] = False,
    sort: Annotated[
        Literal["artist", "title", "year", "plays", "newest"] | None,
        Query(description="By default artist; of songs with a heart, the latest heart first."),
    ] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Return the songs that match; if none has all the words, those with the most similar spelling."""
    snapshot = service.snapshot
    fields = {"search": search, "artist": artist, "album": album, "genre": genre}
    among = hearted_songs(service, listener) if hearts else None
    page = snapshot.browser.page(**fields, among=among, sort=sort, offset=offset, limit=limit)
    next_offset = offset + len(page.songs)
    given = {name: value for name, value in {**fields, "sort": sort}.items() if value}
    if hearts:
        given |= {"hearts": "true", "listener": listener}
    query = urlencode({**given, "offset": next_offset, "limit": limit}, errors="replace")
    return Json(
        {
            "items": [song_json(song, snapshot.plays) for song in page.songs],
            "total": page.total,
            "offset": offset,
            "limit": limit,
            "next": f"/api/v1/songs?{query}" if page.songs and next_offset < page.total else None,
            "fuzzy": page.fuzzy,
        }
    )


@router.get(
    "/genres",
    response_description="Most songs first.",
    summary="List genres",
    responses=responses(409),
)
def genres(service: Shared) -> list[GenreOut]:
    """Return the genres of the songs' tags with their numbers of songs."""
    return [GenreOut(name=readable(name), songs=count) for name, count in service.snapshot.browser.genres()]


@router.get(
    "/songs/{song_id}",
    response_model=SongDetail,
    response_description="The song.",
    summary="Get a song",
    responses=responses(404, 409, 422),
)
async def song(service: Shared, song_id: Number) -> Response:
    """Return a song and its file."""
    return await in_file_thread(_details, service, song_id)


def _details(service: Service, song_id: int) -> Response:
    snapshot = service.snapshot
    record = snapshot.song(song_id)
    return Json(
        {
            **song_json(record, snapshot.plays),
            "plays_known": snapshot.plays_known,
            "path": record.path,
            "recording_mbid": record.recording_mbid,
            "size": size_of(record),
            "bit_rate": record.bit_rate,
            "sample_rate": record.sample_rate,
            "channels": record.channels,
            "media_type": media_type_of(record.path),
        }
    )


_AUDIO: dict[int | str, dict[str, Any]] = {
    200: {"description": "The whole file.", "content": _AUDIO_TYPES},
    206: {"description": "The requested ranges.", "content": {**_AUDIO_TYPES, "multipart/byteranges": _BINARY}},
    304: {"description": "Not modified."},
    **responses(404, 409, 416, 422, 503, 507),
}


@router.get(
    "/songs/{song_id}/audio",
    response_class=Response,
    summary="Get the audio of a song",
    responses=_AUDIO,
)
async def audio(
    service: Shared,
    song_id: Number,
    original: Annotated[bool, Query(description="The original file, even if browsers cannot play it.")] = False,
    complete: Annotated[bool, Query(description="FLAC begins when all of it is made, so players can seek.")] = False,
) -> Response:
    """Return the original file, or FLAC if browsers cannot play it, while it is made.

    Supports `Range`, so players can seek. Of FLAC that is being made `bytes=0-` gets a 200 without a length, and any
    other part comes when all of it is made.
    """
    return await in_file_thread(_sound, service, song_id, original, complete)


def _sound(service: Service, song_id: int, original: bool, complete: bool) -> Response:
    record = service.snapshot.song(song_id)
    file = service.library.open_file(record)
    if original or service.conversions.is_playable(record, file):
        return SoundResponse(record, file)
    return ConvertedSound(service.conversions, record, file, AudioFormat(), is_complete=complete)


_COVER: dict[int | str, dict[str, Any]] = {
    200: {"description": "A picture.", "content": _PICTURE_TYPES},
    304: {"description": "Not modified."},
    **responses(404, 409, 422, 503),
}


@router.get("/songs/{song_id}/cover", response_class=Response, summary="Get the cover of a song", responses=_COVER)
def cover(
    request: Request,
    service: Shared,
    song_id: Number,
    size: Annotated[int, Query(ge=16, le=1200, description="Longest side in pixels.")] = 320,
    placeholder: Annotated[bool, Query(description="A drawing if there is no cover.")] = False,
) -> Response:
    """Return the cover in the file or its folder, scaled down; or a drawing."""
    record, caching = service.snapshot.song(song_id), CACHE_CONTROL
    try:
        picture = service.covers.thumbnail(record, size)
    except ApiError:
        if not placeholder:
            raise
        picture, caching = None, "no-store"  # too many covers at once: a drawing for now
    is_drawing = picture is None
    if picture is None:
        if not placeholder:
            raise ApiError(404, "this song has no cover; use placeholder=true for a drawing.", "no-cover")
        picture = service.covers.drawing(record)
    etag = etag_of(picture.data, picture.media_type)
    headers = {"ETag": etag, "Cache-Control": caching}
    if is_drawing:
        headers["Content-Security-Policy"] = PLACEHOLDER_POLICY
    return not_modified(request, etag, caching) or Response(
        picture.data, headers=headers, media_type=picture.media_type
    )


for path, endpoint in (("/songs/{song_id}/audio", audio), ("/songs/{song_id}/cover", cover)):
    router.head(path, response_class=Response, include_in_schema=False)(endpoint)
