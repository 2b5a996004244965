"""What the protocols share: whether plays are recorded, how many, and in which words it is refused."""

from collections.abc import Sequence

from fastapi import Request
from starlette.exceptions import HTTPException

from nearsong.errors import DatabaseError, EmptyLibraryError, NearsongError
from nearsong.library import Song
from nearsong.listens.records import TrackName
from nearsong.web.http.problems import RETRY_SOON, ApiError, words_of
from nearsong.web.http.rate_limits import spend
from nearsong.web.service.service import Service
from nearsong.web.subsonic.envelope import ProtocolError


def check_recording(service: Service, request: Request, n_plays: int) -> None:
    """Refuse plays if the service records none, or if an address has reported too many."""
    if not service.settings.plays:
        raise ApiError(403, "this service does not record plays; start it without --no-plays.", "plays-not-recorded")
    spend(service.play_limit, request, "plays", n_plays)


def record(service: Service, played: Sequence[tuple[TrackName, int]], listener: str) -> None:
    """Record plays by name; to be called in the write queue."""
    service.library.play_log.record_named(played, listener)


def song_named(service: Service, track: TrackName) -> Song | None:
    """Return the song that a track name means, if the library has it."""
    try:
        return service.snapshot.songs_named([track])[0]
    except EmptyLibraryError:
        return None


def as_api_error(error: Exception) -> ApiError:
    """Return an error of a route with its HTTP status and words, for a protocol to say in its own form."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException):
        return ApiError(error.status_code, str(error.detail), headers=error.headers)
    if isinstance(error, ProtocolError):  # from the reader of forms
        return ApiError(400, error.message)
    if isinstance(error, DatabaseError) and error.transient:
        return ApiError(503, words_of(error), "busy", RETRY_SOON)
    if isinstance(error, NearsongError):
        return ApiError(400, words_of(error))
    raise error
