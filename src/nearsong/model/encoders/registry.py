"""The registry of song encoders; all of them can be scanned, stored, trained on and explained."""

import os
from collections.abc import Mapping
from typing import Any

from nearsong.audio import Chroma, DeltaMFCC, FrameFeatures, MelLevels
from nearsong.errors import EncoderNotInstalledError
from nearsong.model.encoders.base import SongEncoder
from nearsong.model.encoders.chroma import ChromaEncoder
from nearsong.model.encoders.codewords import CodewordEncoder
from nearsong.model.encoders.fisher import FisherEncoder
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.model.encoders.joined_encoder import JoinedEncoder, arrays_of_member
from nearsong.model.encoders.pretrained.musicnn import MusicnnEncoder
from nearsong.model.encoders.pretrained.musicnn_mel import MusicnnMel
from nearsong.model.encoders.pretrained.onnx import OnnxEncoder
from nearsong.model.encoders.pretrained.onnx_input import OnnxInput
from nearsong.model.encoders.pretrained.vectors import NoFrames, VectorsEncoder
from nearsong.model.encoders.spectral_pattern import SpectralPatternEncoder
from nearsong.model.encoders.texture import TextureEncoder
from nearsong.model.file_format import Arrays, load_bytes, load_file

ENCODERS: dict[str, type[SongEncoder]] = {
    encoder.name: encoder
    for encoder in (
        CodewordEncoder,
        GaussianEncoder,
        FisherEncoder,
        TextureEncoder,
        ChromaEncoder,
        SpectralPatternEncoder,
    )
}  # fmt: skip

OPTIONAL_ENCODERS: dict[str, type[SongEncoder]] = {
    encoder.name: encoder
    for encoder in (
        MusicnnEncoder,
        OnnxEncoder,
        VectorsEncoder,
    )
}  # fmt: skip
"""Encoders that need something to be installed first: `nearsong encoders`."""

FEATURES: dict[str, type[FrameFeatures]] = {
    features.name: features
    for features in (
        DeltaMFCC,
        Chroma,
        MelLevels,
        MusicnnMel,
        OnnxInput,
        NoFrames,
    )
}  # fmt: skip
"""The features that encoders read."""

DEFAULT_ENCODERS = tuple(name for name, encoder in ENCODERS.items() if encoder.is_default)
"""The encoders of a new library, unless others are chosen: what sound alone pays for with hardly any time."""

MAX_SHOWN_CHARACTERS = 40
"""How much of a word in a model file an error quotes: a forged one may be of any length."""

PART_WORDS: dict[str, str] = {
    part: words
    for encoder in (*ENCODERS.values(), *OPTIONAL_ENCODERS.values())
    for part, words in encoder.part_words.items()
}
"""Part of a song vector -> what users read."""


def encoder_class(name: str) -> type[SongEncoder]:
    """Return the class of a registered encoder, optional or not."""
    return ENCODERS[name] if name in ENCODERS else OPTIONAL_ENCODERS[name]


def build_encoder(header: Mapping[str, Any], arrays: Arrays) -> SongEncoder:
    """Return the encoder that a file's header and arrays describe."""
    facts = header["encoder"]
    if facts["name"] == JoinedEncoder.name and facts["version"] == JoinedEncoder.version:
        members = facts["parameters"]["encoders"]
        return JoinedEncoder([_build(member, arrays_of_member(arrays, i)) for i, member in enumerate(members)])
    return _build(facts, arrays)


def _build(facts: Mapping[str, Any], arrays: Arrays) -> SongEncoder:
    encoder = {**ENCODERS, **OPTIONAL_ENCODERS}.get(facts["name"])
    features = FEATURES.get(facts["features"]["name"])
    if encoder is None or features is None or encoder.version != facts["version"]:
        raise EncoderNotInstalledError(
            f"The model needs version {_short(facts['version'])} of the encoder {_short(facts['name'])!r}, which "
            "this nearsong does not have. Upgrade nearsong, or train a model with other encoders."
        )
    built = encoder.build(facts["parameters"], arrays, features(**facts["features"]["parameters"]))
    return built.with_excerpt(facts.get("excerpt", 0.0))


def _short(value: Any) -> str:
    """Return what a file says, as text of bounded length."""
    return str(value)[:MAX_SHOWN_CHARACTERS]


def read_encoder(data: bytes) -> SongEncoder:
    """Return the encoder stored in the ``to_bytes`` of an encoder or a model."""
    return load_bytes(data, build_encoder)


def load_encoder(path: str | os.PathLike[str]) -> SongEncoder:
    """Return the encoder of a model file."""
    return load_file(path, build_encoder)
