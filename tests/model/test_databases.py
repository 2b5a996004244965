"""Further databases that a split is scored on: known and unseen songs mixed, and thirds of equal popularity."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from nearsong.model.held_out import (
    ListeningData,
    Ranking,
    make_split,
    mean_tercile_auc,
    mixed_ranking,
    popularity_terciles,
    unseen_validation,
)

N_RELEVANT = 4


@pytest.fixture(scope="module")
def listening_data() -> ListeningData:
    random = np.random.default_rng(0)
    n_artists = 40
    song_artist = np.sort(np.concatenate([np.arange(n_artists), random.integers(n_artists, size=80)]))
    popularity = random.uniform(0.03, 0.5, n_artists)
    return ListeningData(song_artist=song_artist, plays=sp.csr_array(random.random((150, n_artists)) < popularity))


@pytest.fixture(scope="module")
def split(listening_data):
    return make_split(listening_data, 0, n_relevant=N_RELEVANT, seed=0)


def relevant_artists(listening_data, artist, among) -> set[int]:
    plays = listening_data.plays.toarray()
    found = []
    for other in set(among) - {artist}:
        shared, either = (plays[:, artist] & plays[:, other]).sum(), (plays[:, artist] | plays[:, other]).sum()
        found.append((-shared / either, other))
    return {int(other) for similarity, other in sorted(found)[:N_RELEVANT] if similarity < 0}


@pytest.mark.parametrize("make", [mixed_ranking, unseen_validation])
def test_what_is_relevant_comes_from_the_artists_of_the_database(listening_data, split, make):
    ranking = make(listening_data, split, N_RELEVANT)
    artist = listening_data.song_artist
    for row in range(0, len(ranking.queries), 5):
        own = artist[ranking.queries[row]]
        expected = relevant_artists(listening_data, own, artist[ranking.database])
        np.testing.assert_array_equal(
            ranking.relevant.toarray()[row], np.isin(artist[ranking.database], list(expected))
        )
        np.testing.assert_array_equal(ranking.ignored.toarray()[row], artist[ranking.database] == own)


def test_the_mixed_database_holds_both_others_and_validation_ranks_itself(listening_data, split):
    mixed = mixed_ranking(listening_data, split, N_RELEVANT)
    both = [split.test_known.database, split.test_unknown.database]
    np.testing.assert_array_equal(mixed.database, np.sort(np.concatenate(both)))
    np.testing.assert_array_equal(mixed.queries, split.test_known.queries)
    unseen = unseen_validation(listening_data, split, N_RELEVANT)
    np.testing.assert_array_equal(unseen.queries, split.validation.queries)
    np.testing.assert_array_equal(unseen.database, split.validation.queries)


def test_terciles_divide_the_artists_by_their_listeners(listening_data, split):
    listeners = listening_data.plays.toarray().sum(axis=0)
    terciles = popularity_terciles(listening_data, split.test_known)
    artists = [np.unique(listening_data.song_artist[tercile.database]) for tercile in terciles]
    together = np.concatenate(artists)
    np.testing.assert_array_equal(np.sort(together), np.unique(listening_data.song_artist[split.test_known.database]))
    assert len(set(together)) == len(together)
    assert max(map(len, artists)) - min(map(len, artists)) <= 1
    for less, more in pairwise(artists):
        assert listeners[less].max() <= listeners[more].min()


def test_the_auc_within_terciles_is_the_mean_over_terciles_and_queries(listening_data, split):
    ranking = split.test_known
    distances = np.random.default_rng(1).random((listening_data.n_songs, listening_data.n_songs))
    terciles = popularity_terciles(listening_data, ranking)
    per_query = []
    for row, query in enumerate(ranking.queries):
        within = []
        for tercile in terciles:
            columns = np.flatnonzero(np.isin(ranking.database, tercile.database))
            columns = columns[~ranking.ignored.toarray()[row, columns]]
            relevant = ranking.relevant.toarray()[row, columns]
            if relevant.any() and not relevant.all():
                within.append(roc_auc_score(relevant, -distances[query, ranking.database[columns]]))
        if within:
            per_query.append(np.mean(within))
    found = mean_tercile_auc(terciles, lambda part: part.score_distances(distances))
    assert found == pytest.approx(np.mean(per_query))


def test_popularity_is_worth_little_within_terciles(listening_data, split):
    listeners = listening_data.plays.toarray().sum(axis=0)

    def by_popularity(ranking: Ranking):
        row = -listeners[listening_data.song_artist[ranking.database]].astype(float)
        return ranking.score_table(np.broadcast_to(row, ranking.relevant.shape))

    everywhere = by_popularity(split.test_known).auc
    within = mean_tercile_auc(popularity_terciles(listening_data, split.test_known), by_popularity)
    assert everywhere > 0.65
    assert abs(within - 0.5) < 0.5 * (everywhere - 0.5)


def test_without_a_usable_query_there_is_no_score_within_terciles(listening_data, split):
    nothing = sp.csr_array(split.test_known.relevant.shape, dtype=bool)
    ranking = Ranking(split.test_known.queries, split.test_known.database, nothing, split.test_known.ignored)
    vectors = np.zeros((listening_data.n_songs, 2))
    score = mean_tercile_auc(popularity_terciles(listening_data, ranking), lambda part: part.score_vectors(vectors))
    assert score is None


def test_embeddings_of_queries_and_database_may_differ(listening_data, split):
    vectors = np.random.default_rng(2).normal(size=(listening_data.n_songs, 3))
    ranking = split.test_unknown
    same = ranking.score_embeddings(vectors[ranking.queries], vectors[ranking.database])
    assert same == ranking.score_vectors(vectors)
    moved = ranking.score_embeddings(vectors[ranking.queries], -vectors[ranking.database])
    assert moved.auc != same.auc
