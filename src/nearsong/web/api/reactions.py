"""Hearts, ratings and skips of songs, recorded so that the library can learn from its own listeners."""

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from nearsong.library import DEFAULT_USER
from nearsong.web.http import rate_limits as limits
from nearsong.web.http.dependencies import CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.reactions import HeartOut, ListenerName, RatingIn, RatingOut, SkipIn
from nearsong.web.json.schemas import SongId
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(tags=["listens"])

Number = Annotated[SongId, Path(description="Id of a song in the library.")]


async def _listener(caller: CurrentCaller, listener: Annotated[ListenerName, Query()] = DEFAULT_USER) -> str:
    return caller.acts_as(listener)


Listening = Annotated[str, Depends(_listener)]
"""The listener whose hearts and ratings these are, as a parameter of a route."""


@router.put(
    "/songs/{song_id}/heart",
    status_code=204,
    response_class=Response,
    response_description="Recorded.",
    summary="Give a song a heart",
    responses=responses(400, 403, 404, 422, 429, 503),
)
@queued
def heart(request: Request, service: Shared, song_id: Number, listener: Listening) -> Response:
    """Record that a listener likes a song. A heart that is there stays as it is."""
    _check(request, service, "hearts")
    service.library.reactions.heart([song_id], listener)
    return Response(status_code=204)


@router.delete(
    "/songs/{song_id}/heart",
    status_code=204,
    response_class=Response,
    response_description="Removed.",
    summary="Remove the heart of a song",
    responses=responses(400, 403, 404, 422, 429, 503),
)
@queued
def remove_heart(request: Request, service: Shared, song_id: Number, listener: Listening) -> Response:
    """Remove a heart, also one of a song that has been removed."""
    _check(request, service, "hearts")
    service.library.reactions.remove_heart([song_id], listener)
    return Response(status_code=204)


@router.get(
    "/hearts",
    response_description="The latest first.",
    summary="List the songs with a heart",
    responses=responses(403, 422, 503),
)
def hearts(service: Shared, listener: Listening) -> list[HeartOut]:
    """Return all songs that a listener likes; those that have been removed, too."""
    return [HeartOut(song_id=song, time=when) for song, when in hearted_songs(service, listener).items()]


def hearted_songs(service: Service, listener: str) -> dict[int, int]:
    """Return the songs that a listener likes, id -> time, the latest first; those that have been removed, too."""
    found = service.library.reactions.of(listener).hearts
    return {song: when for song, when in found.items() if isinstance(song, int)}


@router.put(
    "/songs/{song_id}/rating",
    status_code=204,
    response_class=Response,
    response_description="Recorded.",
    summary="Rate a song",
    responses=responses(400, 403, 404, 422, 429, 503),
)
@queued
def rate(request: Request, service: Shared, song_id: Number, rating: RatingIn, listener: Listening) -> Response:
    """Record how many stars a listener gives a song; an earlier rating is replaced."""
    _check(request, service, "ratings")
    service.library.reactions.rate(song_id, rating.stars, listener)
    return Response(status_code=204)


@router.delete(
    "/songs/{song_id}/rating",
    status_code=204,
    response_class=Response,
    response_description="Removed.",
    summary="Remove the rating of a song",
    responses=responses(400, 403, 404, 422, 429, 503),
)
@queued
def remove_rating(request: Request, service: Shared, song_id: Number, listener: Listening) -> Response:
    """Remove a rating, also one of a song that has been removed."""
    _check(request, service, "ratings")
    service.library.reactions.remove_rating(song_id, listener)
    return Response(status_code=204)


@router.get(
    "/ratings",
    response_description="The latest first.",
    summary="List the rated songs",
    responses=responses(403, 422, 503),
)
def ratings(service: Shared, listener: Listening) -> list[RatingOut]:
    """Return all songs that a listener has rated; those that have been removed, too."""
    found = service.library.reactions.of(listener).ratings
    return [
        RatingOut(song_id=song, stars=stars, time=when)
        for song, (stars, when) in found.items()
        if isinstance(song, int)
    ]


@router.post(
    "/skips",
    status_code=204,
    response_class=Response,
    response_description="Recorded.",
    summary="Record a skip",
    responses=responses(400, 403, 404, 422, 429, 503),
)
@queued
def skip(request: Request, service: Shared, caller: CurrentCaller, skipped: SkipIn) -> Response:
    """Record that a song was left early, or that less like it is wanted; within half a minute it is one skip."""
    _check(request, service, "skips")
    service.library.reactions.skip(skipped.song_id, caller.acts_as(skipped.listener), time.time() - skipped.seconds)
    return Response(status_code=204)


def _check(request: Request, service: Service, what: str) -> None:
    """Refuse what is not recorded, and too many changes of one client."""
    if not service.settings.plays:
        raise ApiError(403, f"this service does not record {what}.", "plays-not-recorded")
    limits.spend(service.play_limit, request, what)
