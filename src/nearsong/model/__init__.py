"""The chain of all stages: audio -> song vector -> embedding; learned, stored and used."""

from nearsong.model.encoders import CodewordEncoder, EncodedFile, Quantizer, SongEncoder
from nearsong.model.fused_projector import FusedProjector, SoundSpace
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space import BlockSlice, ListenerSpace
from nearsong.model.pipeline import SimilarityModel
from nearsong.model.projection import Projection, learn_projection
from nearsong.model.projector import MetricProjector, Projector

__all__ = [
    "BlockSlice",
    "CodewordEncoder",
    "EncodedFile",
    "FusedProjector",
    "Fusion",
    "ListenerSpace",
    "MetricProjector",
    "Projection",
    "Projector",
    "Quantizer",
    "SimilarityModel",
    "SongEncoder",
    "SoundSpace",
    "learn_projection",
]
