"""nearsong learns what listeners find similar and hears it in sound.

The public names are imported when first used, so that ``nearsong --help`` does not wait for a compiler.

>>> import nearsong
>>> sorted(nearsong.__all__)
['MetricLearningToRank', 'jaccard_neighbors', 'ranking_scorer', 'ranking_scores', 'relevant_songs']
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearsong.evaluation import ranking_scorer, ranking_scores
    from nearsong.metric import MetricLearningToRank
    from nearsong.relevance import jaccard_neighbors, relevant_songs

__version__ = "0.1.0.dev0"

__all__ = [
    "MetricLearningToRank",
    "jaccard_neighbors",
    "ranking_scorer",
    "ranking_scores",
    "relevant_songs",
]

_HOMES = {
    "MetricLearningToRank": "nearsong.metric",
    "jaccard_neighbors": "nearsong.relevance",
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
