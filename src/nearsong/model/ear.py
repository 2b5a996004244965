"""Files, samples or frames -> histograms: what a model hears, whatever it makes of it."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, Frames, map_audio_files, stream_frames
from nearsong.encoding import Codebook
from nearsong.errors import AudioError, InvalidInputError
from nearsong.model.encoder import Encoder
from nearsong.model.file_format import Arrays, load_bytes, load_file, to_bytes
from nearsong.validation import check_count

Path = str | os.PathLike[str]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EncodedFile:
    """What a file sounds like.

    Attributes
    ----------
    vector : array of shape (n_codewords,)
        Its histograms.
    seconds : float
        How long it is.
    damage : str or None
        What was wrong with it, if something was and it could be used all the same.
    """

    vector: FloatArray
    seconds: float
    damage: str | None = None


@dataclass(frozen=True, eq=False)
class Ear:
    """Makes one vector of a song: features, and one or more codebooks that count them.

    Parameters
    ----------
    encoders : sequence of Encoder
        What makes histograms of frames; a song's are put one after the other.
    features : DeltaMFCC
        What makes frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong import Codebook
    >>> from nearsong.model import Ear, Encoder
    >>> frames = np.random.default_rng(0).normal(size=(300, 39))
    >>> ear = Ear([Encoder(Codebook(8).fit(frames), tau=2)])
    >>> ear.encode(frames).shape
    (8,)
    """

    encoders: Sequence[Encoder]
    features: DeltaMFCC = field(default_factory=DeltaMFCC)

    def __post_init__(self) -> None:
        if not self.encoders:
            raise InvalidInputError("an ear needs at least one encoder; give a codebook.")
        for encoder in self.encoders:
            if encoder.histogram.n_features != self.features.n_features:
                raise InvalidInputError(
                    f"the codebook is for frames of {encoder.histogram.n_features} numbers and the features give "
                    f"{self.features.n_features}; use a codebook learned from such frames."
                )

    @property
    def n_codewords(self) -> int:
        """Length of an encoded song."""
        return sum(encoder.histogram.n_codewords for encoder in self.encoders)

    @property
    def key(self) -> str:
        """A short name: the same for ears that hear the same."""
        digest = hashlib.sha256(repr(sorted(self.features.parameters().items())).encode())
        for encoder in self.encoders:
            digest.update(f"tau {encoder.tau}".encode())
            for name in ("mean_", "scale_", "codewords_"):
                digest.update(np.ascontiguousarray(getattr(encoder.codebook, name)).tobytes())
        return digest.hexdigest()[:16]

    def encode(self, source: Path | npt.ArrayLike) -> FloatArray:
        """Return the histograms of one song; see :meth:`SimilarityModel.encode`."""
        if isinstance(source, str | os.PathLike):
            return self.count(stream_frames(source, self.features))[0]
        array = np.asarray(source)
        if array.ndim == 1:
            return self.count([self.features.transform(array)])[0]
        return self.count([array])[0]

    def encode_file(self, path: Path) -> EncodedFile:
        """Encode one file and say how long it is and what was wrong with it."""
        damages: list[str] = []
        vector, n_frames = self.count(stream_frames(path, self.features, on_damage=damages.append))
        return EncodedFile(vector, (n_frames - 1) * self.features.seconds_a_frame, damages[0] if damages else None)

    def encode_files(
        self, paths: Iterable[Path], *, workers: int | None = None, timeout: float | None = 600.0, nice: int = 0
    ) -> Iterator[tuple[Path, EncodedFile | AudioError]]:
        """Encode many files in worker processes; see :meth:`SimilarityModel.encode_files`."""
        return map_audio_files(partial(encode_file, self), paths, workers=workers, timeout=timeout, nice=nice)

    def count(self, chunks: Iterable[Frames]) -> tuple[FloatArray, int]:
        """Return the histograms of frames that come in chunks, and how many came."""
        counters = [encoder.histogram.counter() for encoder in self.encoders]
        for frames in chunks:
            for counter in counters:
                counter.add(frames)
        return np.concatenate([counter.histogram() for counter in counters]), counters[0].n_frames

    # ---- keeping

    def header(self) -> dict[str, Any]:
        """Return what a file's header says of this ear."""
        return {
            "features": self.features.parameters(),
            "encoders": [{"tau": encoder.tau} for encoder in self.encoders],
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays a file keeps of this ear."""
        kept = {}
        for i, encoder in enumerate(self.encoders):
            for name in ("mean", "scale", "codewords", "counts"):
                value = getattr(encoder.codebook, f"{name}_")
                if value is not None:
                    kept[f"encoder{i}_{name}"] = value
        return kept

    @classmethod
    def build(cls, header: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the ear that a header and arrays describe."""
        encoders = []
        for i, facts in enumerate(header["encoders"]):
            mean, scale, words = (arrays[f"encoder{i}_{name}"] for name in ("mean", "scale", "codewords"))
            codebook = Codebook.from_arrays(mean, scale, words, arrays.get(f"encoder{i}_counts"))
            encoders.append(Encoder(codebook, check_count(facts["tau"], "tau")))
        return cls(encoders, DeltaMFCC(**header["features"]))

    def to_bytes(self) -> bytes:
        """Return the ear as bytes that :meth:`from_bytes` reads."""
        return to_bytes({**self.header(), "views": []}, self.arrays())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the ear of bytes that :meth:`to_bytes`, or a model's, made."""
        return load_bytes(data, cls.build)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the ear of a model file."""
        return load_file(path, cls.build)


def encode_file(ear: Ear, path: Path) -> EncodedFile:
    """Encode one file; what a scan's workers do."""
    return ear.encode_file(path)
