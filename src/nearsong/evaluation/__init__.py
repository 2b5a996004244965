"""Embeddings or distances + relevant songs -> ranking scores (paper IV)."""

from nearsong.evaluation.artist_splits import ArtistSplit, artist_split
from nearsong.evaluation.scores import (
    RankingScorer,
    RankingScores,
    label_scores,
    ranking_scorer,
    ranking_scores,
    scores_from_distances,
)

__all__ = [
    "ArtistSplit",
    "RankingScorer",
    "RankingScores",
    "artist_split",
    "label_scores",
    "ranking_scorer",
    "ranking_scores",
    "scores_from_distances",
]
