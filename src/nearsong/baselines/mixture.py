"""Frames of one song -> a Gaussian mixture with diagonal covariances, by expectation-maximisation (paper IV-C1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.baselines.kernels import em_pass
from nearsong.baselines.songs import check_frames, check_threads, map_in_threads, one_blas_thread
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count, check_positive

FloatArray = npt.NDArray[np.float64]

SMALLEST_VARIANCE = 1e-6
"""No component is narrower than this in any feature, whatever the song: digital silence still has a density."""

_SEEDING_FRAMES = 4096
_K_MEANS_STEPS = 10
_SAME = 1e-5  # squared distance over squared lengths: what is left of two equal frames in single precision
_DEAD = 1e-10  # frames: a component with fewer has no say in any of them
_LN_2 = np.log(2.0)


@dataclass(frozen=True, eq=False)
class DiagonalMixture:
    """A mixture of Gaussians with diagonal covariances.

    Parameters
    ----------
    weights : array of shape (k,)
        Positive, summing to 1.
    means, variances : arrays of shape (k, n_features)
        Of each component.

    Examples
    --------
    >>> mixture = DiagonalMixture([0.5, 0.5], [[0.0], [4.0]], [[1.0], [1.0]])
    >>> mixture.log_density([[0.0], [2.0]]).round(3)
    array([-1.612, -2.919])
    >>> mixture.sample(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    def __post_init__(self) -> None:
        weights, means, variances = (
            np.asarray(part, dtype=np.float64) for part in (self.weights, self.means, self.variances)
        )
        if weights.ndim != 1 or means.ndim != 2 or 0 in means.shape:
            raise InvalidInputError(
                f"a mixture came with weights of shape {weights.shape} and means of shape {means.shape}; "
                "(k,) and (k, n_features) are needed."
            )
        if len(weights) != len(means) or variances.shape != means.shape:
            raise InvalidInputError(
                f"a mixture came with {len(weights)} weights, means of shape {means.shape} and variances of shape "
                f"{variances.shape}; they must belong together."
            )
        if not (np.isfinite(means).all() and np.isfinite(variances).all() and (variances > 0).all()):
            raise InvalidInputError("a mixture has a mean that is not finite or a variance that is not above 0.")
        if not ((weights > 0).all() and abs(weights.sum() - 1.0) < 1e-6):
            raise InvalidInputError("a mixture's weights must be above 0 and sum to 1.")
        for name, part in (("weights", weights / weights.sum()), ("means", means), ("variances", variances)):
            object.__setattr__(self, name, part)

    @property
    def n_features(self) -> int:
        """Features a frame."""
        return int(self.means.shape[1])

    def log_density(self, frames: npt.ArrayLike) -> FloatArray:
        """Return the natural logarithm of the density at each frame, (n_frames,), in double precision."""
        rows = check_frames(frames, "frames", self.n_features).astype(np.float64, copy=False)
        joint = np.empty((len(self.weights), len(rows)))
        for component, (mean, variance) in enumerate(zip(self.means, self.variances, strict=True)):
            away = rows - mean
            joint[component] = -0.5 * np.einsum("ij,ij,j->i", away, away, 1.0 / variance)
        joint += (np.log(self.weights) - 0.5 * np.log(2.0 * np.pi * self.variances).sum(axis=1))[:, None]
        density: FloatArray = np.logaddexp.reduce(joint, axis=0)
        return density

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` independent frames, (n, n_features), those of a component together."""
        component = np.repeat(np.arange(len(self.weights)), rng.multinomial(check_count(n, "n"), self.weights))
        noise = rng.standard_normal((n, self.n_features))
        return self.means[component] + np.sqrt(self.variances)[component] * noise


def fit_mixture(
    frames: npt.ArrayLike,
    n_components: int = 8,
    *,
    seed: int = 0,
    max_iter: int = 100,
    tol: float = 1e-3,
    variance_floor: float = 1e-3,
    start: DiagonalMixture | None = None,
) -> DiagonalMixture:
    """Fit a mixture to the frames of a song by expectation-maximisation.

    Parameters
    ----------
    frames : array of shape (n_frames, n_features)
        E.g. dynamic MFCCs.
    n_components : int
        Components; fewer are used when the song has fewer different frames.
    seed : int
        Chooses the frames that k-means starts from.
    max_iter : int
        Most EM steps.
    tol : float
        Gain in mean log-likelihood a frame at which to stop.
    variance_floor : float
        Smallest variance of a component as a part of the song's own variance in that feature; never below
        ``SMALLEST_VARIANCE`` in the features' own units.
    start : DiagonalMixture, optional
        Where to start instead of k-means; its number of components then counts.

    Returns
    -------
    DiagonalMixture

    Notes
    -----
    Starts from ten steps of k-means on at most 4,096 frames, seeded by greedy k-means++. A floor instead of an added
    constant keeps each step the best one under that bound, so the likelihood never falls. Sums over frames are
    taken around the present means, in single precision within a few hundred frames and double beyond.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> frames = np.concatenate([rng.normal(0, 1, (500, 2)), rng.normal(9, 1, (1500, 2))])
    >>> mixture = fit_mixture(frames, n_components=2)
    >>> sorted(mixture.weights.round(2).tolist())
    [0.25, 0.75]
    >>> fit_mixture(np.zeros((50, 2))).weights  # digital silence
    array([1.])
    """
    bag = check_frames(frames, "frames")
    n_components = check_count(n_components, "n_components")
    rng = np.random.default_rng(check_count(seed, "seed", minimum=0))
    max_iter = check_count(max_iter, "max_iter")
    tol = check_positive(tol, "tol")
    variance_floor = check_positive(variance_floor, "variance_floor")
    standard, centre, variance, scale = _standardise(bag)
    floor = np.maximum(variance_floor * variance, SMALLEST_VARIANCE) / scale**2
    if start is None:
        state = _k_means(standard, n_components, floor, rng)
    else:
        check_frames(start.means, "start", bag.shape[1])
        state = _Components(start.weights, (start.means - centre) / scale, start.variances / scale**2)
    state = _maximise(standard, state, floor, max_iter, tol)
    return DiagonalMixture(state.weights, state.means * scale + centre, state.variances * scale**2)


def fit_mixtures(
    songs: Iterable[Any],
    n_components: int = 8,
    *,
    seed: int = 0,
    max_iter: int = 100,
    tol: float = 1e-3,
    variance_floor: float = 1e-3,
    threads: int | None = None,
) -> list[DiagonalMixture]:
    """Fit one mixture a song, the songs shared out among threads.

    Parameters
    ----------
    songs : iterable of arrays of shape (n_frames, n_features)
        May be read from disk as they are needed: only a few are held at a time. A song that is a
        ``DiagonalMixture`` already is passed through.
    n_components, seed, max_iter, tol, variance_floor
        As in :func:`fit_mixture`. Every song starts from the same seed, so its mixture does not depend on the
        others.
    threads : int, optional
        By default one for each processor this process may use. Changes nothing in the result.

    Returns
    -------
    list of DiagonalMixture

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quiet, loud = rng.normal(0, 1, (200, 3)), rng.normal(0, 9, (300, 3))
    >>> [len(mixture.weights) for mixture in fit_mixtures([quiet, loud], n_components=4)]
    [4, 4]
    """
    width: int | None = None

    def checked() -> Iterable[Any]:
        nonlocal width
        for place, song in enumerate(songs):
            name = f"song {place}"
            known = song.means if isinstance(song, DiagonalMixture) else song
            frames = check_frames(known, name, width)
            width = frames.shape[1]
            yield song if isinstance(song, DiagonalMixture) else frames

    def fit(song: Any) -> DiagonalMixture:
        if isinstance(song, DiagonalMixture):
            return song
        return fit_mixture(song, n_components, seed=seed, max_iter=max_iter, tol=tol, variance_floor=variance_floor)

    with one_blas_thread():
        return list(map_in_threads(fit, checked(), check_threads(threads)))


@dataclass(frozen=True)
class _Components:
    """A mixture in the coordinates in which the song has mean 0 and variance 1."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray


def _standardise(bag: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float32], FloatArray, FloatArray, FloatArray]:
    """Return the frames as columns of mean 0 and variance 1 (less where they hardly vary), mean, variance, scale."""
    working = np.float32 if bag.dtype in (np.float16, np.float32) else np.float64
    rows = np.ascontiguousarray(bag.T, dtype=working)
    centre = rows.mean(axis=1, dtype=np.float64).astype(working)  # as rounded, so that it can be added back
    rows = rows - centre[:, None]
    variance = rows.var(axis=1, dtype=np.float64)
    scale = np.sqrt(np.maximum(variance, SMALLEST_VARIANCE))
    rows *= (1.0 / scale).astype(working)[:, None]
    return rows.astype(np.float32, copy=False), centre.astype(np.float64), variance, scale


def _pass(
    frames: npt.NDArray[np.float32], state: _Components, floor: FloatArray, hard: bool = False
) -> tuple[_Components, float]:
    """Return the best components for the shares the present ones have, and the present mean log-likelihood."""
    k, d = state.means.shape
    log_normaliser = np.log(state.weights) - 0.5 * np.log(2.0 * np.pi * state.variances).sum(axis=1)
    means = state.means.astype(np.float32)
    counts, firsts, seconds = np.empty(k), np.empty((k, d)), np.empty((k, d))
    log2_likelihood = em_pass(
        frames,
        hard,
        (log_normaliser / _LN_2).astype(np.float32),
        means,
        (0.5 / _LN_2 / state.variances).astype(np.float32),
        counts,
        firsts,
        seconds,
    )
    alive = counts > _DEAD
    size = counts[alive, None]
    shift = firsts[alive] / size
    variances = np.maximum(seconds[alive] / size - shift**2, floor)
    best = _Components(counts[alive] / counts[alive].sum(), means[alive] + shift, variances)
    return best, log2_likelihood * _LN_2 / frames.shape[1]


def _maximise(
    frames: npt.NDArray[np.float32], state: _Components, floor: FloatArray, max_iter: int, tol: float
) -> _Components:
    """Alternate expectation and maximisation until the mean log-likelihood gains less than ``tol``."""
    before = -np.inf
    for _ in range(max_iter):
        state, now = _pass(frames, state, floor)
        if now - before < tol:
            break
        before = now
    return state


def _k_means(frames: npt.NDArray[np.float32], k: int, floor: FloatArray, rng: np.random.Generator) -> _Components:
    """Return where EM starts: k-means on a part of the frames, then the moments of its clusters over all."""
    n = frames.shape[1]
    part = frames
    if n > _SEEDING_FRAMES:
        part = np.ascontiguousarray(frames[:, np.sort(rng.choice(n, _SEEDING_FRAMES, replace=False))])
    state = _alike(_seed(part, k, rng))
    for _ in range(_K_MEANS_STEPS):
        state = _alike(_pass(part, state, floor, hard=True)[0].means)
    return _pass(frames, state, floor, hard=True)[0]


def _alike(means: npt.NDArray[Any]) -> _Components:
    """Return components that differ in nothing but their means: the likeliest is the nearest."""
    return _Components(np.full(len(means), 1.0 / len(means)), means, np.ones(means.shape))


def _seed(frames: npt.NDArray[np.float32], k: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Choose up to ``k`` different frames: greedy k-means++, the best of a few candidates each time."""
    n = frames.shape[1]
    squares = np.einsum("ij,ij->j", frames, frames)
    tries = 2 + int(np.log(k))

    def squared_distances(candidates: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        lengths = squares[candidates, None] + squares
        apart: npt.NDArray[np.float32] = lengths - 2.0 * (frames[:, candidates].T @ frames)
        apart[apart < _SAME * lengths] = 0.0
        return apart

    chosen = [int(rng.integers(n))]
    nearest = squared_distances(np.array(chosen))[0]
    while len(chosen) < k:
        reach = np.cumsum(nearest, dtype=np.float64)
        if not reach[-1] > 0:
            break
        candidates = np.minimum(np.searchsorted(reach, rng.random(tries) * reach[-1], side="right"), n - 1)
        left = np.minimum(squared_distances(candidates), nearest)
        best = int(left.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(candidates[best]))
        nearest = left[best]
    return np.ascontiguousarray(frames[:, chosen].T)
