"""Play counts -> artist neighbours -> relevant songs (paper II-A)."""

from nearsong.relevance.jaccard import jaccard_neighbors
from nearsong.relevance.relevant_sets import relevant_songs

__all__ = ["jaccard_neighbors", "relevant_songs"]
