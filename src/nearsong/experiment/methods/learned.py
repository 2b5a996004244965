"""Metrics learned from listeners on the vectors of a baseline, and the control with shuffled relevance."""

from typing import Any

from nearsong.experiment.methods.auto_tags import SMD
from nearsong.experiment.methods.fused import ALL_ENCODERS, GAUSSIAN_FISHER
from nearsong.experiment.methods.histograms import NATIVE, NATIVE_PPK
from nearsong.experiment.methods.human_tags import TAGS_COSINE
from nearsong.experiment.methods.method import Group, LearnedMethod, VectorBaseline


def _learned_on(base: VectorBaseline, name: str, label: str, **fields: Any) -> LearnedMethod:
    """Return the method that learns on the vectors of a baseline, with the baseline's needs."""
    inherited: dict[str, Any] = {
        "group": base.group,
        "needs": base.needs,
        "features": base.features,
        "uses_codebook": base.uses_codebook,
        "encoders": base.encoders,
        "uses_all_encoders": base.uses_all_encoders,
        "priority": 0 if base.uses_codebook else 2,
        "compared_with": (base.name,),
    }
    return LearnedMethod(name=name, label=label, base=base, **(inherited | fields))


MLR = _learned_on(
    NATIVE,
    "mlr",
    "MLR",
    grid_panel=True,
    lead=4,
    on_vectors=_learned_on(NATIVE, "vectors_mlr", "Vectors + MLR", compared_with=("native_vectors",), lead=2),
)
PPK_MLR = _learned_on(
    NATIVE_PPK,
    "ppk_mlr",
    "PPK + MLR",
    grid_panel=True,
    paper_auc=(0.808, 0.005),
    compared_with=("native", "native_ppk"),
    lead=1,
)
SMD_MLR = _learned_on(SMD, "smd_mlr", "Auto-tags + MLR", lead=5)
TAGS_MLR = _learned_on(
    TAGS_COSINE,
    "tags_mlr",
    "Human tags + MLR",
    paper_auc=(0.907, 0.008),
    compared_with=("tags_cosine", "tags_tfidf"),
    lead=6,
)
GAUSSIAN_FISHER_MLR = _learned_on(
    GAUSSIAN_FISHER,
    "gaussian_fisher_mlr",
    "Gaussian and Fisher vectors + MLR",
    short_label="Gaussian + Fisher + MLR",
)
ALL_ENCODERS_MLR = _learned_on(ALL_ENCODERS, "all_encoders_mlr", "All encoders + MLR", task="all_encoders_mlr")
SHUFFLED = LearnedMethod(
    name="shuffled",
    label="MLR on shuffled relevance",
    group=Group.SOUND,
    priority=1,
    base=NATIVE_PPK,
    base_on_vectors=NATIVE,
    shuffled=True,
)
AVERAGED = LearnedMethod(
    name="averaged",
    label="MLR averaged over C",
    group=Group.SOUND,
    base=NATIVE_PPK,
    compared_with=("native", "native_ppk"),
    lead=3,
)
"""Not a task of its own: an additional row of the method that the learning curve is drawn for."""
