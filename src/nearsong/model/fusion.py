"""Song vectors of several encoders -> phi: their parts centred, weighted, joined and scaled to length 1.

::

    phi = u([sqrt(w_1) (x_1 - m_1) / s_1, sqrt(w_2) (x_2 - m_2) / s_2, ...])

x_i are the parts of a song's vector, m_i their training means, s_i the root mean squared length of the centred
training songs, w_i squared weights, and u scales to length 1. A part that a song does not have (NaN) counts as its
mean: the other parts decide.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import MAX_LEARNED, check_learned

_MIN_SCALE = 1e-15
"""Far below any scale that is measured: a part that hardly varies has scale 1."""


class WeightedPart(Protocol):
    """A piece of a song vector that is weighted apart."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def n_dimensions(self) -> int:
        """Its columns."""

    @property
    def weight(self) -> float:
        """Its squared weight."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """Joins the parts of song vectors.

    Attributes
    ----------
    names : tuple of str
        The parts, in the order of their columns.
    sizes : tuple of int
        Columns of each part.
    weights : tuple of float
        Squared weights.
    mean : array of shape (n_dimensions,)
        Training means.
    scales : array of shape (n_parts,)
        Root mean squared length of each centred part over the training songs; 1 for a part that does not vary.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> parts = [SimpleNamespace(name="timbre", n_dimensions=2, weight=1.0),
    ...          SimpleNamespace(name="chroma", n_dimensions=1, weight=4.0)]
    >>> vectors = np.array([[1.0, 0.0, 5.0], [-1.0, 0.0, 7.0], [0.0, 0.0, 6.0]])
    >>> fusion = Fusion.fit(vectors, parts)
    >>> fusion.transform(vectors[:2]).round(3) + 0.0
    array([[ 0.447,  0.   , -0.894],
           [-0.447,  0.   ,  0.894]])
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    mean: FloatArray
    scales: FloatArray

    def __post_init__(self) -> None:
        n_parts = len(self.names)
        if not n_parts == len(self.sizes) == len(self.weights) or self.scales.shape != (n_parts,) or n_parts == 0:
            raise InvalidInputError(
                f"a fusion of {n_parts} parts has {len(self.sizes)} sizes, {len(self.weights)} weights and scales of "
                f"shape {self.scales.shape}; one of each for every part is needed."
            )
        if min(self.sizes) < 1 or self.mean.shape != (sum(self.sizes),):
            raise InvalidInputError(
                f"the parts of a fusion have {sum(self.sizes)} columns and its mean the shape {self.mean.shape}; "
                "they must be equal, with at least one column in each part."
            )
        check_learned(self.mean, "the mean of a fusion", (sum(self.sizes),))
        check_learned(self.scales, "the scales of a fusion", (n_parts,), _MIN_SCALE)
        if not all(0 <= weight <= MAX_LEARNED for weight in self.weights) or not any(self.weights):
            raise InvalidInputError(
                f"the weights of a fusion are {self.weights}; finite numbers of at least 0 are needed, one above 0."
            )
        factors = np.sqrt(np.array(self.weights)) / self.scales
        object.__setattr__(self, "_factors", np.repeat(factors, self.sizes))

    @classmethod
    def fit(
        cls, vectors: npt.ArrayLike, parts: Sequence[WeightedPart], *, weights: Mapping[str, float] | None = None
    ) -> Self:
        """Measure the parts on the training songs.

        Parameters
        ----------
        vectors : array of shape (n_songs, n_dimensions)
            Song vectors of the training songs, the parts side by side; NaN in all columns of a part that a song
            does not have.
        parts : sequence of WeightedPart
            Name, columns and squared weight of each part.
        weights : mapping of str to float, optional
            Squared weights by name that replace those of the parts.
        """
        chosen = weights or {}
        unknown = sorted(set(chosen) - {part.name for part in parts})
        if unknown:
            raise InvalidInputError(
                f"weights names {', '.join(unknown)}, but the parts are {', '.join(part.name for part in parts)}."
            )
        return cls.fit_blocks(lambda: [vectors], parts, weights=chosen)

    @classmethod
    def fit_blocks(
        cls,
        blocks: Callable[[], Iterable[npt.ArrayLike]],
        parts: Sequence[WeightedPart],
        *,
        weights: Mapping[str, float] | None = None,
    ) -> Self:
        """Measure the parts on training songs that do not fit into memory at once.

        Parameters
        ----------
        blocks : callable
            Returns the songs of `fit`, some rows at a time; called twice.
        parts, weights
            As for `fit`.
        """
        chosen = weights or {}
        names, sizes = tuple(part.name for part in parts), tuple(int(part.n_dimensions) for part in parts)
        bounds = _bounds(sizes)
        counts, sums, squares = np.zeros(len(sizes)), np.zeros(sum(sizes)), np.zeros(len(sizes))
        for block in blocks():
            rows, missing = _check_parts(block, sizes, names)
            for number, (start, stop) in enumerate(bounds):
                sums[start:stop] += rows[~missing[:, number], start:stop].sum(axis=0)
            counts += (~missing).sum(axis=0)
        mean = sums / np.repeat(np.maximum(counts, 1), sizes)
        for block in blocks():
            rows, missing = _check_parts(block, sizes, names)
            for number, (start, stop) in enumerate(bounds):
                squares[number] += np.square(rows[~missing[:, number], start:stop] - mean[start:stop]).sum()
        spreads = np.sqrt(squares / np.maximum(counts, 1))
        least = np.array([1e-12 * (1.0 + float(np.abs(mean[start:stop]).max())) for start, stop in bounds])
        return cls(
            names=names,
            sizes=sizes,
            weights=tuple(float(chosen.get(part.name, part.weight)) for part in parts),
            mean=mean,
            scales=np.where(spreads > least, spreads, 1.0),
        )

    @property
    def n_dimensions(self) -> int:
        """Columns of song vectors and of phi."""
        return len(self.mean)

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of each part, by name."""
        return {name: slice(*bounds) for name, bounds in zip(self.names, _bounds(self.sizes), strict=True)}

    def transform(self, vectors: npt.ArrayLike) -> FloatArray:
        """Return phi of song vectors, both of shape (n_songs, n_dimensions).

        Rows have length 1; a song without any part, or at the mean in all of them, is 0. A song's bytes do not
        depend on the other songs.
        """
        rows, missing = _check_parts(vectors, self.sizes, self.names)
        factors: FloatArray = self._factors  # type: ignore[attr-defined]
        phi = np.ascontiguousarray((rows - self.mean) * factors)
        if missing.any():
            phi[np.repeat(missing, self.sizes, axis=1)] = 0.0
        lengths = np.sqrt((phi * phi).sum(axis=1))
        phi /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return phi

    # ---- storing

    def parameters(self) -> dict[str, Any]:
        """Return names, sizes and weights as JSON can represent them."""
        return {"names": list(self.names), "sizes": list(self.sizes), "weights": list(self.weights)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {"mean": self.mean, "scales": self.scales}

    @classmethod
    def from_arrays(cls, parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the fusion that `parameters` and `arrays` describe."""
        try:
            names = tuple(str(name) for name in parameters["names"])
            sizes = tuple(int(size) for size in parameters["sizes"])
            weights = tuple(float(weight) for weight in parameters["weights"])
            mean, scales = (np.asarray(arrays[name], dtype=np.float64) for name in ("mean", "scales"))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"a stored fusion is incomplete ({error}); train the model again.") from error
        return cls(names, sizes, weights, mean, scales)


def _bounds(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(np.cumsum([0, *sizes]).tolist()))


def _check_parts(
    vectors: npt.ArrayLike, sizes: Sequence[int], names: Sequence[str]
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return vectors in double precision, and which part (n_songs, n_parts) is missing."""
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"vectors cannot be read as an array of numbers ({error}).") from error
    if rows.ndim != 2 or rows.shape[1] != sum(sizes):
        raise InvalidInputError(
            f"vectors has shape {rows.shape}, but the parts {', '.join(names)} have {sum(sizes)} columns; give "
            "vectors of the same encoders."
        )
    finite = np.isfinite(rows)
    missing = np.zeros((len(rows), len(sizes)), bool)
    if finite.all():
        return rows, missing
    for number, (start, stop) in enumerate(_bounds(sizes)):
        missing[:, number] = np.isnan(rows[:, start:stop]).all(axis=1)
        broken = ~missing[:, number] & ~finite[:, start:stop].all(axis=1)
        if broken.any():
            raise InvalidInputError(
                f"vectors has a NaN or infinite number in the part {names[number]} of row {int(broken.argmax())}; a "
                "part that is missing is NaN in all its columns."
            )
    return rows, missing
