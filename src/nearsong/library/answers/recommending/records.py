"""Records of recommendations: a recommended song, all that is for a listener, and a song that a radio played."""

from dataclasses import dataclass, field

from nearsong.library.answers.seeds import SeedLike
from nearsong.library.records import Song
from nearsong.validation import check_choice

REACTIONS = ("played", "liked", "skipped")


@dataclass(frozen=True)
class Recommendation:
    """A recommended song.

    Attributes
    ----------
    song : Song
    score : float
        The higher the better; comparable within one answer only.
    because : Song or None
        The song of the listener, or the seed, that it is nearest to.
    is_near : bool
        Whether it is so near to that song that it is a reason. In a small library the nearest song may be far, and
        other listeners may speak for a song that sounds like none.
    """

    song: Song
    score: float
    because: Song | None = None
    is_near: bool = True


@dataclass(frozen=True)
class ForYou:
    """What is recommended to a listener.

    Attributes
    ----------
    listener : str
    songs : list of Recommendation
        The best first.
    n_plays : int
        Plays of songs and artists of the library that are known of the listener.
    notes : list of str
        What is special about this answer, in plain words.
    """

    listener: str
    songs: list[Recommendation]
    n_plays: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Heard:
    """A song that a radio has played, and what the listener did: "played", "liked" or "skipped"."""

    song: SeedLike
    reaction: str = "played"

    def __post_init__(self) -> None:
        check_choice(self.reaction, "reaction", REACTIONS)
