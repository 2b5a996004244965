"""Songs: lists to page through, one song, its sound and its cover.

A song is asked for by its number. Which file that is the library says, and nobody else.
"""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from nearsong.audio.convert import Form
from nearsong.names import readable
from nearsong.web.answers import Json, song_json
from nearsong.web.converted import ConvertedSound
from nearsong.web.covers import CACHE, PLACEHOLDER_POLICY
from nearsong.web.files import MEDIA_TYPES, OTHER, SoundResponse, etag_of, kept, media_type_of, size_of
from nearsong.web.problems import ApiError, responses
from nearsong.web.schemas import GenreOut, SongDetail, SongId, SongPage
from nearsong.web.service import Shared

router = APIRouter(tags=["songs"])

Number = Annotated[SongId, Path(description="Number of a song in the library.")]
Word = Annotated[str, Query(max_length=300)]

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_SOUNDS = dict.fromkeys(sorted({*MEDIA_TYPES.values(), OTHER}), _BINARY)
_PICTURES = dict.fromkeys(("image/webp", "image/jpeg", "image/png", "image/svg+xml"), _BINARY)


@router.get(
    "/songs",
    response_model=SongPage,
    response_description="A page of songs.",
    summary="Search and page through the songs",
    responses=responses(409, 422),
)
def songs(
    service: Shared,
    search: Annotated[
        str, Query(max_length=300, description="Words that begin words of artist, title, album or genre.")
    ] = "",
    artist: Word = "",
    album: Word = "",
    genre: Word = "",
    sort: Literal["artist", "title", "year", "plays", "newest"] = "artist",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Return the songs that fit; where none has all the words, those that are written most alike."""
    snapshot = service.snapshot
    asked = {"search": search, "artist": artist, "album": album, "genre": genre}
    page = snapshot.browser.page(**asked, sort=sort, offset=offset, limit=limit)
    following = offset + len(page.songs)
    words = {name: value for name, value in asked.items() if value}
    query = urlencode({**words, "sort": sort, "offset": following, "limit": limit}, errors="replace")
    return Json(
        {
            "items": [song_json(song, snapshot.plays) for song in page.songs],
            "total": page.total,
            "offset": offset,
            "limit": limit,
            "next": f"/api/v1/songs?{query}" if page.songs and following < page.total else None,
            "fuzzy": page.fuzzy,
        }
    )


@router.get(
    "/genres",
    response_description="Most songs first.",
    summary="The genres and how many songs have each",
    responses=responses(409),
)
def genres(service: Shared) -> list[GenreOut]:
    """Return the genres as the songs' tags name them."""
    return [GenreOut(name=readable(name), songs=count) for name, count in service.snapshot.browser.genres()]


@router.get(
    "/songs/{song_id}",
    response_model=SongDetail,
    response_description="The song.",
    summary="One song, and where its file is",
    responses=responses(404, 409, 422),
)
def song(service: Shared, song_id: Number) -> Response:
    """Return what is known of a song."""
    snapshot = service.snapshot
    found = snapshot.song(song_id)
    more = {"path": readable(found.path), "recording_mbid": found.recording_mbid, "size": size_of(found)}
    return Json({**song_json(found, snapshot.plays), **more, "media_type": media_type_of(found.path)})


_AUDIO: dict[int | str, dict[str, Any]] = {
    200: {"description": "The whole sound.", "content": _SOUNDS},
    206: {"description": "The parts that were asked for.", "content": {**_SOUNDS, "multipart/byteranges": _BINARY}},
    304: {"description": "The caller has it already."},
    **responses(404, 409, 416, 422, 503, 507),
}


@router.get(
    "/songs/{song_id}/audio",
    response_class=Response,
    summary="The sound of a song",
    responses=_AUDIO,
)
def audio(
    service: Shared,
    song_id: Number,
    original: Annotated[bool, Query(description="The file as it is, whatever can play it.")] = False,
) -> Response:
    """Return the file as it is, or as FLAC if browsers cannot play it. `Range` is understood: a player can seek."""
    found = service.snapshot.song(song_id)
    file = service.library.open_file(found)
    if original or service.conversions.plays(found, file):
        return SoundResponse(found, file)
    return ConvertedSound(service.conversions, found, file, Form())


_COVER: dict[int | str, dict[str, Any]] = {
    200: {"description": "A picture.", "content": _PICTURES},
    304: {"description": "The caller has it already."},
    **responses(404, 409, 422),
}


@router.get("/songs/{song_id}/cover", response_class=Response, summary="The cover of a song", responses=_COVER)
def cover(
    request: Request,
    service: Shared,
    song_id: Number,
    size: Annotated[int, Query(ge=16, le=1200, description="Pixels of the longer side, at most.")] = 320,
    placeholder: Annotated[bool, Query(description="A drawing where there is no picture.")] = False,
) -> Response:
    """Return the picture in the file or beside it, made small; or a drawing made of the names."""
    found = service.snapshot.song(song_id)
    picture = service.covers.small(found, size)
    drawn = picture is None
    if picture is None:
        if not placeholder:
            raise ApiError(404, "this song has no cover; ask with placeholder=true for a drawing.", "no-cover")
        picture = service.covers.drawn(found)
    etag = etag_of(picture.data, picture.media_type)
    headers = {"ETag": etag, "Cache-Control": CACHE}
    if drawn:
        headers["Content-Security-Policy"] = PLACEHOLDER_POLICY
    return kept(request, etag, CACHE) or Response(picture.data, headers=headers, media_type=picture.media_type)


for address, answer in (("/songs/{song_id}/audio", audio), ("/songs/{song_id}/cover", cover)):
    router.head(address, response_class=Response, include_in_schema=False)(answer)
