"""Top-tau histograms against sorting all distances, and that no bit depends on how frames come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.encoding.nearest import CodewordSearch
from nearsong.encoding.products import LANES, ROWS, multiply, pack
from nearsong.errors import InvalidInputError
from waiting import in_threads


def integer_codebook(n_codewords, d, seed=0):
    """Small integers: every distance is exact in float32, and many tie."""
    rng = np.random.default_rng(seed)
    mean, scale = rng.integers(-50, 50, d), 2.0 ** rng.integers(-3, 5, d)
    return Codebook.from_arrays(mean, scale, rng.integers(-9, 10, (n_codewords, d)))


def integer_frames(codebook, n, seed=1):
    scores = np.random.default_rng(seed).integers(-9, 10, (n, codebook.n_features_in_))
    return (scores * codebook.scale_ + codebook.mean_).astype(np.float32)


def distances_of(codebook, frames):
    scores = (frames - codebook.mean_) / codebook.scale_
    return cdist(scores, codebook.codewords_.astype(np.float64), "sqeuclidean")


def by_sorting(codebook, frames, tau):
    """All distances, sorted; equals by lower index."""
    return distances_of(codebook, frames).argsort(axis=1, kind="stable")[:, :tau]


# What is nearest


@pytest.mark.parametrize("n_codewords", [1, 2, 31, 32, 33, 100, 256, 1024])
def test_nearest_codewords_are_those_of_sorting_all_distances(n_codewords):
    codebook = integer_codebook(n_codewords, 13)
    frames = integer_frames(codebook, 500)
    for tau in {min(tau, n_codewords) for tau in (1, 2, 8, 40)}:
        found = TopTauHistogram(codebook, tau).nearest(frames)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, by_sorting(codebook, frames, tau))


def test_frames_of_any_numbers_get_their_nearest_codewords_up_to_float32():
    rng = np.random.default_rng(0)
    mean, scale = rng.normal(0, 50, 39), rng.uniform(0.1, 30, 39)
    codebook = Codebook.from_arrays(mean, scale, rng.standard_normal((1024, 39)))
    frames = (rng.standard_normal((500, 39)) * scale + mean).astype(np.float32)
    distances = distances_of(codebook, frames)
    found = TopTauHistogram(codebook, 8).nearest(frames)
    np.testing.assert_allclose(
        np.take_along_axis(distances, found, axis=1), np.sort(distances, axis=1)[:, :8], rtol=1e-6
    )
    assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()  # none twice


@pytest.mark.parametrize("d", [1, 2, 3, 39, 64])
def test_frames_may_have_any_width(d):
    codebook = integer_codebook(20, d)
    frames = integer_frames(codebook, 300)
    np.testing.assert_array_equal(TopTauHistogram(codebook, 3).nearest(frames), by_sorting(codebook, frames, 3))


def test_tau_of_all_codewords_sorts_them_all():
    codebook = integer_codebook(70, 5)
    frames = integer_frames(codebook, 50)
    np.testing.assert_array_equal(TopTauHistogram(codebook, 70).nearest(frames), by_sorting(codebook, frames, 70))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 239, 240, 241, 480, 1000])
def test_any_number_of_frames_has_nearest_codewords(n):
    codebook = integer_codebook(50, 4)
    frames = integer_frames(codebook, n)
    found = TopTauHistogram(codebook, 2).nearest(frames)
    assert found.shape == (n, 2)
    if n:
        np.testing.assert_array_equal(found, by_sorting(codebook, frames, 2))


@pytest.mark.parametrize("tau", [1, 2, 3, 100])
def test_equal_codewords_go_by_the_lower_index(tau):
    rng = np.random.default_rng(2)
    distinct = rng.integers(-9, 10, (25, 39))
    order = rng.permutation(np.repeat(np.arange(25), 4))  # every codeword four times, anywhere
    codebook = Codebook.from_arrays(np.zeros(39), np.ones(39), distinct[order])
    frames = integer_frames(codebook, 400)
    np.testing.assert_array_equal(TopTauHistogram(codebook, tau).nearest(frames), by_sorting(codebook, frames, tau))


def test_frames_in_the_middle_go_by_the_lower_index():
    codebook = Codebook.from_arrays([0.0], [1.0], [[3.0], [1.0], [-1.0], [-3.0]])
    assert TopTauHistogram(codebook, 4).nearest([[0.0], [2.0]]).tolist() == [[1, 2, 0, 3], [0, 1, 2, 3]]


def test_keys_of_zero_tie_whatever_their_sign():
    search = CodewordSearch(np.zeros(1), np.ones(1), np.zeros((40, 1), np.float32))
    search.weights[0, 1, ::2] = -0.0
    np.testing.assert_array_equal(search.find(np.zeros((5, 1), np.float32), 40), np.tile(np.arange(40), (5, 1)))


def test_first_columns_are_the_answer_for_a_smaller_tau():
    codebook = integer_codebook(200, 39)
    frames = integer_frames(codebook, 700)
    eight = TopTauHistogram(codebook, 8).nearest(frames)
    for tau in (1, 2, 4):
        np.testing.assert_array_equal(eight[:, :tau], TopTauHistogram(codebook, tau).nearest(frames))


@pytest.mark.parametrize("size", [1e6, 1e20, 3e38])
def test_extreme_frames_have_nearest_codewords(size):
    codebook = Codebook.from_arrays([0.0, 0.0], [1.0, 1e-3], [[0, 0], [5, 0], [-5, 0], [0, 1e15], [0, -1e15]])
    frames = np.array([[size, 0], [-size, 0], [0, size], [0, -size], [size, size]], np.float32)
    found = TopTauHistogram(codebook, 5).nearest(frames)
    assert (np.sort(found, axis=1) == np.arange(5)).all()
    assert found[:2, 0].tolist() == [1, 2]


# No bit depends on how frames come


def test_products_are_rounded_alike_wherever_rows_and_columns_stand():
    rng = np.random.default_rng(3)
    for depth in (1, 2, 3, 7, 14, 40, 65, 101):
        points = np.repeat(rng.standard_normal((1, depth)), 80 * ROWS, axis=0).astype(np.float32)
        packed = pack(np.repeat(rng.standard_normal((1, depth)), 7 * LANES, axis=0), padding=0.0)
        out = np.empty((len(points), 7 * LANES), np.float32)
        multiply(points, packed, out)
        assert len(np.unique(out)) == 1
        assert out[0, 0] == pytest.approx(points[0].astype(np.float64) @ packed[0, :, 0], rel=1e-4, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 100), st.integers(1, 600))
def test_chunks_order_and_position_change_no_answer_even_where_only_rounding_decides(seed, d, n_codewords, n):
    rng = np.random.default_rng(seed)
    words = np.repeat(rng.standard_normal((1, d)), n_codewords, axis=0)
    words += 1e-7 * rng.standard_normal(words.shape)  # differ in the last bits, so every frame is a near-tie
    codebook = Codebook.from_arrays(np.zeros(d), np.ones(d), words)
    encoder = TopTauHistogram(codebook, min(3, n_codewords))
    frames = rng.standard_normal((n, d)).astype(np.float32)
    complete = encoder.nearest(frames)
    order = rng.permutation(n)
    np.testing.assert_array_equal(encoder.nearest(frames[order]), complete[order])
    shift = int(rng.integers(1, 50))
    np.testing.assert_array_equal(encoder.nearest(np.vstack([frames[:1]] * shift + [frames]))[shift:], complete)
    cuts = np.sort(rng.integers(0, n + 1, size=4))
    np.testing.assert_array_equal(np.vstack([encoder.nearest(part) for part in np.split(frames, cuts)]), complete)


def test_threads_change_no_bit():
    codebook = integer_codebook(100, 39)
    frames = integer_frames(codebook, 3000)
    alone = TopTauHistogram(codebook, 4).nearest(frames)
    for threads in (2, 3, 50):
        np.testing.assert_array_equal(TopTauHistogram(codebook, 4, threads=threads).nearest(frames), alone)
    with threadpool_limits(2):
        np.testing.assert_array_equal(TopTauHistogram(codebook, 4).nearest(frames), alone)


def test_one_encoder_serves_many_threads_at_once():
    codebook = integer_codebook(64, 13)
    encoder, frames = TopTauHistogram(codebook, 2), integer_frames(codebook, 5000)
    expected = encoder.nearest(frames)
    for answer in in_threads(encoder.nearest, [frames] * 4):
        np.testing.assert_array_equal(answer, expected)


# Histograms


def literal_histogram(nearest, n_codewords):
    """The paper's sum, frame by frame."""
    histogram = np.zeros(n_codewords)
    for codewords in nearest:
        for codeword in codewords:
            histogram[codeword] += 1
    return histogram / nearest.size


@pytest.mark.parametrize("tau", [1, 2, 4, 8])
def test_histograms_are_the_papers_sum_and_sum_to_1(tau):
    codebook = integer_codebook(60, 39)
    songs = [integer_frames(codebook, n, seed=n) for n in (1, 7, 300, 1001)]
    encoder = TopTauHistogram(codebook, tau)
    histograms = encoder.transform(songs)
    expected = [literal_histogram(encoder.nearest(song), 60) for song in songs]
    np.testing.assert_array_equal(histograms, expected)
    np.testing.assert_allclose(histograms.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(encoder.transform(song for song in songs), histograms)


def test_a_shuffled_song_has_the_same_histogram():
    codebook = integer_codebook(60, 39)
    song, encoder = integer_frames(codebook, 1000), TopTauHistogram(codebook, 4)
    shuffled = song[np.random.default_rng(0).permutation(1000)]
    np.testing.assert_array_equal(encoder.transform([song]), encoder.transform([shuffled]))


def test_histograms_of_several_tau_come_from_one_search():
    codebook = integer_codebook(30, 5)
    song = integer_frames(codebook, 400)
    found = TopTauHistogram(codebook).histograms(song, [8, 1, 4, 1, 30])
    assert list(found) == [8, 1, 4, 30]
    for tau, histogram in found.items():
        np.testing.assert_array_equal(histogram, TopTauHistogram(codebook, tau).transform([song])[0])
    np.testing.assert_allclose(found[30], 1 / 30)
    assert TopTauHistogram(codebook).histograms(song, []) == {}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 700), st.lists(st.integers(0, 700), max_size=6), st.integers(1, 5))
def test_chunks_of_any_size_count_to_the_same_bytes(seed, n, cuts, tau):
    codebook = integer_codebook(40, 6, seed)
    song, encoder = integer_frames(codebook, n, seed), TopTauHistogram(codebook, tau)
    counter = encoder.counter()
    for chunk in np.split(song, np.sort(np.minimum(cuts, n)).astype(int)):
        counter.add(chunk)
    assert counter.n_frames == n
    assert counter.histogram().tobytes() == encoder.transform([song])[0].tobytes()


def test_a_counter_can_be_read_while_it_counts():
    codebook = integer_codebook(10, 2)
    song, encoder = integer_frames(codebook, 20), TopTauHistogram(codebook)
    counter = encoder.counter()
    for end in (5, 20):
        counter.add(song[counter.n_frames : end])
        np.testing.assert_array_equal(counter.histogram(), encoder.transform([song[:end]])[0])


def test_what_the_codebook_learns_later_changes_nothing():
    frames = integer_frames(integer_codebook(5, 3), 300)
    codebook = Codebook(12).fit(frames[:200])
    encoder = TopTauHistogram(codebook, 2)
    before = encoder.transform([frames])
    codebook.partial_fit(frames[200:])
    np.testing.assert_array_equal(encoder.transform([frames]), before)
    codebook.fit(3 * frames)
    np.testing.assert_array_equal(encoder.transform([frames]), before)


def test_no_songs_are_an_empty_table():
    assert TopTauHistogram(integer_codebook(7, 2)).transform([]).shape == (0, 7)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ">f4", np.int16])
def test_songs_may_be_of_any_real_type_and_layout(dtype):
    codebook = integer_codebook(20, 5)
    song = integer_frames(codebook, 100).astype(np.float16).round().astype(dtype)
    expected = TopTauHistogram(codebook).transform([song.astype(np.float32)])
    for layout in (np.asfortranarray, np.array, np.ndarray.tolist):
        np.testing.assert_array_equal(TopTauHistogram(codebook).transform([layout(song)]), expected)


# Mistakes

SMALL = integer_codebook(4, 3)
ENCODER = TopTauHistogram(SMALL)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: TopTauHistogram(SMALL, tau=9),
            r"^tau=9 asks for more codewords than the codebook has \(4\); choose 1 to 4\.$",
        ),
        (lambda: TopTauHistogram(SMALL, tau=0), "tau=0 must be a whole number of at least 1"),
        (lambda: TopTauHistogram(SMALL, tau=1.5), r"tau=1\.5 must be a whole number"),
        (lambda: TopTauHistogram(SMALL, threads=0), "threads=0 must be a whole number of at least 1"),
        (lambda: ENCODER.histograms(np.ones((2, 3)), [1, 5]), r"tau=5 asks for more codewords .* \(4\)"),
        (lambda: ENCODER.nearest([[0, np.nan, 0]]), "frames has a value that is NaN, .* first in row 0"),
        (lambda: ENCODER.nearest(np.ones((2, 13))), "frames has 13 coefficients per frame, the codebook 3"),
        (lambda: ENCODER.transform([np.ones((2, 3)), np.ones((0, 3))]), r"songs\[1\] has no frames"),
        (
            lambda: ENCODER.transform([np.ones((2, 3)), np.full((2, 3), np.inf)]),
            r"songs\[1\] has a value that is NaN",
        ),
        (lambda: ENCODER.transform(np.ones((2, 3))), r"songs\[0\] has shape \(3,\); frames x coefficients is needed"),
        (lambda: ENCODER.histograms(np.ones((0, 3)), [1]), "frames has no frames"),
        (lambda: ENCODER.counter().histogram(), "no frames were added, so there is no histogram"),
        (lambda: ENCODER.counter().add(np.ones((2, 4))), "frames has 4 coefficients per frame, the codebook 3"),
    ],
)
def test_mistakes_are_refused_by_name(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_an_unfitted_codebook_says_so():
    with pytest.raises(NotFittedError, match="Codebook instance is not fitted yet"):
        TopTauHistogram(Codebook())
