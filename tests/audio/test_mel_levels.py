"""Mel levels against librosa, and what must hold for any music."""

import librosa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio import SAMPLE_RATE, MelLevels
from nearsong.audio.spectrum.band_power import SampleTiles, band_power_2048, band_power_4096
from nearsong.audio.spectrum.mel_power import band_edges, hann_window
from nearsong.errors import InvalidInputError

HOP = 512


def noise(seconds: float, seed: int = 0) -> np.ndarray:
    """Return noise with more bass than treble, whose loudness changes."""
    random = np.random.default_rng(seed)
    white = random.normal(size=int(seconds * SAMPLE_RATE))
    loudness = 0.1 + np.abs(np.sin(np.arange(len(white)) / 9_000))
    return (0.02 * loudness * (white + 0.2 * np.cumsum(white - white.mean()))).astype(np.float32)


def tone(hertz: float, seconds: float = 1.0) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * np.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE).astype(np.float32)


def librosa_levels(samples: np.ndarray, n_mels: int = 64) -> np.ndarray:
    mel = librosa.feature.melspectrogram(
        y=samples, sr=SAMPLE_RATE, n_fft=2048, hop_length=HOP, n_mels=n_mels, fmin=27.5, pad_mode="constant"
    )
    return 10 * np.log10(np.maximum(mel, 1e-10)).T


@pytest.mark.parametrize("n_mels", [64, 40])
def test_bands_equal_librosas(n_mels):
    samples = noise(8)
    frames = MelLevels(n_mels=n_mels).transform(samples)
    assert frames.shape == (1 + len(samples) // HOP, n_mels + 1)
    assert frames.dtype == np.float32
    np.testing.assert_allclose(frames[:, :-1], librosa_levels(samples, n_mels), atol=2e-3)


def test_the_last_number_is_the_level_of_the_sound():
    samples = noise(8)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(samples.astype(np.float64), 1024), 2048)[::HOP]
    window = np.hanning(2049)[:-1] ** 2
    expected = 10 * np.log10(windows**2 @ window / window.sum())
    np.testing.assert_allclose(MelLevels().transform(samples)[:, -1], expected, atol=1e-3)


def test_the_mean_of_the_last_number_is_the_loudness_of_the_song():
    samples = noise(30)
    power = 10 ** (MelLevels().transform(samples)[:, -1].astype(np.float64) / 10)
    assert 10 * np.log10(power.mean()) == pytest.approx(10 * np.log10(np.mean(samples**2)), abs=0.01)


def test_a_gain_shifts_all_levels():
    samples = noise(4)
    quieter = MelLevels().transform(samples * np.float32(0.1))
    np.testing.assert_allclose(quieter, MelLevels().transform(samples) - 20, atol=1e-3)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 200_000), max_size=8))
def test_frames_are_the_same_bytes_for_any_blocks(cuts):
    samples = noise(9.3)
    blocks = np.split(samples, sorted(cuts))
    assert np.concatenate(list(MelLevels().stream(blocks))).tobytes() == MelLevels().transform(samples).tobytes()


def test_the_callers_blocks_may_be_reused():
    samples, stream = noise(6), MelLevels().start()
    buffer, pieces = np.empty(1_000, np.float32), []
    for start in range(0, 132_000, 1_000):
        buffer[:] = samples[start : start + 1_000]
        pieces.append(stream.add(buffer).copy())
    frames = np.concatenate([*pieces, stream.finish()])
    assert frames.tobytes() == MelLevels().transform(samples[:132_000]).tobytes()


SOUNDS = {
    "silence": np.zeros(SAMPLE_RATE, np.float32),
    "one second": noise(1),
    "a hop": noise(1)[:HOP],
    "a pure tone": tone(440),
    "very loud": noise(2) * np.float32(1e6),
    "very quiet": noise(2) * np.float32(1e-30),
}


@pytest.mark.parametrize("samples", SOUNDS.values(), ids=list(SOUNDS))
def test_every_sound_has_finite_levels(samples):
    frames = MelLevels().transform(samples)
    assert frames.shape == (1 + len(samples) // HOP, 65)
    assert np.isfinite(frames).all()
    assert frames.min() >= -100.001


def test_silence_is_at_the_floor():
    np.testing.assert_allclose(MelLevels().transform(np.zeros(SAMPLE_RATE, np.float32)), -100, atol=1e-3)


def test_rounding_beside_a_pure_tone_is_below_the_floor_of_its_frame():
    frames = MelLevels().transform(tone(440, 2))[4:-4]
    exact = librosa_levels(tone(440, 2).astype(np.float64))[4:-4]
    audible = exact > exact.max(axis=1, keepdims=True) - 80
    assert audible.sum() > 200
    np.testing.assert_allclose(frames[:, :-1][audible], exact[audible], atol=0.1)
    assert (frames[:, :-1].max(axis=1) - frames[:, :-1].min(axis=1)).max() < 115


def test_centres_rise_from_the_lowest_note_of_a_piano():
    centres = MelLevels().band_centres()
    assert (np.diff(centres) > 0).all()
    assert 27.5 < centres[0] < 120
    assert 9_000 < centres[-1] < SAMPLE_RATE / 2


def test_too_many_bands_and_too_short_sounds_are_refused():
    with pytest.raises(InvalidInputError, match=r"n_mels=300 is more than a frame can resolve; choose at most 256"):
        MelLevels(n_mels=300)
    with pytest.raises(InvalidInputError, match="too few"):
        MelLevels().transform(np.zeros(100, np.float32))


# ---- the transform


@pytest.mark.parametrize(("length", "band_power"), [(2048, band_power_2048), (4096, band_power_4096)])
def test_power_in_bands_equals_scipys(length, band_power):
    random = np.random.default_rng(length)
    samples = random.normal(size=32 * length // 4 + length).astype(np.float32)
    bands = np.zeros((7, length // 2 + 1), np.float32)
    for band in range(7):  # bands of 0 to 6 bins: every remainder of four, at both ends of the spectrum
        start = random.integers(length // 2 + 1 - band)
        bands[band, start : start + band] = random.random(band)
    bands[1, 0] = bands[2, -1] = 1.0
    power, total = band_power(samples, 32, hann_window(length).astype(np.float32), bands, band_edges(bands))
    windows = np.lib.stride_tricks.sliding_window_view(samples, length)[:: length // 4][:32]
    windowed = windows * np.hanning(length + 1)[:-1]
    np.testing.assert_allclose(power, np.abs(np.fft.rfft(windowed, axis=1)) ** 2 @ bands.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total, (windowed**2).sum(axis=1), rtol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 3_000), st.lists(st.integers(0, 3_000), max_size=5), st.sampled_from([0, 3]))
def test_tiles_cover_every_frame_once(n_samples, cuts, margin):
    samples = np.arange(1, n_samples + 1, dtype=np.float32)
    tiles = SampleTiles(frame_length=16, hop_length=4, margin=margin)
    padded = np.pad(samples, (8 + margin, 1_000))
    found = [tile.copy() for block in np.split(samples, sorted(cuts)) for tile in tiles.cut(block)]
    rest, n_frames = tiles.rest()
    assert 64 * len(found) + n_frames == 1 + n_samples // 4
    for i, tile in enumerate([*found, rest]):
        np.testing.assert_array_equal(tile, padded[256 * i : 256 * i + len(tile)])
