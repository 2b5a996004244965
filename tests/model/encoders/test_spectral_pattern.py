"""The spectral pattern against its definition, and what a long song loses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio import SAMPLE_RATE, Chroma, MelLevels
from nearsong.encoding.fisher import ColumnScores
from nearsong.errors import InvalidInputError
from nearsong.model.encoders import spectral_pattern
from nearsong.model.encoders.spectral_pattern import SpectralPatternEncoder

WIDTH = 65


def levels_of(seed: int, n: int = 300) -> np.ndarray:
    """Return mel levels that swell and fade, of a spectrum of the song's own; the last number is their sum."""
    random = np.random.default_rng([seed, 5])
    spectrum = random.normal(-20, 8, size=WIDTH - 1)
    swell = 6 * np.sin(np.arange(n) / random.uniform(3, 40))[:, None]
    levels = spectrum + swell + random.normal(0, 4, size=(n, WIDTH - 1))
    total = 10 * np.log10(np.mean(10 ** (levels / 10), axis=1, keepdims=True))
    return np.hstack([levels, total]).astype(np.float32)


def plain_encoder() -> SpectralPatternEncoder:
    """Return an encoder whose vectors are patterns in dB."""
    return SpectralPatternEncoder(ColumnScores(np.zeros(640), np.ones(640)))


def by_definition(frames: np.ndarray, hop: int = 5) -> np.ndarray:
    levels = frames.astype(np.float64)
    gain = 0.01 / np.mean(10 ** (levels[:, -1] / 10))
    scaled = 10 * np.log10(gain * 10 ** (levels[:, :-1] / 10) + 1e-6)
    blocks = [np.sort(scaled[start : start + 10], axis=0) for start in range(0, len(scaled) - 9, hop)]
    return np.percentile(blocks, 90, axis=0).T.ravel()  # band by band


@pytest.mark.parametrize("n", [10, 11, 14, 15, 20, 64, 300, 1003])
def test_the_pattern_equals_its_definition(n):
    song = levels_of(n, n)
    np.testing.assert_allclose(plain_encoder().encode(song), by_definition(song), atol=1e-4)


def test_numbers_are_z_scores_among_the_sampled_songs():
    songs = [levels_of(i) for i in range(6)]
    patterns = np.array([by_definition(song) for song in songs])
    encoder = SpectralPatternEncoder.fit(songs)
    expected = (patterns - patterns.mean(axis=0)) / patterns.std(axis=0)
    np.testing.assert_allclose(encoder.encode_all(songs), expected, atol=1e-3)
    brought = SpectralPatternEncoder.fit_patterns(patterns)
    np.testing.assert_allclose(brought.scores.transform(patterns), expected, atol=1e-6)


def test_loudness_does_not_matter():
    song = levels_of(1)
    np.testing.assert_allclose(plain_encoder().encode(song + 30), plain_encoder().encode(song), atol=1e-4)
    random = np.random.default_rng(0)
    sound = random.normal(0, 0.1, size=3 * SAMPLE_RATE).astype(np.float32)
    np.testing.assert_allclose(plain_encoder().encode(sound / 50), plain_encoder().encode(sound), atol=1e-2)


def test_it_does_not_matter_when_something_sounds_within_a_block():
    song = levels_of(2, 40)
    shuffled = song.reshape(8, 5, WIDTH)[:, ::-1].reshape(40, WIDTH)  # each half of a block backwards
    np.testing.assert_allclose(plain_encoder().encode(shuffled), plain_encoder().encode(song), atol=1e-6)


def test_levels_rise_within_a_band():
    pattern = plain_encoder().encode(levels_of(3)).reshape(64, 10)
    assert (np.diff(pattern, axis=1) >= 0).all()


def test_a_song_shorter_than_a_block_repeats_its_last_frame():
    song = levels_of(4, 3)
    song[:, -1] = -10  # equally loud, so that repeating a frame does not change the loudness of the song
    repeated = np.concatenate([song, song[-1:].repeat(7, axis=0)])
    np.testing.assert_allclose(plain_encoder().encode(song), plain_encoder().encode(repeated), atol=1e-6)


# ---- long songs


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 900), st.lists(st.integers(0, 900), max_size=6), st.sampled_from([4, 16]))
def test_blocks_are_thinned_at_equal_distances_however_the_frames_arrive(n, cuts, max_blocks):
    song = levels_of(7, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectral_pattern, "MAX_BLOCKS", max_blocks)
        encoder = plain_encoder()
        accumulator = encoder.start()
        for chunk in np.split(song, sorted(cuts)):
            accumulator.add(chunk)
        found = accumulator.result()
        assert found.tobytes() == encoder.encode(song).tobytes()
    n_blocks, hop = (n - 10) // 5 + 1, 5
    while n_blocks >= max_blocks:
        n_blocks, hop = -(-n_blocks // 2), 2 * hop
    if n >= 10:
        np.testing.assert_allclose(found, by_definition(song, hop), atol=1e-4)


def test_a_song_of_four_minutes_is_exact_and_a_longer_one_is_nearly_so():
    seconds_a_frame = MelLevels().seconds_a_frame
    four_minutes = levels_of(8, int(237 / seconds_a_frame))
    np.testing.assert_allclose(plain_encoder().encode(four_minutes), by_definition(four_minutes), atol=1e-4)
    half_an_hour = levels_of(9, int(1800 / seconds_a_frame))
    errors = np.abs(plain_encoder().encode(half_an_hour) - by_definition(half_an_hour))
    assert errors.mean() < 0.15
    assert errors.max() < 1.0  # dB; songs differ by 5 dB


def test_memory_is_bounded():
    accumulator = plain_encoder().start()
    for _ in range(40):
        accumulator.add(levels_of(1, 1000))
    assert accumulator._rows.nbytes < 6e6
    assert len(accumulator._pending) < 10


# ---- words and errors


def test_labels_name_regions_and_moments():
    labels = plain_encoder().labels()
    assert len(labels) == 640
    assert labels[0] == "bass in quiet moments"
    assert labels[9] == "bass in loud moments"
    assert labels[-5] == "highs in typical moments"
    assert len(set(labels)) == 15


def test_other_features_and_no_songs_are_refused():
    with pytest.raises(InvalidInputError, match="reads mel levels, not the features 'chroma'"):
        SpectralPatternEncoder.fit([levels_of(0)], features=Chroma())
    with pytest.raises(InvalidInputError, match="no songs to learn typical spectral patterns from"):
        SpectralPatternEncoder.fit([])
