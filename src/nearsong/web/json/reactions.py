"""Requests and responses about hearts, ratings and skips."""

from typing import Annotated

from pydantic import BaseModel, Field

from nearsong.library import DEFAULT_USER, MAX_STARS
from nearsong.web.json.schemas import SongId, Strict

ListenerName = Annotated[
    str, Field(min_length=1, max_length=200, description="Who listens; by default the library's owner.")
]


class RatingIn(Strict):
    """How many stars a song gets."""

    stars: int = Field(ge=1, le=MAX_STARS)


class SkipIn(Strict):
    """A song that was left early, or of which less is wanted."""

    song_id: SongId
    seconds: float = Field(0.0, ge=0, le=86_400, description="How long it was played.")
    listener: ListenerName = DEFAULT_USER


class HeartOut(BaseModel):
    """A song that a listener likes."""

    song_id: int
    time: int = Field(description="When, in seconds since 1970.")


class RatingOut(HeartOut):
    """How many stars a listener gave a song."""

    stars: int
