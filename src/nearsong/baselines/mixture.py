"""Frames of one song -> a Gaussian mixture with diagonal covariances, by expectation-maximisation (paper IV-C1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.baselines.kernels import em_pass
from nearsong.baselines.songs import check_frames, check_threads, map_in_threads, one_blas_thread
from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import check_count, check_positive

MIN_VARIANCE = 1e-6
"""Lower bound for the variance of a component in any feature, so that digital silence has a density too."""

_SEEDING_FRAMES = 4096
_K_MEANS_STEPS = 10
_DUPLICATE_TOLERANCE = 1e-5  # squared distance / squared lengths of two equal frames in single precision
_MIN_COMPONENT_FRAMES = 1e-10  # components responsible for fewer frames are dropped
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
                f"weights have shape {weights.shape} and means {means.shape}; give (k,) and (k, n_features)."
            )
        if len(weights) != len(means) or variances.shape != means.shape:
            raise InvalidInputError(
                f"a mixture has {len(weights)} weights, means of shape {means.shape} and variances of shape "
                f"{variances.shape}; give one weight, mean and variance per component."
            )
        if not (np.isfinite(means).all() and np.isfinite(variances).all() and (variances > 0).all()):
            raise InvalidInputError("a mixture has a mean that is not finite or a variance that is not above 0.")
        if not ((weights > 0).all() and abs(weights.sum() - 1.0) < 1e-6):
            raise InvalidInputError("a mixture's weights must be above 0 and sum to 1.")
        for name, part in (("weights", weights / weights.sum()), ("means", means), ("variances", variances)):
            object.__setattr__(self, name, part)

    @property
    def n_features(self) -> int:
        """Features per frame."""
        return int(self.means.shape[1])

    def log_density(self, frames: npt.ArrayLike) -> FloatArray:
        """Return the natural logarithm of the density at each frame, (n_frames,), in double precision."""
        rows = check_frames(frames, "frames", self.n_features).astype(np.float64, copy=False)
        joint = np.empty((len(self.weights), len(rows)))
        for component, (mean, variance) in enumerate(zip(self.means, self.variances, strict=True)):
            difference = rows - mean
            joint[component] = -0.5 * np.einsum("ij,ij,j->i", difference, difference, 1.0 / variance)
        joint += (np.log(self.weights) - 0.5 * np.log(2.0 * np.pi * self.variances).sum(axis=1))[:, None]
        density: FloatArray = np.logaddexp.reduce(joint, axis=0)
        return density

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` independent frames, (n, n_features), grouped by component."""
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
        Number of components; fewer are used when the song has fewer distinct frames.
    seed : int
        Chooses the frames that k-means starts from.
    max_iter : int
        Maximum number of EM steps.
    tol : float
        EM stops when the mean log-likelihood per frame gains less than this.
    variance_floor : float
        Smallest variance of a component relative to the song's variance in that feature; never below
        ``MIN_VARIANCE`` in the units of the feature.
    start : DiagonalMixture, optional
        Initial mixture instead of k-means; it determines the number of components.

    Notes
    -----
    EM starts from ten steps of k-means on at most 4,096 frames, seeded by greedy k-means++. With a floor for the
    variances instead of an added constant each step is optimal under that bound, so the likelihood never decreases.
    Sums over frames are computed around the current means, in single precision within a tile and double beyond.

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
    floor = np.maximum(variance_floor * variance, MIN_VARIANCE) / scale**2
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
    threads: int | None = None,
) -> list[DiagonalMixture]:
    """Fit one mixture per song, in several threads.

    Parameters
    ----------
    songs : iterable of arrays of shape (n_frames, n_features)
        May be read lazily: only a few are held at a time. A ``DiagonalMixture`` is passed through.
    n_components, seed
        As in :func:`fit_mixture`. Every song uses the same seed, so its mixture does not depend on the other songs.
    threads : int, optional
        By default one per processor available to this process. The result does not depend on it.

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
        for row, song in enumerate(songs):
            frames = check_frames(song.means if isinstance(song, DiagonalMixture) else song, f"song {row}", width)
            width = frames.shape[1]
            yield song if isinstance(song, DiagonalMixture) else frames

    def fit(song: Any) -> DiagonalMixture:
        if isinstance(song, DiagonalMixture):
            return song
        return fit_mixture(song, n_components, seed=seed)

    with one_blas_thread():
        return list(map_in_threads(fit, checked(), check_threads(threads)))


def pack_mixtures(mixtures: Sequence[DiagonalMixture]) -> dict[str, npt.NDArray[Any]]:
    """Return mixtures of any size as arrays, their components concatenated; see :func:`unpack_mixtures`."""
    return {
        "sizes": np.array([len(mixture.weights) for mixture in mixtures]),
        "weights": np.concatenate([mixture.weights for mixture in mixtures]),
        "means": np.concatenate([mixture.means for mixture in mixtures]),
        "variances": np.concatenate([mixture.variances for mixture in mixtures]),
    }


def unpack_mixtures(arrays: Mapping[str, npt.NDArray[Any]]) -> list[DiagonalMixture]:
    """Return the mixtures that :func:`pack_mixtures` packed.

    Examples
    --------
    >>> mixture = DiagonalMixture([0.5, 0.5], [[0.0], [4.0]], [[1.0], [1.0]])
    >>> [len(unpacked.weights) for unpacked in unpack_mixtures(pack_mixtures([mixture, mixture]))]
    [2, 2]
    """
    ends = np.cumsum(arrays["sizes"])[:-1]
    parts = [np.split(arrays[name], ends) for name in ("weights", "means", "variances")]
    return [DiagonalMixture(*mixture) for mixture in zip(*parts, strict=True)]


@dataclass(frozen=True)
class _Components:
    """A mixture in the coordinates in which the song has mean 0 and variance 1."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray


def _standardise(bag: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float32], FloatArray, FloatArray, FloatArray]:
    """Return standardised frames as columns (features with almost no variance keep less), mean, variance, scale."""
    working = np.float32 if bag.dtype in (np.float16, np.float32) else np.float64
    rows = np.ascontiguousarray(bag.T, dtype=working)
    centre = rows.mean(axis=1, dtype=np.float64).astype(working)  # as rounded, so that it can be added back
    rows = rows - centre[:, None]
    variance = rows.var(axis=1, dtype=np.float64)
    scale = np.sqrt(np.maximum(variance, MIN_VARIANCE))
    rows *= (1.0 / scale).astype(working)[:, None]
    return rows.astype(np.float32, copy=False), centre.astype(np.float64), variance, scale


def _em_step(
    frames: npt.NDArray[np.float32], state: _Components, floor: FloatArray, hard: bool = False
) -> tuple[_Components, float]:
    """Return the components after one step of EM, and the mean log-likelihood before it."""
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
    used = counts > _MIN_COMPONENT_FRAMES
    size = counts[used, None]
    shift = firsts[used] / size
    variances = np.maximum(seconds[used] / size - shift**2, floor)
    updated = _Components(counts[used] / counts[used].sum(), means[used] + shift, variances)
    return updated, log2_likelihood * _LN_2 / frames.shape[1]


def _maximise(
    frames: npt.NDArray[np.float32], state: _Components, floor: FloatArray, max_iter: int, tol: float
) -> _Components:
    """Alternate expectation and maximisation until the mean log-likelihood gains less than ``tol``."""
    previous = -np.inf
    for _ in range(max_iter):
        state, likelihood = _em_step(frames, state, floor)
        if likelihood - previous < tol:
            break
        previous = likelihood
    return state


def _k_means(frames: npt.NDArray[np.float32], k: int, floor: FloatArray, rng: np.random.Generator) -> _Components:
    """Return the start of EM: k-means on a sample of the frames, then the moments of its clusters over all frames."""
    n = frames.shape[1]
    sample = frames
    if n > _SEEDING_FRAMES:
        sample = np.ascontiguousarray(frames[:, np.sort(rng.choice(n, _SEEDING_FRAMES, replace=False))])
    state = _with_equal_variances(_seed(sample, k, rng))
    for _ in range(_K_MEANS_STEPS):
        state = _with_equal_variances(_em_step(sample, state, floor, hard=True)[0].means)
    return _em_step(frames, state, floor, hard=True)[0]


def _with_equal_variances(means: npt.NDArray[Any]) -> _Components:
    """Return components that differ only in their means, so that the likeliest is the nearest."""
    return _Components(np.full(len(means), 1.0 / len(means)), means, np.ones(means.shape))


def _seed(frames: npt.NDArray[np.float32], k: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Choose up to ``k`` distinct frames by greedy k-means++: the best of a few candidates each time."""
    n = frames.shape[1]
    squares = np.einsum("ij,ij->j", frames, frames)
    tries = 2 + int(np.log(k))

    def squared_distances(candidates: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        lengths = squares[candidates, None] + squares
        squared: npt.NDArray[np.float32] = lengths - 2.0 * (frames[:, candidates].T @ frames)
        squared[squared < _DUPLICATE_TOLERANCE * lengths] = 0.0
        return squared

    chosen = [int(rng.integers(n))]
    nearest = squared_distances(np.array(chosen))[0]
    while len(chosen) < k:
        cumulative = np.cumsum(nearest, dtype=np.float64)
        if not cumulative[-1] > 0:
            break
        drawn = rng.random(tries) * cumulative[-1]
        candidates = np.minimum(np.searchsorted(cumulative, drawn, side="right"), n - 1)
        updated = np.minimum(squared_distances(candidates), nearest)
        best = int(updated.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(candidates[best]))
        nearest = updated[best]
    return np.ascontiguousarray(frames[:, chosen].T)
