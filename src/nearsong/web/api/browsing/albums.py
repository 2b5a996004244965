"""Albums and artists: lists, one of them with its songs, and others that sound like it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from nearsong.errors import LibraryError
from nearsong.library import Album, Artist, Snapshot
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.answers import Json
from nearsong.web.json.browsing import (
    AlbumDetail,
    AlbumPage,
    ArtistDetail,
    ArtistPage,
    album_detail_json,
    albums_json,
    artist_detail_json,
    artist_json,
)
from nearsong.web.json.schemas import SongId
from nearsong.web.service.service import Shared

router = APIRouter(tags=["albums"])

Words = Annotated[str, Query(max_length=300, description="Words of the name, or their beginnings.")]
Offset = Annotated[int, Query(ge=0, le=10**9)]
Limit = Annotated[int, Query(ge=1, le=200)]
ItemId = Annotated[str, Path(max_length=40, description="As lists give it.")]
Number = Annotated[SongId, Path(description="Id of a song in the library.")]


@router.get(
    "/albums",
    response_model=AlbumPage,
    response_description="A page of albums.",
    summary="List albums",
    responses=responses(409, 422),
)
def albums(
    service: Shared,
    search: Words = "",
    genre: Annotated[str, Query(max_length=300, description="Only albums with a song of this genre.")] = "",
    sort: Literal["name", "artist", "newest", "year", "played"] = "name",
    offset: Offset = 0,
    limit: Limit = 50,
) -> Response:
    """Return albums whose name or artist has all the words. Songs without an album are on none of them."""
    snapshot = service.snapshot
    page = snapshot.album_browser.albums(search, genre=genre, sort=sort, offset=offset, limit=limit)
    given = {"search": search, "genre": genre, "sort": sort}
    return _page("albums", given, albums_json(snapshot, page.items), page.total, offset, limit)


@router.get(
    "/albums/{album_id}",
    response_model=AlbumDetail,
    response_description="The album.",
    summary="Get an album",
    responses=responses(404, 409, 422),
)
def album(service: Shared, album_id: ItemId) -> Response:
    """Return an album with its songs by disc, other albums of its artist, and albums that sound like it."""
    snapshot = service.snapshot
    return Json(album_detail_json(snapshot, _album(snapshot, album_id)))


@router.get(
    "/songs/{song_id}/album",
    response_model=AlbumDetail,
    response_description="The album.",
    summary="Get the album of a song",
    responses=responses(404, 409, 422),
)
def album_of_song(service: Shared, song_id: Number) -> Response:
    """Return the album that a song is on."""
    snapshot = service.snapshot
    return Json(album_detail_json(snapshot, snapshot.albums.album_of(snapshot.song(song_id))))


@router.get(
    "/artists",
    response_model=ArtistPage,
    response_description="A page of artists.",
    summary="List artists",
    responses=responses(409, 422),
)
def artists(
    service: Shared,
    search: Words = "",
    sort: Literal["name", "songs", "played"] = "name",
    offset: Offset = 0,
    limit: Limit = 50,
) -> Response:
    """Return artists whose name has all the words; also those who only appear on albums of others."""
    snapshot = service.snapshot
    page = snapshot.album_browser.artists(search, sort=sort, offset=offset, limit=limit)
    items = [artist_json(snapshot, artist) for artist in page.items]
    return _page("artists", {"search": search, "sort": sort}, items, page.total, offset, limit)


@router.get(
    "/artists/{artist_id}",
    response_model=ArtistDetail,
    response_description="The artist.",
    summary="Get an artist",
    responses=responses(404, 409, 422),
)
def artist(service: Shared, artist_id: ItemId) -> Response:
    """Return an artist with albums, albums of others that they appear on, songs, and artists who sound alike."""
    snapshot = service.snapshot
    return Json(artist_detail_json(snapshot, _artist(snapshot, artist_id)))


@router.get(
    "/songs/{song_id}/artist",
    response_model=ArtistDetail,
    response_description="The artist.",
    summary="Get the artist of a song",
    responses=responses(404, 409, 422),
)
def artist_of_song(service: Shared, song_id: Number) -> Response:
    """Return the artist of a song, who is not always that of its album."""
    snapshot = service.snapshot
    return Json(artist_detail_json(snapshot, snapshot.albums.artist_of(snapshot.song(song_id))))


def _album(snapshot: Snapshot, album_id: str) -> Album:
    try:
        return snapshot.albums.album(album_id)
    except LibraryError as error:
        raise ApiError(404, str(error), "no-such-album") from error


def _artist(snapshot: Snapshot, artist_id: str) -> Artist:
    try:
        return snapshot.albums.artist(artist_id)
    except LibraryError as error:
        raise ApiError(404, str(error), "no-such-artist") from error


def _page(
    path: str, given: Mapping[str, str], items: Sequence[dict[str, Any]], total: int, offset: int, limit: int
) -> Response:
    following = offset + len(items)
    asked = {name: value for name, value in given.items() if value}
    query = urlencode({**asked, "offset": following, "limit": limit}, errors="replace")
    has_more = items and following < total
    return Json(
        {
            "items": items,
            "total": total,
            "offset": offset,
            "limit": limit,
            "next": f"/api/v1/{path}?{query}" if has_more else None,
        }
    )
