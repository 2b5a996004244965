"""What a listener did with songs -> which songs are for them: weights, scores and rankings, arrays in and out."""

from nearsong.recommendation.blending import blended_scores as blended_scores
from nearsong.recommendation.overlap_scores import OverlapScores as OverlapScores
from nearsong.recommendation.ranking import best_rows as best_rows
from nearsong.recommendation.scores import BANDWIDTH as BANDWIDTH
from nearsong.recommendation.scores import Taste as Taste
from nearsong.recommendation.scores import nearest_liked as nearest_liked
from nearsong.recommendation.scores import pulls as pulls
from nearsong.recommendation.scores import strongest_rows as strongest_rows
from nearsong.recommendation.scores import taste_scores as taste_scores
from nearsong.recommendation.scores import typical_squared_distance as typical_squared_distance
from nearsong.recommendation.scores import without_disliked as without_disliked
from nearsong.recommendation.weights import Worth as Worth
from nearsong.recommendation.weights import item_weights as item_weights
from nearsong.recommendation.weights import recency as recency

__all__ = [
    "BANDWIDTH",
    "OverlapScores",
    "Taste",
    "Worth",
    "best_rows",
    "blended_scores",
    "item_weights",
    "nearest_liked",
    "pulls",
    "recency",
    "strongest_rows",
    "taste_scores",
    "typical_squared_distance",
    "without_disliked",
]
