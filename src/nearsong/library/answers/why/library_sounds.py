"""Blocks of song vectors -> the average song vector, and for each sound character the songs with most of it.

A sound character is the set of codewords with the same label, so the few hundred of them are known beforehand: one
pass over the library covers all of them, in a few kilobytes, and no query needs another pass.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, InvalidInputError
from nearsong.types import FloatArray

MAX_EXAMPLES = 8
"""Songs stored for each character: three are named, and the two songs of a pair are not named as examples."""


@dataclass(frozen=True, eq=False)
class LibrarySounds:
    """Sound statistics of a library; made by :func:`measure_library_sounds`.

    Attributes
    ----------
    words : tuple of str
        The label of each codeword.
    average : array of shape (n_dimensions,)
        The mean song vector.
    strongest : mapping of str to tuple of int
        Label -> ids of the songs with the largest shares of it, largest first, ties by id; songs without it are
        left out.
    """

    words: tuple[str, ...]
    average: FloatArray
    strongest: Mapping[str, tuple[int, ...]]

    def examples(self, words: str, n: int = 3, exclude: Container[int] = ()) -> tuple[int, ...]:
        """Return the ids of the songs with most of a sound.

        Complete as long as ``n`` plus the excluded songs among the strongest is at most 8, the number stored.
        """
        return tuple(song for song in self.strongest.get(words, ()) if song not in exclude)[:n]


def measure_library_sounds(
    blocks: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]],
    words: Sequence[str],
    songs: npt.NDArray[np.int64],
    *,
    has_shares: bool = True,
) -> LibrarySounds:
    """Compute the sound statistics of a library in one pass over its song vectors.

    Parameters
    ----------
    blocks : iterable of (ids of shape (m,), vectors of shape (m, n_dimensions))
        Ids and song vectors.
    words : sequence of str
        The label of each codeword.
    songs : array of int
        Ids of the songs to include; others are skipped.
    has_shares : bool
        Whether the values of a song vector are shares of the song; otherwise ``strongest`` is empty.

    Examples
    --------
    >>> import numpy as np
    >>> block = np.array([7, 8, 9]), np.array([[0.75, 0.25, 0], [0, 0.5, 0.5], [0.25, 0.5, 0.25]], np.float32)
    >>> sounds = measure_library_sounds([block], ["dull", "loud", "dull"], np.array([7, 8, 9]))
    >>> sounds.average.round(3).tolist(), sounds.examples("dull", exclude=[8])
    ([0.333, 0.417, 0.25], (7, 9))
    """
    names, member = np.unique(np.asarray(words, dtype=np.str_), return_inverse=True)
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(len(names)))
    total, count = np.zeros(len(words)), 0
    best, best_ids = np.zeros((0, len(names))), np.zeros((0, len(names)), np.int64)
    for ids, vectors in blocks:
        counted = np.isin(ids, songs)
        ids, rows = ids[counted], vectors[counted]
        if not len(ids):
            continue
        if rows.shape[1] != len(words):
            raise InvalidInputError(
                f"songs have {rows.shape[1]} codewords and {len(words)} labels were given; give one each."
            )
        total += rows.sum(axis=0, dtype=np.float64)
        count += len(ids)
        shares = np.add.reduceat(rows[:, order], starts, axis=1, dtype=np.float64)
        best, best_ids = _strongest(
            np.vstack([best, shares]), np.vstack([best_ids, np.repeat(ids[:, None], len(names), 1)])
        )
    if not count:
        raise EmptyLibraryError("the library has no analysed songs yet; start with `nearsong scan FOLDER`.")
    strongest = {
        str(name): tuple(int(song) for song, share in zip(best_ids[:, i], best[:, i], strict=True) if share > 0)
        for i, name in enumerate(names)
        if has_shares
    }
    return LibrarySounds(tuple(words), total / count, strongest)


def _strongest(fullness: FloatArray, ids: npt.NDArray[np.int64]) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return the largest shares of each column and the ids of their songs, largest first, ties by id."""
    if len(fullness) > 8 * MAX_EXAMPLES:  # sort only rows that reach the last of the largest in some column
        least = np.partition(fullness, len(fullness) - MAX_EXAMPLES, axis=0)[len(fullness) - MAX_EXAMPLES]
        is_candidate = (fullness >= least).any(axis=1)
        if is_candidate.sum() < len(is_candidate):
            fullness, ids = fullness[is_candidate], ids[is_candidate]
    chosen = np.lexsort((ids, -fullness), axis=0)[:MAX_EXAMPLES]
    return np.take_along_axis(fullness, chosen, axis=0), np.take_along_axis(ids, chosen, axis=0)
