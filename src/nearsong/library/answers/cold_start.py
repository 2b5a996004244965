"""Songs, plays and two spaces -> how many never-played songs are among the neighbours of played ones."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.validation import check_count

MAX_EXAMPLES = 12
"""Never-played songs listed as examples."""

BATCH_SEEDS = 256
"""Seeds searched together."""


@dataclass(frozen=True, eq=False)
class ColdStart:
    """Coverage of never-played songs by recommendations.

    Attributes
    ----------
    songs : int
        Songs that can be recommended.
    never_played : int
        Songs without plays.
    seeds : int
        Played songs whose neighbours were counted, the most played first.
    sampled : bool
        Whether only some of the played songs are seeds.
    n : int
        Neighbours of each seed.
    recommended : int
        Never-played songs that are a neighbour of at least one seed, under the active model.
    recommended_native : int
        The same under the native model, by sound alone.
    examples : tuple of Song
        The never-played songs that are neighbours most often under the active model, by count, then id.
    """

    songs: int
    never_played: int
    seeds: int
    sampled: bool
    n: int
    recommended: int
    recommended_native: int
    examples: tuple[Song, ...]


def cold_start(
    space: Space, native: Space, plays: Mapping[int, float], n: int = 10, max_seeds: int = 2_000
) -> ColdStart:
    """Count the never-played songs among the neighbours of played ones.

    Parameters
    ----------
    space, native : Space
        The songs under the active model, and under the native one.
    plays : mapping of int to float
        Song id -> number of plays.
    n : int, default=10
        Neighbours of each played song, without itself.
    max_seeds : int, default=2000
        At most this many played songs are seeds: those with most plays, ties by id.

    Returns
    -------
    ColdStart
        Without plays there are no seeds, and the counts are 0.
    """
    n, max_seeds = check_count(n, "n"), check_count(max_seeds, "max_seeds")
    played = [song.id for song in space.songs if plays.get(song.id, 0.0) > 0]
    seeds = sorted(played, key=lambda song: (-plays[song], song))[:max_seeds]
    counts = _neighbour_counts(space, seeds, n)
    counts[np.isin(space.ids, played)] = 0
    native_counts = counts
    if native is not space:
        native_counts = _neighbour_counts(native, seeds, n)
        native_counts[np.isin(native.ids, played)] = 0
    most_frequent = np.lexsort((space.ids, -counts))[:MAX_EXAMPLES]
    return ColdStart(
        songs=len(space.songs),
        never_played=len(space.songs) - len(played),
        seeds=len(seeds),
        sampled=len(seeds) < len(played),
        n=n,
        recommended=int((counts > 0).sum()),
        recommended_native=int((native_counts > 0).sum()),
        examples=tuple(space.songs[row] for row in most_frequent.tolist() if counts[row]),
    )


def _neighbour_counts(space: Space, seeds: list[int], n: int) -> npt.NDArray[np.int64]:
    """Return how often each song is a neighbour of the seeds, (n_songs,)."""
    counts = np.zeros(len(space.songs), np.int64)
    rows = [space.row_of[song] for song in seeds if song in space.row_of]
    for first in range(0, len(rows), BATCH_SEEDS):
        block = rows[first : first + BATCH_SEEDS]
        ids, _ = space.index.nearest(space.embeddings[block], n + 1)
        # a song is among its own nearest, unless n + 1 copies of it have lower ids
        others = ids != space.ids[block][:, None]
        others &= np.cumsum(others, axis=1) <= n
        np.add.at(counts, np.searchsorted(space.ids, ids[others]), 1)
    return counts
