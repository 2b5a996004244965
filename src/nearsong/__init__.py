"""nearsong learns musical similarity from listening histories and predicts it from audio.

Public names are imported on first use, so that ``nearsong --help`` starts without loading numba.

>>> import nearsong
>>> [name for name in nearsong.__all__ if name.startswith("M")]
['MetricLearningToRank']
"""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.audio import DeltaMFCC as DeltaMFCC
    from nearsong.audio import load_audio as load_audio
    from nearsong.baselines import GaussianMixtureSimilarity as GaussianMixtureSimilarity
    from nearsong.baselines import SemanticMultinomial as SemanticMultinomial
    from nearsong.encoding import Codebook as Codebook
    from nearsong.encoding import ProductKernelMap as ProductKernelMap
    from nearsong.encoding import TopTauHistogram as TopTauHistogram
    from nearsong.evaluation import ranking_scorer as ranking_scorer
    from nearsong.evaluation import ranking_scores as ranking_scores
    from nearsong.library import Library as Library
    from nearsong.metric import MetricLearningToRank as MetricLearningToRank
    from nearsong.model import ListenerSpace as ListenerSpace
    from nearsong.model import SimilarityModel as SimilarityModel
    from nearsong.relevance import jaccard_neighbors as jaccard_neighbors
    from nearsong.relevance import relevant_songs as relevant_songs

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "audio": ["DeltaMFCC", "load_audio"],
        "baselines": ["GaussianMixtureSimilarity", "SemanticMultinomial"],
        "encoding": ["Codebook", "ProductKernelMap", "TopTauHistogram"],
        "evaluation": ["ranking_scorer", "ranking_scores"],
        "library": ["Library"],
        "metric": ["MetricLearningToRank"],
        "model": ["ListenerSpace", "SimilarityModel"],
        "relevance": ["jaccard_neighbors", "relevant_songs"],
    },
)
