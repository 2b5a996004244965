"""Responses about words: songs found by them."""

from pydantic import BaseModel, Field

from nearsong.web.json.schemas import SongOut


class FoundSongOut(BaseModel):
    """A song that some words describe."""

    song: SongOut
    probability: float = Field(description="That all words fit, as if they were independent.")
    tags: dict[str, float] = Field(description="The probability that listeners would use each tag.")
    share: float = Field(description="The share of the library that the words fit less, 0 to 1.")


class FindOut(BaseModel):
    """Songs that some words describe, the best first."""

    wanted: list[str] = Field(description="The tags that the words mean.")
    unwanted: list[str] = Field(description="Tags after `not`, `no` or `without`.")
    unknown: list[str] = Field(description="Words that the encoder has no tag for.")
    encoder: str
    songs: list[FoundSongOut]
    notes: list[str] = Field(description="What was not understood or not analysed, in words.")
