"""All encoded songs, some at a time -> the usual song, and for each way to sound the songs that are fullest of it.

A sound character is all codewords with the same words, so there are a few hundred of them, known beforehand: one pass
over the library answers for all, in a few kilobytes, and no question has to pass over it again.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, InvalidInputError

FloatArray = npt.NDArray[np.float64]

KEPT = 8
"""Songs kept for each character: three are named, and neither of the two that are explained."""


@dataclass(frozen=True, eq=False)
class LibrarySounds:
    """What a library sounds like as a whole; made by :func:`hear_library`.

    Attributes
    ----------
    words : tuple of str
        What each codeword sounds like.
    usual : array of shape (n_codewords,)
        The mean encoded song.
    fullest : mapping of str to tuple of int
        For each of the words the ids of the songs that have most of it, most first, equals by id; songs that have
        none of it are not among them.
    """

    words: tuple[str, ...]
    usual: FloatArray
    fullest: Mapping[str, tuple[int, ...]]

    def examples(self, words: str, n: int = 3, exclude: Container[int] = ()) -> tuple[int, ...]:
        """Return the ids of the songs that are fullest of a sound.

        Exact as long as ``n`` songs and those of ``exclude`` among the fullest are no more than are kept (8).
        """
        return tuple(song for song in self.fullest.get(words, ()) if song not in exclude)[:n]


def hear_library(
    blocks: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]],
    words: Sequence[str],
    songs: npt.NDArray[np.int64],
) -> LibrarySounds:
    """Pass over a library once.

    Parameters
    ----------
    blocks : iterable of (ids of shape (m,), vectors of shape (m, n_codewords))
        Encoded songs, some at a time.
    words : sequence of str
        What each codeword sounds like.
    songs : array of int
        Ids of the songs that count; others are passed over.

    Returns
    -------
    LibrarySounds

    Examples
    --------
    >>> import numpy as np
    >>> block = np.array([7, 8, 9]), np.array([[0.75, 0.25, 0], [0, 0.5, 0.5], [0.25, 0.5, 0.25]], np.float32)
    >>> sounds = hear_library([block], ["dull", "loud", "dull"], np.array([7, 8, 9]))
    >>> sounds.usual.round(3).tolist(), sounds.examples("dull", exclude=[8])
    ([0.333, 0.417, 0.25], (7, 9))
    """
    names, member = np.unique(np.asarray(words, dtype=np.str_), return_inverse=True)
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(len(names)))
    total, count = np.zeros(len(words)), 0
    best, whose = np.zeros((0, len(names))), np.zeros((0, len(names)), np.int64)
    for ids, vectors in blocks:
        counted = np.isin(ids, songs)
        ids, rows = ids[counted], vectors[counted]
        if not len(ids):
            continue
        if rows.shape[1] != len(words):
            raise InvalidInputError(
                f"songs have {rows.shape[1]} codewords and {len(words)} words came; give one each."
            )
        total += rows.sum(axis=0, dtype=np.float64)
        count += len(ids)
        fullness = np.add.reduceat(rows[:, order], starts, axis=1, dtype=np.float64)
        best, whose = _fullest(
            np.vstack([best, fullness]), np.vstack([whose, np.repeat(ids[:, None], len(names), 1)])
        )
    if not count:
        raise EmptyLibraryError("the library has no encoded song; begin with `nearsong scan FOLDER`.")
    fullest = {
        str(name): tuple(int(song) for song, full in zip(whose[:, i], best[:, i], strict=True) if full > 0)
        for i, name in enumerate(names)
    }
    return LibrarySounds(tuple(words), total / count, fullest)


def _fullest(fullness: FloatArray, ids: npt.NDArray[np.int64]) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return, column by column, the greatest few and whose they are: greatest first, equals by id."""
    if len(fullness) > 8 * KEPT:  # sort only what can be among them: all that is no less than the last of them
        least = np.partition(fullness, len(fullness) - KEPT, axis=0)[len(fullness) - KEPT]
        hopeful = (fullness >= least).any(axis=1)
        if hopeful.sum() < len(hopeful):
            fullness, ids = fullness[hopeful], ids[hopeful]
    chosen = np.lexsort((ids, -fullness), axis=0)[:KEPT]
    return np.take_along_axis(fullness, chosen, axis=0), np.take_along_axis(ids, chosen, axis=0)
