"""Song encoders: frames -> one vector per song; one file per encoder, all listed in `registry.py`."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.model.encoders.base import EncodedFile as EncodedFile
    from nearsong.model.encoders.base import SongEncoder as SongEncoder
    from nearsong.model.encoders.base import VectorAccumulator as VectorAccumulator
    from nearsong.model.encoders.base import VectorPart as VectorPart
    from nearsong.model.encoders.base import encode_file as encode_file
    from nearsong.model.encoders.codewords import CodewordEncoder as CodewordEncoder
    from nearsong.model.encoders.codewords import Quantizer as Quantizer
    from nearsong.model.encoders.joined_encoder import JoinedEncoder as JoinedEncoder
    from nearsong.model.encoders.joined_encoder import joined as joined
    from nearsong.model.encoders.names import check_encoder_names as check_encoder_names
    from nearsong.model.encoders.registry import DEFAULT_ENCODERS as DEFAULT_ENCODERS
    from nearsong.model.encoders.registry import ENCODERS as ENCODERS
    from nearsong.model.encoders.registry import OPTIONAL_ENCODERS as OPTIONAL_ENCODERS
    from nearsong.model.encoders.registry import PART_WORDS as PART_WORDS
    from nearsong.model.encoders.registry import encoder_class as encoder_class
    from nearsong.model.encoders.registry import load_encoder as load_encoder
    from nearsong.model.encoders.registry import read_encoder as read_encoder

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["EncodedFile", "SongEncoder", "VectorAccumulator", "VectorPart", "encode_file"],
        "codewords": ["CodewordEncoder", "Quantizer"],
        "joined_encoder": ["JoinedEncoder", "joined"],
        "names": ["check_encoder_names"],
        "registry": [
            "DEFAULT_ENCODERS",
            "ENCODERS",
            "OPTIONAL_ENCODERS",
            "PART_WORDS",
            "encoder_class",
            "load_encoder",
            "read_encoder",
        ],
    },
)
