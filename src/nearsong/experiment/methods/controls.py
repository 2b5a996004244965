"""Rankings without audio: at random, by popularity, and by one half of the listeners for the other half."""

from collections.abc import Callable
from dataclasses import dataclass

from nearsong.experiment.methods.method import Baseline, Group, Quantization, SongData
from nearsong.model.held_out import Score, Split
from nearsong.model.selection import ceiling_score, popularity_score, random_score


@dataclass(frozen=True, kw_only=True)
class Control(Baseline):
    """A ranking that uses listening data only."""

    group: Group = Group.CONTROL
    task: str = "controls"
    rank: Callable[[SongData, Split], Score]

    def score(self, data: SongData, split: Split, quantization: Quantization) -> Score:
        """Score the ranking."""
        return self.rank(data, split)


RANDOM = Control(
    name="random",
    label="Random",
    reference_line=True,
    rank=lambda data, split: random_score(split, data.seed),
)
POPULARITY = Control(
    name="popularity",
    label="Popularity, no audio",
    reference_line=True,
    rank=lambda data, split: popularity_score(data.listening_data, split, data.n_relevant),
)
CEILING = Control(
    name="ceiling",
    label="Listening data: Jaccard from half of the users",
    short_label="Listening data (half the users)",
    rank=lambda data, split: ceiling_score(data.listening_data, split, n_relevant=data.n_relevant, seed=data.seed),
)
