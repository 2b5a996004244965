"""Every block of the listener space equals the formula, written out naively."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge

from nearsong.model.listener_space import ListenerSpace, targets
from nearsong.model.listener_space.ridge import ArtistRidge
from nearsong.model.listener_space.targets import factor_target, listener_target, neighbour_target
from planted_listeners import naive_prediction, naive_targets, planted_music, unit

WEIGHTS, SHARES = (0.7, 1.0, 0.5), (1.0, 0.8, 1.0)
HELD_OUT = np.array([2, 5, 16])
ALL = 1000


@pytest.fixture(scope="module")
def music():
    return planted_music()


@pytest.fixture(scope="module")
def space(music):
    """A space without any reduction."""
    space = ListenerSpace(taste_dimensions=ALL, sound_dimensions=ALL, centroid_share=1.0)
    return space.fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)


@pytest.fixture(scope="module")
def naive(music):
    """Return training songs, their artists' codes, the artists, and Y, A, S."""
    plays = music.plays.toarray().copy()
    plays[:, HELD_OUT] = False
    listeners = plays.sum(axis=0)
    training = np.flatnonzero(~np.isin(music.song_artist, HELD_OUT))
    artists, codes = np.unique(music.song_artist[training], return_inverse=True)
    anchors, factor_anchors = np.flatnonzero(listeners >= 10), np.flatnonzero(listeners >= 3)
    found = naive_targets(plays, artists, anchors, factor_anchors=factor_anchors)
    return training, codes, artists, found


def naive_points(music, naive, rows):
    """The unreduced embedding of rows, without the metric."""
    training, codes, _, found = naive
    parts = [
        np.sqrt(weight) * unit(naive_prediction(music.phi, training, codes, T, rows) + share * T.mean(axis=0))
        for T, weight, share in zip(found, WEIGHTS, SHARES, strict=True)
    ]
    return np.hstack([*parts, 0.5 * unit(rows)])


def centroids(music, songs, share=1.0):
    artist = music.song_artist[songs]
    return np.array(
        [
            (1 - share) * music.phi[s] + share * music.phi[songs][artist == a].mean(axis=0)
            for s, a in zip(songs, artist, strict=True)
        ]
    )


def test_targets_are_those_of_the_recipe(music, naive):
    plays = music.plays.toarray().astype(float)
    plays[:, HELD_OUT] = 0
    listens, artists = sp.csc_array(plays), naive[2]
    for target, expected in zip(
        (
            neighbour_target(listens, artists, 1.0, max_anchors=ALL),
            listener_target(listens, artists, min_listeners=10, max_anchors=ALL),
            factor_target(listens, artists, min_listeners=3, n_factors=12),
        ),
        naive[3],
        strict=True,
    ):
        C = target.coordinates
        assert np.allclose(C @ C.T, expected @ expected.T, atol=1e-9)
        basis = target.basis.rotated(np.eye(C.shape[1]))
        assert np.allclose(basis.T @ basis, np.eye(C.shape[1]), atol=1e-7)
        if target.name != "factors":  # singular vectors have arbitrary signs
            assert np.allclose(C @ basis.T, expected, atol=1e-7)


def test_anchors_are_those_with_the_most_listeners(music):
    listens = sp.csc_array(music.plays.astype(float))
    target = listener_target(listens, np.arange(4), min_listeners=1, max_anchors=5)
    listeners = np.diff(listens.indptr)
    assert listeners[target.anchors].min() >= np.sort(listeners)[-5]
    assert len(target.anchors) == 5


def test_neighbours_of_many_artists_are_seen_from_the_best_known_of_them(music):
    listens, artists = sp.csc_array(music.plays.astype(float)), np.arange(12)
    expected = neighbour_target(listens, artists, 1.0, max_anchors=12)
    best_known = np.sort(np.argsort(-np.diff(listens.indptr)[artists], kind="stable")[:5])
    few = neighbour_target(listens, artists, 1.0, max_anchors=5)
    np.testing.assert_array_equal(few.anchors, best_known)
    rows = expected.coordinates @ expected.basis.rotated(np.eye(expected.coordinates.shape[1])).T
    own = np.zeros_like(rows)
    own[artists, artists] = 1.0
    entries = (rows - own)[:, best_known]  # of an artist with itself: not scaled
    scaled = entries / entries.max(axis=1, keepdims=True) + own[:, best_known]
    assert np.allclose(few.coordinates @ few.coordinates.T, scaled @ scaled.T, atol=1e-9)


def test_artists_beyond_the_anchors_stand_where_listeners_put_them_without_a_boost(music, monkeypatch):
    monkeypatch.setattr("nearsong.model.listener_space.learning.MAX_ANCHORS", 5)
    space = ListenerSpace(own_boost=3.0).fit(music.phi, music.song_artist, music.plays)
    block = space.maps_.taste[0]
    beyond = ~np.isin(space.artists_, block.anchors)
    assert beyond.sum() == len(space.artists_) - 5
    assert np.allclose(block.known[beyond], block.known_queries[beyond])
    assert not np.isclose(block.known[~beyond], block.known_queries[~beyond]).all(axis=1).any()


def test_targets_in_small_blocks_and_by_a_sketch_are_the_same(music, monkeypatch):
    listens, artists = sp.csc_array(music.plays.astype(float)), np.arange(10)
    expected = listener_target(listens, artists, min_listeners=5, max_anchors=ALL).coordinates
    monkeypatch.setattr(targets, "BLOCK_NUMBERS", 30)
    blocks = listener_target(listens, artists, min_listeners=5, max_anchors=ALL)
    assert np.allclose(blocks.coordinates @ blocks.coordinates.T, expected @ expected.T)
    monkeypatch.setattr(targets, "MAX_EIGEN_ARTISTS", 3)
    triangular = listener_target(listens, artists, min_listeners=5, max_anchors=ALL)
    assert np.allclose(triangular.coordinates @ triangular.coordinates.T, expected @ expected.T, atol=1e-9)
    basis = triangular.basis.rotated(np.eye(10))
    assert np.allclose(basis.T @ basis, np.eye(10), atol=1e-6)
    monkeypatch.setattr(targets, "MAX_EXACT_ARTISTS", 3)
    monkeypatch.setattr(targets, "SKETCH_COORDINATES", 10)
    sketch = listener_target(listens, artists, min_listeners=5, max_anchors=ALL)
    assert np.allclose(sketch.coordinates @ sketch.coordinates.T, expected @ expected.T)
    basis = sketch.basis.rotated(np.eye(sketch.coordinates.shape[1]))
    assert np.allclose(basis.T @ basis, np.eye(basis.shape[1]))


def test_sparse_and_dense_singular_vectors_agree(monkeypatch):
    plays = sp.csc_array((np.random.default_rng(0).random((90, 40)) < 0.3).astype(float))
    dense = factor_target(plays, np.arange(20), min_listeners=1, n_factors=6).coordinates
    monkeypatch.setattr(targets, "MAX_DENSE_FACTORS", 5)
    sparse = factor_target(plays, np.arange(20), min_listeners=1, n_factors=6).coordinates
    assert np.allclose(dense, sparse, atol=1e-8)


@pytest.mark.parametrize("d", [8, 30, 200], ids=["more songs", "some", "more dimensions"])
def test_ridge_is_scikit_learns(d):
    random = np.random.default_rng(d)
    phi, codes = random.normal(size=(60, d)), np.sort(np.arange(60) % 7)
    T = random.normal(size=(7, 5))
    ridge = ArtistRidge.of(phi, np.arange(60), codes)
    weights = 1.0 / np.bincount(codes)[codes]
    weights /= weights.mean()
    psi = (phi - ridge.mean) / ridge.spread
    assert np.isclose((psi**2).sum(axis=1).mean(), 1)
    for penalty in (0.03, 0.3, 3.0):
        peer = Ridge(alpha=penalty, fit_intercept=False, tol=1e-12).fit(psi, T[codes], sample_weight=weights)
        assert np.allclose(ridge.responses(T, penalty), peer.coef_.T, atol=1e-8)


@pytest.mark.parametrize("d", [8, 30, 200], ids=["more songs", "some", "more dimensions"])
def test_parts_are_regressions_of_their_own(d):
    """The prediction is a mixture of scikit-learn's on all dimensions and on each part, all at unit spread."""
    random = np.random.default_rng(d)
    phi, codes = random.normal(size=(60, d)) * random.uniform(0.5, 2, size=d), np.sort(np.arange(60) % 7)
    T = random.normal(size=(7, 5))
    weights = 1.0 / np.bincount(codes)[codes]
    weights /= weights.mean()
    parts = [slice(0, 2), slice(2, d - 3), slice(d - 3, d)]
    centred = phi - phi.mean(axis=0)
    size = np.square(centred).sum() / 60

    def predicted(columns, penalty=0.1):
        psi = centred[:, columns] / np.sqrt(np.square(centred[:, columns]).sum() / 60)
        return (
            Ridge(alpha=penalty, fit_intercept=False, tol=1e-12)
            .fit(psi, T[codes], sample_weight=weights)
            .predict(psi)
        )

    shares = [np.square(centred[:, part]).sum() / 60 / size for part in parts]
    expected = 0.6 * predicted(slice(None), 0.3) + 0.4 * sum(
        share * predicted(part) for share, part in zip(shares, parts, strict=True)
    )
    ridge = ArtistRidge.of(phi, np.arange(60), codes)
    found = centred / ridge.spread @ ridge.mixed_responses(T, 0.3, parts, 0.4, 0.1)
    assert np.allclose(found, expected, atol=1e-8)
    assert np.allclose(ridge.mixed_responses(T, 0.3, [slice(0, d)], 0.4, 0.1), ridge.responses(T, 0.3))


def test_blocks_of_songs_do_not_change_the_ridge(monkeypatch):
    random = np.random.default_rng(0)
    phi, codes = random.normal(size=(60, 8)), np.arange(60) % 7
    expected = ArtistRidge.of(phi, np.arange(60), codes).responses(np.eye(7), 0.3)
    monkeypatch.setattr("nearsong.model.listener_space.rows.BLOCK_NUMBERS", 50)
    assert np.allclose(ArtistRidge.of(phi, np.arange(60), codes).responses(np.eye(7), 0.3), expected, atol=1e-12)
    single = ArtistRidge.of(phi.astype(np.float32), np.arange(60), codes).responses(np.eye(7), 0.3)
    assert single.dtype == np.float64
    assert np.allclose(single, expected, atol=1e-5)


def test_distances_of_queries_are_those_of_the_formula(music, naive, space):
    training = naive[0]
    embeddings = space.transform(music.phi)
    expected = naive_points(music, naive, music.phi)
    # sound that no training song has is not in the leading axes; among training songs nothing is lost
    distances = cdist(embeddings[training], embeddings[training])
    assert np.allclose(distances, cdist(expected[training], expected[training]), atol=1e-6)


def test_artists_above_the_limit_of_eigenvectors_get_the_same_space(music, space, monkeypatch):
    monkeypatch.setattr(targets, "MAX_EIGEN_ARTISTS", 3)
    other = ListenerSpace(taste_dimensions=ALL, sound_dimensions=ALL, centroid_share=1.0)
    other.fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)
    for known_by in ("sound", "listeners"):
        first, second = (
            s.transform_database(music.phi, music.song_artist, known_by=known_by) for s in (space, other)
        )
        assert np.allclose(cdist(first, first), cdist(second, second), atol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_songs_of_a_database_are_drawn_to_their_artists(music, naive, share):
    space = ListenerSpace(taste_dimensions=ALL, sound_dimensions=ALL, centroid_share=share)
    space.fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)
    songs = naive[0]
    database = space.transform_database(music.phi[songs], music.song_artist[songs])
    expected = naive_points(music, naive, centroids(music, songs, share))
    queries = naive_points(music, naive, music.phi[songs])
    assert np.allclose(cdist(space.transform(music.phi[songs]), database), cdist(queries, expected), atol=1e-6)


def test_songs_by_listeners_are_those_of_the_formula(music, naive, space):
    songs, codes, _, (Y, A, S) = naive
    taste = [unit(Y + 100 * np.eye(len(Y))), unit(A - 0.2 * A.mean(axis=0)), S]
    parts = [np.sqrt(weight) * T[codes] for T, weight in zip(taste, WEIGHTS, strict=True)]
    expected = np.hstack([*parts, 0.5 * unit(centroids(music, songs))])
    database = space.transform_database(music.phi[songs], music.song_artist[songs], known_by="listeners")
    queries = naive_points(music, naive, music.phi[songs])
    assert np.allclose(cdist(space.transform(music.phi[songs]), database), cdist(queries, expected), atol=1e-6)
    # and a query of a known artist is where its listeners are, without the own entry's boost
    known = space.transform(music.phi[songs], music.song_artist[songs])
    true = [unit(T - (1 - share) * T.mean(axis=0)) for T, share in zip((Y, A, S), SHARES, strict=True)]
    parts = [np.sqrt(weight) * T[codes] for T, weight in zip(true, WEIGHTS, strict=True)]
    points = np.hstack([*parts, 0.5 * unit(music.phi[songs])])
    assert np.allclose(cdist(known, database), cdist(points, expected), atol=1e-6)


def test_reducing_is_the_projection_to_leading_axes(music, naive, space):
    small = ListenerSpace(taste_dimensions=3, sound_dimensions=4)
    small.fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)
    assert [block.stop - block.start for block in small.blocks_] == [3, 3, 3, 4, 1]
    complete, reduced = space.transform(music.phi), small.transform(music.phi)
    for whole, part in zip(space.blocks_, small.blocks_, strict=True):
        size = part.stop - part.start
        assert np.allclose(complete[:, whole.start : whole.start + size], reduced[:, part.columns], atol=1e-7)


def test_songs_by_listeners_have_equal_length_after_reducing(music, naive):
    small = ListenerSpace(taste_dimensions=3).fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)
    songs = naive[0]
    database = small.transform_database(music.phi[songs], music.song_artist[songs], known_by="listeners")
    sound = next(block for block in small.blocks_ if block.name == "sound")
    rest = np.delete(database, np.arange(sound.start, sound.stop), axis=1)
    assert np.allclose(np.square(rest).sum(axis=1), sum(WEIGHTS))


def test_the_metric_block_has_the_weight_as_its_variance(music):
    L = np.random.default_rng(1).normal(size=(5, music.phi.shape[1]))
    space = ListenerSpace(metric_weight=0.4, centroid_share=1.0).fit(
        music.phi, music.song_artist, music.plays, metric=L
    )
    block = next(block for block in space.blocks_ if block.name == "metric")
    points = space.transform(music.phi)[:, block.columns]
    assert np.isclose(points.var(axis=0).sum(), 0.4)
    learned = cdist(music.phi @ L.T, music.phi @ L.T)
    assert np.allclose(
        cdist(points, points) / learned.max(), learned * cdist(points, points).max() / learned.max() ** 2
    )
    database = space.transform_database(music.phi, music.song_artist)[:, block.columns]
    means = np.array([points[music.song_artist == a].mean(axis=0) for a in music.song_artist])
    assert np.allclose(database, means)
