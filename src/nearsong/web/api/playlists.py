"""Playlists: generate from seeds, save, change, and export as files."""

import base64
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library import PlaylistRules, SavedPlaylist, Seed, Snapshot, Song, folder_of_songs, playlist_text
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.names import readable
from nearsong.web.http.callers import Caller
from nearsong.web.http.dependencies import CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.answers import Json, song_json
from nearsong.web.json.playlists import (
    MAX_SONGS,
    PATHS_WORDS,
    DraftIn,
    DraftOut,
    ExportFormat,
    ExportIn,
    Paths,
    PlaylistIn,
    PlaylistOut,
    PlaylistRef,
    SongsAddedOut,
    SongsToAddIn,
)
from nearsong.web.json.schemas import UploadSeed
from nearsong.web.media.files import attachment
from nearsong.web.service.own_playlists import check_change, visible_playlist, visible_playlists
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(prefix="/playlists", tags=["playlists"])

Number = Annotated[int, Path(ge=1, le=2**62, description="Id of a saved playlist.")]

_MEDIA_TYPES = [format.media_type.partition(";")[0] for format in PLAYLIST_FORMATS.values()]
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The playlist file.",
        "content": {
            media_type: {"schema": {"type": "object" if media_type == "application/json" else "string"}}
            for media_type in _MEDIA_TYPES
        },
    },
    **responses(404, 409, 422),
}


@router.post(
    "/draft",
    response_model=DraftOut,
    response_description="Songs in order.",
    summary="Generate a playlist without saving it",
    responses=responses(400, 404, 409, 422, 503),
)
def draft(service: Shared, wanted: DraftIn) -> Response:
    """Return a playlist around the seeds, or one that leads from the seed `to` another song."""
    snapshot = _snapshot_for(service, wanted.upload_seeds)
    seeds = [*map(snapshot.seed, wanted.seeds), *(_seed_of(snapshot, upload) for upload in wanted.upload_seeds)]
    if wanted.to is not None and len(seeds) != 1:
        raise InvalidInputError(f"a playlist `to` a song takes exactly one seed, not {len(seeds)}.")
    rules = PlaylistRules(
        length=wanted.length,
        artist_gap=wanted.artist_gap,
        diversity=wanted.diversity,
        drift=wanted.drift,
        seed=wanted.shuffle,
        adventurousness=wanted.adventurousness,
    )
    goal = None if wanted.to is None else snapshot.seed(wanted.to)
    with service.concurrency.slot():
        songs, notes = snapshot.playlist(seeds, rules, wanted.filters, goal)
    return Json({"songs": [song_json(song, snapshot.plays) for song in songs], "notes": notes})


def _snapshot_for(service: Service, uploads: Sequence[UploadSeed]) -> Snapshot:
    """Return the snapshot; a new one if a file was analysed by another service that has a newer model already."""
    snapshot = service.snapshot
    if any(upload.model != snapshot.model.id for upload in uploads):
        service.refresh()
    return service.snapshot


def _seed_of(snapshot: Snapshot, upload: UploadSeed) -> Seed:
    """Return the seed of an upload that was analysed before."""
    if upload.model != snapshot.model.id:
        raise ApiError(409, "the file was analysed for another model; upload it again.", "other-model")
    try:
        embedding = np.frombuffer(base64.b64decode(upload.embedding, validate=True), dtype="<f4")
        return snapshot.seed_of_embedding(embedding, upload.model, "an upload")
    except ValueError as error:  # not base64, or not an embedding of this model
        raise InvalidInputError(
            f"upload_seeds.embedding is not valid ({error}); send it as the query returned it."
        ) from error


@router.get("", response_description="Oldest first.", summary="List saved playlists", responses=responses(503))
def saved(service: Shared, caller: CurrentCaller) -> list[PlaylistRef]:
    """Return the saved playlists of the listener and of all, without their songs."""
    songs = _songs_of(service)
    return [PlaylistRef(**_summary(playlist, songs, caller)) for playlist in visible_playlists(service, caller)]


@router.post(
    "",
    status_code=201,
    response_model=PlaylistOut,
    response_description="The saved playlist.",
    summary="Save a playlist",
    responses=responses(400, 404, 422, 503),
)
@queued
def save(service: Shared, caller: CurrentCaller, wanted: PlaylistIn) -> Response:
    """Save a playlist in the library."""
    playlist = service.library.playlists.add(wanted.name, wanted.songs, caller.owner)
    return Json(_with_songs(playlist, service, caller), 201, {"Location": f"/api/v1/playlists/{playlist.id}"})


@router.post("/export", response_class=Response, summary="Export songs as a playlist file", responses=_FILE)
def export_songs(service: Shared, wanted: ExportIn) -> Response:
    """Return a playlist file; a copy in the music folder finds its songs there, on any device."""
    songs = [service.snapshot.song(song_id) for song_id in wanted.songs]
    return _file(service, wanted.name, songs, wanted.format, wanted.paths)


@router.get(
    "/{playlist_id}",
    response_model=PlaylistOut,
    response_description="The playlist.",
    summary="Get a saved playlist with its songs",
    responses=responses(404, 422, 503),
)
def get(service: Shared, caller: CurrentCaller, playlist_id: Number) -> Response:
    """Return a playlist; songs whose files are missing are only counted."""
    return Json(_with_songs(visible_playlist(service, caller, playlist_id), service, caller))


@router.put(
    "/{playlist_id}",
    response_model=PlaylistOut,
    response_description="The saved playlist.",
    summary="Change a saved playlist",
    responses=responses(400, 403, 404, 422, 503),
)
@queued
def replace(service: Shared, caller: CurrentCaller, playlist_id: Number, wanted: PlaylistIn) -> Response:
    """Replace name and songs; songs whose files are missing at the moment stay after those they followed."""
    check_change(service, caller, playlist_id)
    changed = service.library.playlists.replace(playlist_id, wanted.name, wanted.songs, _songs_of(service))
    return Json(_with_songs(changed, service, caller))


@router.post(
    "/{playlist_id}/songs",
    response_model=SongsAddedOut,
    response_description="The saved playlist.",
    summary="Add songs to a saved playlist",
    responses=responses(400, 403, 404, 422, 503),
)
@queued
def add_songs(service: Shared, caller: CurrentCaller, playlist_id: Number, wanted: SongsToAddIn) -> Response:
    """Append songs; those that are on the playlist already are left out unless `again` is true."""
    check_change(service, caller, playlist_id)
    added: list[int] = []

    def change(playlist: SavedPlaylist) -> tuple[str, list[int]]:
        known = set() if wanted.again else set(playlist.songs)
        added[:] = [song for song in dict.fromkeys(wanted.songs) if song not in known]
        songs = [*playlist.songs, *added]
        if len(songs) > MAX_SONGS:
            raise InvalidInputError(
                f"{len(songs)} songs are more than a playlist holds ({MAX_SONGS}); start another one."
            )
        return playlist.name, songs

    changed = service.library.playlists.edit(playlist_id, change)
    return Json({**_with_songs(changed, service, caller), "added": len(added)})


@router.delete(
    "/{playlist_id}",
    status_code=204,
    response_class=Response,
    response_description="Deleted.",
    summary="Delete a saved playlist",
    responses=responses(403, 404, 422, 503),
)
@queued
def remove(service: Shared, caller: CurrentCaller, playlist_id: Number) -> Response:
    """Delete a playlist; its songs stay."""
    check_change(service, caller, playlist_id)
    service.library.playlists.remove(playlist_id)
    return Response(status_code=204)


@router.get("/{playlist_id}/export", response_class=Response, summary="Export a saved playlist", responses=_FILE)
def export_saved(
    service: Shared,
    caller: CurrentCaller,
    playlist_id: Number,
    wanted: Annotated[ExportFormat, Query(alias="format")] = "m3u8",
    paths: Annotated[Paths, Query(description=PATHS_WORDS)] = "relative",
) -> Response:
    """Return a playlist file; a copy in the music folder finds its songs there, on any device."""
    playlist, known = visible_playlist(service, caller, playlist_id), _songs_of(service)
    songs = [known[song_id] for song_id in playlist.songs if song_id in known]
    return _file(service, playlist.name, songs, wanted, paths)


def _file(service: Service, name: str, songs: list[Song], wanted: ExportFormat, paths: Paths) -> Response:
    folder = folder_of_songs(songs, service.library.folders) if paths == "relative" else None
    headers = {"Content-Disposition": attachment(name, wanted), "Cache-Control": "no-store"}
    return Response(
        playlist_text(songs, wanted, name, folder).encode(),
        headers=headers,
        media_type=PLAYLIST_FORMATS[wanted].media_type,
    )


class _SongsById(Mapping[int, Song]):
    """The songs of a snapshot by id, without a copy."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._space = snapshot.space

    def __getitem__(self, song_id: int) -> Song:
        return self._space.songs[self._space.row_of[song_id]]

    def __iter__(self) -> Any:
        return iter(self._space.row_of)

    def __len__(self) -> int:
        return len(self._space.row_of)


def _songs_of(service: Service) -> Mapping[int, Song]:
    """Return the songs by id; none if the library is empty."""
    try:
        return _SongsById(service.snapshot)
    except LibraryError:
        return {}


def _summary(playlist: SavedPlaylist, songs: Mapping[int, Song], caller: Caller) -> dict[str, Any]:
    existing = [songs[song_id] for song_id in playlist.songs if song_id in songs]
    return {
        "id": playlist.id,
        "name": readable(playlist.name),
        "songs": len(existing),
        "seconds": round(sum(song.seconds for song in existing), 2),
        "created": playlist.created,
        "changed": playlist.changed,
        "owner": playlist.owner or None,
        "can_change": caller.may_change(playlist.owner),
    }


def _with_songs(playlist: SavedPlaylist, service: Service, caller: Caller) -> dict[str, Any]:
    songs = _songs_of(service)
    plays = service.snapshot.plays if songs else {}
    items = [song_json(songs[song_id], plays) for song_id in playlist.songs if song_id in songs]
    return {**_summary(playlist, songs, caller), "items": items, "missing": len(playlist.songs) - len(items)}
