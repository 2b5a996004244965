"""Scores of held-out songs -> means over artists with confidence intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.evaluation import RankingScores
from nearsong.library.training.report import MEASURES, Estimate, ReportRow
from nearsong.types import FloatArray

_RESAMPLES = 2000
_BLOCK_NUMBERS = 1 << 22  # random numbers drawn at a time


class Tally:
    """Accumulates held-out scores by the artist of the query.

    Confidence intervals are bootstrapped over *artists*. An artist's songs share a studio, a style and the set of
    relevant artists, so their scores are strongly correlated, and resampling songs would give intervals that are far
    too narrow. An artist held out in several splits counts once, with its mean. The intervals ignore that splits
    learn from overlapping sets of artists, so they are still somewhat too narrow.

    Parameters
    ----------
    n_artists : int
        Total number of artists.
    seed : int
        Random seed of the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.evaluation import scores_from_distances
    >>> from nearsong.library.training.tally import Tally
    >>> tally = Tally(n_artists=2, seed=0)
    >>> perfect = scores_from_distances([[0.0, 1.0], [1.0, 0.0]], [[1, 0], [0, 1]])
    >>> tally.add("native", "known", np.array([0, 1]), perfect)
    >>> tally.row("native").known
    Estimate(mean=1.0, low=1.0, high=1.0, artists=2)
    """

    def __init__(self, n_artists: int, seed: int) -> None:
        self._n_artists, self._seed = n_artists, seed
        self._sums: dict[tuple[str, str], FloatArray] = {}

    def add(self, name: str, database: str, artists: npt.NDArray[Any], scores: RankingScores | None) -> None:
        """Add the AUC of every query with a score; ``artists`` has the artist of each query."""
        if scores is None:
            return
        auc = np.asarray(scores.per_query["auc"], dtype=np.float64)
        self._add((name, database), artists, auc)

    def add_terciles(
        self, name: str, database: str, artists: npt.NDArray[Any], scores: Sequence[RankingScores | None]
    ) -> None:
        """Add the AUCs within popularity terciles: of each query the mean of those that can be measured."""
        tables = [np.asarray(part.per_query["auc"], dtype=np.float64) for part in scores if part is not None]
        if not tables:
            return
        stacked = np.array(tables)
        counts = np.isfinite(stacked).sum(axis=0)
        means = np.divide(np.nansum(stacked, axis=0), counts, out=np.full(len(counts), np.nan), where=counts > 0)
        self._add((name, f"{database}_terciles"), artists, means)

    def _add(self, key: tuple[str, str], artists: npt.NDArray[Any], auc: FloatArray) -> None:
        usable = np.flatnonzero(~np.isnan(auc))
        table = self._sums.setdefault(key, np.zeros((2, self._n_artists)))
        np.add.at(table[0], artists[usable], auc[usable])
        np.add.at(table[1], artists[usable], 1.0)

    def artist_means(self, name: str, database: str) -> FloatArray:
        """Return the mean AUC of each artist; NaN for artists that were never held out."""
        sums, counts = self._sums.get((name, database), np.zeros((2, self._n_artists)))
        means: FloatArray = np.divide(sums, counts, out=np.full(self._n_artists, np.nan), where=counts > 0)
        return means

    def row(self, name: str) -> ReportRow:
        """Return the estimates of a method."""
        return ReportRow(name, *(self.estimate(self.artist_means(name, measure)) for measure in MEASURES))

    def difference(self, name: str, other: str) -> ReportRow:
        """Return the paired difference of two methods, over artists that both were scored on."""
        estimates = (
            self.estimate(self.artist_means(name, measure) - self.artist_means(other, measure))
            for measure in MEASURES
        )
        return ReportRow(f"{name} - {other}", *estimates)

    def estimate(self, values: Sequence[float] | FloatArray) -> Estimate | None:
        """Return the mean of the values that are not NaN and its bootstrap interval; None if there are none."""
        scores = np.asarray(values, dtype=np.float64)
        scores = scores[~np.isnan(scores)]
        n = len(scores)
        if not n:
            return None
        random = np.random.default_rng([self._seed, 31])
        block = max(1, _BLOCK_NUMBERS // n)
        means = [
            scores[random.integers(n, size=(min(block, _RESAMPLES - done), n))].mean(axis=1)
            for done in range(0, _RESAMPLES, block)
        ]
        low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
        return Estimate(float(scores.mean()), float(low), float(high), n)
