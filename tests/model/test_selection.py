from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.evaluation import scores_from_distances
from nearsong.metric import MetricLearningToRank
from nearsong.model.held_out import ListeningData, make_split, neighbours_among
from nearsong.model.selection import best_of, ceiling_score, compress, learn_grid, popularity_score, random_score

N_RELEVANT = 3


def make_listening_data(unit: str) -> ListeningData:
    """Forty artists in two camps, and listeners who keep to one."""
    random = np.random.default_rng(4)
    song_artist = np.repeat(np.arange(40), 2)
    of_column = np.arange(40) if unit == "artist" else song_artist
    chance = np.where(np.equal.outer(np.arange(60) % 2, of_column % 2), 0.5, 0.08)
    return ListeningData(song_artist=song_artist, plays=sp.csr_array(random.random(chance.shape) < chance), unit=unit)


@pytest.fixture(params=["artist", "song"])
def listening_data(request) -> ListeningData:
    return make_listening_data(request.param)


def test_popularity_is_how_often_training_units_have_a_unit_among_their_nearest(listening_data):
    split = make_split(listening_data, 0, n_relevant=N_RELEVANT, seed=0)
    score = popularity_score(listening_data, split, N_RELEVANT)
    for ranking in (split.validation, split.test_known, split.test_unknown):
        near = neighbours_among(listening_data, np.unique(listening_data.song_unit[ranking.database]), N_RELEVANT)
        counts = np.zeros(listening_data.plays.shape[1])
        for unit in np.unique(listening_data.song_unit[split.training.queries]):
            for other in near[unit][near[unit] >= 0]:
                counts[other] += 1
        table = np.tile(-counts[listening_data.song_unit[ranking.database]], (len(ranking.queries), 1))
        assert score(ranking).auc == scores_from_distances(table, ranking.relevant, ranking.ignored).auc


def test_the_ceiling_is_the_jaccard_index_of_one_half_judged_by_the_other(listening_data):
    split = make_split(listening_data, 2, n_relevant=N_RELEVANT, seed=0)
    ranking = split.test_known
    listeners = np.random.default_rng([9, 2, 13]).permutation(listening_data.plays.shape[0])
    first, second = np.array_split(listeners, 2)
    plays = listening_data.plays.toarray()[first]
    table = np.zeros(ranking.relevant.shape)
    for i, query in enumerate(ranking.queries):
        for j, song in enumerate(ranking.database):
            a, b = plays[:, listening_data.song_unit[query]], plays[:, listening_data.song_unit[song]]
            table[i, j] = -((a & b).sum() / (a | b).sum()) if (a | b).any() else 0.0
    others = ListeningData(
        song_artist=listening_data.song_artist,
        plays=sp.csr_array(listening_data.plays[second]),
        unit=listening_data.unit,
    )
    judged = make_split(others, 2, n_relevant=N_RELEVANT, seed=0).test_known
    np.testing.assert_array_equal(judged.queries, ranking.queries)
    expected = scores_from_distances(table, judged.relevant, judged.ignored).auc
    found = ceiling_score(listening_data, split, n_relevant=N_RELEVANT, seed=9)(ranking)
    assert found.auc == pytest.approx(expected, abs=1e-12)
    assert found.auc > 0.7


def test_chance_is_the_same_for_the_same_seed_and_near_one_half(listening_data):
    split = make_split(listening_data, 0, n_relevant=N_RELEVANT, seed=0)
    scores = [random_score(split, seed)(split.test_known).auc for seed in range(40)]
    assert random_score(split, 0)(split.test_known).auc == scores[0]
    assert abs(np.mean(scores) - 0.5) < 0.03
    assert len(set(scores)) > 30


def vectors_of(listening_data: ListeningData) -> np.ndarray:
    """A dimension that tells the camps apart, and five louder ones that tell nothing."""
    random = np.random.default_rng(1)
    vectors = 2.0 * random.normal(size=(listening_data.n_songs, 6))
    vectors[:, 0] = 2.0 * (listening_data.song_artist % 2) + 0.3 * random.normal(size=listening_data.n_songs)
    return vectors


def test_the_grid_holds_every_loss_and_c_in_order_and_learns():
    listening_data = make_listening_data("artist")
    split = make_split(listening_data, 0, n_relevant=N_RELEVANT, seed=0)
    songs = compress(vectors_of(listening_data), split.training.queries, keep=None)
    losses, Cs = ("mrr", "auc"), (1.0, 10.0, 100.0)
    grid = learn_grid(songs, split.training, split.validation, losses, Cs, tol=1e-2, max_rounds=30)
    assert [(cell.loss, cell.C) for cell in grid] == [(loss, C) for loss in losses for C in Cs]
    native = split.validation.score_vectors(songs.vectors).auc
    best = best_of(grid)
    assert best.auc == max(cell.auc for cell in grid) > native + 0.1
    for cell in grid:
        again = split.validation.score_vectors(songs.vectors @ cell.factor.T)
        assert cell.auc == again.auc == cell.row["validation"]["known"]["auc"]
        alone = MetricLearningToRank(loss=cell.loss, C=cell.C, tol=1e-2, max_rounds=200)
        alone.fit(songs.vectors[split.training.queries], split.training.relevant, ignored=split.training.ignored)
        assert cell.auc == pytest.approx(
            split.validation.score_vectors(songs.vectors @ alone.components_.T).auc, abs=0.05
        )


def test_fits_end_when_they_are_stopped():
    listening_data = make_listening_data("artist")
    split = make_split(listening_data, 0, n_relevant=N_RELEVANT, seed=0)
    songs = compress(vectors_of(listening_data), split.training.queries, keep=None)

    rounds = []

    def stop_at_third():
        rounds.append(1)
        if len(rounds) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_grid(
            songs,
            split.training,
            split.validation,
            ("auc", "mrr"),
            (1e2, 1e4),
            tol=1e-6,
            max_rounds=50,
            after_round=stop_at_third,
        )
    assert len(rounds) == 3


def test_the_first_of_equals_is_best():
    grid = [SimpleNamespace(auc=auc, row=row) for row, auc in enumerate((0.5, 0.7, 0.7, 0.6))]
    assert best_of(grid).row == 1


def test_compression_keeps_the_variance_of_training_songs():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(50, 6)) * np.array([10.0, 5.0, 1.0, 0.1, 0.1, 0.1])
    training = np.arange(30)
    songs = compress(vectors, training, keep=0.95)
    centred = vectors[training] - vectors[training].mean(axis=0)
    assert (songs.vectors[training] ** 2).sum() >= 0.95 * (centred**2).sum()
    assert songs.dimension == songs.vectors.shape[1] == 2
    assert compress(vectors, training, keep=None).vectors is vectors


def test_songs_that_sound_the_same_compress_to_one_number():
    songs = compress(np.ones((5, 3)), np.arange(3))
    assert (songs.dimension, songs.vectors.shape) == (1, (5, 1))
