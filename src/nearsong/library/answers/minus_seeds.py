"""Seeds and minus seeds -> all songs in an order in which those near a minus seed sink.

A song that is nearer to a minus seed than to the nearest seed is treated as farther away than it is, by the
difference; other songs keep their distances. So "like A and B, not like C" changes nothing that is nearer to A or B
than to C.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nearsong.library.answers.playlist.around_seeds import nearest_of_seeds
from nearsong.library.neighbours.exact import squared_distances
from nearsong.types import FloatArray

PUSH = 1.0
"""How much farther a song counts for each unit that it is nearer to a minus seed than to a seed."""


def pushed_distances(
    embeddings: npt.NDArray[np.float32],
    seeds: npt.NDArray[np.float32],
    minus: Sequence[npt.NDArray[np.float32]],
) -> tuple[FloatArray, FloatArray]:
    """Return by what songs are ranked, and their distances to the nearest seed, both (n_songs,).

    Parameters
    ----------
    embeddings : array of shape (n_songs, rank)
    seeds : array of shape (n_seeds, rank)
    minus : sequence of arrays of shape (rank,)
        One or more.

    Examples
    --------
    >>> songs = np.array([[0.5], [1.0], [2.0]], np.float32)
    >>> ranked, distances = pushed_distances(songs, songs[1:2] - 1, [songs[2] + 1])
    >>> ranked.tolist(), distances.tolist()
    ([0.5, 1.0, 3.0], [0.5, 1.0, 2.0])
    """
    to_seeds = np.stack([np.sqrt(squared_distances(embeddings, seed)) for seed in seeds], axis=1)
    to_minus = np.min([np.sqrt(squared_distances(embeddings, point)) for point in minus], axis=0)
    nearest = to_seeds.min(axis=1)
    ranked = nearest_of_seeds(to_seeds) + PUSH * np.maximum(nearest - to_minus, 0.0)
    return ranked.astype(np.float64), nearest.astype(np.float64)
