"""Scores by embeddings and by listeners -> one score: known songs by both, songs that nobody played by embeddings.

The two kinds of songs are ranked apart and joined by rank, the best tenth of each with the best tenth of the other:
their scores are not comparable, and songs with listeners would otherwise come first, all of them.
"""

import numpy as np
import numpy.typing as npt

from nearsong.types import FloatArray

LISTENER_SHARE = 0.7
"""Weight of the score by listeners, next to that by embeddings, both standardised; for songs that have listeners."""

Mask = npt.NDArray[np.bool_]


def blended_scores(
    by_embedding: FloatArray,
    by_listeners: FloatArray,
    is_known: Mask,
    ranked: Mask,
    listener_share: float = LISTENER_SHARE,
) -> FloatArray:
    """Return one score of every song.

    Parameters
    ----------
    by_embedding, by_listeners : arrays of shape (n_songs,)
        The latter counts for known songs only.
    is_known : array of bool and shape (n_songs,)
        Whether the song, or its artist, has listeners.
    ranked : array of bool and shape (n_songs,)
        The songs to rank; others get 0.
    listener_share : float

    Returns
    -------
    array of shape (n_songs,)
        The share of the songs of its kind that a song is better than, 0 to 1; ties go to the lower row.

    Examples
    --------
    >>> known, everything = np.array([True, True, False, False]), np.ones(4, bool)
    >>> blended_scores(np.array([0.1, 0.2, 0.01, 0.02]), np.array([9.0, 1.0, 0.0, 0.0]), known, everything).tolist()
    [0.75, 0.25, 0.25, 0.75]
    """
    scores = np.zeros(len(by_embedding))
    known, unseen = np.flatnonzero(ranked & is_known), np.flatnonzero(ranked & ~is_known)
    both = listener_share * _standardised(by_listeners[known])
    both += (1.0 - listener_share) * _standardised(by_embedding[known])
    scores[known] = _shares_below(both)
    scores[unseen] = _shares_below(by_embedding[unseen])
    return scores


def _standardised(values: FloatArray) -> FloatArray:
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))


def _shares_below(values: FloatArray) -> FloatArray:
    """Return the share of values that each is better than, and half of its own rank, (n,)."""
    shares = np.empty(len(values))
    shares[np.argsort(-values, kind="stable")] = 1.0 - (np.arange(len(values)) + 0.5) / max(len(values), 1)
    return shares
