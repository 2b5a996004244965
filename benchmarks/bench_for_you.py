"""How good "for you" is on plays of real listeners that were held out, against simpler ways; one JSON line a method.

``unseen``: artists that the model never saw. Listeners with three or more training artists; of each the AUC over the
held-out artists of a split (``--part validation`` to choose, ``test`` to report), as means over splits.
``popularity`` and ``item_knn`` look at who plays those artists, which nobody knows of new music: bounds, not rivals.

``recall``: recall@50 of held-out plays: of artists that others play (``known``), of artists whose plays were all held
out (``cold``, a fifth of them), and of both in one list (``mixed``); against popularity and implicit's item-kNN.

Each line has the mean over listeners with a 95 % interval, and ``above``, the paired difference from the first
method. The data is a folder as `nearsong experiment` reads it; without one, a small synthetic data set.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from held_out_listeners import (
    HeldOut,
    artist_means,
    balanced_space,
    hold_out,
    interval,
    prepared_run,
    split_space,
    vector_phi,
)
from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.dataset.synthetic import make_dataset
from nearsong.experiment.run.protocol import make_split
from nearsong.recommendation import OverlapScores, Taste, blended_scores, taste_scores, typical_squared_distance
from nearsong.types import FloatArray

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"splits": 2, "listeners": 60, "seeds": 1},
    "full": {"splits": 10, "listeners": 1_000, "seeds": 5},
}
N_RECOMMENDED = 50
Mask = npt.NDArray[np.bool_]
Scores = dict[str, FloatArray]


def listener_aucs(scores: FloatArray, played: Mask) -> FloatArray:
    """Return the AUC of each listener, (n_listeners,)."""
    found = np.empty(len(played))
    for row, (own, mask) in enumerate(zip(scores, played, strict=True)):
        liked, others = own[mask][:, None], own[~mask]
        found[row] = (liked > others).mean() + 0.5 * (liked == others).mean()
    return found


def recalls(scores: FloatArray, held: Mask, k: int = N_RECOMMENDED) -> FloatArray:
    """Return recall@k of each listener, (n_listeners,); NaN where nothing is held out."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    hits, n_held = np.take_along_axis(held, first, axis=1).sum(axis=1), held.sum(axis=1)
    return np.where(n_held > 0, hits / np.clip(n_held, 1, k), np.nan)


def mean_cosine(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean cosine of every artist with a listener's, (n_listeners, n_artists)."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray((weights @ unit) @ unit.T)


def by_taste(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the scores that "for you" gives artists, (n_listeners, n_artists)."""
    typical = typical_squared_distance(rows)
    return np.array([taste_scores(rows, Taste(rows[own > 0], own[own > 0]), typical) for own in weights])


def by_taste_of_songs(rows: FloatArray, song_artist: npt.NDArray[np.int64], weights: FloatArray) -> FloatArray:
    """Return the mean score of each artist's songs, as a library scores songs, (n_listeners, n_artists)."""
    n_artists = weights.shape[1]
    typical, n_songs = typical_squared_distance(rows), np.bincount(song_artist, minlength=n_artists)
    of_songs = (weights / n_songs)[:, song_artist]
    scores = [taste_scores(rows, Taste(rows[own > 0], own[own > 0]), typical) for own in of_songs]
    return np.array([np.bincount(song_artist, own, n_artists) / n_songs for own in scores])


# ---- artists that the model never saw


def unseen_scores(data: Any, encoders: tuple[str, ...], number: int, part: str) -> tuple[Scores, Mask, FloatArray]:
    """Return the scores of a split, what each listener plays of its held-out artists, and the listeners."""
    population = data.population
    split = make_split(population, number, data.settings)
    artists = population.song_artist
    training = np.unique(artists[split.training.queries])
    target = np.unique(artists[(split.validation if part == "validation" else split.test_known).queries])
    plays = population.plays.toarray()
    held_out = np.setdiff1d(np.arange(population.n_artists), training)
    known = np.zeros(plays.shape)
    known[:, training] = plays[:, training]
    played = plays[:, target]
    rows = np.flatnonzero((known.sum(axis=1) >= 3) & played.any(axis=1) & ~played.all(axis=1))
    known, played = known[rows], played[rows]
    phi, embedded = split_space(data, encoders, split.training.queries, held_out)
    by_sound, by_space = (artist_means(songs, artists, population.n_artists) for songs in (phi, embedded))
    listening = OverlapScores(population.plays)
    scores = {
        "sound, mean similarity": mean_cosine(by_sound, known),
        "sound, taste of centroids": by_taste(by_sound, known),
        "sound, taste (for you)": by_taste_of_songs(phi, artists, known),
        "listener space, mean similarity": mean_cosine(by_space, known),
        "listener space, taste of centroids": by_taste(by_space, known),
        "listener space, taste (for you)": by_taste_of_songs(embedded, artists, known),
        "popularity (looks)": np.tile(plays.sum(axis=0).astype(float), (len(rows), 1)),
        "item_knn (looks)": np.array([listening.scores(own) for own in known]),
    }
    return {name: values[:, target] for name, values in scores.items()}, played.astype(bool), rows


def unseen(folder: Path, work: Path, encoders: tuple[str, ...], part: str, n_splits: int) -> Iterator[dict[str, Any]]:
    """Measure on artists that the model never saw."""
    data = prepared_run(folder, work, encoders)
    found: dict[str, list[FloatArray]] = {}
    means: dict[str, list[float]] = {}
    who, counts = [], []
    for number in range(n_splits):
        scores, played, rows = unseen_scores(data, encoders, number, part)
        for name, values in scores.items():
            found.setdefault(name, []).append(listener_aucs(values, played))
            means.setdefault(name, []).append(float(found[name][-1].mean()))
        who.append(rows)
        counts.append(len(rows))
    listeners, code = np.unique(np.concatenate(who), return_inverse=True)
    per_listener = {
        name: np.bincount(code, np.concatenate(parts)) / np.bincount(code) for name, parts in found.items()
    }
    first = next(iter(per_listener.values()))
    for name, values in per_listener.items():
        yield {
            "case": f"unseen_{part}",
            "method": name,
            "mean_over_splits": round(float(np.mean(means[name])), 4),
            "over_listeners": interval(values),
            "above": interval(values - first),
            "listeners": len(listeners),
            "listeners_a_split": round(float(np.mean(counts))),
        }


# ---- recall of held-out plays


def implicit_scores(training: sp.csr_array, given: Mask) -> Scores:
    """Return the scores of implicit's recommenders, if it is installed."""
    try:
        from implicit.nearest_neighbours import BM25Recommender, CosineRecommender
    except ImportError:
        return {}
    found: Scores = {}
    for name, model in (("implicit BM25", BM25Recommender(K=100)), ("implicit cosine", CosineRecommender(K=100))):
        model.fit(sp.csr_matrix(training.tocsr()), show_progress=False)
        found[name] = np.asarray((sp.csr_matrix(given.astype(float)) @ model.similarity).todense())
    return found


def recall_scores(data: Dataset, cold: Mask, training: sp.csr_array, held: HeldOut) -> Scores:
    """Return the scores of all methods, each (n_listeners, n_artists)."""
    given = held.given.astype(float)
    phi = vector_phi(data.vectors, ~cold[data.song_artist])
    embedded = balanced_space(phi, data.song_artist, training, cold)
    by_sound, by_space = (artist_means(songs, data.song_artist, len(cold)) for songs in (phi, embedded))
    listening = OverlapScores(training)
    taste = by_taste(by_space, given)
    co = np.array([listening.scores(own) for own in given])
    blended = [blended_scores(*pair, ~cold, ~own) for *pair, own in zip(taste, co, held.given, strict=True)]
    popularity = np.asarray(training.sum(axis=0), dtype=float).ravel()
    return {
        "popularity": np.tile(popularity, (len(given), 1)),
        **implicit_scores(training, held.given),
        "sound, taste": by_taste(by_sound, given),
        "listener space, taste": taste,
        "listeners only": co,
        "for you": np.array(blended),
    }


def recall(folder: Path, n_listeners: int, n_seeds: int, first_seed: int) -> Iterator[dict[str, Any]]:
    """Measure recall of held-out plays."""
    data = Dataset.open(folder)
    plays = sp.csr_array(data.plays > 0).astype(np.float64)
    found: dict[tuple[str, str], list[FloatArray]] = {}
    for seed in range(first_seed, first_seed + n_seeds):
        random = np.random.default_rng([16, seed])
        cold = np.zeros(plays.shape[1], bool)
        cold[random.permutation(len(cold))[: len(cold) // 5]] = True
        training, held = hold_out(plays, cold, n_listeners, random)
        parts = {
            "known": (held.given | cold, held.held_known),
            "cold": (np.broadcast_to(~cold, held.given.shape), held.held_cold),
            "mixed": (held.given, held.held_known | held.held_cold),
        }
        for method, scores in recall_scores(data, cold, training, held).items():
            for part, (left_out, wanted) in parts.items():
                values = recalls(np.where(left_out, -np.inf, scores), wanted)
                found.setdefault((part, method), []).append(values)
    joined = {key: np.concatenate(values) for key, values in found.items()}
    for (part, method), values in joined.items():
        above = interval(values - joined[part, "popularity"])
        listeners = int(np.isfinite(values).sum())
        yield {
            "case": f"recall@{N_RECOMMENDED}_{part}",
            "method": method,
            "recall": interval(values),
            "above": above,
            "listeners": listeners,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--measure", choices=("unseen", "recall", "both"), default="both")
    parser.add_argument("--data", type=Path, help="a data-set folder; by default a synthetic one")
    parser.add_argument("--encoders", nargs="+", default=["vectors"], help="that describe songs for `unseen`")
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    parser.add_argument("--run", type=Path, help="folder for what is computed once of the data set")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, help="repetitions of `recall`; by default those of the profile")
    options = parser.parse_args()
    sizes = PROFILES[options.profile]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data
        if folder is None:
            folder = Path(temporary) / "data"
            make_dataset(folder, n_artists=120, n_users=400, content="vectors", artists_per_user=25.0)
        lines: list[Iterator[dict[str, Any]]] = []
        if options.measure in ("unseen", "both"):
            work = options.run or Path(temporary) / "run"
            lines.append(unseen(folder, work, tuple(options.encoders), options.part, sizes["splits"]))
        if options.measure in ("recall", "both"):
            lines.append(recall(folder, sizes["listeners"], options.seeds or sizes["seeds"], options.first_seed))
        for line in (one for part in lines for one in part):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
