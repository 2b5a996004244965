"""Encoders of the library, or files of vectors -> the song vectors that methods join.

Encoders are fitted to the complete songs of the codebook set, whose artists take no part in the experiment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.audio import FrameFeatures
from nearsong.experiment.methods.method import Arrays, LearnedFeature, SongData, standardised
from nearsong.model.encoders import (
    ENCODERS,
    OPTIONAL_ENCODERS,
    SongEncoder,
    VectorPart,
    encoder_class,
    read_encoder,
)
from nearsong.model.held_out import Indices
from nearsong.types import FloatArray

DATASET_VECTORS = "vectors"
"""Name of the vectors of a data set without sound; their columns are scaled by the training songs."""


@dataclass(frozen=True, eq=False)
class EncodedSongs:
    """The vectors of all songs under one encoder.

    Attributes
    ----------
    vectors : array of shape (n_songs, n_dimensions)
        One row per song of the experiment set.
    parts : tuple of VectorPart
        The pieces of a vector that are weighted apart.
    has_ratio : bool
        Whether their weight is a ratio to the sum of the weights of others.
    """

    vectors: FloatArray
    parts: tuple[VectorPart, ...]
    has_ratio: bool = False


def encoded_songs(data: SongData, name: str, training: Indices) -> EncodedSongs:
    """Return the song vectors of an encoder or of a file; what is fitted to songs here uses training songs only."""
    given = data.given_vectors(name)
    if given is None:
        feature = EncoderFeature(name)
        encoder = feature.fitted(data)
        return EncodedSongs(encoder.phi(data.stored(feature.name)["vectors"]), encoder.parts)
    vectors, of_codebook_set = given
    encoder_type = {**ENCODERS, **OPTIONAL_ENCODERS}.get(name, SongEncoder)
    if name == DATASET_VECTORS or (encoder_type.file_is_unscaled and len(of_codebook_set) < 2):
        vectors = standardised(vectors, vectors[training])
    elif encoder_type.file_is_unscaled:  # as the encoder itself ends: by songs whose artists take no part
        vectors = standardised(vectors, of_codebook_set)
    part = VectorPart(name, vectors.shape[1], encoder_type.file_weight)
    return EncodedSongs(vectors, (part,), has_ratio=name not in ENCODERS)


@dataclass(frozen=True)
class EncoderFeature(LearnedFeature):
    """The vectors of an encoder (songs x dimensions).

    Attributes
    ----------
    encoder_name : str
        One of the registry of encoders.
    """

    encoder_name: str

    @property
    def name(self) -> str:  # type: ignore[override]  # a plain attribute of other features
        """Key of its arrays in the run's cache."""
        return f"encoder-{self.encoder_name}"

    @property
    def learning_stage(self) -> str:  # type: ignore[override]
        """Label of the progress bar."""
        return f"encoder ({self.encoder_name})"

    @property
    def frame_features(self) -> FrameFeatures:
        """The kind of frames that the encoder reads."""
        return encoder_class(self.encoder_name).default_features()

    def learn(self, data: SongData) -> Arrays:
        """Fit the encoder to the songs of the codebook set."""
        encoder = encoder_class(self.encoder_name)
        songs = CodebookFrames(data, self.frame_features) if encoder.needs_sample else []
        fitted = encoder.fit(songs, features=self.frame_features, seed=data.seed)
        return {"encoder": np.frombuffer(fitted.to_bytes(), dtype=np.uint8)}

    def fitted(self, data: SongData) -> SongEncoder:
        """Return the fitted encoder."""
        return read_encoder(data.learned(self.name)["encoder"].tobytes())

    def encoder(self, data: SongData) -> Callable[[npt.NDArray[Any]], Any]:
        """Return the function from frames to a vector."""
        return self.fitted(data).encode

    def pack(self, values: Sequence[Any]) -> Arrays:
        """Stack the vectors."""
        return {"vectors": np.array(values)}


class CodebookFrames(Sequence[npt.NDArray[Any]]):
    """The frames of the songs of the codebook set, read when they are asked for."""

    def __init__(self, data: SongData, features: FrameFeatures) -> None:
        self._data, self._features = data, features

    def __len__(self) -> int:
        return self._data.n_codebook_songs

    def __getitem__(self, song: Any) -> Any:
        if isinstance(song, slice):
            return [self[i] for i in range(*song.indices(len(self)))]
        if not -len(self) <= song < len(self):
            raise IndexError(song)
        return self._data.codebook_frames(int(song) % len(self), self._features)
