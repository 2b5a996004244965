from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.errors import DatasetError, InvalidInputError
from nearsong.experiment import Dataset, make_dataset
from nearsong.experiment.run.protocol import (
    choose_population,
    describe_part,
    make_split,
    shuffled_training,
    training_on,
)
from nearsong.experiment.run.settings import Settings, paper_Cs
from nearsong.model.held_out import with_relevance_from

SETTINGS = Settings(codebooks=(16,), taus=(1,), min_listeners=25, n_relevant=4, n_splits=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "world"
    make_dataset(folder, n_artists=60, n_users=400, content="vectors", seed=3)
    return Dataset.open(folder)


@pytest.fixture(scope="module")
def population(data):
    return choose_population(data, SETTINGS)


def jaccard(plays: sp.csr_array, a: int, b: int) -> float:
    columns = plays.toarray()
    both = (columns[:, a] & columns[:, b]).sum()
    either = (columns[:, a] | columns[:, b]).sum()
    return both / either if either else 0.0


def test_the_defaults_are_the_papers():
    settings = Settings()
    assert settings.codebooks == (256, 512, 1024, 2048)
    assert settings.taus == (1, 2, 4, 8)
    assert settings.losses == ("auc", "ndcg", "mrr")
    assert settings.Cs == paper_Cs() == tuple(10.0**power for power in range(-2, 10))
    assert (settings.n_splits, settings.min_listeners, settings.n_relevant, settings.min_plays) == (10, 100, 10, 10)
    assert settings.main == (1024, 1)
    assert Settings.from_json(settings.as_json()) == settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codebooks": ()}, "codebooks is empty"),
        ({"codebooks": (0,)}, "codebooks=0"),
        ({"taus": (1, 1)}, "taus has a value twice"),
        ({"losses": ("hinge",)}, "losses='hinge' is unknown"),
        ({"Cs": (-1.0,)}, "Cs=-1"),
        ({"methods": ("magic",)}, "methods='magic' is unknown"),
        ({"n_splits": 0}, "n_splits=0"),
        ({"encoders": ("../x",)}, r"encoders='../x' is not a name; give encoders, or names of \.npy files"),
        ({"encoders": ("fisher", "fisher")}, "encoders has a value twice"),
        ({"codebooks": (4,), "taus": (8,)}, r"tau=8 asks for more codewords than the smallest codebook has \(4\)"),
    ],
)
def test_settings_that_cannot_work_are_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        Settings(**change)


def test_the_experiment_set_is_the_artists_with_enough_listeners(data, population):
    listeners = (data.plays.toarray() >= 10).sum(axis=0)
    np.testing.assert_array_equal(population.artists, np.flatnonzero(listeners >= 25))
    assert 10 < population.n_artists < 60
    np.testing.assert_array_equal(population.artists[population.song_artist], data.song_artist[population.songs])
    np.testing.assert_array_equal(population.plays.sum(axis=0), listeners[population.artists])


def test_codebook_artists_are_never_in_the_experiment(data, population):
    assert not set(population.codebook_artists) & set(population.artists)
    assert not set(population.codebook_songs) & set(population.songs)
    assert len(population.codebook_songs) + len(population.songs) == data.n_songs


def test_all_plays_hold_the_artists_of_the_experiment_and_then_all_others(data, population):
    n_users, n_artists = population.plays.shape
    other = np.zeros((n_users + 5, 3))
    other[-5:, 0] = 10  # five further users, who play an artist without songs
    other[:2, 1] = 10  # too few
    other[:3, 2] = 9  # too seldom
    more = choose_population(replace(data, other_plays=sp.csr_array(other)), SETTINGS)
    assert (population.all_plays[:n_users, :n_artists] != population.plays).nnz == 0
    outside = np.setdiff1d(np.arange(len(data.artists)), population.artists)
    listens = data.plays.toarray()[:, outside] >= 10
    np.testing.assert_array_equal(population.all_plays.toarray()[:, n_artists:], listens[:, listens.sum(axis=0) >= 3])
    np.testing.assert_array_equal(more.all_plays.toarray()[:n_users, :-1], population.all_plays.toarray())
    assert not more.all_plays.toarray()[n_users:, :-1].any()
    np.testing.assert_array_equal(more.all_plays.toarray()[:, -1], other[:, 0] > 0)
    np.testing.assert_array_equal(more.plays.toarray(), population.plays.toarray())


@pytest.mark.parametrize("number", range(3))
def test_no_artist_is_in_two_parts(population, number):
    split = make_split(population, number, SETTINGS)
    parts = [split.training.queries, split.validation.queries, split.test_known.queries]
    artists = [set(population.song_artist[songs]) for songs in parts]
    assert not artists[0] & artists[1]
    assert not artists[0] & artists[2]
    assert not artists[1] & artists[2]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(population.songs)))


def test_databases_are_the_training_songs_and_the_songs_of_validation_artists(population):
    split = make_split(population, 0, SETTINGS)
    training, validation = split.training.queries, split.validation.queries
    np.testing.assert_array_equal(split.training.database, training)
    np.testing.assert_array_equal(split.validation.database, training)
    np.testing.assert_array_equal(split.test_known.database, training)
    np.testing.assert_array_equal(split.test_unknown.database, validation)
    np.testing.assert_array_equal(split.test_unknown.queries, split.test_known.queries)


@pytest.mark.parametrize("name", ["training", "validation", "test_known", "test_unknown"])
def test_relevant_songs_are_those_of_the_nearest_artists_in_the_database(population, name):
    ranking = getattr(make_split(population, 1, SETTINGS), name)
    artists = sorted(set(population.song_artist[ranking.database]))
    relevant, ignored = ranking.relevant.toarray(), ranking.ignored.toarray()
    for row, query in list(enumerate(ranking.queries))[:12]:
        artist = population.song_artist[query]
        near = [(-jaccard(population.plays, artist, other), other) for other in artists if other != artist]
        nearest = {other for similarity, other in sorted(near)[: SETTINGS.n_relevant] if similarity < 0}
        of_song = population.song_artist[ranking.database]
        np.testing.assert_array_equal(relevant[row], np.isin(of_song, list(nearest)))
        np.testing.assert_array_equal(ignored[row], of_song == artist)


def test_from_fewer_training_artists_only_they_are_learned(population):
    split = make_split(population, 0, SETTINGS)
    artists = np.unique(population.song_artist[split.training.queries])[:5]
    ranking = training_on(population, split, artists, SETTINGS)
    assert set(population.song_artist[ranking.queries]) == set(artists)
    np.testing.assert_array_equal(ranking.queries, ranking.database)
    assert (np.diff(ranking.relevant.indptr) > 0).any()


def test_shuffled_relevance_keeps_the_songs_and_changes_who_is_relevant(population):
    split = make_split(population, 0, SETTINGS)
    shuffled = shuffled_training(population, split, SETTINGS)
    np.testing.assert_array_equal(shuffled.queries, split.training.queries)
    same = shuffled.relevant.multiply(split.training.relevant).nnz
    assert same < 0.8 * split.training.relevant.nnz
    own = population.song_artist[shuffled.queries]
    assert not shuffled.relevant.toarray()[np.equal.outer(own, own)].any()


def test_other_listeners_judge_otherwise(population):
    split = make_split(population, 0, SETTINGS)
    half = sp.csr_array(population.plays[: population.plays.shape[0] // 2])
    judged = with_relevance_from(population, split.test_known, half, SETTINGS.n_relevant)
    np.testing.assert_array_equal(judged.queries, split.test_known.queries)
    assert judged.relevant.nnz > 0
    assert (judged.relevant != split.test_known.relevant).nnz > 0
    everyone = with_relevance_from(population, split.test_known, population.plays, SETTINGS.n_relevant)
    assert (everyone.relevant != split.test_known.relevant).nnz == 0


def test_the_statistics_are_those_of_the_papers_table(population):
    split = make_split(population, 2, SETTINGS)
    facts = describe_part(split.test_known, population)
    counts = split.test_known.relevant.toarray().sum(axis=1)
    assert facts["songs"] == len(split.test_known.queries)
    assert facts["artists"] == len(set(population.song_artist[split.test_known.queries]))
    assert facts["relevant"] == pytest.approx(counts.mean())
    assert facts["relevant_std"] == pytest.approx(counts.std())
    assert facts["queries"] == (counts > 0).sum()


def test_too_few_known_artists_are_refused_with_a_number_that_works(data):
    with pytest.raises(DatasetError, match=r"0 artists have 10000 listeners .* lower --min-listeners") as caught:
        choose_population(data, Settings(min_listeners=10_000))
    enough = int(str(caught.value).split("has ")[-1].rstrip(")."))
    assert choose_population(data, Settings(min_listeners=enough)).n_artists >= 10


def test_a_split_without_queries_says_so(population):
    lonely = replace(population, plays=sp.csr_array(population.plays.shape, dtype=bool))
    with pytest.raises(DatasetError, match="split 0: no training song has both relevant and irrelevant"):
        make_split(lonely, 0, SETTINGS)
