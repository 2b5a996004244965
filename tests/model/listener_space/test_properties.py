"""What must hold for any listener space: bytes, sums, held-out artists, storage, odd data."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.listener_space.centroids import with_centroids
from nearsong.model.listener_space.ordered_products import PackedMatrix, ordered_product
from planted_listeners import planted_music

HELD_OUT = np.array([2, 5])
PARTS = (slice(0, 20), slice(20, 30))


@pytest.fixture(scope="module")
def music():
    return planted_music(n_artists=20, n_songs=120)


@pytest.fixture(scope="module")
def space(music):
    metric = np.random.default_rng(1).normal(size=(3, music.phi.shape[1]))
    space = ListenerSpace(taste_dimensions=5, sound_dimensions=6, centroid_share=0.7)
    space.fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT, metric=metric, parts=PARTS)
    return space.fit_balance(music.phi, music.song_artist, music.plays, held_out=HELD_OUT, parts=PARTS, n_folds=3)


def same_bytes(first, second):
    return set(first) == set(second) and all(first[name].tobytes() == second[name].tobytes() for name in first)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 40), (300, 21, 33), (513, 64, 96)])
def test_products_are_numpys_and_rows_do_not_depend_on_each_other(shape):
    random = np.random.default_rng(0)
    rows, matrix = random.normal(size=shape[:2]), random.normal(size=shape[1:])
    packed = PackedMatrix.of(matrix)
    product = ordered_product(rows, packed)
    assert np.allclose(product, rows @ matrix)
    order = random.permutation(len(rows))
    assert ordered_product(rows[order], packed).tobytes() == product[order].tobytes()
    for row in order[:7]:
        assert ordered_product(rows[row : row + 1], packed).tobytes() == product[row : row + 1].tobytes()


def test_a_query_has_the_same_bytes_beside_any_songs(music, space):
    embeddings = space.transform(music.phi)
    order = np.random.default_rng(0).permutation(len(music.phi))
    assert space.transform(music.phi[order]).tobytes() == embeddings[order].tobytes()
    assert space.transform(np.asfortranarray(music.phi)).tobytes() == embeddings.tobytes()
    chunks = [space.transform(part) for part in np.array_split(music.phi, 17)]
    assert np.vstack(chunks).tobytes() == embeddings.tobytes()


@pytest.mark.parametrize("known_by", ["sound", "listeners", "balanced"])
def test_a_database_has_the_same_bytes_in_any_order(music, space, known_by, monkeypatch):
    embeddings = space.transform_database(music.phi, music.song_artist, known_by=known_by)
    order = np.random.default_rng(1).permutation(len(music.phi))
    shuffled = space.transform_database(music.phi[order], music.song_artist[order], known_by=known_by)
    assert shuffled.tobytes() == embeddings[order].tobytes()
    some = np.isin(music.song_artist, [0, 2, 7])
    part = space.transform_database(music.phi[some], music.song_artist[some], known_by=known_by)
    assert part.tobytes() == embeddings[some].tobytes()
    monkeypatch.setattr("nearsong.model.listener_space.rows.BLOCK_NUMBERS", 100)
    monkeypatch.setattr("nearsong.model.listener_space.centroids.BLOCK_NUMBERS", 100)
    again = space.transform_database(music.phi, music.song_artist, known_by=known_by)
    assert again.tobytes() == embeddings.tobytes()


def test_held_out_artists_change_no_byte(music, space):
    phi, plays = music.phi.copy(), music.plays.toarray()
    random = np.random.default_rng(3)
    phi[np.isin(music.song_artist, HELD_OUT)] = random.normal(size=(np.isin(music.song_artist, HELD_OUT).sum(), 30))
    plays[:, HELD_OUT] = random.random((len(plays), 2)) < 0.5
    plays = np.vstack([plays, np.isin(np.arange(plays.shape[1]), HELD_OUT)])  # a listener of nobody else
    metric = np.random.default_rng(1).normal(size=(3, 30))
    other = clone(space).fit(phi, music.song_artist, plays, held_out=HELD_OUT, metric=metric, parts=PARTS)
    other.fit_balance(phi, music.song_artist, plays, held_out=HELD_OUT, parts=PARTS, n_folds=3)
    assert same_bytes(other.arrays(), space.arrays())
    assert other.parameters() == space.parameters()
    mask = np.isin(np.arange(plays.shape[1]), HELD_OUT)
    masked = clone(space).fit(music.phi, music.song_artist, music.plays, held_out=mask, metric=metric, parts=PARTS)
    assert same_bytes(masked.arrays(), space.arrays())
    assert not np.isin(HELD_OUT, np.concatenate([block.anchors for block in space.maps_.taste])).any()
    removed = ~np.isin(music.song_artist, HELD_OUT)
    without = clone(space).fit(
        music.phi[removed], music.song_artist[removed], plays, held_out=HELD_OUT, metric=metric, parts=PARTS
    )
    assert same_bytes(without.arrays(), space.arrays())


def test_a_training_artist_does_change_it(music, space):
    plays = music.plays.toarray()
    plays[:, 0] = ~plays[:, 0]
    other = clone(space).fit(music.phi, music.song_artist, plays, held_out=HELD_OUT)
    assert not np.allclose(other.transform(music.phi)[:, :5], space.transform(music.phi)[:, :5])


def test_distances_are_sums_over_blocks_and_taste_over_artists(music, space):
    first, second = space.transform(music.phi[:6]), space.transform_database(music.phi, music.song_artist)[6:12]
    squares = np.square(first - second).sum(axis=1)
    parts = space.block_distances(first, second)
    assert list(parts) == ["neighbours", "listeners", "factors", "sound", "metric", "known"]
    assert np.allclose(sum(parts.values()), squares, rtol=1e-12)
    taste = parts["neighbours"] + parts["listeners"] + parts["factors"]
    shares = space.artist_shares(first, second)
    assert shares.shape == (6, music.plays.shape[1])
    assert np.allclose(shares.sum(axis=1), taste, rtol=1e-6)
    columns = slice(0, next(block.start for block in space.blocks_ if block.name == "sound"))
    agreements = space.artist_agreements(first, second)
    assert np.allclose(agreements.sum(axis=1), (first[:, columns] * second[:, columns]).sum(axis=1))
    assert not shares[:, HELD_OUT].any()


def test_agreements_name_the_artists_that_both_share(music):
    """Songs embedded by listeners: the artist whose listeners overlap with both contributes most."""
    plays = np.zeros((90, 8), bool)
    plays[:40, 0] = plays[:40, 1] = plays[:40, 6] = True
    plays[40:80, 2] = plays[40:80, 3] = plays[40:80, 7] = True
    plays[80:, 4] = plays[80:, 5] = True
    random = np.random.default_rng(0)
    phi, song_artist = random.normal(size=(12, 20)), np.repeat(np.arange(6), 2)
    space = ListenerSpace().fit(phi, song_artist, plays)
    query = space.transform(phi[:1], song_artist[:1])
    agreements = space.artist_agreements(query, space.transform(phi[2:3], song_artist[2:3]))
    assert set(np.argsort(-agreements[0])[:3]) == {0, 1, 6}


def test_storage_keeps_every_byte(music, space):
    parameters = json.loads(json.dumps(space.parameters()))
    restored = ListenerSpace.from_arrays(parameters, space.arrays())
    assert same_bytes(restored.arrays(), space.arrays())
    assert restored.get_params() == space.get_params()
    for known_by in ("sound", "listeners", "balanced"):
        expected = space.transform_database(music.phi, music.song_artist, known_by=known_by)
        found = restored.transform_database(music.phi, music.song_artist, known_by=known_by)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["sound", "artists", "neighbours/matrix", "factors/basis"])
def test_damaged_storage_is_refused(space, name):
    arrays, parameters = space.arrays(), space.parameters()
    with pytest.raises(InvalidInputError, match="train it again"):
        ListenerSpace.from_arrays(parameters, {other: arrays[other] for other in arrays if other != name})
    with pytest.raises(InvalidInputError, match="train it again"):
        ListenerSpace.from_arrays(parameters, {**arrays, name: arrays[name][1:].astype(np.float32)})


def test_centroids_of_single_songs_are_the_songs():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    artists = np.array([4, 4, 4, -1, -1, 9])
    drawn = with_centroids(rows, artists, 0.8, shrinkage=2.0)
    share = 0.8 * 2 / (2 + 2.0)
    assert np.allclose(drawn[:3], (1 - share) * rows[:3] + share * rows[:3].mean(axis=0))
    assert drawn[3:].tobytes() == rows[3:].tobytes()
    assert with_centroids(rows, artists, 0.0).tobytes() == rows.tobytes()


def test_balance_makes_both_kinds_of_distance_comparable(music):
    """For artists held out in fact, distances to known songs by listeners have the spread of those by sound."""
    space = ListenerSpace(sound_weight=0.0).fit(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)
    songs = np.isin(music.song_artist, HELD_OUT)
    queries = space.transform(music.phi[songs])

    def gap(known_by):
        database = space.transform_database(music.phi, music.song_artist, known_by=known_by)
        squares = np.square(queries[:, None] - database[None]).sum(axis=2)
        own = music.song_artist[songs][:, None] == music.song_artist
        return abs(squares[:, ~songs].mean() - squares[:, songs][~own[:, songs]].mean())

    before = gap("listeners")
    with pytest.raises(InvalidInputError, match="fit_balance first"):
        gap("balanced")
    space.fit_balance(music.phi, music.song_artist, music.plays, held_out=HELD_OUT)
    assert gap("balanced") < before / 2
    balance = space.maps_.balance
    plain = space.transform_database(music.phi, music.song_artist, known_by="listeners")
    matched = space.transform_database(music.phi, music.song_artist, known_by="balanced")
    squares, known = (np.square(queries[:, None] - table[None]).sum(axis=2) for table in (plain, matched))
    lengths = np.square(queries).sum(axis=1)[:, None]
    expected = balance.gain * squares + balance.shift - (balance.gain - 1) * (lengths - balance.query_length)
    difference = (known - expected)[:, ~songs]  # up to the constant that every song has
    assert np.allclose(difference, difference.flat[0])


# ---- the popularity dial


def test_the_dial_lowers_popularity_step_by_step_and_keeps_lengths():
    large = planted_music(n_artists=150, n_songs=600, n_listeners=800, rarity=4.0)
    space = ListenerSpace().fit(large.phi, large.song_artist, large.plays)
    queries, database = space.transform(large.phi), space.transform_database(large.phi, large.song_artist)
    popularity = []
    for adventurousness in (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5):
        moved = space.dial(queries, adventurousness)
        for block in space.blocks_:
            sizes = [np.linalg.norm(rows[:, block.columns], axis=1) for rows in (queries, moved)]
            assert np.allclose(*sizes)
        keys = np.square(database).sum(axis=1) - 2 * moved @ database.T
        nearest = np.argsort(keys, axis=1)[:, :20]
        popularity.append(space.popularity_[large.song_artist[nearest]].mean())
    assert np.all(np.diff(popularity) < 0)
    assert space.dial(queries, 0.0).tobytes() == queries.tobytes()


def test_the_dial_is_rho(music):
    """At the dial's 1, a song of typical length has the taste of a space with rho = 0."""
    space = ListenerSpace(popularity_shares=(1.0, 1.0, 1.0)).fit(music.phi, music.song_artist, music.plays)
    maps = space.maps_
    for block, columns in maps.taste_slices():
        mean = music.phi @ block.matrix + block.offset
        sizes = np.linalg.norm(mean, axis=1)
        typical = np.linalg.norm(mean, axis=1).mean()
        song = int(np.argmin(abs(sizes - typical)))
        target = block.popularity / np.sqrt(block.weight)
        moved = space.dial(space.transform(music.phi[song : song + 1]), 1.0)[0, columns]
        without = mean[song, : block.n_dimensions] / sizes[song] - target
        assert np.isclose(moved @ without, np.linalg.norm(moved) * np.linalg.norm(without))


# ---- odd data


def test_two_artists_of_a_song_each_and_unknown_songs_work():
    random = np.random.default_rng(0)
    phi = random.normal(size=(4, 5))
    plays = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0]], bool)
    space = ListenerSpace().fit(phi, [0, 1, 2, -1], plays)  # artist 2 has no listeners, song 3 no artist
    assert space.artists_.tolist() == [0, 1]
    assert [block.name for block in space.blocks_] == ["neighbours", "sound", "known"]
    assert np.isfinite(space.transform_database(phi, [0, 1, 2, -1], known_by="listeners")).all()


def test_listeners_that_share_nothing_work():
    plays = np.eye(6, dtype=bool).repeat(12, axis=0)
    phi = np.random.default_rng(0).normal(size=(12, 9))
    space = ListenerSpace().fit(phi, np.repeat(np.arange(6), 2), plays)
    assert np.isfinite(space.transform(phi)).all()
    assert np.isfinite(space.transform_database(phi, np.repeat(np.arange(6), 2), known_by="listeners")).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phi": np.ones((6, 3))}, "the same for all"),
        ({"song_artist": [0] * 6}, "at least 2 are needed"),
        ({"plays": np.zeros((4, 3), bool)}, "at least 2 are needed"),
        ({"held_out": [0, 1]}, "at least 2 are needed"),
        ({"held_out": [3]}, "use 0 to 2"),
        ({"held_out": [0.5]}, "use columns"),
        ({"song_artist": [0, 0, 1, 1, 2, 3]}, "gives song 5 the artist 3"),
        ({"song_artist": [0, 1]}, "each of 6 songs"),
        ({"plays": np.ones(3)}, "listeners x artists"),
        ({"phi": np.full((6, 3), np.nan)}, "first in row 0"),
        ({"phi": np.ones(6)}, "songs x dimensions"),
        ({"metric": np.ones((2, 4))}, "fitted with 3"),
        ({"parts": [slice(0, 4)]}, "parts has"),
        ({"parts": [0]}, "parts has"),
    ],
)
def test_data_that_cannot_work_is_refused(change, message):
    plays = np.random.default_rng(0).random((20, 3)) < 0.5
    given = {"phi": np.random.default_rng(0).normal(size=(6, 3)), "song_artist": [0, 0, 1, 1, 2, 2], "plays": plays}
    with pytest.raises(InvalidInputError, match=message):
        ListenerSpace().fit(**{**given, **change})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("penalty", 0.0),
        ("penalty", (0.3, 0.3)),
        ("taste_weights", (1.0, -1.0, 0.0)),
        ("taste_weights", 1.0),
        ("sound_weight", "0.25"),
        ("centroid_share", 1.5),
        ("n_factors", 0),
        ("taste_dimensions", 2.5),
    ],
)
def test_parameters_that_cannot_work_are_refused(music, name, value):
    with pytest.raises(InvalidInputError, match=name):
        ListenerSpace(**{name: value}).fit(music.phi, music.song_artist, music.plays)


def test_calls_that_cannot_work_are_refused(music, space):
    with pytest.raises(NotFittedError, match="call fit first"):
        ListenerSpace().transform(music.phi)
    with pytest.raises(InvalidInputError, match="fitted with 30"):
        space.transform(music.phi[:, 1:])
    with pytest.raises(InvalidInputError, match="known_by"):
        space.transform_database(music.phi, music.song_artist, known_by="magic")
    with pytest.raises(InvalidInputError, match="adventurousness"):
        space.dial(space.transform(music.phi), np.inf)
    with pytest.raises(InvalidInputError, match="use fewer folds"):
        space.fit_balance(music.phi, music.song_artist, music.plays, n_folds=10)


def test_it_is_a_scikit_learn_estimator(music, space):
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_tags_renamed,
    ):
        check("ListenerSpace", ListenerSpace())
    before = space.get_params()
    again = clone(space)
    assert again.fit(music.phi, music.song_artist, sp.csc_array(music.plays)) is again
    assert space.get_params() == before
    assert again.n_features_in_ == 30
