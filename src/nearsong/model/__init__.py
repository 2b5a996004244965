"""The chain, the only place where stages meet: sound -> histogram -> place; learned, kept in a file, used."""

from nearsong.model.encoder import Encoder
from nearsong.model.pipeline import EncodedFile, SimilarityModel
from nearsong.model.views import View, learn_view

__all__ = ["EncodedFile", "Encoder", "SimilarityModel", "View", "learn_view"]
