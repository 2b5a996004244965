"""Tags that people assigned to songs -> binary or TF-IDF vectors, ranked by cosine (paper IV-C4)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from nearsong.baselines.ranker import SongRanker
from nearsong.baselines.songs import check_rows, single_row
from nearsong.baselines.vectors import CosineSimilarity
from nearsong.errors import InvalidInputError
from nearsong.estimators import check_is_fitted
from nearsong.types import FloatArray
from nearsong.validation import check_choice


class HumanTags(SongRanker):
    """Rank songs by the cosine of their tag vectors.

    Parameters
    ----------
    weighting : {"binary", "tfidf"}, default="binary"
        The weight of a tag: 1, or ``log(n_songs / n_songs_with_the_tag)`` in the fitted songs (0 for a tag that
        none of them has).

    Attributes
    ----------
    weights_ : ndarray of shape (n_tags,)
        The weight of each tag.

    Examples
    --------
    >>> ranker = HumanTags().fit([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> ranker.rank([1, 1, 0])
    (array([0, 1, 2]), array([0. , 0.5, 1. ]))
    >>> HumanTags("tfidf").fit([[1, 1, 0], [0, 1, 0]]).weights_.round(3)
    array([0.693, 0.   , 0.   ])
    """

    def __init__(self, weighting: str = "binary") -> None:
        self.weighting = weighting

    def fit(self, songs: Any) -> Self:
        """Weight the tags and store the database.

        Parameters
        ----------
        songs : array or sparse matrix of shape (n_songs, n_tags)
            Above 0 where a song has a tag; counts are read as 1.
        """
        weighting = check_choice(self.weighting, "weighting", ("binary", "tfidf"))
        has_tag = _check_tags(songs, "songs")
        n_songs, n_tags = has_tag.shape
        self.weights_ = np.ones(n_tags)
        if weighting == "tfidf":
            carriers = np.bincount(has_tag.indices, minlength=n_tags)
            self.weights_ = np.where(carriers > 0, np.log(n_songs / np.maximum(carriers, 1)), 0.0)
        self._ranker = CosineSimilarity().fit(self._weigh(has_tag))
        return self

    def transform(self, songs: Any) -> sp.csr_array:
        """Return the weighted tag vectors as a csr_array of shape (n_songs, n_tags), e.g. for PCA."""
        check_is_fitted(self)
        return self._weigh(_check_tags(songs, "songs", len(self.weights_)))

    def distances(self, queries: Any) -> FloatArray:
        """Return 1 - cosine of every query and song; 1 where either has no tag with a weight.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_tags)

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
        """
        check_is_fitted(self)
        return self._ranker.distances(self._weigh(_check_tags(queries, "queries", len(self.weights_))))

    def _weigh(self, has_tag: sp.csr_array) -> sp.csr_array:
        weighted = sp.csr_array((self.weights_[has_tag.indices], has_tag.indices, has_tag.indptr), has_tag.shape)
        weighted.eliminate_zeros()
        return weighted

    def _as_batch(self, query: Any) -> Any:
        return single_row(query)


def tag_matrix(
    song_tags: Iterable[Iterable[str]], vocabulary: Sequence[str] | None = None
) -> tuple[sp.csr_array, list[str]]:
    """Convert lists of tags to a matrix.

    Parameters
    ----------
    song_tags : iterable of iterables of str
        The tags of each song, in any order; duplicates count once.
    vocabulary : sequence of str, optional
        The columns, e.g. those of the training songs; other tags are dropped. By default all tags, sorted.

    Returns
    -------
    has_tag : csr_array of float64 and shape (n_songs, n_tags)
        1 where the song has the tag.
    vocabulary : list of str
        The tag of each column.

    Examples
    --------
    >>> has_tag, vocabulary = tag_matrix([["rock", "loud"], [], ["loud"]])
    >>> vocabulary, has_tag.toarray()
    (['loud', 'rock'], array([[1., 1.],
           [0., 0.],
           [1., 0.]]))
    """
    songs = [_tag_set(tags, row) for row, tags in enumerate(song_tags)]
    columns = sorted(set().union(*songs)) if vocabulary is None else list(vocabulary)
    if not songs or not columns:
        raise InvalidInputError(
            f"got {len(songs)} songs and {len(columns)} tags; a matrix needs at least one of each."
        )
    column_of = _column_of(columns)
    rows = [sorted(column_of[tag] for tag in tags if tag in column_of) for tags in songs]
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.array([column for row in rows for column in row], dtype=np.int64)
    return sp.csr_array((np.ones(len(indices)), indices, ends), (len(songs), len(columns))), columns


def _tag_set(tags: Iterable[str], row: int) -> set[str]:
    if isinstance(tags, str):
        raise InvalidInputError(f"the tags of song {row} are the string {tags!r}; give a list of tags.")
    return set(tags)


def _column_of(columns: Sequence[str]) -> dict[str, int]:
    column_of = {tag: column for column, tag in enumerate(columns)}
    if len(column_of) < len(columns):
        duplicate = next(tag for column, tag in enumerate(columns) if column_of[tag] != column)
        raise InvalidInputError(f"vocabulary has {duplicate!r} more than once; give every tag one column.")
    return column_of


def _check_tags(matrix: Any, name: str, width: int | None = None) -> sp.csr_array:
    """Return songs x tags as CSR with a 1 for every tag of a song."""
    has_tag = sp.csr_array(check_rows(matrix, name, width))
    if has_tag.nnz and has_tag.data.min() < 0:
        raise InvalidInputError(
            f"{name} has an entry of {has_tag.data.min():g}; use 1 where a song has a tag, else 0."
        )
    has_tag.data[:] = 1.0
    return has_tag
