"""Who listens to what -> where listeners put each training artist: the targets Y, A and S.

Each target is a matrix T (n_artists, n_anchors); an anchor is an artist in the listens, with songs or without:

- *neighbours* (Y): square roots of the Jaccard index with the other training artists, divided by the artist's
  largest; the artist's own entry is a constant. Where there are very many, only the best known are anchors.
- *listeners* (A): square roots of the Jaccard index with every other artist that has enough listeners; length 1.
- *factors* (S): singular vectors of the matrix of listens, degrees normalised; length 1.

T may have tens of thousands of anchors, so it is computed in blocks of them. What is stored is ``T = C V'`` with V
orthonormal: coordinates C (n_artists, n_coordinates) have the lengths and angles of T exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from nearsong.model.listener_space.ridge import leading_axes, with_fixed_signs
from nearsong.model.listener_space.rows import BLOCK_NUMBERS, to_unit_length
from nearsong.types import FloatArray

Indices = npt.NDArray[np.int64]

MAX_EIGEN_ARTISTS = 1_000
"""Training artists up to which coordinates are eigenvectors; for more, a Cholesky factor is ten times faster."""

MAX_EXACT_ARTISTS = 2_000
"""Training artists up to which coordinates are exact; for more, the largest are found by a random sketch."""

CHOLESKY_JITTER = 1e-11
"""Share of the mean eigenvalue that is added to all, so that a Cholesky factor exists."""

SKETCH_COORDINATES = 512
"""Coordinates that the sketch finds."""

SKETCH_ROUNDS = 2
"""Times that the sketch is multiplied with the matrix to sharpen it."""

MAX_DENSE_FACTORS = 400
"""Artists or listeners up to which singular vectors come from the dense matrix."""


@dataclass(frozen=True, eq=False)
class Target:
    """A target in its coordinates.

    Attributes
    ----------
    name : str
        Its name among the blocks of an embedding.
    anchors : array of shape (n_anchors,)
        Columns of the listens.
    coordinates : array of shape (n_artists, n_coordinates)
        C.
    basis : AnchorBasis
        V.
    own_entry : float
        Entry of an artist with itself.
    """

    name: str
    anchors: Indices
    coordinates: FloatArray
    basis: "AnchorBasis"
    own_entry: float = 0.0


class AnchorBasis(Protocol):
    """V, an array of shape (n_anchors, n_coordinates) with orthonormal columns."""

    def rotated(self, rotation: FloatArray) -> FloatArray:
        """Return V R for a rotation of shape (n_coordinates, k): an array of shape (n_anchors, k)."""


@dataclass(frozen=True, eq=False)
class _MixedBasis:
    """V = T' X for a mixture X (n_artists, n_coordinates); T is computed again, block by block."""

    matrix: "CoListening"
    mixture: FloatArray

    def rotated(self, rotation: FloatArray) -> FloatArray:
        mixture = self.mixture @ rotation
        return np.vstack([block.T @ mixture for block in _anchor_blocks(self.matrix)])


@dataclass(frozen=True, eq=False)
class _CholeskyBasis:
    """V = T' L'^-1 for the Cholesky factor L (n_artists, n_artists) of T T'."""

    matrix: "CoListening"
    factor: FloatArray

    def rotated(self, rotation: FloatArray) -> FloatArray:
        mixture = scipy.linalg.solve_triangular(self.factor, rotation, trans="T", lower=True)
        return np.vstack([block.T @ mixture for block in _anchor_blocks(self.matrix)])


@dataclass(frozen=True, eq=False)
class _GivenBasis:
    """V itself."""

    columns: FloatArray

    def rotated(self, rotation: FloatArray) -> FloatArray:
        return self.columns @ rotation


@dataclass(frozen=True, eq=False, kw_only=True)
class CoListening:
    """Square roots of the Jaccard index of artists with anchors, each row divided by a number of its own.

    Attributes
    ----------
    listens : csc_array of float64 and shape (n_listeners, n_columns)
        1 where a listener plays an artist.
    artists, anchors : arrays of shape (n_artists,) and (n_anchors,)
        Columns of ``listens``.
    row_scales : array of shape (n_artists,)
        What each row is divided by.
    own_entry : float
        The entry of an artist with itself, after that division.
    """

    listens: sp.csc_array
    artists: Indices
    anchors: Indices
    row_scales: FloatArray
    own_entry: float = 0.0

    @property
    def n_artists(self) -> int:
        """Rows."""
        return len(self.artists)

    def block(self, part: slice) -> FloatArray:
        """Return the columns (n_artists, n_part) of some anchors; most entries are 0 and cost nothing."""
        anchors = self.anchors[part]
        shared = sp.csr_array(self.listens[:, self.artists].T @ self.listens[:, anchors])
        rows = np.repeat(np.arange(self.n_artists), np.diff(shared.indptr))
        listeners = np.diff(self.listens.indptr)
        union = listeners[self.artists][rows] + listeners[anchors][shared.indices] - shared.data
        is_other = self.artists[rows] != anchors[shared.indices]
        shared.data = np.where(is_other, np.sqrt(shared.data / union) / self.row_scales[rows], 0.0)
        roots: FloatArray = shared.toarray()
        if self.own_entry:
            own = np.searchsorted(anchors, self.artists).clip(max=len(anchors) - 1)
            known = np.flatnonzero(anchors[own] == self.artists)
            roots[known, own[known]] = self.own_entry
        return roots


def neighbour_target(listens: sp.csc_array, artists: Indices, own_entry: float, *, max_anchors: int) -> Target:
    """Return Y: the training artists seen from each other, or from those with the most listeners."""
    anchors = _best_known(artists, np.diff(listens.indptr), max_anchors)
    plain = CoListening(listens=listens, artists=artists, anchors=anchors, row_scales=np.ones(len(artists)))
    largest = np.max([block.max(axis=1) for block in _anchor_blocks(plain)], axis=0)
    scales = np.where(largest > 0, largest, 1.0)
    matrix = CoListening(listens=listens, artists=artists, anchors=anchors, row_scales=scales, own_entry=own_entry)
    return _target("neighbours", matrix)


def _best_known(artists: Indices, listeners: npt.NDArray[np.integer], n: int) -> Indices:
    """Return the artists, ascending, or those n of them with the most listeners; of equals the first."""
    if len(artists) <= n:
        return artists
    return np.sort(artists[np.argsort(-listeners[artists], kind="stable")[:n]])


def listener_target(
    listens: sp.csc_array, artists: Indices, *, min_listeners: int, max_anchors: int
) -> Target | None:
    """Return A: the training artists seen from all artists with enough listeners; None if there are none."""
    listeners = np.diff(listens.indptr)
    popular = _best_known(np.flatnonzero(listeners >= min_listeners), listeners, max_anchors)
    if not len(popular):
        return None
    plain = CoListening(listens=listens, artists=artists, anchors=popular, row_scales=np.ones(len(artists)))
    squares = np.sum([np.square(block).sum(axis=1) for block in _anchor_blocks(plain)], axis=0)
    if not squares.any():
        return None
    scales = np.where(squares > 0, np.sqrt(squares), 1.0)
    return _target("listeners", CoListening(listens=listens, artists=artists, anchors=popular, row_scales=scales))


def factor_target(listens: sp.csc_array, artists: Indices, *, min_listeners: int, n_factors: int) -> Target | None:
    """Return S: the training artists among the singular vectors of the listens; None if there are too few listens.

    Entries are ``d_u^-1/2 n_a^-1/2`` with d_u the listener's artists and n_a the artist's listeners.
    """
    anchors = np.flatnonzero(np.diff(listens.indptr) >= min_listeners)
    if not len(anchors):
        return None
    part = sp.csr_array(listens[:, anchors])
    part = part[np.diff(part.indptr) > 0]
    per_listener, per_artist = np.diff(part.indptr), np.diff(sp.csc_array(part).indptr)
    normalised = sp.csr_array(sp.diags_array(per_listener**-0.5) @ part @ sp.diags_array(per_artist**-0.5))
    vectors = _right_singular_vectors(normalised, n_factors)
    rows = np.zeros((listens.shape[1], vectors.shape[1]))
    rows[anchors] = vectors
    coordinates = to_unit_length(rows[artists])
    if not coordinates.any():
        return None
    return Target("factors", anchors, coordinates, _GivenBasis(vectors))


def _right_singular_vectors(matrix: sp.csr_array, n_factors: int) -> FloatArray:
    """Return the first right singular vectors (n_anchors, n_factors or fewer)."""
    smaller = min(matrix.shape)
    n_factors = min(n_factors, smaller)
    if smaller <= max(MAX_DENSE_FACTORS, n_factors):
        gram = (matrix.T @ matrix).toarray() if matrix.shape[1] == smaller else (matrix @ matrix.T).toarray()
        axes, sizes = leading_axes(gram, n_factors)
        return axes if matrix.shape[1] == smaller else with_fixed_signs(matrix.T @ (axes / np.sqrt(sizes)))
    start = np.full(smaller, smaller**-0.5)
    _, values, rows = svds(matrix, k=n_factors, v0=start)
    order = np.argsort(-values, kind="stable")
    return with_fixed_signs(np.asarray(rows[order[values[order] > 1e-9]].T, dtype=np.float64))


def _target(name: str, matrix: CoListening) -> Target:
    """Find the coordinates of a matrix: from its Gram matrix exactly, or from a sketch."""
    if matrix.n_artists > MAX_EXACT_ARTISTS:
        span = _sketched_range(matrix)
        small = np.hstack([span.T @ block for block in _anchor_blocks(matrix)])
        axes, sizes = leading_axes(small @ small.T, len(small))
        axes = span @ axes
    else:
        gram = np.zeros((matrix.n_artists, matrix.n_artists))
        for block in _anchor_blocks(matrix):
            gram += block @ block.T
        if matrix.n_artists > MAX_EIGEN_ARTISTS:
            gram.flat[:: len(gram) + 1] += CHOLESKY_JITTER * np.trace(gram) / len(gram)
            factor = scipy.linalg.cholesky(gram, lower=True, overwrite_a=True)
            return Target(name, matrix.anchors, factor, _CholeskyBasis(matrix, factor), matrix.own_entry)
        axes, sizes = leading_axes(gram, matrix.n_artists)
    basis = _MixedBasis(matrix, axes / np.sqrt(sizes))
    return Target(name, matrix.anchors, axes * np.sqrt(sizes), basis, matrix.own_entry)


def _sketched_range(matrix: CoListening) -> FloatArray:
    """Return orthonormal columns (n_artists, SKETCH_COORDINATES) that span most of a matrix (Halko et al. 2011)."""
    n_columns = min(SKETCH_COORDINATES, len(matrix.anchors))
    axes = np.random.default_rng(0).normal(size=(matrix.n_artists, n_columns))
    for _ in range(SKETCH_ROUNDS):
        product = np.zeros_like(axes)
        for block in _anchor_blocks(matrix):
            product += block @ (block.T @ axes)
        axes = np.linalg.qr(product)[0]
    return axes


def _anchor_blocks(matrix: CoListening) -> Iterator[FloatArray]:
    step = max(1, BLOCK_NUMBERS // max(1, matrix.n_artists))
    for start in range(0, len(matrix.anchors), step):
        yield matrix.block(slice(start, min(start + step, len(matrix.anchors))))
