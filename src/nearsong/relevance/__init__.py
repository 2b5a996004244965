"""LISTENERS -> WHO IS RELEVANT: play counts become neighbour lists, and those relevant songs."""

from nearsong.relevance.jaccard import jaccard_neighbors
from nearsong.relevance.relevant_sets import relevant_songs

__all__ = ["jaccard_neighbors", "relevant_songs"]
