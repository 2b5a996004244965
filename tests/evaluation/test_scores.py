"""Every score against scikit-learn, against its definition by hand, and against all orders of tied songs."""

import pickle
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from sklearn.decomposition import PCA
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation import label_scores, ranking_scorer, ranking_scores, scores_from_distances

NAMES = ("auc", "mrr", "ndcg", "map", "precision_at_k")


def by_definition(relevances, k):
    """Score one list of 0/1 from the top down, straight from the definitions."""
    relevances = np.asarray(relevances, bool)
    k = len(relevances) if k is None else k
    ranks = np.flatnonzero(relevances) + 1
    irrelevant_ranks = np.flatnonzero(~relevances) + 1
    ideal = sum(1 / np.log2(1 + rank) for rank in range(1, min(k, len(ranks)) + 1))
    return {
        "auc": (ranks[:, None] < irrelevant_ranks).mean(),
        "mrr": 1 / ranks[0],
        "ndcg": sum(1 / np.log2(1 + rank) for rank in ranks if rank <= k) / ideal,
        "map": np.mean([relevances[:rank].mean() for rank in ranks]),
        "precision_at_k": relevances[:k].sum() / k,
    }


def random_case(rng, n_queries=6, n_songs=40, levels=None):
    """Distances and a relation where every query has both kinds of song; few levels make many ties."""
    if levels is None:
        distances = rng.standard_normal((n_queries, n_songs))
    else:
        distances = rng.integers(levels, size=(n_queries, n_songs)).astype(float)
    relevant = rng.random((n_queries, n_songs)) < rng.uniform(0.05, 0.9)
    relevant[:, 0], relevant[:, 1] = True, False
    return distances, relevant


def assert_same_scores(ours, other):
    for name in NAMES:
        np.testing.assert_allclose(ours.per_query[name], other.per_query[name], rtol=0, atol=1e-12)


# Formulas


@pytest.mark.parametrize("levels", [None, 2, 5, 30])
def test_auc_is_scikit_learns_with_and_without_ties(levels):
    rng = np.random.default_rng(1)
    for _ in range(20):
        distances, relevant = random_case(rng, levels=levels)
        expected = [roc_auc_score(r, -d) for r, d in zip(relevant, distances, strict=True)]
        np.testing.assert_allclose(scores_from_distances(distances, relevant).per_query["auc"], expected)


@pytest.mark.parametrize("k", [1, 3, 10, 1000, None])
@pytest.mark.parametrize("levels", [None, 2, 5, 30])
def test_ndcg_is_scikit_learns_with_and_without_ties(levels, k):
    rng = np.random.default_rng(2)
    for _ in range(10):
        distances, relevant = random_case(rng, levels=levels)
        expected = [
            ndcg_score(r[None].astype(float), -d[None], k=k) for r, d in zip(relevant, distances, strict=True)
        ]
        scores = scores_from_distances(distances, relevant, k=k)
        np.testing.assert_allclose(scores.per_query["ndcg"], expected)


def test_map_is_scikit_learns_average_precision_without_ties():
    rng = np.random.default_rng(3)
    for _ in range(20):
        distances, relevant = random_case(rng)
        expected = [average_precision_score(r, -d) for r, d in zip(relevant, distances, strict=True)]
        np.testing.assert_allclose(scores_from_distances(distances, relevant).per_query["map"], expected)


@pytest.mark.parametrize("k", [1, 4, 60, None])
def test_every_score_is_its_definition_without_ties(k):
    rng = np.random.default_rng(4)
    for _ in range(20):
        distances, relevant = random_case(rng)
        scores = scores_from_distances(distances, relevant, k=k)
        for query, order in enumerate(distances.argsort(axis=1)):
            for name, value in by_definition(relevant[query, order], k).items():
                assert scores.per_query[name][query] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4, None])
def test_with_ties_every_score_is_its_mean_over_all_orders_of_the_tied_songs(k):
    rng = np.random.default_rng(5)
    for n_songs in (2, 3, 4, 5, 6):
        for levels in (1, 2, 3):
            distances, relevant = random_case(rng, n_queries=3, n_songs=n_songs, levels=levels)
            scores = scores_from_distances(distances, relevant, k=k)
            for query, row in enumerate(distances):
                orders = [o for o in permutations(range(n_songs)) if (np.diff(row[list(o)]) >= 0).all()]
                values = [by_definition(relevant[query, list(o)], k) for o in orders]
                for name in NAMES:
                    mean = np.mean([value[name] for value in values])
                    assert scores.per_query[name][query] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_scores_hold_for_long_lists_and_for_distances_of_wildly_different_size(spread):
    rng = np.random.default_rng(6)
    distances = np.exp(spread * rng.standard_normal((4, 5000)))
    relevant = rng.random((4, 5000)) < np.array([[0.001], [0.01], [0.1], [0.9]])
    scores = scores_from_distances(distances, relevant)
    for query, order in enumerate(distances.argsort(axis=1)):
        for name, value in by_definition(relevant[query, order], 10).items():
            assert scores.per_query[name][query] == pytest.approx(value, abs=1e-12)


def test_infinite_distances_rank_first_and_last_and_tie_with_each_other():
    distances = [[-np.inf, 0.0, np.inf, np.inf], [np.inf, np.inf, np.inf, 1.0]]
    scores = scores_from_distances(distances, [[1, 0, 1, 0], [1, 0, 0, 1]])
    np.testing.assert_allclose(scores.per_query["auc"], [(2 + 0.5) / 4, (1 + 2) / 4])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_distances_of_any_real_type_are_read_as_they_are(dtype):
    rng = np.random.default_rng(7)
    distances, relevant = random_case(rng, levels=9)
    assert_same_scores(
        scores_from_distances(distances.astype(dtype), relevant), scores_from_distances(distances, relevant)
    )


# Who is ranked


def test_ignored_songs_are_as_good_as_absent_even_where_they_are_relevant():
    rng = np.random.default_rng(8)
    for levels in (None, 4):
        distances, relevant = random_case(rng, n_queries=10, levels=levels)
        ignored = rng.random(distances.shape) < 0.4
        ignored[:, :2] = False
        assert (ignored & relevant).any()
        scores = scores_from_distances(distances, relevant, sp.csr_array(ignored), k=5)
        for query in range(10):
            counted = ~ignored[query]
            alone = scores_from_distances(distances[[query]][:, counted], relevant[[query]][:, counted], k=5)
            for name in NAMES:
                assert scores.per_query[name][query] == alone.per_query[name][0]


def test_queries_outside_the_database_are_ranked_by_euclidean_distance():
    rng = np.random.default_rng(9)
    queries, songs = rng.standard_normal((12, 5)), rng.standard_normal((50, 5)) * [1, 2, 3, 0.1, 10]
    relevant = sp.csr_array(rng.random((12, 50)) < 0.2)
    assert_same_scores(
        ranking_scores(queries, songs, relevant), scores_from_distances(cdist(queries, songs), relevant)
    )


def test_without_a_database_queries_are_ranked_among_themselves_without_themselves():
    rng = np.random.default_rng(10)
    songs, relevant = rng.standard_normal((30, 4)), rng.random((30, 30)) < 0.3
    own_artist = sp.csr_array(rng.random((30, 30)) < 0.1)
    diagonal = sp.eye_array(30)
    assert_same_scores(ranking_scores(songs, None, relevant), ranking_scores(songs, songs, relevant, diagonal))
    assert_same_scores(
        ranking_scores(songs, None, relevant, own_artist),
        ranking_scores(songs, songs, relevant, own_artist + diagonal),
    )


def test_labels_make_songs_of_the_same_label_relevant():
    rng = np.random.default_rng(11)
    songs, labels = rng.standard_normal((40, 3)), rng.choice(["jazz", "dub", "raga"], 40)
    expected = ranking_scores(songs, None, labels[:, None] == labels)
    assert_same_scores(label_scores(songs, labels), expected)
    assert_same_scores(label_scores(songs, labels.tolist()), expected)


def test_queries_without_relevant_or_irrelevant_songs_are_skipped_counted_and_nan():
    distances = np.arange(12.0).reshape(4, 3)
    relevant = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0]])
    ignored = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
    scores = scores_from_distances(distances, relevant, ignored)
    assert (scores.n_queries, scores.n_skipped) == (1, 3)
    assert scores.auc == scores.means()["auc"] == 1.0
    for name in NAMES:
        np.testing.assert_array_equal(np.isnan(scores.per_query[name]), [False, True, True, True])


# Numbers


@pytest.mark.parametrize("block", [1, 2, 5, 20, 64])
@pytest.mark.parametrize("n", [37, 101])
def test_identical_songs_tie_exactly_wherever_they_stand(n, block):
    rng = np.random.default_rng(12)
    songs = rng.standard_normal((n, 64))
    queries = rng.standard_normal((64, 64))
    relevant = np.tile(np.arange(2 * n) < n, (64, 1))  # a song is relevant, its copy is not
    scores = ranking_scores(queries, np.vstack([songs, songs[::-1]]), relevant, block=block)
    assert (scores.per_query["auc"] == 0.5).all()


def test_a_negative_zero_is_a_zero():
    relevant = [[1, 0, 0]]
    scores = ranking_scores([[1.0]], [[0.0], [-0.0], [0.0]], relevant)
    assert scores.auc == 0.5


def test_a_metric_that_maps_everything_to_one_point_scores_as_a_random_order():
    relevant = np.zeros((3, 8))
    relevant[:, :2] = 1
    scores = ranking_scores(np.zeros((3, 4)), np.full((8, 4), 0.1), relevant, k=4)
    assert scores.auc == 0.5
    assert scores.precision_at_k == pytest.approx(2 / 8)


def test_songs_far_from_the_origin_are_distinguished():
    rng = np.random.default_rng(13)
    songs, relevant = rng.standard_normal((60, 4)), sp.csr_array(rng.random((60, 60)) < 0.1)
    near, far = ranking_scores(songs, None, relevant), ranking_scores(songs + 1e7, None, relevant)
    assert_same_scores(near, far)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e20, 1e300])
def test_the_scale_of_the_vectors_does_not_matter(scale):
    rng = np.random.default_rng(14)
    songs, relevant = rng.standard_normal((60, 4)), sp.csr_array(rng.random((60, 60)) < 0.1)
    assert_same_scores(ranking_scores(songs, None, relevant), ranking_scores(songs * scale, None, relevant))


@pytest.mark.parametrize(("block", "threads"), [(1, 1), (7, 3), (64, 16), (1000, 2)])
def test_blocks_and_threads_do_not_change_the_scores(block, threads):
    rng = np.random.default_rng(15)
    songs, relevant = rng.standard_normal((64, 6)), sp.csr_array(rng.random((64, 64)) < 0.2)
    assert_same_scores(
        ranking_scores(songs, None, relevant), ranking_scores(songs, None, relevant, block=block, threads=threads)
    )


def test_memory_follows_the_block_and_not_all_pairs():
    n_queries, n_songs = 600, 20_000  # all pairs are 96 MB
    rng = np.random.default_rng(16)
    queries, songs = rng.standard_normal((n_queries, 2)), rng.standard_normal((n_songs, 2))
    relevant = sp.random_array((n_queries, n_songs), density=1e-3, rng=rng)

    def peak(block):
        tracemalloc.start()
        ranking_scores(queries, songs, relevant, block=block, threads=2)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    ranking_scores(queries[:8], songs, relevant[:8])  # compiles
    small, large = peak(10), peak(110)
    block_bytes = 8 * 100 * n_songs
    assert 0.9 * block_bytes < large - small < 1.1 * block_bytes
    assert large < 0.3 * 8 * n_queries * n_songs


vectors = hnp.arrays(np.float64, (12, 3), elements=st.floats(-100, 100, width=16))
relations = hnp.arrays(np.bool_, (12, 12))


@settings(max_examples=60, deadline=None)
@given(vectors, relations, st.one_of(st.none(), st.integers(1, 15)))
def test_scores_lie_between_0_and_1(songs, relevant, k):
    relevant[0, 1], relevant[0, 2] = True, False
    for value in ranking_scores(songs, None, relevant, k=k).means().values():
        assert 0.0 <= value <= 1.0


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.int64, 12, elements=st.integers(0, 4)), st.integers(1, 11), st.integers(1, 15))
def test_a_perfect_ranking_scores_1(distances, n_relevant, k):
    distances = np.sort(distances)
    distances[n_relevant:] += 1
    relevant = np.arange(12)[None] < n_relevant
    scores = scores_from_distances(distances[None], relevant, k=k)
    assert scores.auc == scores.mrr == scores.map == 1.0
    assert scores.ndcg == pytest.approx(1.0, abs=1e-15)
    assert scores.precision_at_k == pytest.approx(min(n_relevant, k) / k, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_moving_turning_and_shuffling_the_songs_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    queries, songs = rng.standard_normal((8, 4)), rng.standard_normal((25, 4))
    relevant = rng.random((8, 25)) < 0.3
    relevant[:, 0], relevant[:, 1] = True, False
    turn, shift = ortho_group.rvs(4, random_state=rng), 10 * rng.standard_normal(4)
    shuffled = rng.permutation(25)
    assert_same_scores(
        ranking_scores(queries, songs, relevant),
        ranking_scores(queries @ turn + shift, (songs @ turn + shift)[shuffled], relevant[:, shuffled]),
    )


# Model selection


@pytest.mark.parametrize("score", NAMES)
def test_the_scorer_chooses_in_a_grid_search(score):
    rng = np.random.default_rng(17)
    labels = np.repeat([0, 1, 2], 20)
    noise = 9 * rng.standard_normal((60, 1))  # the first principal axis says nothing about the label
    X = np.hstack([noise, rng.standard_normal((60, 2)) + 3 * np.eye(3)[labels][:, :2]])
    scorer = ranking_scorer(score, k=5)
    search = GridSearchCV(
        PCA(whiten=True), {"n_components": [1, 3]}, scoring=scorer, cv=StratifiedKFold(3), error_score="raise"
    ).fit(X, labels)
    assert search.best_params_ == {"n_components": 3}
    complete = label_scores(search.best_estimator_.transform(X), labels, k=5)
    assert scorer(search.best_estimator_, X, labels) == getattr(complete, score)


def test_the_scorer_travels_to_other_processes():
    assert pickle.loads(pickle.dumps(ranking_scorer("map", k=None))) == ranking_scorer("map", k=None)


# Mistakes

SONGS = np.arange(6.0).reshape(3, 2)
RELEVANT = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ranking_scores(SONGS[:, :1], SONGS, RELEVANT), "queries have 1 features and the database 2"),
        (lambda: ranking_scores([1.0, 2.0], SONGS, RELEVANT), r"queries has shape \(2,\)"),
        (lambda: ranking_scores(SONGS, [[np.nan, 0]], RELEVANT), "database has a NaN"),
        (lambda: ranking_scores(SONGS, None, RELEVANT[:2]), r"relevant has shape \(2, 3\); 3 x 3 is needed"),
        (lambda: ranking_scores(SONGS, None, RELEVANT, RELEVANT[:, :1]), r"ignored has shape \(3, 1\)"),
        (lambda: ranking_scores(SONGS, None, RELEVANT, k=0), "k=0 must be a whole number of at least 1"),
        (lambda: ranking_scores(SONGS, None, RELEVANT, block=0), "block=0 must be"),
        (lambda: ranking_scores(SONGS, None, RELEVANT, threads=0), "threads=0 must be"),
        (lambda: scores_from_distances([1.0], [[1]]), r"has shape \(1,\) and dtype float64; a queries x songs array"),
        (lambda: scores_from_distances([["a"]], [[1]]), "and dtype <U1"),
        (lambda: scores_from_distances([[0, 1], [0, np.nan]], np.eye(2)), "NaN in row 1, .* Set it to inf"),
        (lambda: label_scores(SONGS, [0, 1]), r"labels has shape \(2,\); one label for each of 3 songs"),
        (lambda: label_scores(SONGS, [0, 1, np.nan]), "labels has a NaN label; drop those songs"),
        (lambda: label_scores(SONGS, np.array([0, "a", None], object)), "labels mixes labels"),
        (lambda: label_scores(SONGS, sp.csr_array(RELEVANT)), "labels is a sparse matrix; a list of 3 labels"),
        (lambda: ranking_scorer("recall"), "score='recall' is unknown; choose one of auc, map, mrr, ndcg"),
        (lambda: ranking_scorer(k=-1), "k=-1 must be"),
    ],
)
def test_a_mistake_is_named_and_a_way_out_given(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_no_usable_query_is_an_error_that_says_where_to_look():
    with pytest.raises(NoUsableQueryError, match=r"None of the 3 queries has both .* check `relevant`"):
        ranking_scores(SONGS, None, np.eye(3))
    with pytest.raises(NoUsableQueryError, match="or the labels"):
        label_scores(SONGS, ["a", "a", "a"])
