"""A split and a method -> how well it ranks: everything the tables compare (paper IV-C and the controls it lacks)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from nearsong.baselines import HumanTags
from nearsong.encoding import ProductKernelMap, TfIdf
from nearsong.experiment.prepare import Prepared
from nearsong.experiment.results import Row
from nearsong.experiment.settings import Settings
from nearsong.model import selection
from nearsong.model.held_out import Ranking, Score, Split
from nearsong.model.selection import Compressed, FloatArray, Learned, scores_row


def judge(split: Split, score: Score) -> Row:
    """Return validation and test scores of a ranking that needs no choice."""
    return {
        "validation": {"known": scores_row(score(split.validation))},
        "test": {"known": scores_row(score(split.test_known)), "unknown": scores_row(score(split.test_unknown))},
    }


# ---- rankings that learn nothing from relevance


def plain_vectors(prepared: Prepared, split: Split, method: str, codebook: int | None, tau: int | None) -> FloatArray:
    """Return vectors whose Euclidean distances rank as the method does; fitted on training songs only."""
    training = split.training.queries
    if method in ("native", "mlr") and not prepared.has_sound:
        assert prepared.vectors is not None
        scaled: FloatArray = StandardScaler().fit(prepared.vectors[training]).transform(prepared.vectors)
        return scaled
    if method in ("smd", "smd_mlr"):
        return ProductKernelMap().transform(prepared.multinomials())
    if method in ("tags_cosine", "tags_tfidf", "tags_mlr"):
        return _tag_vectors(prepared, training, method)
    assert codebook is not None
    assert tau is not None
    histograms = prepared.histograms(codebook, tau)
    if method in ("native_ppk", "ppk_mlr", "shuffled"):
        return ProductKernelMap().transform(histograms)
    if method == "tfidf":
        return _unit_rows(TfIdf().fit(histograms[training]).transform(histograms))
    return histograms


def _tag_vectors(prepared: Prepared, training: npt.NDArray[np.int64], method: str) -> FloatArray:
    assert prepared.tags is not None
    tags = prepared.tags.astype(np.float64)
    weighting = "tfidf" if method == "tags_tfidf" else "binary"
    return _unit_rows(HumanTags(weighting).fit(tags[training]).transform(tags).toarray())


def _unit_rows(rows: FloatArray) -> FloatArray:
    """Scale rows to length 1, so that Euclidean distance ranks as cosine does; rows of zeros go to a far corner."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    # |q - x|^2 = 2 - 2 cos; an extra coordinate puts the zero vector at distance sqrt(2) from all, as cosine 0 is
    return np.hstack([unit, (lengths == 0).astype(np.float64)])


# ---- metrics


def learn_grid(
    songs: Compressed, teacher: Ranking, validation: Ranking, losses: Sequence[str], settings: Settings
) -> list[Learned]:
    """Fit a metric for every loss and every C of the settings, and score each on validation queries."""
    return selection.learn_grid(
        songs, teacher, validation, losses, settings.Cs, tol=settings.tol, max_rounds=settings.max_rounds
    )


def pick_row(split: Split, songs: Compressed, factor: FloatArray, facts: Row) -> Row:
    """Score the metric that was chosen on the test queries."""
    places = songs.vectors @ factor.T
    return {
        "kind": "pick",
        "split": split.number,
        **facts,
        **judge(split, lambda ranking: ranking.score_vectors(places)),
    }
