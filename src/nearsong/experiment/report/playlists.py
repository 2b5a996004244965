"""Songs in both spaces and relevance -> example playlists, with gains and losses (paper Table II)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import NoUsableQueryError
from nearsong.evaluation import ranking_scores
from nearsong.experiment.report.reading import Row, Showcase

N_LARGEST_GAINS = 3  # queries shown for their gain
LENGTH = 5


@dataclass(frozen=True)
class ExamplePlaylist:
    """A query and its nearest songs in both spaces, as rows of the showcase."""

    kind: str
    query: int
    native: list[int]
    learned: list[int]
    relevant: npt.NDArray[np.bool_]  # (n,): whether each song of the showcase is relevant
    native_auc: float
    learned_auc: float

    def hits(self, songs: list[int]) -> int:
        """Count the relevant songs of a list."""
        return int(self.relevant[songs].sum())


@dataclass(frozen=True)
class Playlists:
    """The chosen examples, and the number of queries with more, as many or fewer relevant songs after learning."""

    chosen: list[ExamplePlaylist]
    more: int
    same: int
    fewer: int
    native_hits: float  # mean relevant songs among the first five
    learned_hits: float


def example_playlists(showcase: Showcase) -> Playlists | None:
    """Choose example queries: the largest gains, a typical one, and the largest loss if there is one.

    The gain is the difference in relevant songs among the first five; ties go to the larger gain in AUC. Every artist
    is shown at most once.

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
    chosen = _choose(showcase, gain, usable)
    examples = [
        ExamplePlaylist(
            kind=kind,
            query=int(showcase.queries[i]),
            native=tops[0][i].tolist(),
            learned=tops[1][i].tolist(),
            relevant=showcase.relevant[i],
            native_auc=float(aucs[0][i]),
            learned_auc=float(aucs[1][i]),
        )
        for kind, i in chosen
    ]
    change = (hits[1] - hits[0])[usable]
    return Playlists(
        chosen=examples,
        more=int((change > 0).sum()),
        same=int((change == 0).sum()),
        fewer=int((change < 0).sum()),
        native_hits=float(hits[0][usable].mean()),
        learned_hits=float(hits[1][usable].mean()),
    )


def _nearest(
    space: npt.NDArray[np.float64], queries: npt.NDArray[np.int64], database: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the nearest songs of the database, (n_queries, 5), nearest first; ties go to the lower row."""
    nearest = np.empty((queries.size, LENGTH), np.int64)
    for i, query in enumerate(queries):
        distances = ((space[database] - space[query]) ** 2).sum(axis=1)
        nearest[i] = database[np.argsort(distances, kind="stable")[:LENGTH]]
    return nearest


def _choose(
    showcase: Showcase, gain: npt.NDArray[np.float64], usable: npt.NDArray[np.int64]
) -> list[tuple[str, int]]:
    """Return (kind, query) pairs with distinct artists."""
    best_first = usable[np.argsort(-gain[usable], kind="stable")]
    typical_first = usable[np.argsort(np.abs(gain[usable] - np.median(gain[usable])), kind="stable")]
    chosen: list[tuple[str, int]] = []
    shown: set[str] = set()

    def take(kind: str, candidates: npt.NDArray[np.int64]) -> None:
        for i in candidates:
            artist = showcase.artist[showcase.queries[i]]
            if artist not in shown:
                shown.add(artist)
                chosen.append((kind, int(i)))
                return

    worst = best_first[::-1]
    if gain[worst[0]] < 0:
        take("loss", worst)
    take("typical", typical_first)
    for _ in range(N_LARGEST_GAINS):
        take("large gain", best_first[gain[best_first] > 0])
    order = {"large gain": 0, "typical": 1, "loss": 2}
    return sorted(chosen, key=lambda pair: (order[pair[0]], -gain[pair[1]]))


def playlist_table(showcase: Showcase, playlists: Playlists) -> list[Row]:
    """Return the chosen playlists as records, one per rank."""
    table = []
    for playlist in playlists.chosen:
        for rank, (native, learned) in enumerate(zip(playlist.native, playlist.learned, strict=True), 1):
            table.append(
                {
                    "kind": playlist.kind,
                    "query": showcase.label(playlist.query),
                    "rank": rank,
                    "native": showcase.label(native),
                    "native_relevant": bool(playlist.relevant[native]),
                    "learned": showcase.label(learned),
                    "learned_relevant": bool(playlist.relevant[learned]),
                    "native_auc": playlist.native_auc,
                    "learned_auc": playlist.learned_auc,
                }
            )
    return table
