"""Songs as Gaussian mixtures of frames -> ranking by Monte Carlo cross-entropy (paper IV-C1)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.baselines.mixture import DiagonalMixture, fit_mixture, fit_mixtures, pack_mixtures, unpack_mixtures
from nearsong.baselines.mixture_bank import MixtureBank
from nearsong.baselines.ranker import FrameRanker
from nearsong.baselines.songs import check_threads
from nearsong.errors import InvalidInputError
from nearsong.estimators import check_is_fitted
from nearsong.types import FloatArray
from nearsong.validation import check_count


class GaussianMixtureSimilarity(FrameRanker):
    """Rank songs by the cross-entropy between mixtures of their frames.

    Every song becomes a mixture p_x. For a query q, m frames z_i are drawn once from p_q, and

        H(p_q, p_x) = -1/m sum_i log p_x(z_i)

    orders the songs as the Kullback-Leibler divergence from p_q does.

    Parameters
    ----------
    n_components : int, default=8
        Gaussians per song, with diagonal covariances.
    n_samples : int, default=2048
        Frames drawn per query.
    random_state : int, default=0
        Seeds the start of every mixture and the frames drawn for every query, each time anew: a ranking does not
        depend on earlier queries.
    threads : int or None, default=None
        None means one per processor available to this process. The result does not depend on it.

    Attributes
    ----------
    mixtures_ : list of DiagonalMixture
        One per song; ``fit`` and ``distances`` accept them instead of frames.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> songs = [rng.normal(level, 1.0, (300, 3)) for level in (0.0, 1.0, 5.0)]
    >>> ranker = GaussianMixtureSimilarity(n_components=2).fit(songs)
    >>> ranker.rank(rng.normal(0.9, 1.0, (300, 3)))[0]
    array([1, 0, 2])
    """

    def __init__(
        self, n_components: int = 8, n_samples: int = 2048, random_state: int = 0, threads: int | None = None
    ) -> None:
        self.n_components = n_components
        self.n_samples = n_samples
        self.random_state = random_state
        self.threads = threads

    def fit(self, songs: Iterable[Any]) -> Self:
        """Fit one mixture per song.

        Parameters
        ----------
        songs : iterable of arrays of shape (n_frames, n_features), or of DiagonalMixture
            The database, read one by one. Mixtures are used as they are.
        """
        check_count(self.n_components, "n_components")
        check_count(self.n_samples, "n_samples")
        check_count(self.random_state, "random_state", minimum=0)
        mixtures = self._mixtures(songs)
        if not mixtures:
            raise InvalidInputError("songs is empty; a database needs at least one song.")
        self.mixtures_ = mixtures
        self._bank = MixtureBank(mixtures)
        return self

    def distances(self, queries: Iterable[Any]) -> FloatArray:
        """Return the cross-entropy from every query to every song.

        Parameters
        ----------
        queries : iterable of arrays of shape (n_frames, n_features), or of DiagonalMixture

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
            In nats. The smallest value of a row is close to the entropy of the query's mixture, not to 0.
        """
        check_is_fitted(self)
        mixtures = self._mixtures(queries)
        for number, mixture in enumerate(mixtures):
            if mixture.n_features != self._bank.n_features:
                raise InvalidInputError(
                    f"query {number} has {mixture.n_features} features per frame, the fitted songs have "
                    f"{self._bank.n_features}; compute the same features for both."
                )
        samples = (mixture.sample(self.n_samples, np.random.default_rng(self.random_state)) for mixture in mixtures)
        return -self._bank.mean_log_densities(samples, check_threads(self.threads))

    def summarise(self, frames: npt.NDArray[Any]) -> DiagonalMixture:
        """Return the mixture of a song's frames."""
        return fit_mixture(frames, self.n_components, seed=self.random_state)

    def pack(self, summaries: Sequence[DiagonalMixture]) -> dict[str, npt.NDArray[Any]]:
        """Return mixtures as arrays, their components concatenated."""
        return pack_mixtures(summaries)

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> list[DiagonalMixture]:
        """Return the mixtures that :meth:`pack` packed."""
        return unpack_mixtures(arrays)

    def _mixtures(self, songs: Iterable[Any]) -> list[DiagonalMixture]:
        return fit_mixtures(songs, self.n_components, seed=self.random_state, threads=self.threads)
