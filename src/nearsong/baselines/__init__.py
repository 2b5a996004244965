"""Baselines: rankings of songs by their vectors, by mixtures of their frames, or by their tags (paper IV-C)."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.baselines.gaussian_mixture import GaussianMixtureSimilarity as GaussianMixtureSimilarity
    from nearsong.baselines.human_tags import HumanTags as HumanTags
    from nearsong.baselines.human_tags import tag_matrix as tag_matrix
    from nearsong.baselines.mixture import DiagonalMixture as DiagonalMixture
    from nearsong.baselines.mixture import fit_mixture as fit_mixture
    from nearsong.baselines.mixture import fit_mixtures as fit_mixtures
    from nearsong.baselines.ranker import SongRanker as SongRanker
    from nearsong.baselines.semantic_tags import SemanticMultinomial as SemanticMultinomial
    from nearsong.baselines.vectors import CosineSimilarity as CosineSimilarity
    from nearsong.baselines.vectors import EuclideanSimilarity as EuclideanSimilarity

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "gaussian_mixture": ["GaussianMixtureSimilarity"],
        "human_tags": ["HumanTags", "tag_matrix"],
        "mixture": ["DiagonalMixture", "fit_mixture", "fit_mixtures"],
        "ranker": ["SongRanker"],
        "semantic_tags": ["SemanticMultinomial"],
        "vectors": ["CosineSimilarity", "EuclideanSimilarity"],
    },
)
