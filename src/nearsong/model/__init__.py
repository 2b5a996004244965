"""The chain, the only place where stages meet: sound -> histogram -> place; learned, kept in a file, used."""

from nearsong.model.ear import Ear, EncodedFile
from nearsong.model.encoder import Encoder
from nearsong.model.pipeline import SimilarityModel
from nearsong.model.views import View, learn_view

__all__ = ["Ear", "EncodedFile", "Encoder", "SimilarityModel", "View", "learn_view"]
