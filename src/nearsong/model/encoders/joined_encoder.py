"""Several encoders as one: their vectors, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import FrameFeatures, Frames
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import SongEncoder, VectorAccumulator, VectorPart
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray


class _JoinedAccumulator:
    """The accumulators of one song, all of which read the same frames."""

    def __init__(self, accumulators: Sequence[VectorAccumulator]) -> None:
        self._accumulators = accumulators

    @property
    def n_frames(self) -> int:
        return self._accumulators[0].n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        for accumulator in self._accumulators:
            accumulator.add(frames)

    def result(self) -> FloatArray:
        return np.concatenate([accumulator.result() for accumulator in self._accumulators])


@dataclass(frozen=True, eq=False)
class JoinedEncoder(SongEncoder):
    """Concatenates the vectors of several encoders.

    Parameters
    ----------
    members : sequence of SongEncoder
        At least two, none of them joined itself.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong import Codebook
    >>> from nearsong.model import CodewordEncoder, Quantizer
    >>> frames = np.random.default_rng(0).normal(size=(300, 39))
    >>> encoders = [CodewordEncoder(Quantizer(Codebook(size).fit(frames))) for size in (8, 16)]
    >>> JoinedEncoder(encoders).encode(frames).shape
    (24,)
    """

    name: ClassVar[str] = "joined"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.0
    members: Sequence[SongEncoder]

    def __post_init__(self) -> None:
        if len(self.members) < 2 or any(len(member.encoders) > 1 for member in self.members):
            raise InvalidInputError("a joined encoder needs at least two encoders that are not joined themselves.")
        object.__setattr__(self, "members", tuple(self.members))
        object.__setattr__(self, "features", self.members[0].features)

    @property
    def encoders(self) -> tuple[SongEncoder, ...]:
        """The encoders."""
        return tuple(self.members)

    @property
    def n_dimensions(self) -> int:
        """Dimensions of all encoders."""
        return sum(member.n_dimensions for member in self.members)

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """The parts of all encoders."""
        return tuple(part for member in self.members for part in member.parts)

    @property
    def has_shares(self) -> bool:  # type: ignore[override]
        """Whether the values of all encoders are shares of the song."""
        return all(member.has_shares for member in self.members)

    def start(self) -> _JoinedAccumulator:
        """Return an empty accumulator for the frames of one song; all encoders must read the same frames."""
        if len({member.features.key for member in self.members}) > 1:
            names = ", ".join(member.name for member in self.members)
            raise InvalidInputError(f"the encoders {names} read different frames; give a file or samples instead.")
        return _JoinedAccumulator([member.start() for member in self.members])

    def labels(self) -> list[str] | None:
        """Return the labels of all encoders; None if one has none."""
        labels = [member.labels() for member in self.members]
        return None if any(own is None for own in labels) else [label for own in labels for label in own or ()]

    def typical_vector(self) -> FloatArray | None:
        """Return the typical vectors of all encoders; None if one is unknown."""
        vectors = [member.typical_vector() for member in self.members]
        known = [vector for vector in vectors if vector is not None]
        return np.concatenate(known) if len(known) == len(vectors) else None

    def with_excerpt(self, seconds: float) -> Self:
        """Return the encoders, all of them for excerpts of some seconds."""
        return type(self)([member.with_excerpt(seconds) for member in self.members])

    # ---- storing

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Not possible: each encoder is fitted by itself."""
        raise InvalidInputError("a joined encoder cannot be fitted; fit its encoders and join them.")

    def parameters(self) -> dict[str, Any]:
        """Return name, version, features and parameters of each encoder."""
        return {"encoders": [member.header()["encoder"] for member in self.members]}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of all encoders, each with the number of its encoder."""
        return _numbered([member.arrays() for member in self.members])

    def key_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that determine the vectors."""
        return _numbered([member.key_arrays() for member in self.members])

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Not possible without the registry: see `registry.build_encoder`."""
        raise NotImplementedError

    # ---- comparing

    def phi(self, vectors: FloatArray) -> FloatArray:
        """Map the vectors of each encoder; a block of an encoder that a song has no vector of is NaN and stays so."""
        blocks = zip(self.members, self.blocks(vectors), strict=True)
        return np.hstack([_where_present(member.phi, rows) for member, rows in blocks])

    def scales(self, mapped: FloatArray) -> FloatArray:
        """Return the scales of each encoder."""
        blocks = zip(self.members, self.blocks(mapped), strict=True)
        return np.concatenate([member.scales(rows) for member, rows in blocks])

    def check(self, vectors: Any) -> FloatArray:
        """Return vectors in double precision, or raise; blocks of encoders that a song has no vector of are NaN."""
        blocks = zip(self.members, self.blocks(self._check_width(vectors)), strict=True)
        return np.hstack([_where_present(member.check, rows) for member, rows in blocks])

    def restore(self, stored: npt.NDArray[Any]) -> FloatArray:
        """Return stored vectors in double precision."""
        blocks = zip(self.members, self.blocks(self._check_width(stored)), strict=True)
        return np.hstack([_where_present(member.restore, rows) for member, rows in blocks])

    def _check_width(self, vectors: Any) -> FloatArray:
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_dimensions:
            names = ", ".join(member.name for member in self.members)
            raise InvalidInputError(
                f"vectors has shape {rows.shape} and the encoders {names} have {self.n_dimensions} dimensions; give "
                "vectors of these encoders."
            )
        return rows


def _where_present(function: Callable[[FloatArray], FloatArray], rows: FloatArray) -> FloatArray:
    """Apply a function to the rows that are not NaN throughout."""
    is_present = ~np.isnan(rows).all(axis=1)
    if is_present.all():
        return function(rows)
    result = np.full(rows.shape, np.nan)
    if is_present.any():
        result[is_present] = function(rows[is_present])
    return result


def _numbered(arrays: Sequence[Arrays]) -> dict[str, npt.NDArray[Any]]:
    return {f"encoder{i}_{name}": array for i, own in enumerate(arrays) for name, array in own.items()}


def arrays_of_member(arrays: Arrays, number: int) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of one of the joined encoders, without its number."""
    prefix = f"encoder{number}_"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def joined(encoders: Sequence[SongEncoder]) -> SongEncoder:
    """Return one encoder for several: itself if there is only one."""
    flat = [single for encoder in encoders for single in encoder.encoders]
    return flat[0] if len(flat) == 1 else JoinedEncoder(flat)
