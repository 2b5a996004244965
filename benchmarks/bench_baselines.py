"""Baselines on generated frames, each relative to a reference measured in the same run.

gmm_query      one query against a database of mixtures, relative to one matrix product of that size
gmm_fit        one song's mixture, relative to scikit-learn's on the same frames, with both log-likelihoods
smd_transform  one song's semantic multinomial, relative to its matrix product

Products and evaluations use the same number of threads. One JSON line per case.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from time import perf_counter

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from nearsong.baselines import DiagonalMixture, GaussianMixtureSimilarity, SemanticMultinomial, fit_mixture

D, K = 39, 8
ROUNDS = 5
PROFILES = {
    "smoke": {"songs": 200, "samples": 512, "tags": 20, "frames": 2_000, "threads": (1,)},
    "full": {"songs": 2_122, "samples": 2_048, "tags": 149, "frames": 10_000, "threads": (1, 2)},
}


def best_of(*works: Callable[[], object]) -> list[float]:
    """Return the best time of each function, measured in turn so that other load affects all alike."""
    seconds = []
    for _ in range(ROUNDS):
        row = []
        for work in works:
            start = perf_counter()
            work()
            row.append(perf_counter() - start)
        seconds.append(row)
    return np.min(seconds, axis=0).tolist()


def song_mixture(rng: np.random.Generator) -> DiagonalMixture:
    """Make a song's mixture: features of different size, songs that differ, components within a song."""
    size = np.geomspace(30.0, 2.0, D)
    means = size * (rng.normal(0, 0.7, D) + rng.normal(0, 0.5, (K, D)))
    return DiagonalMixture(rng.dirichlet(np.full(K, 4.0)), means, size**2 * rng.uniform(0.1, 1, (K, D)))


def frames(rng: np.random.Generator, n: int) -> npt.NDArray[np.float32]:
    heavy_tails = rng.standard_t(5, (n, D)) * np.geomspace(10.0, 1.0, D)
    return (song_mixture(rng).sample(n, rng)[rng.permutation(n)] + heavy_tails).astype(np.float32)


def product(rng: np.random.Generator, rows: int, columns: int) -> Callable[[], object]:
    """Return the one matrix product that evaluates all components at all frames, its result already in memory."""
    left = rng.standard_normal((rows, 2 * D + 1)).astype(np.float32)
    right = rng.standard_normal((2 * D + 1, columns)).astype(np.float32)
    out = np.zeros((rows, columns), np.float32)
    return lambda: np.matmul(left, right, out=out)


def gmm_query(size: dict[str, object], threads: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    n_songs, n_samples = size["songs"], size["samples"]
    ranker = GaussianMixtureSimilarity(K, n_samples, threads=threads)
    ranker.fit([song_mixture(rng) for _ in range(n_songs)])
    query, multiply = song_mixture(rng), product(rng, K * n_songs, n_samples)
    ranker.rank(query)  # compiles
    seconds, gemm_seconds = best_of(lambda: ranker.rank(query, k=10), multiply)
    return {
        "case": f"gmm_query_{n_songs}_songs_{threads}_threads",
        "seconds": round(seconds, 4),
        "gemm_seconds": round(gemm_seconds, 4),
        "ratio": round(seconds / gemm_seconds, 2),
    }


def gmm_fit(size: dict[str, object]) -> dict[str, object]:
    song = frames(np.random.default_rng(1), size["frames"])
    fit_mixture(song[:100])  # compiles
    theirs = GaussianMixture(K, covariance_type="diag", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds, peer_seconds = best_of(lambda: fit_mixture(song), lambda: theirs.fit(song))
    return {
        "case": f"gmm_fit_{len(song)}_frames",
        "seconds": round(seconds, 4),
        "scikit_learn_seconds": round(peer_seconds, 4),
        "ratio": round(seconds / peer_seconds, 2),
        "log_likelihood": round(float(fit_mixture(song).log_density(song).mean()), 3),
        "scikit_learn_log_likelihood": round(float(theirs.score(song)), 3),
    }


def smd_transform(size: dict[str, object], threads: int) -> dict[str, object]:
    rng = np.random.default_rng(2)
    n_tags = size["tags"]
    training_songs = [frames(rng, 500) for _ in range(n_tags)]
    tagger = SemanticMultinomial(K, threads=threads).fit_tags(training_songs, np.eye(n_tags))
    song, multiply = frames(rng, size["frames"]), product(rng, K * n_tags, size["frames"])
    tagger.transform([song])  # compiles
    seconds, gemm_seconds = best_of(lambda: tagger.transform([song]), multiply)
    return {
        "case": f"smd_transform_{n_tags}_tags_{threads}_threads",
        "seconds": round(seconds, 4),
        "gemm_seconds": round(gemm_seconds, 4),
        "ratio": round(seconds / gemm_seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    size = PROFILES[parser.parse_args().profile]
    for threads in size["threads"]:
        with threadpool_limits(threads):
            print(json.dumps(gmm_query(size, threads)))
            print(json.dumps(smd_transform(size, threads)))
    with threadpool_limits(1):
        print(json.dumps(gmm_fit(size)))


if __name__ == "__main__":
    main()
