"""Rankings and who is relevant -> scores (paper IV)."""

from nearsong.evaluation.scores import (
    RankingScorer,
    RankingScores,
    label_scores,
    ranking_scorer,
    ranking_scores,
    scores_from_distances,
)

__all__ = [
    "RankingScorer",
    "RankingScores",
    "label_scores",
    "ranking_scorer",
    "ranking_scores",
    "scores_from_distances",
]
