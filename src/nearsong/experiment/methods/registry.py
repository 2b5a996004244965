"""The table of all methods: to add a baseline, write its file and add a line here."""

from nearsong.baselines import GaussianMixtureSimilarity
from nearsong.baselines.single_gaussian import SingleGaussianSimilarity
from nearsong.experiment.methods.auto_tags import SMD
from nearsong.experiment.methods.controls import CEILING, POPULARITY, RANDOM
from nearsong.experiment.methods.frame_rankers import frame_baseline
from nearsong.experiment.methods.fused import ALL_ENCODERS, GAUSSIAN_FISHER
from nearsong.experiment.methods.histograms import NATIVE, NATIVE_PPK, TFIDF
from nearsong.experiment.methods.human_tags import TAGS_COSINE, TAGS_TFIDF
from nearsong.experiment.methods.learned import (
    ALL_ENCODERS_MLR,
    AVERAGED,
    GAUSSIAN_FISHER_MLR,
    MLR,
    PPK_MLR,
    SHUFFLED,
    SMD_MLR,
    TAGS_MLR,
)
from nearsong.experiment.methods.listener_space import COMBINED, HYBRID, LISTENER_SPACE
from nearsong.experiment.methods.method import Baseline, LearnedMethod, ListenerMethod, Method, SongData

BASELINES: tuple[Baseline, ...] = (
    RANDOM,
    POPULARITY,
    CEILING,
    NATIVE,
    NATIVE_PPK,
    TFIDF,
    frame_baseline("gmm", "Gaussian mixtures", lambda seed: GaussianMixtureSimilarity(random_state=seed, threads=1)),
    frame_baseline("gaussian", "Single Gaussians", lambda seed: SingleGaussianSimilarity()),
    SMD,
    GAUSSIAN_FISHER,
    ALL_ENCODERS,
    TAGS_COSINE,
    TAGS_TFIDF,
)
LEARNED: tuple[ListenerMethod, ...] = (
    MLR,
    PPK_MLR,
    SMD_MLR,
    TAGS_MLR,
    SHUFFLED,
    GAUSSIAN_FISHER_MLR,
    ALL_ENCODERS_MLR,
    LISTENER_SPACE,
    HYBRID,
    COMBINED,
)

METHODS: dict[str, Method] = {method.name: method for method in (*BASELINES, *LEARNED)}
"""Methods that the settings may name."""

DEFAULT_METHODS = tuple(name for name, method in METHODS.items() if method.is_default)

REPORTED: dict[str, Method] = METHODS | {
    method.name: method
    for method in (AVERAGED, *(method.on_vectors for method in METHODS.values()))
    if method is not None
}
"""Methods that ``results.jsonl`` may name."""

LEADING = sorted(
    (method for method in REPORTED.values() if isinstance(method, ListenerMethod) and method.lead is not None),
    key=lambda method: method.lead or 0,
)
"""Learned methods in the order in which the report prefers them."""


def main_method(data: SongData) -> LearnedMethod:
    """Return the learned method of the learning curve, the averaged metric and the example playlists."""
    return PPK_MLR if data.has_sound else MLR


def methods_named(names: tuple[str, ...]) -> list[Method]:
    """Return the methods of these names, in the order of the table."""
    return [method for name, method in METHODS.items() if name in names]


def comparable(name: str, present: set[str]) -> str | None:
    """Return the method, among those present in a run, that is this one without learning."""
    method = REPORTED.get(name)
    candidates = method.compared_with if isinstance(method, ListenerMethod) else ()
    return next((candidate for candidate in candidates if candidate in present), None)
