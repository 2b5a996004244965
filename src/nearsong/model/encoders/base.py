"""The protocol of song encoders: frames, in chunks -> one vector of fixed length.

The vector is a sequence of parts, which models weight apart (:attr:`SongEncoder.parts`). An encoder also states how
its vectors are compared (:meth:`SongEncoder.phi`, :meth:`SongEncoder.scales`), how it is stored without pickle
(:meth:`SongEncoder.parameters`, :meth:`SongEncoder.arrays`, :meth:`SongEncoder.build`) and what its dimensions mean
to a listener (:meth:`SongEncoder.labels`). `registry.py` lists all encoders; `tests/model/encoders/test_axioms.py`
tests each of them.
"""

import copy
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames, map_audio_files, stream_audio
from nearsong.audio.decode import AudioDamage, Samples
from nearsong.audio.excerpt import check_excerpt
from nearsong.audio.features import check_samples
from nearsong.errors import AudioError, InvalidInputError, TooShortAudioError
from nearsong.model.file_format import Arrays, to_bytes
from nearsong.types import FloatArray
from nearsong.validation import check_vectors

Path = str | os.PathLike[str]
Listen = Callable[[Iterator[Samples], int], Iterator[Samples]]


@dataclass(frozen=True, eq=False)
class EncodedFile:
    """The vectors of one file.

    Attributes
    ----------
    vectors : tuple of arrays
        One for each encoder, in their order.
    seconds : float
        Length of the song, also where an excerpt was encoded.
    damage : str or None
        What is wrong with a file that could be used in part.
    """

    vectors: tuple[FloatArray, ...]
    seconds: float
    damage: str | None = None

    @property
    def vector(self) -> FloatArray:
        """The vector of the first encoder."""
        return self.vectors[0]


@dataclass(frozen=True)
class VectorPart:
    """A piece of a song vector that models weight apart from the others.

    Attributes
    ----------
    name : str
    n_dimensions : int
        Length of the piece.
    weight : float
        Its weight in squared distances, relative to those of other parts.
    """

    name: str
    n_dimensions: int
    weight: float = 1.0


class VectorAccumulator(Protocol):
    """The state of one song while its frames arrive."""

    @property
    def n_frames(self) -> int:
        """Frames so far."""

    def add(self, frames: npt.ArrayLike) -> None:
        """Take a chunk of frames, an array of shape (n_frames, n_features)."""

    def result(self) -> FloatArray:
        """Return the song's vector, an array of shape (n_dimensions,); at least one frame is needed."""


class SongEncoder(ABC):
    """Turns the frames of a song into one vector.

    To add an encoder, write a subclass in a file of its own and list it in `registry.py`.

    Attributes
    ----------
    name : str
        Its name in options and stored models.
    version : int
        Raised when the same frames give other vectors; part of the key.
    cost : float
        CPU seconds per hour of audio, beyond decoding and computing frames (`benchmarks/bench_encoding.py`).
    licence : str
        Licence of what is not computed from the library itself.
    needs_sample : bool
        Whether :meth:`fit` learns from songs of the library.
    has_shares : bool
        Whether the values of a vector are shares of the song, which can be shown to users.
    is_optional : bool
        Whether it may have no vector of a song; such a vector is NaN.
    storage_dtype : str
        How a library stores its vectors: ``float32``, or ``float16`` where that does not change what is near.
    reads_audio : bool
        Whether its vectors depend on what a file sounds like.
    is_default : bool
        Whether new libraries use it, if nothing has to be installed first.
    part_words : mapping of str to str
        Names of the parts of its vectors -> what users read.
    file_weight, file_is_unscaled : float, bool
        Of vectors in a data set's file: squared weight (if pretrained, relative to all others), columns not scaled.
    features : FrameFeatures
        Computes the frames of samples.
    excerpt : float
        Seconds from the middle of a file that it encodes; 0 for the complete song.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    cost: ClassVar[float]
    licence: ClassVar[str] = "MIT"
    needs_sample: ClassVar[bool] = False
    has_shares: ClassVar[bool] = False
    is_optional: ClassVar[bool] = False
    storage_dtype: ClassVar[str] = "float32"
    reads_audio: ClassVar[bool] = True
    is_default: ClassVar[bool] = True
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType({})
    file_weight: ClassVar[float] = 1.0
    file_is_unscaled: ClassVar[bool] = False
    features: FrameFeatures
    excerpt: float = 0.0

    # ---- what every encoder defines

    @property
    @abstractmethod
    def n_dimensions(self) -> int:
        """Length of a vector."""

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """The pieces of a vector that models weight apart, in their order."""
        return (VectorPart(self.name, self.n_dimensions),)

    @abstractmethod
    def start(self) -> VectorAccumulator:
        """Return an empty accumulator for one song; the result is the same bytes for any chunking of its frames."""

    @abstractmethod
    def labels(self) -> Sequence[str] | None:
        """Return a description of each dimension for users; dimensions with the same label are explained together.

        None if the dimensions have no meaning that can be described.
        """

    def typical_vector(self) -> FloatArray | None:
        """Return the average song vector of the data it was fitted on; None if unknown."""
        return None

    @classmethod
    @abstractmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Return an encoder for a library.

        Parameters
        ----------
        songs : sequence of arrays of shape (n_frames, n_features)
            Frames of a sample of the library's songs; empty if the encoder needs none.
        features : FrameFeatures, optional
            What computed the frames.
        seed : int
            Random seed.
        """

    @classmethod
    def default_features(cls) -> FrameFeatures:
        """Return the features whose frames it reads by default."""
        return DeltaMFCC()

    @classmethod
    def check_available(cls) -> None:
        """Raise `EncoderNotInstalledError` if a library cannot begin to use it, since something is not installed."""
        return

    def check_installed(self) -> None:
        """Raise `EncoderNotInstalledError` if songs cannot be analysed with it on this computer."""
        for member in self.encoders:
            if member is not self:
                member.check_installed()

    def with_excerpt(self, seconds: float) -> Self:
        """Return this encoder for excerpts of some seconds, 0 for complete songs; they are not comparable."""
        seconds = check_excerpt(seconds)
        if seconds == self.excerpt or not self.reads_audio:
            return self
        other = copy.copy(self)
        object.__setattr__(other, "excerpt", seconds)  # encoders are frozen
        return other

    # ---- storing

    def parameters(self) -> dict[str, Any]:
        """Return the JSON-serialisable parameters of this encoder, without its features."""
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of this encoder by name."""
        return {}

    @classmethod
    @abstractmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder that :meth:`parameters` and :meth:`arrays` describe."""

    @property
    def key(self) -> str:
        """A hash of everything that determines the vectors; equal for encoders with equal vectors."""
        facts = [self.name, self.version, self.features.name, self.features.parameters(), self.parameters()]
        facts += [self.excerpt] if self.excerpt else []
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        for name, array in sorted(self.key_arrays().items()):
            digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    def key_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that determine the vectors."""
        return self.arrays()

    def header(self) -> dict[str, Any]:
        """Return the part of a file's header that describes this encoder."""
        features = {"name": self.features.name, "parameters": self.features.parameters()}
        facts = {"name": self.name, "version": self.version, "features": features, "parameters": self.parameters()}
        return {"encoder": facts | ({"excerpt": self.excerpt} if self.excerpt else {})}

    def to_bytes(self) -> bytes:
        """Return the encoder as bytes that :func:`nearsong.model.encoders.read_encoder` reads."""
        return to_bytes(self.header(), self.arrays())

    # ---- growing with a library

    def is_outgrown(self, n_fitted: int, n_songs: int) -> bool:
        """Return whether an encoder fitted on some songs should be fitted again for a library of more songs."""
        return False

    # ---- comparing vectors

    @property
    def encoders(self) -> tuple["SongEncoder", ...]:
        """The encoders whose vectors are concatenated into this one's; a projection reads one of them."""
        return (self,)

    def blocks(self, vectors: FloatArray) -> list[FloatArray]:
        """Cut vectors (n, n_dimensions) into those of the encoders."""
        ends = np.cumsum([0] + [encoder.n_dimensions for encoder in self.encoders]).tolist()
        return [vectors[:, start:stop] for start, stop in pairwise(ends)]

    def phi(self, vectors: FloatArray) -> FloatArray:
        """Map vectors (n, n_dimensions), song by song, to a space in which Euclidean distance is appropriate."""
        return vectors

    def scales(self, mapped: FloatArray) -> FloatArray:
        """Return what each dimension of mapped training songs (n, n_dimensions) is divided by before PCA.

        Several parts are divided so that the variances of their dimensions sum to their weights; one stays as it is.
        """
        scales = np.ones(mapped.shape[1])
        if len(self.parts) > 1:
            ends = np.cumsum([0] + [part.n_dimensions for part in self.parts]).tolist()
            for part, (start, stop) in zip(self.parts, pairwise(ends), strict=True):
                variance = float(mapped[:, start:stop].var(axis=0).sum())
                scales[start:stop] = np.sqrt(variance / part.weight) if variance > 0 else 1.0
        return scales

    def check(self, vectors: Any) -> FloatArray:
        """Return vectors (n, n_dimensions) in double precision; raise if this encoder cannot have produced them."""
        rows = check_vectors(vectors, "vectors")
        if rows.shape[1] != self.n_dimensions:
            raise InvalidInputError(
                f"vectors has {rows.shape[1]} columns and the encoder {self.name} {self.n_dimensions} dimensions; "
                "give vectors of this encoder, or a list of frames."
            )
        return rows

    def restore(self, stored: npt.NDArray[Any]) -> FloatArray:
        """Return vectors that were stored in single precision (n, n_dimensions) in double precision."""
        return self.check(stored)

    # ---- encoding

    def encode(self, source: Path | npt.ArrayLike) -> FloatArray:
        """Return the vector of one song; see :meth:`nearsong.SimilarityModel.encode`."""
        if isinstance(source, str | os.PathLike):
            return np.concatenate(encode_file(self.encoders, source).vectors)
        array = np.asarray(source)
        if array.ndim != 1:
            return self.encode_frames([array])
        samples = check_samples(array)
        n_needed = max(encoder.features.min_samples for encoder in self.encoders)
        if len(samples) < n_needed:
            raise InvalidInputError(f"{len(samples)} samples are too few; at least {n_needed} are needed.")
        return np.concatenate(encode_samples(self.encoders, [samples])[0])

    def encode_frames(self, chunks: Iterable[npt.ArrayLike]) -> FloatArray:
        """Return the vector of one song from its frames, in chunks (n_frames, n_features)."""
        accumulator = self.start()
        for frames in chunks:
            accumulator.add(frames)
        return accumulator.result()

    def encode_all(self, songs: Any) -> FloatArray:
        """Return the vectors (songs x n_dimensions) of songs as :meth:`encode` takes them, in this process."""
        rows = [self.encode(song) for song in songs]
        return np.array(rows).reshape(len(rows), self.n_dimensions)

    def encode_files(
        self, paths: Iterable[Path], *, workers: int | None = None, timeout: float | None = 600.0, nice: int = 0
    ) -> Iterator[tuple[Path, EncodedFile | AudioError]]:
        """Encode many files in worker processes; see :meth:`nearsong.SimilarityModel.encode_files`."""
        return map_audio_files(partial(encode_file, (self,)), paths, workers=workers, timeout=timeout, nice=nice)


def encode_samples(encoders: Sequence[SongEncoder], blocks: Iterable[Samples]) -> tuple[tuple[FloatArray, ...], int]:
    """Feed the samples of one song, in blocks, to several encoders; return their vectors and the number of samples.

    Encoders with the same features share their frames. All features have the sample rate of the blocks.
    """
    accumulators = [encoder.start() for encoder in encoders]
    readers: dict[str, list[VectorAccumulator]] = {}
    features: dict[str, FrameFeatures] = {}
    for encoder, accumulator in zip(encoders, accumulators, strict=True):
        readers.setdefault(encoder.features.key, []).append(accumulator)
        features[encoder.features.key] = encoder.features
    streams = {key: of_key.start() for key, of_key in features.items()}
    n_samples = 0
    for block in blocks:
        n_samples += len(block)
        for key, stream in streams.items():
            _pass_on(stream.add(block), readers[key])
    if n_samples < max((of_key.min_samples for of_key in features.values()), default=0):
        return (), n_samples
    for key, stream in streams.items():
        _pass_on(stream.finish(), readers[key])
    return tuple(accumulator.result() for accumulator in accumulators), n_samples


def _pass_on(frames: Frames, readers: Sequence[VectorAccumulator]) -> None:
    if len(frames):
        for accumulator in readers:
            accumulator.add(frames)


def readers_of(encoders: Sequence[SongEncoder]) -> dict[tuple[int, float], list[int]]:
    """Return which encoders, by position, read the same samples of a file: (sample rate, excerpt) -> positions.

    That is one group, unless features were made for another sample rate, or models for another excerpt.
    """
    groups: dict[tuple[int, float], list[int]] = {}
    for i, encoder in enumerate(encoders):
        if encoder.reads_audio:
            groups.setdefault((encoder.features.sample_rate, encoder.excerpt), []).append(i)
    silent = [i for i, encoder in enumerate(encoders) if not encoder.reads_audio]
    first = min(groups, default=(encoders[0].features.sample_rate, 0.0))
    groups[first] = sorted([*groups.get(first, []), *silent])
    return dict(sorted(groups.items()))


def encode_file(encoders: Sequence[SongEncoder], path: Path, listen: Listen | None = None) -> EncodedFile:
    """Encode one file, or the encoders' excerpt of it, in one pass over its audio, which `listen` may pass on."""
    damages: list[AudioDamage] = []
    flat = [single for encoder in encoders for single in encoder.encoders]
    vectors: dict[int, FloatArray] = {}
    lengths: list[float] = []
    for (rate, excerpt), chosen in readers_of(flat).items():
        blocks = stream_audio(
            path, sample_rate=rate, on_damage=damages.append, excerpt=excerpt, on_length=lengths.append
        )
        encoded, _ = encode_samples([flat[i] for i in chosen], listen(blocks, rate) if listen else blocks)
        if not encoded:
            min_ms = 1000 * max(flat[i].features.min_samples for i in chosen) / rate
            raise TooShortAudioError(path, f"is shorter than {min_ms:.0f} ms, too short to analyse.")
        vectors |= dict(zip(chosen, encoded, strict=True))
    rest = iter(vectors[i] for i in range(len(flat)))
    ordered = tuple(np.concatenate([next(rest) for _ in encoder.encoders]) for encoder in encoders)
    return EncodedFile(vectors=ordered, seconds=lengths[-1], damage=str(damages[0]) if damages else None)
