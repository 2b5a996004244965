"""The first page: what to go on with, what is new, what to hear again, in one response."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from nearsong.errors import EmptyLibraryError
from nearsong.library import Snapshot, Song
from nearsong.web.api.reactions import Listening, hearted_songs
from nearsong.web.http.problems import responses
from nearsong.web.json.answers import Json, song_json
from nearsong.web.json.browsing import HomeOut, albums_json
from nearsong.web.json.for_you import recommendations_json
from nearsong.web.service.service import Service, Shared

router = APIRouter(tags=["for you"])

N_ITEMS = 12
"""Albums or songs of each list by default."""

MAX_QUEUED_SONGS = 50
"""Songs of a queue that the response has."""


@router.get(
    "/home",
    response_model=HomeOut,
    response_description="Lists of the first page.",
    summary="Get the first page of a listener",
    responses=responses(400, 403, 409, 422, 503),
)
def home(
    service: Shared,
    listener: Listening,
    n: Annotated[int, Query(ge=1, le=50, description="Albums or songs of each list.")] = N_ITEMS,
) -> Response:
    """Return what a listener may go on with, what is new, songs for them, forgotten ones, and ones nobody played."""
    try:
        snapshot = service.snapshot
    except EmptyLibraryError:
        return Json(_nothing(listener))
    with service.concurrency.slot():
        found = snapshot.home(listener, n)
    plays, albums = snapshot.plays, snapshot.albums
    n_albums = snapshot.album_browser.albums(limit=0).total
    return Json(
        {
            "listener": found.listener,
            "counts": {"songs": len(snapshot.space.songs), "albums": n_albums, "artists": len(albums.artists)},
            "queue": _queue(service, snapshot, found.listener),
            "played": albums_json(snapshot, found.played),
            "added": albums_json(snapshot, found.added),
            "for_you": recommendations_json(found.for_you, plays),
            "hearts": [song_json(song, plays) for song in _hearted(service, snapshot, found.listener)[:n]],
            "forgotten": [song_json(song, plays) for song in found.forgotten],
            "unplayed": recommendations_json(found.unplayed, plays),
        }
    )


def _nothing(listener: str) -> dict[str, Any]:
    """Return the first page of an empty library."""
    lists = dict.fromkeys(("played", "added", "for_you", "hearts", "forgotten", "unplayed"), ())
    return {"listener": listener, "counts": dict.fromkeys(("songs", "albums", "artists"), 0), "queue": None, **lists}


def _hearted(service: Service, snapshot: Snapshot, listener: str) -> list[Song]:
    return [snapshot.song(song) for song in hearted_songs(service, listener) if song in snapshot.space.row_of]


def _queue(service: Service, snapshot: Snapshot, listener: str) -> dict[str, Any] | None:
    queue = service.library.play_queues.get(snapshot.space.row_of, listener)
    if queue is None or not queue.songs:
        return None
    left = queue.songs[queue.current :]
    return {
        "songs": [song_json(snapshot.song(song), snapshot.plays) for song in left[:MAX_QUEUED_SONGS]],
        "song_count": len(left),
        "position": queue.position / 1000,
        "changed_by": queue.changed_by,
    }
