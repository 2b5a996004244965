"""The chain of all stages: audio -> song vector -> embedding; learned, stored and used."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.model.encoders import CodewordEncoder as CodewordEncoder
    from nearsong.model.encoders import EncodedFile as EncodedFile
    from nearsong.model.encoders import Quantizer as Quantizer
    from nearsong.model.encoders import SongEncoder as SongEncoder
    from nearsong.model.fused_projector import FusedProjector as FusedProjector
    from nearsong.model.fused_projector import SoundSpace as SoundSpace
    from nearsong.model.fusion import Fusion as Fusion
    from nearsong.model.listener_space import BlockSlice as BlockSlice
    from nearsong.model.listener_space import ListenerSpace as ListenerSpace
    from nearsong.model.pipeline import SimilarityModel as SimilarityModel
    from nearsong.model.projection import Projection as Projection
    from nearsong.model.projection import learn_projection as learn_projection
    from nearsong.model.projector import MetricProjector as MetricProjector
    from nearsong.model.projector import Projector as Projector

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "encoders": ["CodewordEncoder", "EncodedFile", "Quantizer", "SongEncoder"],
        "fused_projector": ["FusedProjector", "SoundSpace"],
        "fusion": ["Fusion"],
        "listener_space": ["BlockSlice", "ListenerSpace"],
        "pipeline": ["SimilarityModel"],
        "projection": ["Projection", "learn_projection"],
        "projector": ["MetricProjector", "Projector"],
    },
)
