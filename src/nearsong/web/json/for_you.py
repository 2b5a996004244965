"""Requests and responses about songs for a listener: recommendations and radio."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from nearsong.library import DEFAULT_USER, Filters, ForYou, Recommendation
from nearsong.web.json.answers import Plays, song_json
from nearsong.web.json.reactions import ListenerName
from nearsong.web.json.schemas import SongId, SongOut, Strict

MAX_SENT_SONGS = 1_000
"""Songs of a session that a client may send; of a longer one the latest."""

MAX_SEEDS = 100
"""Seeds of a radio; of a longer playlist evenly spaced ones."""

GroupId = Annotated[str, Field(min_length=1, max_length=100)]


class RecommendationOut(BaseModel):
    """A song for a listener."""

    song: SongOut
    score: float = Field(description="Higher is better; comparable within one response only.")
    because: SongOut | None = Field(description="The song it is nearest to, of those that speak for it.")
    is_near: bool = Field(description="Whether it is so near to that song that it is a reason.")


class ForYouOut(BaseModel):
    """Songs for a listener, the best first."""

    listener: str
    plays: int = Field(description="Plays of the listener that they are chosen by; without any, by what others play.")
    songs: list[RecommendationOut]
    notes: list[str] = Field(description="What limits the answer, in words.")


class RadioSongIn(Strict):
    """What a listener did with a song of the radio."""

    song_id: SongId
    reaction: Literal["played", "liked", "skipped"] = "played"


class RadioIn(Strict):
    """A radio so far, which the client keeps; it starts from songs, an artist, an album or a playlist."""

    seeds: list[SongId] = Field(
        default_factory=list, max_length=MAX_SEEDS, description="Songs that the radio started from."
    )
    artist: GroupId | None = Field(None, description="An artist whose songs are seeds, by id.")
    album: GroupId | None = Field(None, description="An album whose songs are seeds, by id.")
    playlist: int | None = Field(None, ge=1, le=2**62, description="A saved playlist whose songs are seeds, by id.")
    heard: list[RadioSongIn] = Field(
        default_factory=list, max_length=MAX_SENT_SONGS, description="In order; songs that were removed are ignored."
    )
    n: int = Field(5, ge=1, le=100, description="How many songs come next.")
    surprise: float = Field(
        0.0, ge=0, le=1, description="From 0, the nearest songs, to 1, far ones that the listener does not know."
    )
    filters: Filters = Field(default_factory=Filters)
    listener: ListenerName = DEFAULT_USER
    shuffle: int = Field(0, ge=0, le=2**31, description="Another number gives another radio.")


class RadioOut(BaseModel):
    """The next songs of a radio, in order, and what it starts from; no songs if none passes the filters."""

    songs: list[RecommendationOut]
    seeds: list[SongOut] = Field(
        description="The songs that it starts from: of an artist or an album up to 5, of all others up to 100, "
        "evenly spaced. Send their ids as `seeds` from now on."
    )


def for_you_json(found: ForYou, plays: Plays) -> dict[str, Any]:
    """Return songs for a listener as `ForYouOut`."""
    return {
        "listener": found.listener,
        "plays": found.n_plays,
        "songs": recommendations_json(found.songs, plays),
        "notes": found.notes,
    }


def recommendations_json(found: Sequence[Recommendation], plays: Plays) -> list[dict[str, Any]]:
    """Return recommendations as a list of `RecommendationOut`."""
    return [
        {
            "song": song_json(one.song, plays),
            "score": float(one.score),
            "because": None if one.because is None else song_json(one.because, plays),
            "is_near": one.is_near,
        }
        for one in found
    ]
