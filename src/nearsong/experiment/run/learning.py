"""A split and song vectors -> fitted metrics and their rows of results (paper IV-B)."""

from collections.abc import Sequence

from nearsong.experiment.methods.method import LearnedMethod, Quantization
from nearsong.experiment.run.prepared import Prepared
from nearsong.experiment.run.results import Row
from nearsong.experiment.run.settings import Settings
from nearsong.model import selection
from nearsong.model.held_out import (
    Indices,
    Ranking,
    Score,
    Split,
    mean_tercile_auc,
    mixed_ranking,
    popularity_terciles,
    unseen_validation,
)
from nearsong.model.selection import Learned, PCAVectors, compress, scores_row
from nearsong.types import FloatArray


def score_row(prepared: Prepared, split: Split, score: Score) -> Row:
    """Return the validation and test scores of a ranking.

    ``known`` ranks the songs of training artists, ``unknown`` those of validation artists (each other's when they are
    the queries) and ``mixed`` both; ``tercile_auc`` is the AUC among songs of about the same popularity.
    """
    data, n_relevant = prepared.population, prepared.n_relevant
    validation = {"known": split.validation, "unknown": unseen_validation(data, split, n_relevant)}
    test = {
        "known": split.test_known,
        "unknown": split.test_unknown,
        "mixed": mixed_ranking(data, split, n_relevant),
    }
    return {
        "validation": {name: scores_row(score(ranking)) for name, ranking in validation.items()},
        "test": {name: _with_terciles(prepared, ranking, score) for name, ranking in test.items()},
    }


def _with_terciles(prepared: Prepared, ranking: Ranking, score: Score) -> Row | None:
    row = scores_row(score(ranking))
    if row is None:
        return None
    terciles = popularity_terciles(prepared.population, ranking)
    return {**row, "tercile_auc": mean_tercile_auc(terciles, score)}


def vectors_to_learn_on(
    method: LearnedMethod,
    prepared: Prepared,
    split: Split,
    quantization: Quantization,
    training: Indices | None = None,
) -> PCAVectors:
    """Return the vectors of a method's baseline after PCA, which is fitted on all training songs or some of them."""
    base = method.base_for(prepared)
    vectors = base.vectors(prepared, split.training.queries, quantization)
    rows = split.training.queries if training is None else training
    return compress(vectors, rows, base.explained_variance(prepared))


def learn_grid(
    songs: PCAVectors, training: Ranking, validation: Ranking, losses: Sequence[str], settings: Settings
) -> list[Learned]:
    """Fit a metric for every loss and every C of the settings, and score each on validation queries."""
    return selection.learn_grid(
        songs, training, validation, losses, settings.Cs, tol=settings.tol, max_rounds=settings.max_rounds
    )


def pick_row(prepared: Prepared, split: Split, songs: PCAVectors, factor: FloatArray, configuration: Row) -> Row:
    """Score the chosen metric on the test queries."""
    embeddings = songs.vectors @ factor.T
    return {
        "kind": "pick",
        "split": split.number,
        **configuration,
        **score_row(prepared, split, lambda ranking: ranking.score_vectors(embeddings)),
    }
