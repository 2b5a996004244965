"""The codebook against the paper's algorithm taken literally, one frame at a time in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from nearsong.encoding import Codebook
from nearsong.encoding.hartigan import absorb_in_turn
from nearsong.errors import InvalidInputError


def some_frames(n=300, d=4, seed=0):
    """Frames around a few spots, on very different scales."""
    rng = np.random.default_rng(seed)
    spots = 3.0 * rng.standard_normal((6, d))
    frames = spots[rng.integers(6, size=n)] + rng.standard_normal((n, d))
    return (frames * 10.0 ** np.linspace(-2, 2, d) + 50.0).astype(np.float32)


def take_in_turn(points, centres, counts):
    """Hartigan's online k-means, one point at a time."""
    for x in points:
        costs = [n / (n + 1) * np.sum((x - c) ** 2) for n, c in zip(counts, centres, strict=True)]
        c = int(np.argmin(costs))
        centres[c] += (x - centres[c]) / (counts[c] + 1)
        counts[c] += 1


def by_the_book(chunks, k, seed):
    """The stream of chunks, the first of which has at least k distinct frames, in float64."""
    centres, counts = None, None
    for number, chunk in enumerate(chunks):
        seen = np.concatenate(chunks[: number + 1]).astype(np.float64)
        mean, scale = seen.mean(axis=0), seen.std(axis=0)
        scale[scale == 0] = 1.0
        order = np.random.default_rng([seed, number]).permutation(len(chunk))
        points = [(chunk[at].astype(np.float64) - mean) / scale for at in order]
        if centres is None:
            centres, rest = [], []
            for x in points:
                is_new = len(centres) < k and not any(np.array_equal(x, c) for c in centres)
                (centres if is_new else rest).append(x)
            counts, points, centres = [1] * k, rest, [c.copy() for c in centres]
        else:
            centres = [(c - mean) / scale for c in centres]
        take_in_turn(points, centres, counts)
        centres = [mean + scale * c for c in centres]
    return mean, scale, np.array([(c - mean) / scale for c in centres]), counts


def assert_is(codebook, expected):
    mean, scale, codewords, counts = expected
    np.testing.assert_allclose(codebook.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(codebook.scale_, scale, rtol=1e-12)
    np.testing.assert_array_equal(codebook.counts_, counts)
    np.testing.assert_allclose(codebook.codewords_, codewords, rtol=0, atol=1e-5)


# The algorithm


@pytest.mark.parametrize("k", [1, 2, 7, 31, 32, 33, 100, 300])
def test_fit_is_the_sequential_algorithm(k):
    frames = some_frames()
    assert_is(Codebook(k, random_state=3).fit(frames), by_the_book([frames], k, seed=3))


@pytest.mark.parametrize("d", [1, 2, 13, 39])
def test_frames_may_have_any_width(d):
    frames = some_frames(d=d)
    codebook = Codebook(9).fit(frames)
    assert codebook.n_features_in_ == d
    assert_is(codebook, by_the_book([frames], 9, seed=0))


@pytest.mark.parametrize("n", [10, 11, 57, 58, 59, 106])  # less than a batch of points, exactly one, a bit more
def test_batches_of_points_leave_no_trace(n):
    frames = some_frames(n)
    assert_is(Codebook(10).fit(frames), by_the_book([frames], 10, seed=0))


def test_digital_silence_gives_one_codeword_only():
    frames = np.concatenate([np.full((400, 4), -7.25, np.float32), some_frames(100)])
    codebook = Codebook(50).fit(frames)
    assert len(np.unique(codebook.codewords_, axis=0)) == 50
    assert codebook.counts_.max() >= 400
    assert_is(codebook, by_the_book([frames], 50, seed=0))


def test_zeros_of_both_signs_are_one_point():
    frames = np.array([[0.0], [-0.0], [1.0], [-1.0]] * 3, np.float32)
    assert sorted(Codebook(3).fit(frames).counts_.tolist()) == [3, 3, 6]
    with pytest.raises(InvalidInputError, match="3 distinct frames among 12"):
        Codebook(4).fit(frames)


def test_as_many_codewords_as_distinct_frames_are_those_frames():
    frames = np.repeat(some_frames(20), 3, axis=0)
    codebook = Codebook(20).fit(frames)
    assert codebook.quantization_error(frames) == pytest.approx(0.0, abs=1e-12)
    assert (codebook.counts_ == 3).all()


def test_equally_cheap_centres_go_by_the_lower_index():
    for k in (2, 40, 64):
        centres, counts = np.tile([[1.0], [-1.0]], (k // 2, 1)), np.ones(k, np.int64)
        absorb_in_turn(np.zeros((1, 1), np.float32), np.array([0]), np.zeros(1), np.ones(1), centres, counts)
        assert counts[0] == 2
        assert centres[0] == 0.5


def test_a_small_cluster_takes_a_point_that_is_nearer_to_a_large_one():
    centres, counts = np.array([[0.0], [2.2]]), np.array([99, 1])
    absorb_in_turn(np.array([[1.0]], np.float32), np.array([0]), np.zeros(1), np.ones(1), centres, counts)
    assert counts.tolist() == [99, 2]
    assert centres[1] == pytest.approx(1.6)


def test_a_constant_coefficient_has_scale_1_and_no_influence():
    frames = some_frames()
    with_constant = np.insert(frames, 2, 0.1, axis=1)
    codebook = Codebook(8).fit(with_constant)
    assert codebook.scale_[2] == 1.0
    assert (codebook.codewords_[:, 2] == 0.0).all()
    np.testing.assert_array_equal(np.delete(codebook.codewords_, 2, axis=1), Codebook(8).fit(frames).codewords_)


def test_the_units_of_the_coefficients_do_not_matter():
    frames = some_frames()
    in_other_units = frames * np.float32(2.0) ** np.arange(-4, 4, 2)
    np.testing.assert_array_equal(Codebook(8).fit(frames).codewords_, Codebook(8).fit(in_other_units).codewords_)


def test_an_outlier_of_a_million_leaves_everything_finite_and_a_clustering_as_good():
    frames = some_frames(500)
    frames[17] = 1e6  # the rest is squeezed into a thousandth of a standard deviation, where float32 sees near-ties
    codebook = Codebook(10).fit(frames)
    assert np.isfinite(codebook.codewords_).all()
    exact = Codebook.from_arrays(*by_the_book([frames], 10, seed=0))
    rest = np.delete(frames, 17, axis=0)
    assert codebook.quantization_error(rest) == pytest.approx(exact.quantization_error(rest), rel=0.01)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 60), st.integers(1, 12))
def test_centres_are_means_of_a_partition_so_their_weighted_mean_is_0(seed, d, n, k):
    rng = np.random.default_rng(seed)
    frames = rng.integers(-9, 9, (n + k, d)) + np.arange(n + k)[:, None] / 64
    codebook = Codebook(k, random_state=seed).fit(frames)
    assert codebook.counts_.sum() == n + k
    assert codebook.counts_.min() >= 1
    mean = codebook.counts_ @ codebook.codewords_.astype(np.float64) / (n + k)
    np.testing.assert_allclose(mean, 0.0, atol=1e-5)


# Chance


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    frames = some_frames()
    first, second = (Codebook(16, random_state=5).fit(frames).codewords_ for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert Codebook(16, random_state=6).fit(frames).codewords_.tobytes() != first.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f4", np.float16])
def test_the_layout_and_type_of_the_frames_do_not_matter(dtype):
    frames = some_frames().astype(np.float16)
    expected = Codebook(8).fit(frames.astype(np.float32)).codewords_.tobytes()
    for layout in (np.asfortranarray, np.array, np.ndarray.tolist, lambda a: np.repeat(a, 2, axis=0)[::2]):
        assert Codebook(8).fit(layout(frames.astype(dtype))).codewords_.tobytes() == expected


def test_frames_are_not_changed():
    frames = some_frames()
    before = frames.copy()
    codebook = Codebook(8).fit(frames)
    codebook.partial_fit(frames)
    codebook.quantization_error(frames)
    np.testing.assert_array_equal(frames, before)


# Streams


def test_a_first_chunk_alone_is_a_fit():
    frames = some_frames()
    complete, chunk = Codebook(16).fit(frames), Codebook(16).partial_fit(frames)
    assert chunk.codewords_.tobytes() == complete.codewords_.tobytes()
    assert chunk.scale_.tobytes() == complete.scale_.tobytes()


@pytest.mark.parametrize("sizes", [[150, 150], [100, 1, 199], [40, 130, 130]])
def test_a_stream_is_the_sequential_algorithm_with_the_scale_of_all_frames_so_far(sizes):
    frames = some_frames()
    frames[100:] *= 3  # the scale changes on the way
    chunks = np.split(frames, np.cumsum(sizes)[:-1])
    codebook = Codebook(12, random_state=1)
    for chunk in chunks:
        codebook.partial_fit(chunk)
    assert_is(codebook, by_the_book(chunks, 12, seed=1))
    assert codebook.n_frames_seen_ == codebook.counts_.sum() == 300


def test_chunks_wait_until_there_are_enough_distinct_frames():
    frames = some_frames()
    codebook = Codebook(20)
    buffer = np.empty((30, 4), np.float32)
    for chunk in (frames[:15], np.repeat(frames[:1], 30, axis=0)):
        buffer[: len(chunk)] = chunk
        codebook.partial_fit(buffer[: len(chunk)])
        buffer[:] = np.nan  # whoever streams may reuse the array
        with pytest.raises(NotFittedError):
            codebook.normalize(frames)
    assert codebook.n_frames_seen_ == 45
    codebook.partial_fit(frames[15:])
    together = np.concatenate([frames[:15], np.repeat(frames[:1], 30, axis=0), frames[15:]])
    assert_is(codebook, by_the_book([together], 20, seed=0))


def test_an_empty_chunk_changes_nothing():
    frames = some_frames()
    codebook = Codebook(8).partial_fit(frames[:0]).partial_fit(frames)
    assert codebook.codewords_.tobytes() == Codebook(8).fit(frames).codewords_.tobytes()
    before = codebook.codewords_.copy()
    np.testing.assert_array_equal(codebook.partial_fit(frames[:0]).codewords_, before)


def test_fit_forgets_the_stream():
    frames = some_frames()
    codebook = Codebook(8).partial_fit(frames[:100]).partial_fit(frames[100:200])
    assert codebook.fit(frames).codewords_.tobytes() == Codebook(8).fit(frames).codewords_.tobytes()


def test_a_failed_fit_leaves_the_codebook_as_it_was():
    frames = some_frames()
    codebook = Codebook(8).fit(frames)
    before = codebook.codewords_
    with pytest.raises(InvalidInputError):
        codebook.fit(frames[:3])
    with pytest.raises(InvalidInputError):
        codebook.partial_fit(frames[:, :2])
    assert codebook.codewords_ is before


def test_attributes_are_not_changed_by_later_chunks():
    frames = some_frames()
    codebook = Codebook(8).partial_fit(frames[:100])
    counts, mean = codebook.counts_, codebook.mean_
    counts_before, mean_before = counts.copy(), mean.copy()
    codebook.partial_fit(frames[100:])
    np.testing.assert_array_equal(counts, counts_before)
    np.testing.assert_array_equal(mean, mean_before)


# What it answers


def test_normalized_frames_are_z_scores():
    frames = some_frames()
    scores = Codebook(8).fit(frames).normalize(frames)
    wide = frames.astype(np.float64)
    np.testing.assert_allclose(scores, (wide - wide.mean(axis=0)) / wide.std(axis=0), rtol=1e-6, atol=1e-6)
    assert scores.dtype == np.float32


@pytest.mark.parametrize("n", [1, 5, 4096, 5000])
def test_quantization_error_is_the_mean_squared_distance_to_the_nearest_codeword(n):
    frames = some_frames(n + 40)
    codebook = Codebook(40).fit(frames)
    distances = cdist(codebook.normalize(frames[:n]).astype(np.float64), codebook.codewords_, "sqeuclidean")
    assert codebook.quantization_error(frames[:n]) == pytest.approx(distances.min(axis=1).mean(), rel=1e-9)


def test_arrays_of_a_codebook_make_the_same_codebook():
    frames = some_frames()
    codebook = Codebook(8).fit(frames)
    again = Codebook.from_arrays(codebook.mean_, codebook.scale_, codebook.codewords_, codebook.counts_)
    assert again.n_codewords == 8
    assert again.n_frames_seen_ == 300
    assert again.quantization_error(frames) == codebook.quantization_error(frames)
    np.testing.assert_array_equal(again.counts_, codebook.counts_)
    without = Codebook.from_arrays(codebook.mean_, codebook.scale_, codebook.codewords_)
    assert without.counts_ is None
    assert without.n_frames_seen_ == 0
    assert without.fit(frames).codewords_.tobytes() == codebook.codewords_.tobytes()


def test_a_clone_has_the_parameters_and_nothing_learned():
    codebook = clone(Codebook(8, random_state=4).fit(some_frames()))
    assert codebook.get_params() == {"n_codewords": 8, "random_state": 4}
    for ask in (codebook.normalize, codebook.quantization_error):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(some_frames())


# Mistakes


def frames_with(value):
    frames = some_frames(10).astype(np.float64)
    frames[6, 1] = frames[8, 0] = value
    return frames


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Codebook(21).fit(np.repeat(some_frames(20), 3, axis=0)),
            "frames has 20 distinct frames among 60, too few for n_codewords=21; choose n_codewords at most 20",
        ),
        (lambda: Codebook(2).fit(np.empty((0, 3))), "frames is empty"),
        (lambda: Codebook(2).fit(frames_with(np.nan)), "NaN, infinite or too large for float32, first in row 6"),
        (lambda: Codebook(2).fit(frames_with(-np.inf)), "first in row 6; drop such frames"),
        (lambda: Codebook(2).fit(frames_with(1e39)), "first in row 6"),
        (lambda: Codebook(2).partial_fit(frames_with(np.nan)), "first in row 6"),
        (lambda: Codebook(2).fit([1.0, 2.0]), r"frames has shape \(2,\); frames x coefficients is needed"),
        (lambda: Codebook(2).fit(np.empty((5, 0))), r"frames has shape \(5, 0\)"),
        (lambda: Codebook(2).fit([["a", "b"]]), "frames has dtype <U1; give real numbers"),
        (lambda: Codebook(2).fit([[1.0], [2.0, 3.0]]), "frames cannot be read as an array of numbers"),
        (lambda: Codebook(0).fit(some_frames()), "n_codewords=0 must be a whole number of at least 1"),
        (lambda: Codebook(2.0).fit(some_frames()), r"n_codewords=2\.0 must be a whole number"),
        (lambda: Codebook(2, random_state=-1).fit(some_frames()), "random_state=-1 must be a whole number"),
        (lambda: Codebook(2, random_state=None).fit(some_frames()), "random_state=None must be a whole number"),
        (
            lambda: Codebook(2).fit(some_frames()).normalize(np.ones((2, 3))),
            "frames has 3 coefficients per frame, the codebook 4; compute both the same way",
        ),
        (lambda: Codebook(2).fit(some_frames()).quantization_error(np.ones((0, 4))), "frames is empty"),
        (lambda: Codebook.from_arrays([0], [1], [[0.0]]).partial_fit([[1.0]]), "made from arrays .* fit a new one"),
        (lambda: Codebook.from_arrays([0], [0], [[0.0]]), "scale has a value that is not above 0"),
        (lambda: Codebook.from_arrays([0], [5e-324], [[0.0]]), "scale has a value that is not above 0"),
        (lambda: Codebook.from_arrays([0, 0], [1], [[0.0]]), r"mean has shape \(2,\) or is not finite; 1 finite"),
        (lambda: Codebook.from_arrays([0], [np.nan], [[0.0]]), "scale has shape .* or is not finite"),
        (lambda: Codebook.from_arrays([0], [1], np.ones((0, 1))), "codewords is empty"),
        (lambda: Codebook.from_arrays([0], [1], [[2e15]]), "beyond 1e15 standard deviations; give rows of z-scores"),
        (lambda: Codebook.from_arrays([0], [1], [[np.inf]]), "codewords has a value that is NaN, infinite"),
        (lambda: Codebook.from_arrays([0], [1], [[0.0]], [1, 2]), r"counts has shape \(2,\) and holds int64 values"),
        (lambda: Codebook.from_arrays([0], [1], [[0.0]], [0.5]), "counts has .* float64 values; 1 whole numbers"),
        (lambda: Codebook.from_arrays([0], [1], [[0.0]], [-1]), "whole numbers of at least 0"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_by_name(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
