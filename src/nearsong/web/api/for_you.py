"""Songs for a listener: recommendations from what they play, and a radio that follows what they just did."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from nearsong.errors import InvalidInputError
from nearsong.library import Heard, Snapshot, Song, spread_songs
from nearsong.web.api.reactions import Listening
from nearsong.web.http.callers import Caller
from nearsong.web.http.dependencies import CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.answers import Json, song_json
from nearsong.web.json.filters import FilterParameters
from nearsong.web.json.for_you import MAX_SEEDS, ForYouOut, RadioIn, RadioOut, for_you_json, recommendations_json
from nearsong.web.service.own_playlists import visible_playlist
from nearsong.web.service.service import Service, Shared

router = APIRouter(tags=["for you"])

MAX_GROUP_SEEDS = 5
"""Songs that stand for an artist or an album; their other songs may come in the radio."""


@router.get(
    "/for-you",
    response_model=ForYouOut,
    response_description="The best first; none for a listener who has played nothing.",
    summary="Recommend songs to a listener",
    responses=responses(400, 403, 404, 409, 422, 503),
)
def for_you(
    service: Shared,
    listener: Listening,
    filters: FilterParameters,
    n: Annotated[int, Query(ge=1, le=500, description="Number of songs.")] = 50,
    include_played: Annotated[bool, Query(description="Also songs that the listener has played.")] = False,
) -> Response:
    """Return songs near what a listener plays, recent plays most, and away from what they skip."""
    snapshot = service.snapshot
    with service.concurrency.slot():
        found = snapshot.for_you(listener, n, filters, include_played=include_played)
    return Json(for_you_json(found, snapshot.plays))


@router.post(
    "/radio",
    response_model=RadioOut,
    response_description="The next songs, in order.",
    summary="Continue a radio",
    responses=responses(400, 403, 404, 409, 422, 503),
)
def radio(service: Shared, caller: CurrentCaller, wanted: RadioIn) -> Response:
    """Return the songs that come next after what was played, liked or skipped so far.

    The service remembers nothing of a radio: send the seeds and what was heard each time.
    """
    snapshot = service.snapshot
    known = snapshot.space.row_of
    seeds = _seeds(service, snapshot, caller, wanted)
    heard = [Heard(song=one.song_id, reaction=one.reaction) for one in wanted.heard if one.song_id in known]
    with service.concurrency.slot():
        found = snapshot.radio(
            [snapshot.seed(song) for song in seeds],
            heard,
            wanted.n,
            wanted.filters,
            listener=caller.acts_as(wanted.listener),
            surprise=wanted.surprise,
            seed=wanted.shuffle,
        )
    plays = snapshot.plays
    return Json({"songs": recommendations_json(found, plays), "seeds": [song_json(song, plays) for song in seeds]})


def _seeds(service: Service, snapshot: Snapshot, caller: Caller, wanted: RadioIn) -> list[Song]:
    """Return the songs that a radio starts from."""
    songs = [snapshot.song(song_id) for song_id in wanted.seeds]
    if wanted.artist is not None and not snapshot.albums.has_artist(wanted.artist):
        raise ApiError(404, f"artist not found: {wanted.artist!r}; it may have been removed.", "no-such-artist")
    if wanted.album is not None and not snapshot.albums.has_album(wanted.album):
        raise ApiError(404, f"album not found: {wanted.album!r}; it may have been removed.", "no-such-album")
    if wanted.artist is not None:
        songs += spread_songs(_comparable(snapshot, snapshot.albums.artist(wanted.artist).songs), MAX_GROUP_SEEDS)
    if wanted.album is not None:
        songs += spread_songs(_comparable(snapshot, snapshot.albums.album(wanted.album).songs), MAX_GROUP_SEEDS)
    if wanted.playlist is not None:
        saved = visible_playlist(service, caller, wanted.playlist).songs
        songs += [snapshot.song(song_id) for song_id in saved if song_id in snapshot.space.row_of]
    if not songs:
        raise InvalidInputError("a radio starts from songs: send seeds, or an artist, album or playlist with songs.")
    return spread_songs(list(dict.fromkeys(songs)), MAX_SEEDS)


def _comparable(snapshot: Snapshot, songs: Sequence[Song]) -> list[Song]:
    return [song for song in songs if song.id in snapshot.space.row_of]
