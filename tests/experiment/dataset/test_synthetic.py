"""Made-up data has the truth it was made from in it: in the listens, in the sound, in the tags."""

import csv
import gzip
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import chisquare, spearmanr
from sklearn.metrics import roc_auc_score

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.evaluation import ranking_scores
from nearsong.experiment import Dataset, Truth, make_dataset
from nearsong.experiment.dataset import synthetic
from nearsong.experiment.dataset.synthetic import ListenerModel, draw_listens
from nearsong.experiment.dataset.synthetic_sound import SoundBank
from nearsong.metric import MetricLearningToRank
from nearsong.model import SimilarityModel
from nearsong.relevance import jaccard_neighbors, relevant_songs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the data set with all defaults and its truth."""
    folder = tmp_path_factory.mktemp("made") / "default"
    truth = make_dataset(folder)
    return Dataset.open(folder), truth


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def artist_split(data, seed):
    """Split artists in halves; return the songs of each, and who is relevant among the first half for both."""
    order = np.random.default_rng(seed).permutation(len(data.artists))
    train = order[: len(order) // 2]
    neighbors, _ = jaccard_neighbors(data.plays, k=10, min_plays=10, among=train)
    of_train = np.isin(data.song_artist, train)
    database, queries = np.flatnonzero(of_train), np.flatnonzero(~of_train)
    learn = relevant_songs(neighbors, data.song_artist[database])
    judge = relevant_songs(neighbors, data.song_artist[queries], data.song_artist[database])
    return database, queries, learn, judge


def held_out_auc(embeddings, database, queries, judge):
    return ranking_scores(embeddings[queries], embeddings[database], *judge).auc


# Format


@pytest.mark.parametrize("content", ["frames", "vectors"])
def test_a_made_up_folder_is_a_data_set(tmp_path, content):
    truth = make_dataset(tmp_path, content=content, n_artists=12, n_users=60, frames_per_song=30, n_atoms=5)
    data = Dataset.open(tmp_path)
    assert data.content == content
    assert data.n_users == 60
    assert len(data.artists) == 12
    assert data.artists == data.artist_names
    np.testing.assert_array_equal(data.song_artist, truth.song_artist)
    assert data.genres == tuple(f"genre {truth.genre[artist]}" for artist in truth.song_artist)
    assert truth.taste.shape == (12, 4)
    assert truth.song_taste.shape == (data.n_songs, 4)
    assert truth.popularity.sum() == pytest.approx(1)
    if content == "frames":
        assert data.frames_of(data.n_songs - 1).shape == (30, 39)
        assert np.load(tmp_path / "frames" / "s000000.npy").dtype == np.float16
    else:
        assert data.vectors.shape == (data.n_songs, 5)
        assert data.vector_names == ("atom 00", "atom 01", "atom 02", "atom 03", "atom 04")


@pytest.mark.parametrize("n_artists", [10, 11, 101])
def test_artists_are_in_the_order_of_their_names(tmp_path, n_artists):
    truth = make_dataset(tmp_path, n_artists=n_artists, songs_per_artist=1.0, n_users=5, content="vectors")
    data = Dataset.open(tmp_path)
    assert data.song_artist.tolist() == truth.song_artist.tolist() == list(range(n_artists))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    size = {"n_artists": 8, "n_users": 30, "frames_per_song": 20}
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        make_dataset(tmp_path / name, seed=seed, **size)
    one, two, three = (files_of(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    for name in ("songs.csv", "listens.csv.gz", "tags.csv.gz", "frames/s000000.npy"):
        assert one[name] != three[name]


def test_more_users_or_another_content_leave_tastes_and_songs_as_they_are(tmp_path):
    few = make_dataset(tmp_path / "few", n_artists=8, n_users=10, frames_per_song=20)
    many = make_dataset(tmp_path / "many", n_artists=8, n_users=50, content="vectors")
    for name in ("taste", "popularity", "genre", "song_taste", "song_artist"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


def test_songs_per_artist_is_a_range_or_an_exact_mean(tmp_path):
    ranged = make_dataset(tmp_path / "range", songs_per_artist=(2, 4), n_users=5, content="vectors")
    assert set(np.bincount(ranged.song_artist)) == {2, 3, 4}
    mean = make_dataset(tmp_path / "mean", songs_per_artist=139 / 60, n_users=5, content="vectors")
    counts = np.bincount(mean.song_artist, minlength=60)
    assert counts.sum() == 139
    assert counts.min() >= 1


def test_no_tags_make_no_file_of_tags(tmp_path):
    make_dataset(tmp_path, n_artists=4, n_users=5, content="vectors", n_tags=0)
    assert Dataset.open(tmp_path).tags is None


# Listens


def listens_of(folder):
    with gzip.open(folder / "listens.csv.gz", "rt") as file:
        return [(row["user"], row["artist"], int(row["plays"])) for row in csv.DictReader(file)]


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
def test_every_user_plays_each_of_some_artists_once_whatever_the_block(tmp_path, monkeypatch, block):
    monkeypatch.setattr(synthetic, "BLOCK_ENTRIES", 10 * block)
    make_dataset(tmp_path, n_artists=10, n_users=40, content="vectors", artists_per_user=3)
    rows = listens_of(tmp_path)
    assert list(dict.fromkeys(user for user, _, _ in rows)) == [f"u{i:07d}" for i in range(40)]
    assert len({(user, artist) for user, artist, _ in rows}) == len(rows)
    assert min(plays for _, _, plays in rows) >= 1


def plain_truth(popularity):
    """Return a truth of artists who differ in popularity alone."""
    n = len(popularity)
    return Truth(np.zeros((n, 1)), np.array(popularity), np.zeros(n, int), np.zeros((n, 1)), np.arange(n))


def listeners(artists_per_user, sharpness=1.0):
    return ListenerModel(artists_per_user=artists_per_user, sharpness=sharpness, median_plays=30.0)


def test_a_first_pick_has_the_probability_it_should_have():
    popularity = np.array([0.5, 0.3, 0.15, 0.05])
    random = np.random.default_rng(0)
    user, artist, _ = draw_listens(plain_truth(popularity), 20_000, listeners(1e-9), random)
    assert len(user) == 20_000  # one pick each
    assert chisquare(np.bincount(artist), 20_000 * popularity).pvalue > 0.001


def test_later_picks_are_drawn_from_what_is_left():
    popularity = np.array([0.6, 0.3, 0.1])
    random = np.random.default_rng(1)
    picks = draw_listens(plain_truth(popularity), 60_000, listeners(1.5), random)
    orders = Counter()
    for artists in np.split(picks[1], np.flatnonzero(np.diff(picks[0])) + 1):
        orders[tuple(artists.tolist())] += len(artists) == 2
    pairs = list(permutations(range(3), 2))
    expected = np.array([popularity[i] * popularity[j] / (1 - popularity[i]) for i, j in pairs])
    seen = np.array([orders[pair] for pair in pairs])
    assert seen.sum() > 10_000
    assert chisquare(seen, seen.sum() * expected).pvalue > 0.001


def test_users_pick_by_distance_of_taste():
    """Artists at -1 and 1, a user at u: the odds of the first pick are exp(2 * sharpness * u)."""
    n_users, sharpness = 40_000, 2.0
    truth = Truth(np.array([[-1.0], [1.0]]), np.full(2, 0.5), np.zeros(2, int), np.zeros((2, 1)), np.arange(2))
    _, artist, _ = draw_listens(truth, n_users, listeners(1e-9, sharpness), np.random.default_rng(3))
    random = np.random.default_rng(3)  # the users, by the draws that are made first
    liked = truth.taste[random.integers(2, size=n_users)]
    users = liked + synthetic.TASTE_STD * random.standard_normal((n_users, 1))
    expected = 1 / (1 + np.exp(-2 * sharpness * users[:, 0]))
    for part in (expected < 0.1, (expected > 0.3) & (expected < 0.7), expected > 0.9):
        error = np.sqrt(np.sum(expected[part] * (1 - expected[part]))) / part.sum()
        assert np.mean(artist[part]) == pytest.approx(expected[part].mean(), abs=4 * error)


def test_listeners_of_an_artist_follow_popularity_with_a_long_tail(tmp_path):
    tails = {}
    for exponent in (0.0, 0.8):
        folder = tmp_path / str(exponent)
        size = {"n_artists": 300, "n_users": 3_000, "artists_per_user": 8, "content": "vectors"}
        truth = make_dataset(folder, popularity_exponent=exponent, **size)
        listeners = np.diff(Dataset.open(folder).plays.tocsc().indptr)
        tails[exponent] = listeners.max() / np.median(listeners)
    assert spearmanr(listeners, truth.popularity).statistic > 0.6
    assert tails[0.8] > 10 > 4 > tails[0.0]


def test_the_number_of_artists_a_user_plays_has_the_mean_asked_for_and_a_long_tail(tmp_path):
    make_dataset(tmp_path, n_artists=300, n_users=4_000, artists_per_user=20, content="vectors")
    artists = np.diff(Dataset.open(tmp_path).plays.indptr)
    assert artists.mean() == pytest.approx(20, rel=0.05)
    assert artists.max() > 5 * np.median(artists)


def test_ten_plays_are_a_threshold_that_matters(tmp_path):
    truth = make_dataset(tmp_path, n_artists=150, n_users=1_500, content="vectors")
    plays = Dataset.open(tmp_path).plays
    assert 0.1 < np.mean(plays.data < 10) < 0.3
    enough, any_play = (jaccard_neighbors(plays, k=10, min_plays=least)[0] for least in (10, 1))
    assert truth.auc(enough) > truth.auc(any_play) + 0.005


def test_neighbours_by_listeners_are_neighbours_by_taste(made):
    data, truth = made
    assert truth.auc(jaccard_neighbors(data.plays, k=10, min_plays=10)[0]) > 0.9


def test_without_sharpness_listeners_know_nothing_of_taste(tmp_path):
    truth = make_dataset(tmp_path, n_artists=150, n_users=1_500, sharpness=0, content="vectors")
    neighbors, _ = jaccard_neighbors(Dataset.open(tmp_path).plays, k=10, min_plays=10)
    assert truth.auc(neighbors) == pytest.approx(0.5, abs=0.03)


# Truth


@given(st.integers(2, 9), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_distances_of_taste_are_squared_euclidean(n_artists, dim, seed):
    taste = np.random.default_rng(seed).normal(size=(n_artists, dim))
    truth = Truth(taste, np.ones(n_artists), np.zeros(n_artists, int), taste, np.arange(n_artists))
    np.testing.assert_allclose(truth.distances(), cdist(taste, taste, "sqeuclidean"), atol=1e-12)


def test_auc_of_the_truth_is_scikit_learns_mean_over_artists():
    random = np.random.default_rng(0)
    taste = random.normal(size=(12, 2))
    truth = Truth(taste, np.ones(12), np.zeros(12, int), taste, np.arange(12))
    neighbors = np.array([random.choice(np.delete(np.arange(12), i), 3, replace=False) for i in range(12)])
    neighbors[0, 1:] = -1
    expected = []
    for i, row in enumerate(neighbors):
        others = np.delete(np.arange(12), i)
        distances = ((taste[others] - taste[i]) ** 2).sum(axis=1)
        expected.append(roc_auc_score(np.isin(others, row), -distances))
    assert truth.auc(neighbors) == pytest.approx(np.mean(expected))
    nearest = np.argsort(truth.distances(), axis=1)[:, 1:4]
    assert truth.auc(nearest) == 1.0


# Sound


def test_frames_look_like_music(made):
    data, _ = made
    mfcc = np.concatenate([data.frames_of(i)[:, :13] for i in range(data.n_songs)])
    assert -260 < mfcc[:, 0].mean() < -140
    spread = mfcc.std(axis=0)
    assert 50 < spread[0] < 110
    assert spread[0] > spread[1] > spread[4] > spread[12] > 3
    first = data.frames_of(0)[:, 0]
    assert 0.3 < np.corrcoef(first[1:], first[:-1])[0, 1] < 0.98


def test_a_song_has_as_much_of_each_sound_as_it_should():
    bank = SoundBank.make(3, 2)
    far = SoundBank(1e3 * np.arange(3.0)[:, None] + np.zeros((3, 13)), bank.of_taste, bank.of_recording)
    log_weights = np.array([0.0, 1.0, -0.5])
    frames = far.frames(log_weights, 40_000, 0.0, np.random.default_rng(0))
    atom = np.rint(frames[:, 12].astype(float) / 1e3).astype(int)
    np.testing.assert_allclose(np.bincount(atom) / 40_000, np.exp(log_weights) / np.exp(log_weights).sum(), atol=0.01)
    around = frames[:, 12].astype(float)[atom == 0]
    assert around.std() == pytest.approx(0.5 * 6.0, rel=0.05)


def test_weights_are_linear_in_taste_and_recording():
    bank = SoundBank.make(6, 3)
    tastes = np.random.default_rng(0).normal(size=(5, 3))
    of_taste = bank.log_weights(tastes, 2.0, 0.0, np.random.default_rng(1))
    np.testing.assert_allclose(of_taste, 2 * tastes @ bank.of_taste.T)
    both = bank.log_weights(tastes, 2.0, 1.5, np.random.default_rng(1))
    recordings = np.random.default_rng(1).standard_normal((5, 4))
    np.testing.assert_allclose(both - of_taste, 1.5 * recordings @ bank.of_recording.T, atol=1e-12)


@pytest.mark.parametrize("content", ["frames", "vectors"])
def test_sound_without_taste_says_nothing_about_listeners(tmp_path, content):
    make_dataset(tmp_path, n_artists=200, n_users=2_000, sound_of_taste=0, content=content, frames_per_song=60)
    data = Dataset.open(tmp_path)
    neighbors, _ = jaccard_neighbors(data.plays, k=10, min_plays=10)
    relevant, ignored = relevant_songs(neighbors, data.song_artist)
    if content == "frames":
        songs = [data.frames_of(i) for i in range(data.n_songs)]
        model = SimilarityModel.learn(Codebook(32).fit(np.concatenate(songs)), songs)
        embeddings = model.project(model.encode_all(songs))
    else:
        embeddings = data.vectors
    assert ranking_scores(embeddings, None, relevant, ignored).auc == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_learned_metric_over_frames_ranks_by_taste_better_than_the_native_one(tmp_path, seed):
    truth = make_dataset(tmp_path, seed=seed)
    data = Dataset.open(tmp_path)
    database, queries, learn, judge = artist_split(data, seed)
    songs = [data.frames_of(i) for i in range(data.n_songs)]
    codebook = Codebook(64).fit(np.concatenate([songs[i] for i in database]))
    native = SimilarityModel.learn(codebook, [songs[i] for i in database])
    histograms = native.encode_all(songs)
    learned = SimilarityModel.learn(codebook, histograms[database], *learn, learner=MetricLearningToRank(C=1e3))
    native_auc, learned_auc = (
        held_out_auc(model.project(histograms), database, queries, judge) for model in (native, learned)
    )
    ceiling = held_out_auc(truth.song_taste, database, queries, judge)
    assert 0.6 < native_auc < learned_auc - 0.08
    assert learned_auc < ceiling


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_learned_metric_over_vectors_ranks_by_taste_better_than_the_native_one(tmp_path, seed):
    make_dataset(tmp_path, seed=seed, content="vectors")
    data = Dataset.open(tmp_path)
    database, queries, learn, judge = artist_split(data, seed)
    metric = MetricLearningToRank(C=10.0).fit(data.vectors[database], *learn)
    learned = held_out_auc(metric.transform(data.vectors), database, queries, judge)
    assert learned > held_out_auc(data.vectors, database, queries, judge) + 0.08


# Tags


def test_every_tag_says_something_about_taste(made):
    """The songs with a tag lie to one side: farther from the middle than as many songs drawn at random."""
    data, truth = made
    assert data.tags.shape == (data.n_songs, 20)
    assert data.tag_names == tuple(sorted([f"genre {i}" for i in range(6)] + [f"mood {i}" for i in range(14)]))
    random = np.random.default_rng(0)
    for tag in range(20):
        own = data.tags[:, [tag]].toarray().ravel()
        assert 0.04 < own.mean() < 0.31
        by_chance = [np.linalg.norm(truth.song_taste[random.permutation(own)].mean(axis=0)) for _ in range(200)]
        assert np.linalg.norm(truth.song_taste[own].mean(axis=0)) > max(by_chance)


def test_a_genres_tag_is_most_frequent_in_the_genre(made):
    data, truth = made
    tagged = data.tags.toarray()[:, :6]
    genre = truth.genre[truth.song_artist]
    share = np.array([[tagged[genre == g, tag].mean() for g in np.unique(genre)] for tag in np.unique(genre)])
    assert np.trace(share) / len(share) > 2 * share.mean()


def test_more_tag_noise_makes_tags_say_less(tmp_path):
    within = []
    for noise in (0.0, 1.0, 100.0):
        truth = make_dataset(tmp_path / str(noise), tag_noise=noise, content="vectors", n_users=20)
        tags = Dataset.open(tmp_path / str(noise)).tags.astype(float)
        centres = (tags.T @ truth.song_taste) / tags.sum(axis=0)[:, None]
        within.append((centres**2).sum(axis=1).mean())
    assert within[0] > within[1] > 10 * within[2]


# What cannot work


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_artists": 1}, "n_artists=1 must be a whole number of at least 2"),
        ({"n_users": 0}, "n_users=0 must be a whole number of at least 1"),
        ({"taste_dim": 0}, "taste_dim=0 must be"),
        ({"n_genres": 0}, "n_genres=0 must be"),
        ({"n_atoms": 1}, "n_atoms=1 must be a whole number of at least 2"),
        ({"frames_per_song": 8}, "frames_per_song=8 must be a whole number of at least 9"),
        ({"n_tags": -1}, "n_tags=-1 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"artists_per_user": 0}, "artists_per_user=0 must be a finite number above 0"),
        ({"median_plays": 0}, "median_plays=0 must be a finite number above 0"),
        ({"sharpness": -1.0}, r"sharpness=-1\.0 must be"),
        ({"popularity_exponent": float("nan")}, "popularity_exponent=nan must be"),
        ({"sound_of_taste": -0.1}, r"sound_of_taste=-0\.1 must be"),
        ({"nuisance": float("inf")}, "nuisance=inf must be"),
        ({"song_spread": "wide"}, "song_spread='wide' must be"),
        ({"tag_noise": -2}, "tag_noise=-2 must be"),
        ({"content": "midi"}, "content='midi' is unknown; choose one of frames, vectors"),
        ({"songs_per_artist": (0, 3)}, "minimum of songs_per_artist=0 must be"),
        ({"songs_per_artist": (3, 2)}, "maximum of songs_per_artist=2 must be a whole number of at least 3"),
        ({"songs_per_artist": (1, 2, 3)}, r"songs_per_artist=\(1, 2, 3\) has 3 numbers; give \(minimum, maximum\)"),
        ({"songs_per_artist": 0.5}, r"songs_per_artist=0\.5 leaves artists without songs; give at least 1"),
        ({"songs_per_artist": -1.0}, r"songs_per_artist=-1\.0 must be a number between 0 and"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is_written(tmp_path, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        make_dataset(tmp_path / "new", **wrong)
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for folder in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(InvalidInputError, match="is not empty; choose a new folder"):
            make_dataset(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
