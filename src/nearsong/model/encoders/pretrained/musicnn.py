"""A mel spectrogram -> the embedding of MSD_musicnn, a network that learned tags of songs; the mean over patches.

Its weights are not part of nearsong; ``nearsong encoders install musicnn`` takes them out of the package ``musicnn``.
A library or model stores the last layer only, which turns song vectors into probabilities of tags.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio.features import FrameFeatures, Frames
from nearsong.encoding.frames import check_frames
from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.model.encoders.base import SongEncoder, VectorPart
from nearsong.model.encoders.pretrained.installed import encoders_folder, installed_file
from nearsong.model.encoders.pretrained.musicnn_mel import MusicnnMel
from nearsong.model.encoders.pretrained.musicnn_network import (
    N_BANDS,
    N_TAGS,
    N_UNITS,
    PATCH_FRAMES,
    MusicnnNetwork,
)
from nearsong.model.encoders.pretrained.musicnn_weights import FILE_NAME, TAG_NAMES, load_weights
from nearsong.model.encoders.pretrained.patches import SpreadPatches
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray

INSTALL_COMMAND = "nearsong encoders install musicnn"

N_PATCHES = 3
"""Patches of three seconds that are used of a song."""

MUSICNN_WEIGHT = 6.84
"""Weight in squared distances: 1.5 times the sum of the weights of the parts that are fitted to a library."""

_MAX_LEVEL = 20.0
"""No sound has a higher level: log10 of 10,000 times the power of samples at the largest amplitude."""


class MusicnnEncoder(SongEncoder):
    """Describes a song by what a network hears that learned tags of a million songs.

    The penultimate layer of MSD_musicnn, 200 numbers, averaged over patches that are spread over the song.

    Parameters
    ----------
    weights_key : str
        Hash of the weights.
    tag_kernel : array of shape (200, 50)
        Last layer.
    tag_bias : array of shape (50,)
    """

    name: ClassVar[str] = "musicnn"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 12.0
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType({"musicnn": "character"})
    file_weight: ClassVar[float] = 1.5
    licence: ClassVar[str] = "ISC"

    def __init__(self, weights_key: str, tag_kernel: npt.ArrayLike, tag_bias: npt.ArrayLike) -> None:
        self.features = MusicnnMel()
        self._weights_key = weights_key
        self._folder: Path | None = None
        self._tag_kernel = np.asarray(tag_kernel, np.float32)
        self._tag_bias = np.asarray(tag_bias, np.float32)
        if self._tag_kernel.shape != (N_UNITS, N_TAGS) or self._tag_bias.shape != (N_TAGS,):
            raise InvalidInputError(f"the last layer of musicnn has the shape {self._tag_kernel.shape}")

    @classmethod
    def default_features(cls) -> FrameFeatures:
        """Return the features whose frames it reads."""
        return MusicnnMel()

    @classmethod
    def check_available(cls) -> None:
        """Raise `EncoderNotInstalledError` if its weights are not installed."""
        installed_file(FILE_NAME, cls.name, INSTALL_COMMAND)

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Return the installed encoder; nothing is fitted.

        Raises
        ------
        EncoderNotInstalledError
            If its weights are not installed.
        """
        if features is not None and not isinstance(features, MusicnnMel):
            raise InvalidInputError(f"musicnn reads its own mel spectrogram, not the features {features.name!r}.")
        weights_key, weights = load_weights(installed_file(FILE_NAME, cls.name, INSTALL_COMMAND))
        return cls(weights_key, weights["dense_1/kernel"], weights["dense_1/bias"])

    @property
    def n_dimensions(self) -> int:
        """Length of a vector."""
        return N_UNITS

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """One part, with more weight than all that is fitted to a library."""
        return (VectorPart(self.name, N_UNITS, MUSICNN_WEIGHT),)

    def check_installed(self) -> None:
        """Raise `EncoderNotInstalledError` if songs cannot be analysed on this computer."""
        self._folder = encoders_folder()  # worker processes read from the same folder
        self._network()

    def start(self) -> "_MusicnnAccumulator":
        """Return an empty accumulator for one song; the weights must be installed."""
        return _MusicnnAccumulator(self._network())

    def _network(self) -> MusicnnNetwork:
        path = installed_file(FILE_NAME, self.name, INSTALL_COMMAND, self._folder)
        weights_key, network = _loaded_network(str(path), path.stat().st_mtime_ns)
        if weights_key != self._weights_key:
            raise EncoderNotInstalledError(
                f"The library was analysed with other weights of musicnn than those installed. Run: {INSTALL_COMMAND}"
            )
        return network

    def labels(self) -> Sequence[str]:
        """Return, for each dimension, the tag that it speaks for most."""
        return [TAG_NAMES[i] for i in self._tag_kernel.argmax(axis=1)]

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The 50 tags that :meth:`tags` has probabilities of."""
        return TAG_NAMES

    def tags(self, vectors: npt.ArrayLike) -> FloatArray:
        """Return the probabilities (n_songs, 50) of tags for song vectors (n_songs, 200)."""
        logits = self.check(vectors) @ self._tag_kernel.astype(np.float64) + self._tag_bias
        return np.asarray(0.5 + 0.5 * np.tanh(logits / 2))  # the logistic function, without overflow

    def parameters(self) -> dict[str, Any]:
        """Return the hash of the weights and the number of patches."""
        return {"weights": self._weights_key, "patches": N_PATCHES}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the last layer."""
        return {"tag_kernel": self._tag_kernel, "tag_bias": self._tag_bias}

    def key_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return no arrays: the hash of the weights covers them."""
        return {}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the stored encoder; its weights are read when the first song is analysed."""
        if parameters["patches"] != N_PATCHES or not isinstance(features, MusicnnMel):
            raise InvalidInputError("musicnn of another nearsong")
        return cls(str(parameters["weights"]), arrays["tag_kernel"], arrays["tag_bias"])


class _MusicnnAccumulator:
    """Patches of one song; the network runs at the end."""

    def __init__(self, network: MusicnnNetwork) -> None:
        self._network = network
        self._patches = SpreadPatches(PATCH_FRAMES, N_PATCHES, N_BANDS)

    @property
    def n_frames(self) -> int:
        return self._patches.n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        levels = check_frames(frames, N_BANDS)
        self._patches.add(np.clip(levels, 0, _MAX_LEVEL).astype(np.float32))

    def result(self) -> FloatArray:
        if not self.n_frames:
            raise InvalidInputError("a song without frames has no vector; pass at least one frame.")
        return np.asarray(self._network.penultimate(self._patches.result()).mean(axis=0))


@lru_cache(maxsize=1)
def _loaded_network(path: str, modified: int) -> tuple[str, MusicnnNetwork]:
    """Return the hash of a file's weights and their network; read again when the file changes."""
    weights_key, weights = load_weights(path)
    return weights_key, MusicnnNetwork(weights)
