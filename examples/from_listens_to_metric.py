"""
From listens to a metric
========================

Play counts and song vectors go in, a distance over songs comes out. It also ranks songs that nobody has played.

The data is simulated: 400 listeners, and 60 artists of four scenes with three songs each. Six of the twenty features
carry the scene, the others are noise. The songs of the last ten artists are held out: the metric never sees them.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from nearsong import MetricLearningToRank, jaccard_neighbors, ranking_scores, relevant_songs

N_ARTISTS, N_KNOWN, N_SCENES, N_LISTENERS = 60, 50, 4, 400
random = np.random.default_rng(7)

# %%
# Listeners and songs
# -------------------
# Listeners mostly play artists of their own scene. Songs scatter around a point of their scene.

scene = np.arange(N_ARTISTS) % N_SCENES
taste = random.integers(N_SCENES, size=N_LISTENERS)
likes = random.random((N_LISTENERS, N_ARTISTS)) < np.where(taste[:, None] == scene, 0.35, 0.02)
plays = sp.csr_array(likes * random.integers(5, 200, size=likes.shape))

song_artist = np.repeat(np.arange(N_ARTISTS), 3)
vectors = random.normal(size=(len(song_artist), 20))
vectors[:, :6] += 1.2 * random.normal(size=(N_SCENES, 6))[scene[song_artist]]
known = song_artist < N_KNOWN

# %%
# Who is relevant
# ---------------
# For every artist, the ten known artists that share most listeners (Jaccard). Their songs are what a ranking
# should put first.

neighbours, _ = jaccard_neighbors(plays, k=10, min_plays=10, among=np.arange(N_KNOWN))
relevant, same_artist = relevant_songs(neighbours, song_artist[known])

# %%
# Learn the metric
# ----------------

learner = MetricLearningToRank(C=100.0).fit(vectors[known], relevant, ignored=same_artist)
print(f"learned in {learner.n_rounds_} rounds, at most {learner.gap_:.2%} from the optimum")

# %%
# Songs nobody has played
# -----------------------
# Each song of a held-out artist is a query; the known songs are the database. The AUC is the share of
# (relevant, other) pairs in the right order.

truth, _ = relevant_songs(neighbours, song_artist[~known], song_artist[known])
native = ranking_scores(vectors[~known], vectors[known], truth)
learned = ranking_scores(learner.transform(vectors[~known]), learner.transform(vectors[known]), truth)
print(f"AUC for songs of unseen artists: native {native.auc:.3f}, learned {learned.auc:.3f}")


# %%
# The same songs before and after learning, in their two main directions. Circles are the songs the metric was
# trained on, crosses are songs of unseen artists.


def two_dimensions(points: np.ndarray) -> np.ndarray:
    """Return the first two principal components of points (n x d)."""
    centred = points - points.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T


figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, points, title in [
    (axes[0], vectors, f"Native: AUC {native.auc:.2f}"),
    (axes[1], learner.transform(vectors), f"Learned from listeners: AUC {learned.auc:.2f}"),
]:
    shown = two_dimensions(points)
    colours = scene[song_artist]
    ax.scatter(*shown[known].T, c=colours[known], cmap="tab10", vmax=9, s=22, alpha=0.7)
    ax.scatter(*shown[~known].T, c=colours[~known], cmap="tab10", vmax=9, s=70, marker="x")
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
