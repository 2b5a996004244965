"""A network of the user, as an ONNX file -> song vectors. The only module that uses onnxruntime (``nearsong[onnx]``).

Several networks can be installed; the latest is used by libraries that do not use one yet. A library stores the
description and the hash of the network, not the network.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.encoding.frames import check_frames
from nearsong.errors import EncoderNotInstalledError, InvalidInputError, install_command
from nearsong.model.encoders.base import SongEncoder, VectorPart
from nearsong.model.encoders.pretrained.installed import encoders_folder, installed_file, make_folder
from nearsong.model.encoders.pretrained.onnx_description import OnnxDescription, read_description
from nearsong.model.encoders.pretrained.onnx_input import OnnxInput
from nearsong.model.encoders.pretrained.patches import SpreadPatches
from nearsong.model.encoders.pretrained.vector_table import MAX_VECTOR_DIMENSIONS
from nearsong.model.encoders.pretrained.vectors import VECTORS_WEIGHT, without_missing
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray

INSTALL_COMMAND = "nearsong encoders install onnx --from FILE.toml"

MAX_MODEL_BYTES = 1_000_000_000
"""Largest ONNX file."""

_LATEST = "onnx.json"  # description, hash and number of dimensions of the network that was installed last


def install_onnx(description_file: str | os.PathLike[str]) -> "OnnxEncoder":
    """Copy a network into the user's folder, after it has encoded a test signal.

    Parameters
    ----------
    description_file : path-like
        The TOML file; the ONNX file it names is beside it.
    """
    description = read_description(description_file)
    model = Path(description_file).parent / description.model
    try:
        if model.stat().st_size > MAX_MODEL_BYTES:
            raise InvalidInputError(f"{model} is larger than {MAX_MODEL_BYTES / 1e9:g} GB; choose a smaller network.")
        content = model.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{model}: cannot be opened ({error.strerror}); check {description_file}.") from error
    digest = hashlib.sha256(content).hexdigest()[:16]
    features = _features_of(description)
    n_dimensions = len(_Network(content, description).run(np.zeros((description.patch, features.n_features))))
    encoder = OnnxEncoder(description, digest, n_dimensions)
    folder = make_folder()
    try:
        for name, data in ((f"{digest}.onnx", content), (_LATEST, json.dumps(encoder.parameters()).encode())):
            with atomic_write(folder / name) as file:
                file.write(data)
    except OSError as error:
        raise EncoderNotInstalledError(f"{folder} cannot be written ({error.strerror}); check its space.") from error
    return encoder


class OnnxEncoder(SongEncoder):
    """Describes a song by a network of yours, an ONNX file.

    Parameters
    ----------
    description : OnnxDescription
        How sound is passed to it.
    digest : str
        Hash of the ONNX file.
    n_dimensions : int
        Length of its output.
    """

    name: ClassVar[str] = "onnx"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 12.0
    licence: ClassVar[str] = "of the network"
    is_optional: ClassVar[bool] = True

    def __init__(self, description: OnnxDescription, digest: str, n_dimensions: int) -> None:
        self.description, self._digest, self._n_dimensions = description, digest, n_dimensions
        self.features = _features_of(description)
        self._folder: Path | None = None

    @classmethod
    def default_features(cls) -> FrameFeatures:
        """Return the input of the installed network."""
        return cls.fit([]).features

    @classmethod
    def check_available(cls) -> None:
        """Raise `EncoderNotInstalledError` if no network or no onnxruntime is installed."""
        cls.fit([]).check_installed()

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Return the encoder of the network that was installed last; nothing is fitted."""
        path = installed_file(_LATEST, cls.name, INSTALL_COMMAND)
        try:
            return cls._from_json(json.loads(path.read_text()))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise EncoderNotInstalledError(f"{path} is damaged. Install it again: {INSTALL_COMMAND}") from error

    @property
    def n_dimensions(self) -> int:
        """Length of a vector."""
        return self._n_dimensions

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """One part, which weighs as much as all that is fitted to a library."""
        return (VectorPart(self.name, self._n_dimensions, VECTORS_WEIGHT),)

    def check_installed(self) -> None:
        """Raise `EncoderNotInstalledError` if songs cannot be analysed on this computer."""
        self._folder = encoders_folder()  # worker processes read from the same folder
        self._network()

    def start(self) -> "_OnnxAccumulator":
        """Return an empty accumulator for one song; the network must be installed."""
        return _OnnxAccumulator(self._network(), self.description, self.features.n_features, self._n_dimensions)

    def check(self, vectors: Any) -> FloatArray:
        """Return vectors (n, n_dimensions) in double precision; rows of NaN mean that the network failed."""
        rows = np.asarray(vectors, np.float64)
        super().check(without_missing(rows))
        return rows

    def _network(self) -> "_Network":
        path = (self._folder or encoders_folder()) / f"{self._digest}.onnx"
        if not path.is_file():
            raise EncoderNotInstalledError(
                f"The network {self.description.name!r} of the encoder onnx is not installed. Run: {INSTALL_COMMAND}"
            )
        return _loaded(str(path), self._digest, json.dumps(self.description.as_json()))

    def labels(self) -> None:
        """Return None: nobody knows what the dimensions mean."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return description, hash and length."""
        facts = {"digest": self._digest, "n_dimensions": self._n_dimensions}
        return {"description": self.description.as_json(), **facts}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the stored encoder; its network is read when the first song is analysed."""
        return cls._from_json(parameters)

    @classmethod
    def _from_json(cls, parameters: Mapping[str, Any]) -> Self:
        description = OnnxDescription.from_json(parameters["description"])
        return cls(description, str(parameters["digest"]), int(parameters["n_dimensions"]))


class _OnnxAccumulator:
    """Patches of one song; the network runs at the end."""

    def __init__(self, network: "_Network", description: OnnxDescription, n_features: int, n_dimensions: int) -> None:
        self._network, self._description, self._n_features = network, description, n_features
        self._n_dimensions = n_dimensions
        self._patches = SpreadPatches(description.patch, description.patches, n_features)

    @property
    def n_frames(self) -> int:
        return self._patches.n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        self._patches.add(check_frames(frames, self._n_features))

    def result(self) -> FloatArray:
        if not self.n_frames:
            raise InvalidInputError("a song without frames has no vector; pass at least one frame.")
        try:
            rows = np.array([self._network.run(patch) for patch in self._patches.result()])
        except InvalidInputError:  # it worked when it was installed; the song is compared by the other encoders
            return np.full(self._n_dimensions, np.nan)
        return np.asarray(rows.mean(axis=0) if self._description.pooling == "mean" else rows.max(axis=0))


class _Network:
    """A session of onnxruntime: one thread, one patch at a time."""

    def __init__(self, content: bytes, description: OnnxDescription) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise EncoderNotInstalledError(
                f"The encoder onnx needs onnxruntime. Run: {install_command('onnx')}"
            ) from error
        self._description = description
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # its messages would not be one line
        try:  # from bytes and not from a path, so that a hostile file cannot have others read
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            raise self._refused(_reason(error)) from error
        inputs, outputs = self._session.get_inputs(), [output.name for output in self._session.get_outputs()]
        if len(inputs) != 1 or inputs[0].type != "tensor(float)":
            raise self._refused(f"it has {len(inputs)} inputs; one of single precision is needed")
        if description.output and description.output not in outputs:
            raise self._refused(f"it has no output {description.output!r} but {', '.join(outputs)}")
        self._input, self._n_axes = inputs[0].name, len(inputs[0].shape)
        self._output = description.output or outputs[0]

    def run(self, patch: npt.ArrayLike) -> FloatArray:
        """Return the output (n_dimensions,) for a patch (n_frames, n_features)."""
        numbers = np.asarray(patch, np.float32)
        mel = self._description.mel
        if mel is None:
            numbers = numbers[:, 0]
        elif mel.axes == "band,time":
            numbers = numbers.T
        shape = (1,) * (self._n_axes - numbers.ndim) + numbers.shape
        try:
            (result,) = self._session.run([self._output], {self._input: np.ascontiguousarray(numbers.reshape(shape))})
        except Exception as error:  # its errors have no common class
            raise self._refused(_reason(error)) from error
        vector = np.asarray(result)
        if (
            vector.dtype.kind != "f"
            or not 0 < vector.size <= MAX_VECTOR_DIMENSIONS
            or vector.size != max(vector.shape)
        ):
            raise self._refused(f"its output {self._output} has shape {vector.shape} and not that of one vector")
        if not np.isfinite(vector).all():
            raise self._refused(f"its output {self._output} is not finite")
        return np.asarray(vector.ravel(), np.float64)

    def _refused(self, reason: str) -> InvalidInputError:
        return InvalidInputError(
            f"{self._description.model}: cannot be used ({reason}); check it and its description."
        )


@lru_cache(maxsize=1)
def _loaded(path: str, digest: str, description: str) -> _Network:
    """Return the network of a file, whose hash must be as it was."""
    content = Path(path).read_bytes()
    if hashlib.sha256(content).hexdigest()[:16] != digest:
        raise EncoderNotInstalledError(f"{path} is damaged. Install it again: {INSTALL_COMMAND}")
    return _Network(content, OnnxDescription.from_json(json.loads(description)))


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def _features_of(description: OnnxDescription) -> OnnxInput:
    return OnnxInput(description.sample_rate, description.as_json()["mel"])
