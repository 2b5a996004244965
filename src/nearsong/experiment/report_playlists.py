"""Songs in both spaces and who is relevant -> example playlists, the good and the bad ones (paper Table II)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import NoUsableQueryError
from nearsong.evaluation import ranking_scores
from nearsong.experiment.report_run import Row, Showcase

LENGTH = 5


@dataclass(frozen=True)
class Playlist:
    """One query and the songs nearest to it, as rows of the showcase, in both spaces."""

    why: str
    query: int
    native: list[int]
    learned: list[int]
    relevant: npt.NDArray[np.bool_]  # n: of every song of the showcase
    native_auc: float
    learned_auc: float

    def hits(self, songs: list[int]) -> int:
        """Count the relevant songs of a list."""
        return int(self.relevant[songs].sum())


@dataclass(frozen=True)
class Playlists:
    """The chosen examples, and how all queries fared: more, as many or fewer relevant songs than natively."""

    chosen: list[Playlist]
    more: int
    same: int
    fewer: int
    native_hits: float  # mean relevant songs among the first five
    learned_hits: float


def example_playlists(showcase: Showcase, gains: int = 3) -> Playlists | None:
    """Choose queries to show: the largest gains, a typical one, and the worst loss if any query lost.

    The gain is in relevant songs among the first five, equals by the gain in AUC. An artist is shown once.

    Parameters
    ----------
    showcase : Showcase
    gains : int
        How many of the largest gains.

    Returns
    -------
    Playlists or None
        None if no query has both a relevant and an irrelevant song.
    """
    database = np.flatnonzero(~showcase.is_test)
    if showcase.queries.size == 0 or database.size < LENGTH or 0 in (*showcase.native.shape, *showcase.learned.shape):
        return None
    relevant = showcase.relevant[:, database]
    try:
        aucs = [
            ranking_scores(space[showcase.queries], space[database], relevant).per_query["auc"]
            for space in (showcase.native, showcase.learned)
        ]
    except NoUsableQueryError:
        return None
    usable = np.flatnonzero(np.isfinite(aucs[0]))
    tops = [_nearest(space, showcase.queries, database) for space in (showcase.native, showcase.learned)]
    hits = [np.take_along_axis(showcase.relevant, top, axis=1).sum(axis=1) for top in tops]
    gain = hits[1] - hits[0] + (aucs[1] - aucs[0]) / 2  # |AUC gain| / 2 never outweighs a song
    chosen = _choose(showcase, gain, usable, gains)
    examples = [
        Playlist(
            why,
            int(showcase.queries[i]),
            tops[0][i].tolist(),
            tops[1][i].tolist(),
            showcase.relevant[i],
            float(aucs[0][i]),
            float(aucs[1][i]),
        )
        for why, i in chosen
    ]
    change = (hits[1] - hits[0])[usable]
    means = [float(found[usable].mean()) for found in hits]
    return Playlists(examples, int((change > 0).sum()), int((change == 0).sum()), int((change < 0).sum()), *means)


def _nearest(
    space: npt.NDArray[np.float64], queries: npt.NDArray[np.int64], database: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the nearest songs of the database, queries x 5, nearest first, equals by lower row."""
    nearest = np.empty((queries.size, LENGTH), np.int64)
    for i, query in enumerate(queries):
        distances = ((space[database] - space[query]) ** 2).sum(axis=1)
        nearest[i] = database[np.argsort(distances, kind="stable")[:LENGTH]]
    return nearest


def _choose(
    showcase: Showcase, gain: npt.NDArray[np.float64], usable: npt.NDArray[np.int64], gains: int
) -> list[tuple[str, int]]:
    """Return (why, query) pairs, each artist once."""
    best_first = usable[np.argsort(-gain[usable], kind="stable")]
    typical_first = usable[np.argsort(np.abs(gain[usable] - np.median(gain[usable])), kind="stable")]
    chosen: list[tuple[str, int]] = []
    shown: set[str] = set()

    def take(why: str, candidates: npt.NDArray[np.int64]) -> None:
        for i in candidates:
            artist = showcase.artist[showcase.queries[i]]
            if artist not in shown:
                shown.add(artist)
                chosen.append((why, int(i)))
                return

    worst = best_first[::-1]
    if gain[worst[0]] < 0:
        take("got worse", worst)
    take("typical", typical_first)
    for _ in range(gains):
        take("large gain", best_first[gain[best_first] > 0])
    order = {"large gain": 0, "typical": 1, "got worse": 2}
    return sorted(chosen, key=lambda pair: (order[pair[0]], -gain[pair[1]]))


def playlist_table(showcase: Showcase, playlists: Playlists) -> list[Row]:
    """Return the chosen playlists as records, one a place."""
    table = []
    for playlist in playlists.chosen:
        for place in range(LENGTH):
            native, learned = playlist.native[place], playlist.learned[place]
            table.append(
                {
                    "why": playlist.why,
                    "query": showcase.label(playlist.query),
                    "place": place + 1,
                    "native": showcase.label(native),
                    "native_relevant": bool(playlist.relevant[native]),
                    "learned": showcase.label(learned),
                    "learned_relevant": bool(playlist.relevant[learned]),
                    "native_auc": playlist.native_auc,
                    "learned_auc": playlist.learned_auc,
                }
            )
    return table
