"""Health, status and metrics."""

import os
from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

from nearsong import __version__
from nearsong.errors import LibraryError
from nearsong.library import PLAYLIST_DEFAULTS, Status, default_address
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.names import count, readable
from nearsong.web.http.dependencies import ADMIN, CurrentCaller
from nearsong.web.http.problems import responses
from nearsong.web.json.schemas import HealthOut, StatusOut
from nearsong.web.service import metrics as numbers
from nearsong.web.service.service import Service, Shared

router = APIRouter(tags=["status"])

"""Settings of a playlist that the page shows."""

Step = Literal["scan", "listens", "train", "ready"]


@router.get("/health", response_description="It is up.", summary="Check that the service is up")
async def health() -> HealthOut:
    """Return at once, without the library and without a token; for monitoring."""
    return HealthOut(status="ok", version=__version__)


router.head("/health", include_in_schema=False)(health)


@router.get(
    "/status",
    response_description="Counts and advice.",
    summary="Get the content of the library, and what to do next",
    responses=responses(503),
)
def status(service: Shared, caller: CurrentCaller) -> StatusOut:
    """Return counts, the active model, and what to do next."""
    content, settings = service.library.status(), service.settings
    step = step_of(content)
    can_add_folders = (settings.may_scan_anywhere or bool(settings.folder_roots)) and caller.is_admin
    return StatusOut.model_validate(
        {
            **vars(content),
            "version": __version__,
            "folders": [readable(folder) for folder in content.folders],
            "library": address_for_commands(service),
            "step": step,
            "next": advice(content, step, can_add_folders),
            "can_add_folders": can_add_folders,
            "has_login": not service.callers.is_open,
            "listener": caller.listener,
            "is_admin": caller.is_admin,
            "can_save_uploads": settings.save_uploads is not None and caller.is_admin,
            **_of_snapshot(service, content),
            "records_plays": settings.plays,
            "upload_megabytes": settings.upload_megabytes,
            "playlist_defaults": PLAYLIST_DEFAULTS._asdict(),
            "playlist_formats": {name: format.label for name, format in PLAYLIST_FORMATS.items()},
        }
    )


def _of_snapshot(service: Service, status: Status) -> dict[str, int | bool]:
    """Return how many artists have a page, and what model and encoders can do beside finding similar songs."""
    try:
        snapshot = service.snapshot if status.songs else None
    except LibraryError:  # nothing to compare yet
        snapshot = None
    if snapshot is None:
        return {"has_dial": False, "has_words": False}
    n_artists = len(snapshot.albums.artists)  # also those whom only albums name
    return {"artists": n_artists, "has_dial": snapshot.has_dial, "has_words": snapshot.has_words}


@router.get(
    "/metrics",
    response_class=Response,
    summary="Get metrics for Prometheus",
    dependencies=[ADMIN],
    responses={
        200: {"description": "Metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **responses(403),
    },
)
def metrics(service: Shared) -> Any:
    """Return requests by route and status, their durations, and the state of the service."""
    return Response(service.metrics.text(), headers={"Cache-Control": "no-store"}, media_type=numbers.MEDIA_TYPE)


def address_for_commands(service: Service) -> str | None:
    """Return the library's address if commands need it; only that of a file, and only to users of this machine."""
    address = service.library.address
    is_default = address == os.path.abspath(default_address())
    if is_default or not os.path.isabs(address) or not service.settings.is_for_this_machine:
        return None
    return readable(address)


def step_of(status: Status) -> Step:
    """Return what to do next: scan, import listens, train, or nothing."""
    if not status.songs:
        return "scan"
    if not status.histories or status.too_few:
        return "listens"
    return "ready" if _has_learned(status) or status.rejected else "train"


def _has_learned(status: Status) -> bool:
    return status.model is not None and status.model["kind"] != "native"


def advice(status: Status, step: Step, can_add_folders: bool) -> list[str]:
    """Return what to do next, in words for the page."""
    if step == "scan":
        if can_add_folders:
            return ["Choose your music folder here, or run: nearsong scan FOLDER"]
        return ["There is no music yet. On the machine that runs nearsong, run: nearsong scan FOLDER"]
    lines = []
    if status.not_analysed:
        songs = count(status.not_analysed, "song is", "songs are")
        lines.append(f"{songs} not analysed yet. Scan again here, or run: nearsong scan")
    if status.missing:
        lines.append(
            f"The files of {count(status.missing, 'song')} are missing. Restore them and scan again, "
            "or remove the songs: nearsong scan --prune"
        )
    if step == "listens":
        lines.append(
            "Similarity is based on sound alone. Import listening histories (Last.fm, ListenBrainz, Spotify, "
            "playlists, or a table) to learn what people find similar: nearsong listens import FILES"
        )
    if status.rejected and not _has_learned(status):
        lines.append("Learning from these listens did not improve on sound alone. More listens may help.")
    if step == "train":
        lines.append("There are listens to learn from. Train here, or run: nearsong train")
    return lines or ["All is ready: search for a song, drop a file, or explore the map."]
