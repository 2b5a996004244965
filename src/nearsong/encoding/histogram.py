"""Frames -> one histogram per song: each frame gives 1/tau to each of its tau nearest codewords (paper eq. 11)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.encoding.codewords import Codewords
from nearsong.encoding.frames import check_frames
from nearsong.encoding.nearest import CodewordSearch
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

Histogram = npt.NDArray[np.float64]


class TopTauHistogram:
    """Turn songs into top-tau codeword histograms.

    Parameters
    ----------
    codebook : Codebook
        Fitted, or its `Codewords`; fitting it further has no effect here.
    tau : int, default=1
        Codewords each frame is counted for. 1 is plain vector quantization.
    threads : int, default=1
        Threads for the frames of a song; the result is the same for any number.

    Attributes
    ----------
    n_codewords : int
        Length of a histogram.
    n_features : int
        Coefficients per frame.

    Notes
    -----
    Distances are compared in float32, and the numbers of a frame do not depend on the frames around it: cutting a
    song into chunks, or shuffling its frames, does not change a bit of its histogram. Frames more than 1e15 standard
    deviations away are clipped.

    Examples
    --------
    >>> codebook = Codewords.from_arrays(mean=[0.0], scale=[1.0], codewords=[[0.0], [10.0], [-4.0]])
    >>> song = [[1.0], [6.0], [-3.0], [-4.0]]
    >>> TopTauHistogram(codebook).transform([song])
    array([[0.25, 0.25, 0.5 ]])
    >>> TopTauHistogram(codebook, tau=2).transform([song])
    array([[0.5  , 0.125, 0.375]])
    """

    def __init__(self, codebook: Codewords, tau: int = 1, *, threads: int = 1) -> None:
        codebook.check_fitted()
        self.n_codewords, self.n_features = codebook.codewords_.shape
        self.tau = self._check_tau(tau)
        self.threads = check_count(threads, "threads")
        self._search = CodewordSearch(codebook.mean_, codebook.scale_, codebook.codewords_)

    def nearest(self, frames: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Return the ``tau`` nearest codewords of each frame.

        Parameters
        ----------
        frames : array-like of shape (n_frames, n_features)
            Any number of finite frames.

        Returns
        -------
        ndarray of int32 and shape (n_frames, tau)
            Nearest first, equally near ones by lower index; so the first columns are the answer for a smaller tau.
        """
        return self._search.find(check_frames(frames, self.n_features), self.tau, self.threads)

    def histograms(self, frames: npt.ArrayLike, taus: Iterable[int]) -> dict[int, Histogram]:
        """Return the histograms of one song for several tau, from one search.

        Parameters
        ----------
        frames : array-like of shape (n_frames, n_features)
            A song, at least one frame.
        taus : iterable of int
            Each from 1 to ``n_codewords``; they need not include ``self.tau``.

        Returns
        -------
        dict of int to ndarray of float64 and shape (n_codewords,)
            In the order of ``taus``.
        """
        checked = [self._check_tau(tau) for tau in taus]
        song = self._check_song(frames, "frames")
        if not checked:
            return {}
        nearest = self._search.find(song, max(checked), self.threads)
        histograms, counts, done = {}, np.zeros(self.n_codewords, np.int64), 0
        for tau in sorted(set(checked)):
            counts += self._count(nearest[:, done:tau])
            histograms[tau] = counts / (tau * len(song))
            done = tau
        return {tau: histograms[tau] for tau in checked}

    def transform(self, songs: Iterable[npt.ArrayLike]) -> Histogram:
        """Return one histogram per song.

        Parameters
        ----------
        songs : iterable of array-like of shape (n_frames, n_features)
            Songs as frames, at least one frame each; a generator may read them one at a time.

        Returns
        -------
        ndarray of float64 and shape (n_songs, n_codewords)
            Rows sum to 1.
        """
        rows = []
        for position, song in enumerate(songs):
            frames = self._check_song(song, f"songs[{position}]")
            counts = self._count(self._search.find(frames, self.tau, self.threads))
            rows.append(counts / (self.tau * len(frames)))
        return np.array(rows).reshape(-1, self.n_codewords)

    def counter(self) -> "HistogramCounter":
        """Return a counter for one song whose frames arrive in chunks."""
        return HistogramCounter(self)

    def _count(self, nearest: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        return np.bincount(nearest.ravel(), minlength=self.n_codewords)

    def _check_song(self, frames: Any, name: str) -> npt.NDArray[np.float32]:
        song = check_frames(frames, self.n_features, name)
        if len(song) == 0:
            raise InvalidInputError(f"{name} has no frames, so there is nothing to count; drop songs without any.")
        return song

    def _check_tau(self, tau: Any) -> int:
        count = check_count(tau, "tau")
        if count > self.n_codewords:
            raise InvalidInputError(
                f"tau={tau} asks for more codewords than the codebook has ({self.n_codewords}); "
                f"choose 1 to {self.n_codewords}."
            )
        return count


class HistogramCounter:
    """The histogram of one song whose frames arrive in chunks.

    Parameters
    ----------
    histogram : TopTauHistogram
        Finds the nearest codewords.

    Attributes
    ----------
    n_frames : int
        Frames counted so far.

    Examples
    --------
    >>> codebook = Codewords.from_arrays(mean=[0.0], scale=[1.0], codewords=[[0.0], [10.0]])
    >>> counter = TopTauHistogram(codebook).counter()
    >>> counter.add([[1.0], [2.0]])
    >>> counter.add([[9.0], [3.0]])
    >>> counter.n_frames, counter.histogram()
    (4, array([0.75, 0.25]))
    """

    def __init__(self, histogram: TopTauHistogram) -> None:
        self.n_frames = 0
        self._histogram = histogram
        self._counts = np.zeros(histogram.n_codewords, np.int64)

    def add(self, frames: npt.ArrayLike) -> None:
        """Count a chunk of any number of frames, an array-like of shape (n_frames, n_features)."""
        nearest = self._histogram.nearest(frames)
        self._counts += np.bincount(nearest.ravel(), minlength=self._counts.size)
        self.n_frames += len(nearest)

    def histogram(self) -> Histogram:
        """Return the histogram of all frames so far, an array of shape (n_codewords,) that sums to 1."""
        if self.n_frames == 0:
            raise InvalidInputError("no frames were added, so there is no histogram; add at least one frame.")
        return self._counts / (self._histogram.tau * self.n_frames)
