"""Play counts -> artist neighbours -> relevant songs (paper II-A)."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.relevance.blockwise import jaccard_neighbors_blockwise as jaccard_neighbors_blockwise
    from nearsong.relevance.jaccard import jaccard_neighbors as jaccard_neighbors
    from nearsong.relevance.plays_folder import PlaysFolder as PlaysFolder
    from nearsong.relevance.relevant_sets import relevant_songs as relevant_songs

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "blockwise": ["jaccard_neighbors_blockwise"],
        "jaccard": ["jaccard_neighbors"],
        "plays_folder": ["PlaysFolder"],
        "relevant_sets": ["relevant_songs"],
    },
)
