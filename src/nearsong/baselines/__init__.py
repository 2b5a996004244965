"""Baselines: rankings of songs by their vectors, by mixtures of their frames, or by their tags (paper IV-C)."""

from nearsong.baselines.gaussian_mixture import GaussianMixtureSimilarity
from nearsong.baselines.human_tags import HumanTags, tag_matrix
from nearsong.baselines.mixture import DiagonalMixture, fit_mixture, fit_mixtures
from nearsong.baselines.ranker import SongRanker
from nearsong.baselines.semantic_tags import SemanticMultinomial
from nearsong.baselines.vectors import CosineSimilarity, EuclideanSimilarity

__all__ = [
    "CosineSimilarity",
    "DiagonalMixture",
    "EuclideanSimilarity",
    "GaussianMixtureSimilarity",
    "HumanTags",
    "SemanticMultinomial",
    "SongRanker",
    "fit_mixture",
    "fit_mixtures",
    "tag_matrix",
]
