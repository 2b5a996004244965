"""Frames and tags of songs -> songs as semantic multinomials, ranked by PPK distance (paper IV-C3)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.baselines.mixture import DiagonalMixture, fit_mixture
from nearsong.baselines.mixture_bank import MixtureBank
from nearsong.baselines.ranker import SongRanker
from nearsong.baselines.songs import check_frames, check_threads, map_in_threads, one_blas_thread
from nearsong.baselines.vectors import EuclideanSimilarity
from nearsong.errors import InvalidInputError
from nearsong.estimators import check_is_fitted
from nearsong.types import FloatArray
from nearsong.validation import check_count, check_relation


class SemanticMultinomial(SongRanker):
    """Represent songs by how well the mixture of each tag explains their frames, and rank by that.

    Each tag t has a mixture p_t over frames of songs with that tag. A song q is the multinomial

        s_q[t] proportional to (product over its frames of p_t(q_i)) ** (1 / n_frames)

    and the distance of two songs is that of the square roots of their multinomials (probability product kernel).

    Parameters
    ----------
    n_components : int, default=8
        Gaussians per tag, with diagonal covariances.
    frames_per_tag : int, default=50_000
        Approximate number of frames that a tag's mixture is fitted to. All songs with the tag contribute the same
        number of frames, drawn at random, or all they have, so that long songs have no more weight than short ones.
    random_state : int, default=0
        Seeds the choice of frames and the initialisation of the mixtures.
    threads : int or None, default=None
        None means one per processor available to this process. The result does not depend on it.

    Attributes
    ----------
    mixtures_ : list of DiagonalMixture
        One per tag.
    multinomials_ : ndarray of shape (n_songs, n_tags)
        The database.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> calm, wild = [rng.normal(0, 1, (200, 3)) for _ in "ab"], [rng.normal(0, 4, (200, 3)) for _ in "ab"]
    >>> tagger = SemanticMultinomial(n_components=1).fit_tags(calm + wild, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> tagger.transform([rng.normal(0, 1, (100, 3)), rng.normal(0, 4, (100, 3))]).round(1)
    array([[0.9, 0.1],
           [0. , 1. ]])
    >>> tagger.fit(calm + wild).rank(rng.normal(0, 4, (100, 3)), k=2)[0].tolist() in ([2, 3], [3, 2])
    True
    """

    def __init__(
        self,
        n_components: int = 8,
        frames_per_tag: int = 50_000,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.frames_per_tag = frames_per_tag
        self.random_state = random_state
        self.threads = threads

    def fit_tags(self, songs: Iterable[Any], tags: Any) -> Self:
        """Fit the mixtures of the tags; the songs need not be those of the database.

        Parameters
        ----------
        songs : iterable of arrays of shape (n_frames, n_features)
            Read one by one; only as many frames of a song are held as its rarest tag needs.
        tags : array or sparse matrix of shape (n_songs, n_tags)
            Non-zero where the song has the tag. Every tag needs a song.
        """
        relation = _check_tags(tags)
        by_tag = sp.csc_array(relation)
        songs_per_tag = np.diff(by_tag.indptr)
        quota = np.maximum(1, check_count(self.frames_per_tag, "frames_per_tag") // songs_per_tag)
        samples = self._sample_frames(songs, relation, quota)

        def fit(tag: int) -> Any:
            tagged = by_tag.indices[by_tag.indptr[tag] : by_tag.indptr[tag + 1]]
            pool = np.concatenate([samples[song][: quota[tag]] for song in np.sort(tagged)])
            return fit_mixture(pool, self.n_components, seed=self.random_state)

        with one_blas_thread():
            self.mixtures_ = list(map_in_threads(fit, range(relation.shape[1]), check_threads(self.threads)))
        self._bank = MixtureBank(self.mixtures_)
        for name in ("multinomials_", "_ranker"):  # they belong to the previous tags
            self.__dict__.pop(name, None)
        return self

    @classmethod
    def from_mixtures(cls, mixtures: Sequence[DiagonalMixture], threads: int | None = None) -> Self:
        """Return a tagger with mixtures that were fitted before, one per tag (``mixtures_``)."""
        tagger = cls(threads=threads)
        tagger.mixtures_ = list(mixtures)
        tagger._bank = MixtureBank(tagger.mixtures_)
        return tagger

    def transform(self, songs: Iterable[Any]) -> FloatArray:
        """Return each song's multinomial over the tags.

        Parameters
        ----------
        songs : iterable of arrays of shape (n_frames, n_features)

        Returns
        -------
        ndarray of shape (n_songs, n_tags)
            Rows sum to 1.
        """
        check_is_fitted(self, "mixtures_")
        width = self._bank.n_features
        frames = (check_frames(song, f"song {row}", width) for row, song in enumerate(songs))
        logs = self._bank.mean_log_densities(frames, check_threads(self.threads))
        multinomials: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
        multinomials /= multinomials.sum(axis=1, keepdims=True)
        return multinomials

    def fit(self, songs: Iterable[Any]) -> Self:
        """Store the database; call :meth:`fit_tags` first.

        Parameters
        ----------
        songs : iterable of arrays of shape (n_frames, n_features)
        """
        multinomials = self.transform(songs)
        if not len(multinomials):
            raise InvalidInputError("songs is empty; a database needs at least one song.")
        self.multinomials_ = multinomials
        self._ranker = EuclideanSimilarity().fit(np.sqrt(multinomials))
        return self

    def distances(self, queries: Iterable[Any]) -> FloatArray:
        """Return the PPK distance of every query to every song, between 0 and the square root of 2.

        Parameters
        ----------
        queries : iterable of arrays of shape (n_frames, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
        """
        check_is_fitted(self, "multinomials_")
        multinomials = self.transform(queries)
        if not len(multinomials):
            return np.empty((0, len(self.multinomials_)))
        return self._ranker.distances(np.sqrt(multinomials))

    def _sample_frames(
        self, songs: Iterable[Any], relation: sp.csr_array, quota: npt.NDArray[np.int64]
    ) -> list[npt.NDArray[np.float32]]:
        """Return frames of each song in random order: the largest quota of its tags, none for a song without tags."""
        samples: list[npt.NDArray[np.float32]] = []
        width = None
        seed = check_count(self.random_state, "random_state", minimum=0)
        n_songs = relation.shape[0]
        for row, song in enumerate(songs):
            frames = check_frames(song, f"song {row}", width)
            width = frames.shape[1]
            if row == n_songs:
                raise InvalidInputError(f"songs has more than the {n_songs} rows of tags; give one row per song.")
            own_tags = relation.indices[relation.indptr[row] : relation.indptr[row + 1]]
            n_frames = int(quota[own_tags].max(initial=0))
            chosen = np.random.default_rng([seed, row]).permutation(len(frames))[:n_frames]
            samples.append(frames[chosen].astype(np.float32, copy=False))
        if len(samples) < n_songs:
            raise InvalidInputError(f"songs has {len(samples)} songs and tags {n_songs} rows; give one row per song.")
        return samples


def _check_tags(tags: Any) -> sp.csr_array:
    """Return songs x tags as a relation in which every tag has a song."""
    tags = tags if sp.issparse(tags) else np.asarray(tags)
    shape = tags.shape
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(f"tags has shape {shape}; give songs x tags, with at least one of each.")
    relation = check_relation(tags, (shape[0], shape[1]), "tags")
    unused = np.flatnonzero(np.bincount(relation.indices, minlength=shape[1]) == 0)
    if unused.size:
        raise InvalidInputError(
            f"tag {unused[0]} has no song ({unused.size} such tags), so it cannot be learned; drop its column."
        )
    return relation
