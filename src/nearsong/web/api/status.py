"""Health, status and metrics: that it answers, what the library holds, and numbers for a monitor."""

import os
from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

from nearsong import __version__
from nearsong.library.status import Status
from nearsong.library.store import default_place
from nearsong.names import readable
from nearsong.web import metrics as numbers
from nearsong.web.problems import responses
from nearsong.web.schemas import HealthOut, ModelRef, StatusOut
from nearsong.web.service import Service, Shared

router = APIRouter(tags=["status"])

Step = Literal["scan", "listens", "train", "ask"]


@router.get("/health", response_description="It does.", summary="Whether the service answers")
async def health() -> HealthOut:
    """Answer without looking at the library, and without a token; for a monitor."""
    return HealthOut(status="ok", version=__version__)


router.head("/health", include_in_schema=False)(health)


@router.get(
    "/status",
    response_description="Counts and advice.",
    summary="What the library holds, and what to do next",
    responses=responses(503),
)
def status(service: Shared) -> StatusOut:
    """Return counts, the model that answers, and what is missing most."""
    found, settings = service.library.status(), service.settings
    step = step_of(found)
    return StatusOut(
        version=__version__,
        songs=found.songs,
        artists=found.artists,
        seconds=found.seconds,
        missing=found.missing,
        unreadable=found.unreadable,
        unheard=found.unheard,
        histories=found.histories,
        listens=found.listens,
        users=found.users,
        played=found.played,
        folders=[readable(folder) for folder in found.folders],
        library=place_to_type(service),
        model=None if found.model is None else ModelRef(id=found.model["id"], kind=found.model["kind"]),
        step=step,
        next=advice(found, step, settings.may_add_folders),
        may_add_folders=settings.may_add_folders,
        may_keep=settings.keep is not None,
        keeps_plays=settings.plays,
        upload_megabytes=settings.upload_megabytes,
    )


@router.get(
    "/metrics",
    response_class=Response,
    summary="Numbers for Prometheus",
    responses={200: {"description": "Counts.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(service: Shared) -> Any:
    """Return requests by route and status, how long they took, and what the service holds."""
    return Response(service.metrics.text(), headers={"Cache-Control": "no-store"}, media_type=numbers.MEDIA_TYPE)


def place_to_type(service: Service) -> str | None:
    """Return where the library is, if a command must be told: a file only, and only to somebody on this machine."""
    place = service.library.place
    known = place == os.path.abspath(default_place())
    return None if known or not os.path.isabs(place) or not service.settings.may_add_folders else readable(place)


def step_of(found: Status) -> Step:
    """Return what is missing most: songs, listens, a training, or nothing."""
    if not found.songs:
        return "scan"
    if not found.histories or found.too_few:
        return "listens"
    return "ask" if _has_learned(found) or found.refused else "train"


def _has_learned(found: Status) -> bool:
    return found.model is not None and found.model["kind"] != "native"


def advice(found: Status, step: Step, may_add_folders: bool) -> list[str]:
    """Return what a person at the page should do, in words."""
    if step == "scan":
        if may_add_folders:
            return ["Choose the folder that your music is in, here or with: nearsong scan FOLDER"]
        return ["There is no music yet. On the machine that runs this, type: nearsong scan FOLDER"]
    said = []
    if found.unheard:
        said.append(f"{found.unheard:,} songs have not been heard yet. Scan again, here or with: nearsong scan")
    if found.missing:
        said.append(
            f"The files of {found.missing:,} songs are gone. Bring them back and scan again, or forget them with: "
            "nearsong scan --prune"
        )
    if step == "listens":
        said.append(
            "So far it knows music by its sound alone. Give it listening histories (Last.fm, ListenBrainz, Spotify, "
            "playlists, or a table) and it can learn what people find similar: nearsong listens import FILES"
        )
    if found.refused and not _has_learned(found):
        said.append(
            "These listens were too few to learn from, or did not help; more of them, or of other artists, might."
        )
    if step == "train":
        said.append("There are listens to learn from. Start the training, here or with: nearsong train")
    return said or ["All is ready: search for a song, drop a file, or look around on the map."]
