"""Songs and their artists -> ridge regression from sound to any coordinates of the artists, in closed form.

With psi the centred songs at unit mean squared length, w the weight of a song (each artist counts the same; mean 1)
and Z the indicator of songs' artists::

    M = (psi' W psi + lambda I)^-1 psi' W Z = psi' (psi psi' + lambda W^-1)^-1 Z

A song x is predicted at ``psi(x) M T`` for targets T (n_artists, n_targets); all targets share one factorisation. The
second form is used for no more songs than dimensions; the first adds up blocks of songs, so memory does not grow
with them.

phi is made of parts, one or more for each encoder. A regression on all of them together can also be mixed with the
regressions on each part alone, averaged: still one linear map (late fusion).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space.rows import Rows, row_blocks
from nearsong.types import FloatArray

MIN_SPREAD = 1e-12
"""Songs whose root mean squared distance to their mean is below this share of their length are all the same."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ArtistRidge:
    """The moments of the training songs that every regression needs.

    Attributes
    ----------
    mean : array of shape (n_dimensions,)
        Mean of the songs.
    spread : float
        Root mean squared distance of the songs to their mean.
    artist_means : array of shape (n_artists, n_dimensions)
        Mean psi of each artist's songs.
    artist_weight : float
        Sum of the weights of an artist's songs.
    variances : array of shape (n_dimensions,)
        Mean squares of psi; they add up to 1.
    moments : array of shape (n_dimensions, n_dimensions) or None
        psi' W psi, if there are more songs than dimensions.
    songs : array of shape (n_songs, n_dimensions) or None
        psi otherwise.
    weights : array of shape (n_songs,)
        w.
    codes : array of shape (n_songs,)
        The artist of each song.
    """

    mean: FloatArray
    spread: float
    artist_means: FloatArray
    artist_weight: float
    variances: FloatArray
    moments: FloatArray | None
    songs: FloatArray | None
    weights: FloatArray
    codes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows, chosen: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]) -> Self:
        """Add up the chosen songs of ``rows`` (n_all_songs, n_dimensions); codes number their artists from 0."""
        n_songs, d, n_artists = len(chosen), rows.shape[1], int(codes.max()) + 1
        mean = sum(block.sum(axis=0) for _, block in row_blocks(rows, chosen)) / n_songs
        squares = sum(float(np.square(block - mean).sum()) for _, block in row_blocks(rows, chosen))
        spread = float(np.sqrt(squares / n_songs))
        if spread <= MIN_SPREAD * (1.0 + float(np.abs(mean).max())):
            raise InvalidInputError(
                f"phi of {n_songs} training song(s) is the same for all; at least two different songs are needed."
            )
        counts = np.bincount(codes, minlength=n_artists)
        weights = n_songs / (n_artists * counts[codes].astype(np.float64))
        sums, variances = np.zeros((n_artists, d)), np.zeros(d)
        moments = np.zeros((d, d)) if n_songs > d else None
        songs = np.empty((n_songs, d)) if moments is None else None
        for start, block in row_blocks(rows, chosen):
            psi = (block - mean) / spread
            part = slice(start, start + len(psi))
            sums += _indicator(codes[part], n_artists).T @ psi
            variances += np.square(psi).sum(axis=0) / n_songs
            if moments is not None:
                moments += psi.T @ (psi * weights[part, None])
            elif songs is not None:
                songs[part] = psi
        return cls(
            mean=mean,
            spread=spread,
            artist_means=sums / counts[:, None],
            artist_weight=n_songs / n_artists,
            variances=variances,
            moments=moments,
            songs=songs,
            weights=weights,
            codes=codes,
        )

    @property
    def n_artists(self) -> int:
        """Artists with training songs."""
        return len(self.artist_means)

    def responses(self, targets: FloatArray, penalty: float) -> FloatArray:
        """Return ``M T``, an array of shape (n_dimensions, n_targets), for targets (n_artists, n_targets).

        M itself (n_dimensions, n_artists) is never computed: there may be tens of thousands of artists, and targets
        have few coordinates.
        """
        if self.moments is not None:
            system = self.moments + penalty * np.eye(len(self.moments))
            right = self.artist_means.T @ targets * self.artist_weight
            return np.asarray(scipy.linalg.solve(system, right, assume_a="pos", overwrite_a=True, overwrite_b=True))
        assert self.songs is not None
        system = self.songs @ self.songs.T + np.diag(penalty / self.weights)
        return np.asarray(self.songs.T @ scipy.linalg.solve(system, targets[self.codes], assume_a="pos"))

    def mixed_responses(
        self, targets: FloatArray, penalty: float, parts: Sequence[slice], share: float, part_penalty: float
    ) -> FloatArray:
        """Mix ``M T`` of all dimensions with those of each part alone.

        Parameters
        ----------
        targets : array of shape (n_artists, n_targets)
            T.
        penalty, part_penalty : float
            Lambda of all dimensions together, and of each part.
        parts : sequence of slice
            Columns of the parts.
        share : float
            Of the parts in the prediction; a part counts by its variance.

        Returns
        -------
        ndarray of shape (n_dimensions, n_targets)
        """
        responses = self.responses(targets, penalty)
        sizes = np.array([self.variances[part].sum() for part in parts])
        if share == 0 or len(parts) < 2 or not sizes.any():
            return responses
        responses *= 1.0 - share
        for part, size in zip(parts, sizes, strict=True):
            if size > MIN_SPREAD:
                own = self._part(part, float(size)).responses(targets, part_penalty)
                responses[part] += share * np.sqrt(size) / sizes.sum() * own
        return responses

    def _part(self, part: slice, size: float) -> "ArtistRidge":
        """Return the moments of some dimensions alone, at unit mean squared length again."""
        songs: FloatArray | None = None if self.songs is None else self.songs[:, part] / np.sqrt(size)
        moments: FloatArray | None = None if self.moments is None else self.moments[part, part] / size
        if songs is not None and len(songs) > songs.shape[1]:
            moments = songs.T @ (songs * self.weights[:, None])
            songs = None
        return replace(
            self,
            artist_means=self.artist_means[:, part] / np.sqrt(size),
            variances=self.variances[part] / size,
            moments=moments,
            songs=songs,
        )

    def principal_axes(self, n_axes: int) -> FloatArray:
        """Return orthonormal columns (n_dimensions, n_axes or fewer) that hold most of the weighted variance."""
        if self.moments is not None:
            return leading_axes(self.moments, n_axes)[0]
        assert self.songs is not None
        scaled = self.songs * np.sqrt(self.weights)[:, None]
        axes, sizes = leading_axes(scaled @ scaled.T, n_axes)
        return with_fixed_signs(scaled.T @ (axes / np.sqrt(sizes)))


def leading_axes(matrix: FloatArray, n_axes: int) -> tuple[FloatArray, FloatArray]:
    """Return eigenvectors (n, k) and eigenvalues (k,), largest first, of a positive semi-definite matrix (n, n).

    Eigenvalues below 1e-12 of the largest are noise and left out, so k may be smaller than ``n_axes``.
    """
    n = len(matrix)
    first = max(0, n - n_axes)
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[first, n - 1] if first else None)
    values, vectors = values[::-1], vectors[:, ::-1]
    wanted = values > max(1e-12 * float(values[0]), 1e-300)
    return with_fixed_signs(vectors[:, wanted]), values[wanted]


def with_fixed_signs(columns: FloatArray) -> FloatArray:
    """Return columns (n, k) whose entry of largest size is positive: the sign of an eigenvector is arbitrary."""
    if not columns.size:
        return columns
    peaks = columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]
    return np.ascontiguousarray(columns * np.where(peaks < 0, -1.0, 1.0))


def _indicator(codes: npt.NDArray[np.int64], n_artists: int) -> sp.csr_array:
    return sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)), shape=(len(codes), n_artists))
