"""Embeddings or distances + relevant songs -> ranking scores (paper IV)."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.evaluation.artist_splits import ArtistSplit as ArtistSplit
    from nearsong.evaluation.artist_splits import artist_split as artist_split
    from nearsong.evaluation.scores import RankingScorer as RankingScorer
    from nearsong.evaluation.scores import RankingScores as RankingScores
    from nearsong.evaluation.scores import label_scores as label_scores
    from nearsong.evaluation.scores import ranking_scorer as ranking_scorer
    from nearsong.evaluation.scores import ranking_scores as ranking_scores
    from nearsong.evaluation.scores import scores_from_distances as scores_from_distances

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "artist_splits": ["ArtistSplit", "artist_split"],
        "scores": [
            "RankingScorer",
            "RankingScores",
            "label_scores",
            "ranking_scorer",
            "ranking_scores",
            "scores_from_distances",
        ],
    },
)
