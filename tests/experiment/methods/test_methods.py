"""What holds for every baseline and every method of the registry."""

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.baselines import EuclideanSimilarity
from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.experiment.methods.encoders import EncoderFeature
from nearsong.experiment.methods.method import Group, LearnedMethod, Quantization, SongData, VectorBaseline
from nearsong.experiment.methods.registry import BASELINES, DEFAULT_METHODS, LEADING, METHODS, REPORTED, comparable

N_SONGS, N_TAGS, N_FEATURES = 14, 6, 39
QUANTIZATION = Quantization(16, 2)
MEASURED = [baseline for baseline in BASELINES if baseline.group is not Group.CONTROL]


class SongsInMemory:
    """The data of a run without its files; ``order`` rearranges the songs."""

    vectors = None
    listening_data = None
    has_sound = True
    seed = 0
    n_relevant = 3
    encoders = ("gaussian", "fisher", "texture")
    n_codebook_songs = 40 - N_SONGS

    def __init__(self, order=range(N_SONGS)):
        rng = np.random.default_rng(0)
        frames = [rng.normal(rng.normal(0, 2, N_FEATURES), rng.uniform(0.5, 2), (80, N_FEATURES)) for _ in range(40)]
        tags = rng.random((40, N_TAGS)) < 0.5
        self.frames = [frames[song] for song in order]
        self.tags = sp.csr_array(tags[list(order)])
        self._codebook_frames, self.codebook_tags = frames[N_SONGS:], sp.csr_array(tags[N_SONGS:])
        self.training = np.array([row for row, song in enumerate(order) if song < 8])

    def histograms(self, codebook, tau):
        quantizer = TopTauHistogram(Codebook(codebook).fit(np.concatenate(self._codebook_frames)))
        return np.array([quantizer.histograms(frames, [tau])[tau] for frames in self.frames])

    def codebook_frames(self, song, features=None):
        return self._codebook_frames[song]

    def given_vectors(self, name):
        return None

    def learned(self, feature):
        return feature_named(feature).learn(self)

    def stored(self, feature):
        found = feature_named(feature)
        encode = found.encoder(self)
        return found.pack([encode(frames) for frames in self.frames])

    def distance_table(self, feature):
        return feature_named(feature).distances(self, range(len(self.frames)))


def feature_named(name):
    if name.startswith("encoder-"):
        return EncoderFeature(name.removeprefix("encoder-"))
    return next(feature for method in METHODS.values() for feature in method.features if feature.name == name)


def distances(baseline, data: SongData):
    if isinstance(baseline, VectorBaseline):
        vectors = baseline.vectors(data, data.training, QUANTIZATION)
        return EuclideanSimilarity().fit(vectors).distances(vectors)
    return data.distance_table(baseline.features[0].name)


@pytest.fixture(scope="module", params=MEASURED, ids=lambda baseline: baseline.name)
def measured(request):
    return request.param, distances(request.param, SongsInMemory())


def test_distances_are_finite(measured):
    _, table = measured
    assert table.shape == (N_SONGS, N_SONGS)
    assert np.isfinite(table).all()


def test_no_song_is_nearer_than_the_song_itself(measured):
    _, table = measured
    assert (np.diag(table) <= table.min(axis=1) + 1e-9).all()


def test_the_same_songs_have_the_same_distances(measured):
    baseline, table = measured
    np.testing.assert_array_equal(table, distances(baseline, SongsInMemory()))


def test_the_order_of_the_songs_does_not_matter(measured):
    baseline, table = measured
    order = np.random.default_rng(1).permutation(N_SONGS)
    np.testing.assert_allclose(
        distances(baseline, SongsInMemory(order)), table[np.ix_(order, order)], rtol=1e-6, atol=1e-7
    )


def test_names_and_labels_are_unique():
    assert all(name == method.name for name, method in REPORTED.items())
    for labels in ([method.label for method in REPORTED.values()], [m.short_label for m in REPORTED.values()]):
        assert len(set(labels)) == len(labels)
    assert set(DEFAULT_METHODS) <= set(METHODS) <= set(REPORTED)


def test_a_learned_method_is_compared_with_what_it_was_learned_on():
    for method in REPORTED.values():
        if isinstance(method, LearnedMethod):
            assert method.base in BASELINES
            assert set(method.compared_with) <= set(REPORTED)
            assert set(method.base.features) == set(method.features)
    assert [method.name for method in LEADING] == [
        *("ppk_mlr", "vectors_mlr", "averaged", "mlr", "smd_mlr", "tags_mlr")
    ]
    assert comparable("ppk_mlr", {"native_ppk", "random"}) == "native_ppk"
    assert comparable("ppk_mlr", {"random"}) is None
    assert comparable("random", {"native"}) is None


def test_methods_of_a_task_cover_the_same_grid():
    for task in {method.task for method in METHODS.values()}:
        own = [method for method in METHODS.values() if method.task == task]
        assert len({(method.uses_codebook, method.priority) for method in own}) == 1
