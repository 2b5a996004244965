"""Frame rankers of `nearsong.baselines` -> baselines of the experiment (paper IV-C1)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy.typing as npt

from nearsong.baselines.ranker import FrameRanker
from nearsong.experiment.methods.method import (
    Arrays,
    Baseline,
    ComparedFeature,
    Group,
    Need,
    Quantization,
    SongData,
)
from nearsong.model.held_out import Score, Split
from nearsong.types import FloatArray


class FrameSummaries(ComparedFeature):
    """The summary of each song's frames, and the distances between all songs.

    Parameters
    ----------
    name : str
        Key in the cache of the run.
    ranker : callable
        Returns the ranker for a seed.
    """

    def __init__(self, name: str, ranker: Callable[[int], FrameRanker]) -> None:
        self.name = name
        self.ranker = ranker

    def encoder(self, data: SongData) -> Callable[[npt.NDArray[Any]], Any]:
        """Return the ranker's summary of frames."""
        return self.ranker(data.seed).summarise

    def pack(self, values: Sequence[Any]) -> Arrays:
        """Pack the summaries."""
        return self.ranker(0).pack(values)

    def distances(self, data: SongData, songs: range) -> FloatArray:
        """Return the distances of some songs to all songs."""
        ranker, summaries = _fitted(self, data)
        return ranker.distances([summaries[song] for song in songs])


@lru_cache(maxsize=1)
def _fitted(feature: FrameSummaries, data: SongData) -> tuple[FrameRanker, list[Any]]:
    ranker = feature.ranker(data.seed)
    summaries = ranker.unpack(data.stored(feature.name))
    return ranker.fit(summaries), summaries


class FrameBaseline(Baseline):
    """A ranking by the distances of frame summaries."""

    def score(self, data: SongData, split: Split, quantization: Quantization) -> Score:
        """Score the table of distances."""
        table = data.distance_table(self.features[0].name)
        return lambda ranking: ranking.score_distances(table)


def frame_baseline(name: str, label: str, ranker: Callable[[int], FrameRanker]) -> FrameBaseline:
    """Return the baseline of a ranker.

    Parameters
    ----------
    name, label : str
        As in `Method`.
    ranker : callable
        Returns the ranker for a seed.
    """
    return FrameBaseline(
        name=name,
        label=label,
        group=Group.SOUND,
        needs=(Need.SOUND,),
        features=(FrameSummaries(name, ranker),),
    )
