"""Tags that people gave to songs -> binary or TF-IDF vectors, ranked by cosine (paper IV-C4)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from nearsong.baselines.ranker import FloatArray, SongRanker
from nearsong.baselines.songs import check_rows, single_row
from nearsong.baselines.vectors import CosineSimilarity
from nearsong.errors import InvalidInputError
from nearsong.validation import check_choice


class HumanTags(SongRanker):
    """Rank songs by the cosine of their tag vectors.

    Parameters
    ----------
    weighting : {"binary", "tfidf"}, default="binary"
        Whether a tag counts 1, or ``log(n_songs / n_songs_that_carry_it)`` in the fitted songs, and 0 where none
        of them carries it.

    Attributes
    ----------
    weights_ : ndarray of shape (n_tags,)
        What each tag counts.

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
        """Weigh the tags and remember the database.

        Parameters
        ----------
        songs : array or sparse matrix of shape (n_songs, n_tags)
            Above 0 where a song carries a tag; counts are read as 1.
        """
        weighting = check_choice(self.weighting, "weighting", ("binary", "tfidf"))
        carries = _check_tags(songs, "songs")
        n_songs, n_tags = carries.shape
        self.weights_ = np.ones(n_tags)
        if weighting == "tfidf":
            carriers = np.bincount(carries.indices, minlength=n_tags)
            self.weights_ = np.where(carriers > 0, np.log(n_songs / np.maximum(carriers, 1)), 0.0)
        self._ranker = CosineSimilarity().fit(self._weigh(carries))
        return self

    def transform(self, songs: Any) -> sp.csr_array:
        """Return the weighted tag vectors, sparse, (n_songs, n_tags); e.g. for PCA and metric learning."""
        check_is_fitted(self)
        return self._weigh(_check_tags(songs, "songs", len(self.weights_)))

    def distances(self, queries: Any) -> FloatArray:
        """Return 1 - cosine of every query and song; 1 where either carries no tag that counts.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_tags)

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
        """
        check_is_fitted(self)
        return self._ranker.distances(self._weigh(_check_tags(queries, "queries", len(self.weights_))))

    def _weigh(self, carries: sp.csr_array) -> sp.csr_array:
        weighted = sp.csr_array((self.weights_[carries.indices], carries.indices, carries.indptr), carries.shape)
        weighted.eliminate_zeros()
        return weighted

    def _alone(self, query: Any) -> Any:
        return single_row(query)


def tag_matrix(
    song_tags: Iterable[Iterable[str]], vocabulary: Sequence[str] | None = None
) -> tuple[sp.csr_array, list[str]]:
    """Turn lists of tags into a matrix.

    Parameters
    ----------
    song_tags : iterable of iterables of str
        The tags of each song, in any order; repeated ones count once.
    vocabulary : sequence of str, optional
        The columns, e.g. those of the training songs; other tags are left out. By default all tags there are,
        sorted.

    Returns
    -------
    carries : csr_array of float64 and shape (n_songs, n_tags)
        1 where the song carries the tag.
    vocabulary : list of str
        The tag of each column.

    Examples
    --------
    >>> carries, vocabulary = tag_matrix([["rock", "loud"], [], ["loud"]])
    >>> vocabulary, carries.toarray()
    (['loud', 'rock'], array([[1., 1.],
           [0., 0.],
           [1., 0.]]))
    """
    songs = [_tag_set(tags, place) for place, tags in enumerate(song_tags)]
    columns = sorted(set().union(*songs)) if vocabulary is None else list(vocabulary)
    place_of = {tag: place for place, tag in enumerate(columns)}
    if not songs or not columns:
        raise InvalidInputError(
            f"{len(songs)} songs and {len(columns)} tags came; a matrix needs at least one of each."
        )
    if len(place_of) < len(columns):
        twice = next(tag for place, tag in enumerate(columns) if place_of[tag] != place)
        raise InvalidInputError(f"vocabulary names {twice!r} more than once; give every tag one column.")
    rows = [sorted(place_of[tag] for tag in tags if tag in place_of) for tags in songs]
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.array([place for row in rows for place in row], dtype=np.int64)
    return sp.csr_array((np.ones(len(indices)), indices, ends), (len(songs), len(columns))), columns


def _tag_set(tags: Iterable[str], place: int) -> set[str]:
    if isinstance(tags, str):
        raise InvalidInputError(f"the tags of song {place} are the string {tags!r}; a list of tags is needed.")
    return set(tags)


def _check_tags(matrix: Any, name: str, width: int | None = None) -> sp.csr_array:
    """Return songs x tags as CSR with a 1 for every tag a song carries."""
    carries = sp.csr_array(check_rows(matrix, name, width))
    if carries.nnz and carries.data.min() < 0:
        raise InvalidInputError(
            f"{name} has an entry of {carries.data.min():g}; use 1 for a tag a song carries, else 0."
        )
    carries.data[:] = 1.0
    return carries
