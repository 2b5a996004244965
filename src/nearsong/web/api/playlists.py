"""Playlists: made from seeds, saved, changed, and written as files for players."""

import base64
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library import Filters, PlaylistRules
from nearsong.library.playlist_files import playlist_text
from nearsong.library.recommend import Seed
from nearsong.library.records import Song
from nearsong.library.snapshot import Snapshot
from nearsong.library.store import SavedPlaylist
from nearsong.names import readable
from nearsong.web.answers import Json, song_json
from nearsong.web.files import attachment
from nearsong.web.problems import ApiError, responses
from nearsong.web.schemas import (
    DraftIn,
    DraftOut,
    ExportIn,
    FiltersIn,
    HeardSeed,
    PlaylistIn,
    PlaylistOut,
    PlaylistRef,
)
from nearsong.web.service import Service, Shared

router = APIRouter(prefix="/playlists", tags=["playlists"])

Number = Annotated[int, Path(ge=1, le=2**62, description="Number of a saved playlist.")]
Format = Literal["m3u8", "jspf"]
FORMATS = {"m3u8": "audio/x-mpegurl; charset=utf-8", "jspf": "application/json"}

_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, to keep.",
        "content": {
            "audio/x-mpegurl": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    },
    **responses(404, 409, 422),
}


@router.post(
    "/draft",
    response_model=DraftOut,
    response_description="Songs in order.",
    summary="Make a playlist from seeds; nothing is saved",
    responses=responses(400, 404, 409, 422, 503),
)
def draft(service: Shared, wanted: DraftIn) -> Response:
    """Return a playlist around the seeds, or one that walks from the seed `to` another song."""
    snapshot = service.snapshot
    seeds = [*map(snapshot.seed, wanted.seeds), *(_of_heard(snapshot, one) for one in wanted.heard)]
    if wanted.to is not None and len(seeds) != 1:
        raise InvalidInputError(f"a walk begins at one song and {len(seeds)} came; give one seed, and `to`.")
    rules = PlaylistRules(
        length=wanted.length,
        artist_gap=wanted.artist_gap,
        diversity=wanted.diversity,
        drift=wanted.drift,
        seed=wanted.shuffle,
    )
    goal = None if wanted.to is None else snapshot.seed(wanted.to)
    with service.heavy.turn():
        songs, notes = snapshot.playlist(seeds, rules, filters_of(wanted.filters), goal)
    return Json({"songs": [song_json(song, snapshot.plays) for song in songs], "notes": notes})


def filters_of(wanted: FiltersIn) -> Filters:
    """Return filters as the library has them."""
    names = wanted.model_dump()
    return Filters(**{**names, "exclude_artists": tuple(wanted.exclude_artists), "genres": tuple(wanted.genres)})


def _of_heard(snapshot: Snapshot, heard: HeardSeed) -> Seed:
    """Return the seed of a file that was heard before and is not in the library."""
    if heard.model != snapshot.model.id:
        raise ApiError(409, "the file was heard for another model than answers now; give it again.", "heard-before")
    try:
        place = np.frombuffer(base64.b64decode(heard.place, validate=True), dtype="<f4")
        return snapshot.seed_at(place, heard.model, "a file that was heard")
    except ValueError as error:  # no base64, no whole numbers, or no place of this model's
        raise InvalidInputError(f"heard.place cannot be one ({error}); send it as the query gave it.") from error


@router.get("", response_description="The oldest first.", summary="The saved playlists", responses=responses(503))
def saved(service: Shared) -> list[PlaylistRef]:
    """Return all saved playlists, without their songs."""
    known = _songs_of(service)
    return [PlaylistRef(**_summary(one, known)) for one in service.library.playlists.list()]


@router.post(
    "",
    status_code=201,
    response_model=PlaylistOut,
    response_description="It is saved.",
    summary="Save a playlist",
    responses=responses(400, 404, 422, 503),
)
def save(service: Shared, wanted: PlaylistIn) -> Response:
    """Keep a playlist in the library."""
    made = service.library.playlists.add(wanted.name, wanted.songs)
    return Json(_whole(made, service), 201, {"Location": f"/api/v1/playlists/{made.id}"})


@router.post("/export", response_class=Response, summary="Write songs as a playlist file", responses=_FILE)
def export_songs(service: Shared, wanted: ExportIn) -> Response:
    """Return a file for players: M3U8 with whole paths, or JSPF."""
    snapshot = service.snapshot
    return _file(wanted.name, [snapshot.song(one) for one in wanted.songs], wanted.format)


@router.get(
    "/{playlist_id}",
    response_model=PlaylistOut,
    response_description="The playlist.",
    summary="A saved playlist with its songs",
    responses=responses(404, 422, 503),
)
def get(service: Shared, playlist_id: Number) -> Response:
    """Return a playlist; songs whose files are gone are counted only."""
    return Json(_whole(service.library.playlists.get(playlist_id), service))


@router.put(
    "/{playlist_id}",
    response_model=PlaylistOut,
    response_description="It is saved.",
    summary="Give a saved playlist another name or other songs",
    responses=responses(400, 404, 422, 503),
)
def replace(service: Shared, playlist_id: Number, wanted: PlaylistIn) -> Response:
    """Write a playlist anew; songs whose files are not there just now stay behind those that they followed."""
    table = service.library.playlists
    return Json(_whole(table.replace(playlist_id, wanted.name, wanted.songs, _songs_of(service)), service))


@router.delete(
    "/{playlist_id}",
    status_code=204,
    response_class=Response,
    response_description="It is gone.",
    summary="Forget a saved playlist",
    responses=responses(404, 422, 503),
)
def remove(service: Shared, playlist_id: Number) -> Response:
    """Forget a playlist; its songs stay."""
    service.library.playlists.remove(playlist_id)
    return Response(status_code=204)


@router.get("/{playlist_id}/export", response_class=Response, summary="A saved playlist as a file", responses=_FILE)
def export_saved(
    service: Shared, playlist_id: Number, wanted: Annotated[Format, Query(alias="format")] = "m3u8"
) -> Response:
    """Return a file for players: M3U8 with whole paths, or JSPF."""
    made = service.library.playlists.get(playlist_id)
    known = _songs_of(service)
    return _file(made.name, [known[one] for one in made.songs if one in known], wanted)


def _file(name: str, songs: Iterable[Song], wanted: Format) -> Response:
    headers = {"Content-Disposition": attachment(name, wanted), "Cache-Control": "no-store"}
    return Response(playlist_text(songs, wanted, name).encode(), headers=headers, media_type=FORMATS[wanted])


class _Known(Mapping[int, Song]):
    """The songs of a snapshot by their ids, without a copy of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._space = snapshot.space

    def __getitem__(self, song_id: int) -> Song:
        return self._space.songs[self._space.row_of[song_id]]

    def __iter__(self) -> Any:
        return iter(self._space.row_of)

    def __len__(self) -> int:
        return len(self._space.row_of)


def _songs_of(service: Service) -> Mapping[int, Song]:
    """Return the songs that can be played; none if there is no library yet."""
    try:
        return _Known(service.snapshot)
    except LibraryError:
        return {}


def _summary(made: SavedPlaylist, known: Mapping[int, Song]) -> dict[str, Any]:
    there = [known[one] for one in made.songs if one in known]
    return {
        "id": made.id,
        "name": readable(made.name),
        "songs": len(there),
        "seconds": round(sum(song.seconds for song in there), 2),
        "created": made.created,
        "changed": made.changed,
    }


def _whole(made: SavedPlaylist, service: Service) -> dict[str, Any]:
    known = _songs_of(service)
    plays = service.snapshot.plays if known else {}
    items = [song_json(known[one], plays) for one in made.songs if one in known]
    return {**_summary(made, known), "items": items, "gone": len(made.songs) - len(items)}
