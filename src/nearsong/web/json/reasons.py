"""Parts of the response that explains why two songs are similar."""

from pydantic import BaseModel, Field


class OverlapOut(BaseModel):
    """Listeners that two artists share."""

    shared: int
    query: int
    other: int
    jaccard: float
    rank: int | None


class DistanceKindOut(BaseModel):
    """How near two songs are in one respect."""

    kind: str = Field(description="taste, sound, metric or known")
    words: str
    squared: float = Field(description="Its part of the squared distance.")
    share: float
    similarity: float = Field(description="The share of random pairs that are farther apart in this respect.")


class AspectOut(BaseModel):
    """An aspect of sound, and its part of the squared distance."""

    words: str
    squared: float


class TraitsOut(BaseModel):
    """Words for the sound of two songs."""

    shared: list[str] = Field(description="What holds for both, what holds for fewest other songs first.")
    opposed: list[tuple[str, str]] = Field(description="A word of the seed, and its opposite, of the other song.")


class MomentOut(BaseModel):
    """Where two songs sound most alike."""

    query_start: float | None = Field(description="Second of the seed where it starts; null if there is a `reason`.")
    other_start: float | None = Field(description="Second of the other song.")
    seconds: float = Field(description="How long it is.")
    reason: str = Field(description="Why it is not known, such as a missing file; empty if it is.")


class WhyPartsOut(BaseModel):
    """The parts of a squared distance, and what both songs have in common."""

    kinds: list[DistanceKindOut] = Field(description="They add up to the squared distance.")
    aspects: list[AspectOut] = Field(description="They add up to the part of sound.")
    tags: list[str] = Field(description="Words that describe both songs and few others.")
    played: list[str] = Field(description="Artists that likely listeners of both songs play.")
    listeners: int | None = Field(description="How many listeners the model learned from.")
