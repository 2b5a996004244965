"""What Navidrome's plugin asks, in Navidrome's own shapes: similar songs, and a path between two songs.

The shapes are those of the capability `sonicsimilarity` (navidrome/navidrome, `plugins/capabilities`). A song is a
reference there: names and ids by which the other side finds it.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from nearsong.errors import NoSuchSongError
from nearsong.library import PlaylistRules, Snapshot, Song, find_named_song, id_on_server
from nearsong.web.http.problems import responses
from nearsong.web.service.service import Shared

router = APIRouter(tags=["similar"])

MAX_SONGS = 500
MAX_CHARACTERS = 1_000

Text = Annotated[str, Field(max_length=MAX_CHARACTERS)]
Count = Annotated[int, Field(ge=1, le=MAX_SONGS, description="Number of songs.")]


class ArtistRef(BaseModel):
    """An artist by name."""

    name: Text = ""


class SongRef(BaseModel):
    """A song as Navidrome names it; the id is Navidrome's."""

    id: Text = ""
    name: Text = ""
    mbid: Text = ""
    artist: Text = ""
    artists: Annotated[list[ArtistRef], Field(max_length=100)] = []
    album: Text = ""
    duration: Annotated[float, Field(ge=0, le=1e6, description="Seconds.")] = 0.0
    durationMs: Annotated[int, Field(ge=0, le=10**9)] = 0  # noqa: N815  (Navidrome's name)


class SimilarIn(BaseModel):
    """What `nd_get_sonic_similar_tracks` is called with."""

    song: SongRef
    count: Count = 10


class PathIn(BaseModel):
    """What `nd_find_sonic_path` is called with."""

    startSong: SongRef  # noqa: N815
    endSong: SongRef  # noqa: N815
    count: Count = 25


class SonicMatchOut(BaseModel):
    """A song and how close it is, 0 to 1."""

    song: SongRef
    similarity: float


class SonicMatchesOut(BaseModel):
    """What Navidrome's plugin returns."""

    matches: list[SonicMatchOut]


@router.post(
    "/navidrome/similar",
    response_model=SonicMatchesOut,
    response_description="Similar songs, nearest first.",
    summary="Find similar songs for Navidrome",
    responses=responses(404, 409, 422, 503),
)
def similar(service: Shared, wanted: SimilarIn) -> Any:
    """Return songs similar to one that Navidrome names."""
    snapshot = service.snapshot
    seed = snapshot.seed(_song(snapshot, wanted.song).id)
    with service.concurrency.slot():
        found = snapshot.similar([seed], n=wanted.count)
    return {"matches": [_match(near.song, near.closeness) for near in found]}


@router.post(
    "/navidrome/path",
    response_model=SonicMatchesOut,
    response_description="Songs on the way, the two ends among them.",
    summary="Find a path between two songs for Navidrome",
    responses=responses(400, 404, 409, 422, 503),
)
def path(service: Shared, wanted: PathIn) -> Any:
    """Return songs from one that Navidrome names to another, with the closeness of each to the first."""
    snapshot = service.snapshot
    start, end = _song(snapshot, wanted.startSong), _song(snapshot, wanted.endSong)
    if wanted.count < 2 or start.id == end.id:
        return {"matches": [_match(start, 1.0)]}
    with service.concurrency.slot():
        seed, goal = snapshot.seed(start.id), snapshot.seed(end.id)
        songs, _ = snapshot.playlist([seed], PlaylistRules(length=wanted.count), to=goal)
    closeness = snapshot.space.closeness_to(start, songs)
    return {"matches": [_match(song, near) for song, near in zip(songs, closeness, strict=True)]}


def _song(snapshot: Snapshot, wanted: SongRef) -> Song:
    """Return the song that Navidrome means."""
    found = find_named_song(
        snapshot.space,
        id=wanted.id,
        title=wanted.name,
        artist=wanted.artists[0].name if wanted.artists else wanted.artist,
        album=wanted.album,
        recording_mbid=wanted.mbid,
        seconds=wanted.durationMs / 1000 or wanted.duration,
    )
    if found is None:
        raise NoSuchSongError(f"song not found: {wanted.name!r}; scan its folder, or sync with the server.")
    return found


def _match(song: Song, closeness: float) -> dict[str, Any]:
    reference = {
        "id": id_on_server(song),
        "name": song.title,
        "mbid": song.recording_mbid,
        "artist": song.artist,
        "artists": [{"name": song.artist}],
        "album": song.album,
        "duration": song.seconds,
        "durationMs": round(1000 * song.seconds),
    }
    return {"song": reference, "similarity": closeness}
