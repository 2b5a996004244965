"""Songs as the tags that people assigned to them, ranked by cosine (paper IV-C4)."""

import numpy as np

from nearsong.baselines import HumanTags
from nearsong.experiment.methods.method import Group, Need, Quantization, SongData, VectorBaseline, unit_rows
from nearsong.model.held_out import Indices
from nearsong.types import FloatArray


def _tag_baseline(name: str, label: str, weighting: str, paper_auc: tuple[float, float]) -> VectorBaseline:
    def vectors(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
        assert data.tags is not None
        tags = data.tags.astype(np.float64)
        return unit_rows(HumanTags(weighting).fit(tags[training]).transform(tags).toarray())

    return VectorBaseline(
        name=name,
        label=label,
        group=Group.TAGS,
        needs=(Need.TAGS,),
        task="tags",
        paper_auc=paper_auc,
        vectors=vectors,
    )


TAGS_COSINE = _tag_baseline("tags_cosine", "Human tags, cosine", "binary", (0.834, 0.005))
TAGS_TFIDF = _tag_baseline("tags_tfidf", "Human tags, TF-IDF", "tfidf", (0.771, 0.004))
