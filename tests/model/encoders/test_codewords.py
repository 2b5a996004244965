"""The codeword encoder: what holds for histograms, in addition to the axioms of every encoder."""

import numpy as np
import pytest

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.model import CodewordEncoder, Quantizer
from nearsong.model.encoders.codewords import MAX_CODEWORDS

FRAMES = np.random.default_rng(0).normal(size=(500, 39)).astype(np.float32)


def quantizer_of(size: int, tau: int = 1) -> Quantizer:
    return Quantizer(Codebook(size, random_state=size).fit(FRAMES), tau)


@pytest.fixture(scope="module")
def encoder() -> CodewordEncoder:
    return CodewordEncoder(quantizer_of(16, tau=2))


def test_stored_histograms_sum_to_one_in_double_precision(encoder):
    stored = encoder.encode_all([FRAMES[i : i + 90] for i in range(9)]).astype(np.float32)
    np.testing.assert_allclose(encoder.restore(stored).sum(axis=1), 1.0, rtol=0, atol=4e-16)


@pytest.mark.parametrize("row", [np.zeros(16), np.append(-np.ones(8), np.full(8, 2.0))])
def test_vectors_that_are_no_histograms_are_refused(encoder, row):
    with pytest.raises(InvalidInputError, match="empty or has a number below 0"):
        encoder.restore(row[None])
    with pytest.raises(InvalidInputError, match="a row that is not a histogram"):
        encoder.check(row[None])


def test_the_same_frames_with_another_tau_have_another_key():
    assert CodewordEncoder(quantizer_of(16, tau=1)).key != CodewordEncoder(quantizer_of(16, tau=2)).key


def test_counts_decide_no_vector_and_are_not_in_the_key():
    codebook = quantizer_of(16).codebook
    without = Codebook.from_arrays(codebook.mean_, codebook.scale_, codebook.codewords_)
    assert CodewordEncoder(Quantizer(without)).key == CodewordEncoder(Quantizer(codebook)).key
    np.testing.assert_allclose(CodewordEncoder(Quantizer(without)).typical_vector(), 1 / 16)


def test_a_small_codebook_is_outgrown_by_four_times_the_songs(encoder):
    assert not encoder.is_outgrown(10, 39)
    assert encoder.is_outgrown(10, 40)
    frames = np.random.default_rng(1).normal(size=(MAX_CODEWORDS * 2, 39))
    full = Codebook.from_arrays(np.zeros(39), np.ones(39), frames[:MAX_CODEWORDS])
    assert not CodewordEncoder(Quantizer(full)).is_outgrown(10, 400)
