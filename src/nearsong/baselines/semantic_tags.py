"""Frames and who carries which tag -> songs as semantic multinomials, ranked by PPK distance (paper IV-C3)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from nearsong.baselines.mixture import DiagonalMixture, fit_mixture
from nearsong.baselines.mixture_bank import MixtureBank
from nearsong.baselines.ranker import FloatArray, SongRanker
from nearsong.baselines.songs import check_frames, check_threads, map_in_threads, one_blas_thread
from nearsong.baselines.vectors import EuclideanSimilarity
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count, check_relation


class SemanticMultinomial(SongRanker):
    """Describe songs by how well the mixture of each tag explains their frames, and rank by that.

    Each tag t has a mixture p_t over frames of songs that carry it. A song q is the multinomial

        s_q[t] proportional to (product over its frames of p_t(q_i)) ** (1 / |q|)

    and songs are as far apart as the square roots of their multinomials (the probability product kernel).

    Parameters
    ----------
    n_components : int, default=8
        Gaussians a tag, with diagonal covariances.
    frames_per_tag : int, default=50_000
        About how many frames a tag's mixture is fitted to. All songs that carry the tag give the same number,
        drawn at random, or all they have: a long song has no more say than a short one.
    random_state : int, default=0
        Seeds the choice of frames and the start of the mixtures.
    threads : int or None, default=None
        None is one for each processor this process may use. Changes nothing in the result.

    Attributes
    ----------
    mixtures_ : list of DiagonalMixture
        One a tag.
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

    def fit_tags(self, songs: Iterable[Any], carries: Any) -> Self:
        """Learn the tags; the songs need not be those of the database.

        Parameters
        ----------
        songs : iterable of arrays of shape (n_frames, n_features)
            Read one after the other; of each only as many frames are kept as its rarest tag asks for.
        carries : array or sparse matrix of shape (n_songs, n_tags)
            Non-zero where the song carries the tag. Every tag needs a song.
        """
        relation = _check_carries(carries)
        by_tag = sp.csc_array(relation)
        carriers = np.diff(by_tag.indptr)
        quota = np.maximum(1, check_count(self.frames_per_tag, "frames_per_tag") // carriers)
        bags = self._keep_frames(songs, relation, quota)

        def fit(tag: int) -> Any:
            owners = by_tag.indices[by_tag.indptr[tag] : by_tag.indptr[tag + 1]]
            pool = np.concatenate([bags[song][: quota[tag]] for song in np.sort(owners)])
            return fit_mixture(pool, self.n_components, seed=self.random_state)

        with one_blas_thread():
            self.mixtures_ = list(map_in_threads(fit, range(relation.shape[1]), check_threads(self.threads)))
        self._bank = MixtureBank(self.mixtures_)
        for name in ("multinomials_", "_ranker"):  # a database was described with the tags as they were
            self.__dict__.pop(name, None)
        return self

    @classmethod
    def from_mixtures(cls, mixtures: Sequence[DiagonalMixture], threads: int | None = None) -> Self:
        """Make a describer of tags that were learned before, one mixture a tag (``mixtures_``)."""
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
        frames = (check_frames(song, f"song {place}", width) for place, song in enumerate(songs))
        logs = self._bank.mean_log_densities(frames, check_threads(self.threads))
        multinomials: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
        multinomials /= multinomials.sum(axis=1, keepdims=True)
        return multinomials

    def fit(self, songs: Iterable[Any]) -> Self:
        """Remember the database; :meth:`fit_tags` must come first.

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
        """Return the PPK distance of every song from every query, between 0 and the square root of 2.

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

    def _keep_frames(
        self, songs: Iterable[Any], relation: sp.csr_array, quota: npt.NDArray[np.int64]
    ) -> list[npt.NDArray[np.float32]]:
        """Return of each song, in random order, as many frames as the tag that asks for most; none without tags."""
        bags: list[npt.NDArray[np.float32]] = []
        width = None
        seed = check_count(self.random_state, "random_state", minimum=0)
        n_songs = relation.shape[0]
        for place, song in enumerate(songs):
            frames = check_frames(song, f"song {place}", width)
            width = frames.shape[1]
            if place == n_songs:
                raise InvalidInputError(f"songs has more than the {n_songs} rows of carries; give each song its row.")
            tags = relation.indices[relation.indptr[place] : relation.indptr[place + 1]]
            most = int(quota[tags].max(initial=0))
            chosen = np.random.default_rng([seed, place]).permutation(len(frames))[:most]
            bags.append(frames[chosen].astype(np.float32, copy=False))
        if len(bags) < n_songs:
            raise InvalidInputError(f"songs has {len(bags)} and carries {n_songs} rows; give each song its row.")
        return bags


def _check_carries(carries: Any) -> sp.csr_array:
    """Return songs x tags as a relation in which every tag has a song."""
    carries = carries if sp.issparse(carries) else np.asarray(carries)
    shape = carries.shape
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(f"carries has shape {shape}; songs x tags is needed, with at least one of each.")
    relation = check_relation(carries, (shape[0], shape[1]), "carries")
    unused = np.flatnonzero(np.bincount(relation.indices, minlength=shape[1]) == 0)
    if unused.size:
        raise InvalidInputError(
            f"tag {unused[0]} is carried by no song ({unused.size} such tags), so it cannot be learned; "
            "leave its column out of `carries`."
        )
    return relation
