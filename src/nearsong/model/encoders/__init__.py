"""Song encoders: frames -> one vector per song; one file per encoder, all listed in `registry.py`."""

from nearsong.model.encoders.base import EncodedFile, SongEncoder, VectorAccumulator, VectorPart, encode_file
from nearsong.model.encoders.codewords import CodewordEncoder, Quantizer
from nearsong.model.encoders.joined import JoinedEncoder, joined
from nearsong.model.encoders.registry import (
    DEFAULT_ENCODERS,
    ENCODERS,
    OPTIONAL_ENCODERS,
    PART_WORDS,
    check_encoder_names,
    encoder_class,
    load_encoder,
    read_encoder,
)

__all__ = [
    "DEFAULT_ENCODERS",
    "ENCODERS",
    "OPTIONAL_ENCODERS",
    "PART_WORDS",
    "CodewordEncoder",
    "EncodedFile",
    "JoinedEncoder",
    "Quantizer",
    "SongEncoder",
    "VectorAccumulator",
    "VectorPart",
    "check_encoder_names",
    "encode_file",
    "encoder_class",
    "joined",
    "load_encoder",
    "read_encoder",
]
