"""nearsong learns musical similarity from listening histories and predicts it from audio.

Public names are imported on first use, so that ``nearsong --help`` starts without loading numba.

>>> import nearsong
>>> [name for name in nearsong.__all__ if name.startswith("M")]
['MetricLearningToRank']
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearsong.audio import DeltaMFCC, load_audio
    from nearsong.baselines import GaussianMixtureSimilarity, SemanticMultinomial
    from nearsong.encoding import Codebook, ProductKernelMap, TopTauHistogram
    from nearsong.evaluation import ranking_scorer, ranking_scores
    from nearsong.library import Library
    from nearsong.metric import MetricLearningToRank
    from nearsong.model import ListenerSpace, SimilarityModel
    from nearsong.relevance import jaccard_neighbors, relevant_songs

__version__ = "0.1.0.dev0"

__all__ = [
    "Codebook",
    "DeltaMFCC",
    "GaussianMixtureSimilarity",
    "Library",
    "ListenerSpace",
    "MetricLearningToRank",
    "ProductKernelMap",
    "SemanticMultinomial",
    "SimilarityModel",
    "TopTauHistogram",
    "jaccard_neighbors",
    "load_audio",
    "ranking_scorer",
    "ranking_scores",
    "relevant_songs",
]

_HOMES = {
    "Codebook": "nearsong.encoding",
    "DeltaMFCC": "nearsong.audio",
    "GaussianMixtureSimilarity": "nearsong.baselines",
    "Library": "nearsong.library",
    "ListenerSpace": "nearsong.model",
    "MetricLearningToRank": "nearsong.metric",
    "ProductKernelMap": "nearsong.encoding",
    "SemanticMultinomial": "nearsong.baselines",
    "SimilarityModel": "nearsong.model",
    "TopTauHistogram": "nearsong.encoding",
    "jaccard_neighbors": "nearsong.relevance",
    "load_audio": "nearsong.audio",
    "ranking_scorer": "nearsong.evaluation",
    "ranking_scores": "nearsong.evaluation",
    "relevant_songs": "nearsong.relevance",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nearsong' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
