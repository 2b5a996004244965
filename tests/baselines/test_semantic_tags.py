"""Semantic multinomials against their definition, and what a tag learns from."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from nearsong.baselines import SemanticMultinomial, fit_mixture
from nearsong.errors import InvalidInputError


def songs(rng, n, d=3, frames=80):
    return [rng.normal(rng.normal(0, 2, d), 1.5, (frames, d)).astype(np.float32) for _ in range(n)]


def tagged(seed=0, n_songs=8, n_tags=4, **parameters):
    rng = np.random.default_rng(seed)
    training_songs = songs(rng, n_songs)
    tags = rng.random((n_songs, n_tags)) < 0.4
    tags[np.arange(n_tags), np.arange(n_tags)] = True
    return SemanticMultinomial(n_components=2, **parameters).fit_tags(training_songs, tags), training_songs, tags


def test_a_song_is_the_normalised_geometric_mean_of_its_likelihoods():
    tagger, _, _ = tagged()
    new = songs(np.random.default_rng(1), 5)
    multinomials = tagger.transform(new)
    for song, multinomial in zip(new, multinomials, strict=True):
        means = np.array([np.exp(mixture.log_density(song).mean()) for mixture in tagger.mixtures_])
        np.testing.assert_allclose(multinomial, means / means.sum(), rtol=1e-4)
    np.testing.assert_allclose(multinomials.sum(axis=1), 1.0, rtol=1e-12)


def test_long_songs_and_far_songs_do_not_underflow():
    tagger, _, _ = tagged()
    rng = np.random.default_rng(2)
    multinomials = tagger.transform([rng.normal(0, 2, (12_000, 3)), rng.normal(3000, 5, (50, 3))])
    np.testing.assert_allclose(multinomials.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(multinomials).all()


def test_distances_are_those_of_the_probability_product_kernel():
    tagger, training_songs, _ = tagged()
    queries = songs(np.random.default_rng(3), 4)
    table = tagger.fit(training_songs).distances(queries)
    bhattacharyya = np.sqrt(tagger.transform(queries)) @ np.sqrt(tagger.multinomials_).T
    np.testing.assert_allclose(table**2, 2 - 2 * bhattacharyya, atol=1e-12)
    assert table.max() <= np.sqrt(2) + 1e-12


def test_a_tags_mixture_is_fitted_to_all_frames_of_its_songs_when_they_are_few():
    tagger, training_songs, tags = tagged()
    for tag, mixture in enumerate(tagger.mixtures_):
        pool = np.concatenate([training_songs[song] for song in np.flatnonzero(tags[:, tag])])
        alone = fit_mixture(pool, 1)
        mean = mixture.weights @ mixture.means
        np.testing.assert_allclose(mean, alone.means[0], atol=1e-3)


def test_every_song_of_a_tag_gives_the_same_number_of_frames_whatever_its_length(monkeypatch):
    pools = []

    def remember(frames, *arguments, **keywords):
        pools.append(frames)
        return fit_mixture(frames, *arguments, **keywords)

    monkeypatch.setattr("nearsong.baselines.semantic_tags.fit_mixture", remember)
    lengths = [1000, 300, 20, 5000]
    training_songs = [
        np.column_stack([np.full(n, number), np.arange(n)]).astype(float) for number, n in enumerate(lengths)
    ]
    tags = [[1, 0], [1, 0], [1, 0], [1, 1]]
    SemanticMultinomial(n_components=1, frames_per_tag=400, threads=1).fit_tags(iter(training_songs), tags)
    assert np.bincount(pools[0][:, 0].astype(int)).tolist() == [100, 100, 20, 100]
    assert pools[1].shape == (400, 2)
    for pool in pools:
        assert len(np.unique(pool, axis=0)) == len(pool)  # no frame twice
    drawn = pools[1][:, 1]  # from all over the song: mean and spread of a uniform draw without replacement
    assert abs(drawn.mean() - 2500) < 4 * 5000 / np.sqrt(12 * 400)
    assert drawn.max() - drawn.min() > 4500


def test_a_dense_and_a_sparse_relation_counts_and_threads_learn_the_same_tags():
    tagger, training_songs, tags = tagged(threads=1)
    for relation, threads in [(sp.csr_array(tags), 2), (sp.coo_matrix(tags * 7), 3), (tags.tolist(), None)]:
        other = SemanticMultinomial(n_components=2, threads=threads).fit_tags(iter(training_songs), relation)
        for one, two in zip(tagger.mixtures_, other.mixtures_, strict=True):
            np.testing.assert_array_equal(one.means, two.means)


def test_a_song_without_tags_teaches_nothing():
    tagger, training_songs, tags = tagged()
    more = SemanticMultinomial(n_components=2).fit_tags(
        [*training_songs, np.full((9, 3), 500.0)], np.vstack([tags, np.zeros((1, 4))])
    )
    np.testing.assert_array_equal(tagger.mixtures_[0].means, more.mixtures_[0].means)


def test_songs_get_the_tags_whose_sound_they_have():
    rng = np.random.default_rng(4)
    sounds = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    kind = rng.integers(3, size=30)
    training_songs = [rng.normal(sounds[k], 1.0, (60, 3)) for k in kind]
    tagger = SemanticMultinomial(n_components=1).fit_tags(training_songs, np.eye(3)[kind])
    new = [rng.normal(sounds[k], 1.0, (60, 3)) for k in range(3)]
    np.testing.assert_array_equal(tagger.transform(new).argmax(axis=1), [0, 1, 2])
    ids, _ = tagger.fit(training_songs).rank(new[1], k=int((kind == 1).sum()))
    assert (kind[ids] == 1).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, s: t.fit_tags(s, [[1, 0], [1, 0]]), r"tag 1 has no song \(1 such tags\)"),
        (lambda t, s: t.fit_tags(s, [1, 0]), r"tags has shape \(2,\); give songs x tags"),
        (lambda t, s: t.fit_tags(s, np.ones((2, 0))), r"tags has shape \(2, 0\)"),
        (lambda t, s: t.fit_tags(s, np.ones((1, 1))), "songs has more than the 1 rows of tags"),
        (lambda t, s: t.fit_tags(s, np.ones((3, 1))), "songs has 2 songs and tags 3 rows"),
        (lambda t, s: t.fit_tags([], np.ones((3, 1))), "songs has 0 songs and tags 3 rows"),
        (lambda t, s: t.fit_tags([s[0], s[1][:, :1]], np.ones((2, 1))), "song 1 has 1 features per frame"),
        (lambda t, s: t.fit_tags([s[0], s[1] * np.nan], np.ones((2, 1))), "song 1 has a NaN"),
        (lambda t, s: t.set_params(frames_per_tag=0).fit_tags(s, np.ones((2, 1))), "frames_per_tag=0"),
        (lambda t, s: t.set_params(random_state=-1).fit_tags(s, np.ones((2, 1))), "random_state=-1"),
        (lambda t, s: t.set_params(n_components=0).fit_tags(s, np.ones((2, 1))), "n_components=0"),
        (lambda t, s: t.fit_tags(s, np.ones((2, 1))).transform([s[0][:, :2]]), "song 0 has 2 features per frame"),
    ],
)
def test_a_mistake_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(SemanticMultinomial(), songs(np.random.default_rng(5), 2))


def test_the_database_comes_after_the_tags():
    with pytest.raises(NotFittedError):
        SemanticMultinomial().fit(songs(np.random.default_rng(6), 2))
    with pytest.raises(NotFittedError):
        tagged()[0].distances(songs(np.random.default_rng(6), 2))


def test_learning_the_tags_anew_forgets_the_database_described_with_the_old_ones():
    random = np.random.default_rng(0)
    songs = [random.normal(3 * (i % 2), size=(60, 4)).astype(np.float32) for i in range(6)]
    tags = np.equal.outer(np.arange(6) % 2, np.arange(2))
    tagger = SemanticMultinomial(n_components=1).fit_tags(songs, tags).fit(songs)
    tagger.fit_tags(songs, tags[:, ::-1])
    with pytest.raises(NotFittedError):
        tagger.distances(songs[:1])
    assert tagger.fit(songs).distances(songs[:1])[0, 0] == 0.0
