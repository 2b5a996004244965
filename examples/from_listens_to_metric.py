"""From a play-count matrix and song vectors to a metric, and what it does for a song nobody has played.

Simulated: 400 listeners, 60 artists of four scenes, three songs each. Six of twenty features carry the scene, the
others are noise. The songs of the last ten artists are held out: the metric never sees them.
"""

import numpy as np
import scipy.sparse as sp

from nearsong import MetricLearningToRank, jaccard_neighbors, ranking_scores, relevant_songs

random = np.random.default_rng(7)
N_ARTISTS, N_KNOWN, SCENES = 60, 50, 4


def simulate() -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    scene = np.arange(N_ARTISTS) % SCENES
    taste = random.integers(SCENES, size=400)
    likes = random.random((400, N_ARTISTS)) < np.where(taste[:, None] == scene, 0.35, 0.02)
    plays = sp.csr_array(likes * random.integers(5, 200, size=likes.shape))
    song_artist = np.repeat(np.arange(N_ARTISTS), 3)
    vectors = random.normal(size=(len(song_artist), 20))
    vectors[:, :6] += 1.2 * random.normal(size=(SCENES, 6))[scene[song_artist]]
    return plays, song_artist, vectors


def main() -> None:
    plays, song_artist, vectors = simulate()
    known_artists = np.arange(N_KNOWN)
    # Who is relevant: for every artist the ten known ones that share most listeners.
    neighbours, _ = jaccard_neighbors(plays, k=10, min_plays=10, among=known_artists)
    known = song_artist < N_KNOWN
    relevant, same_artist = relevant_songs(neighbours, song_artist[known])
    learner = MetricLearningToRank(C=100.0).fit(vectors[known], relevant, ignored=same_artist)
    print(f"learned in {learner.n_rounds_} rounds, at most {learner.gap_:.2%} from the optimum")

    # A new artist's song is a query; the songs we know are the database.
    truth, _ = relevant_songs(neighbours, song_artist[~known], song_artist[known])
    native = ranking_scores(vectors[~known], vectors[known], truth)
    learned = ranking_scores(learner.transform(vectors[~known]), learner.transform(vectors[known]), truth)
    print(f"AUC for songs of unheard artists: native {native.auc:.3f}, learned {learned.auc:.3f}")


if __name__ == "__main__":
    main()
