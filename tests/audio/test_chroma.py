"""Chroma against its definition, and what must hold for any music."""

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio import SAMPLE_RATE, Chroma
from nearsong.audio.chroma import _LOW_PASS, semitone_bands
from nearsong.errors import InvalidInputError

FRAME, HOP = 8192, 2048
SEGMENT_FRAMES = 1280


def tone(pitch: float, seconds: float = 1.0, n_overtones: int = 1) -> np.ndarray:
    """Return a note of a MIDI number, with overtones of falling strength."""
    time = np.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    frequency = 440 * 2 ** ((pitch - 69) / 12)
    partials = [np.sin(2 * np.pi * frequency * k * time + k) / k**2 for k in range(1, n_overtones + 1)]
    return (0.2 * np.sum(partials, axis=0)).astype(np.float32)


def piece(seconds: float, seed: int = 0) -> np.ndarray:
    """Return chords of random notes over noise, of changing loudness."""
    random = np.random.default_rng(seed)
    chords = [
        random.uniform(0.1, 1) * sum(tone(pitch, 0.5, 4) for pitch in random.integers(45, 90, size=3))
        for _ in range(int(2 * seconds))
    ]
    music = np.concatenate(chords)
    return (music + random.normal(0, 0.01, len(music))).astype(np.float32)


def band_levels(samples: np.ndarray, mean_square: float) -> np.ndarray:
    """Return log(power in semitone bands + 0.001) of samples scaled to a root mean square of 0.1."""
    scaled = samples.astype(np.float64) * 0.1 / np.sqrt(mean_square)
    padded = np.pad(scaled, FRAME // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP][: 1 + len(samples) // HOP]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    power = np.abs(scipy.fft.rfft(windows * window, axis=1)) ** 2
    pitches = 69 + 12 * np.log2(np.arange(1, FRAME // 2 + 1) * SAMPLE_RATE / FRAME / 440)
    bands = np.exp(-0.5 * ((pitches - np.arange(45, 105)[:, None]) / 0.35) ** 2)
    return np.log(power[:, 1:] @ bands.T + 1e-3)


def folded(levels: np.ndarray) -> np.ndarray:
    levels = levels - levels.min(axis=1, keepdims=True)
    sums = levels.reshape(len(levels), 5, 12).sum(axis=1)
    above = np.maximum(sums - np.median(sums, axis=1, keepdims=True), 0)
    lengths = np.linalg.norm(above, axis=1, keepdims=True)
    return above / np.where(lengths > 0, lengths, 1)


def by_definition(samples: np.ndarray) -> np.ndarray:
    return folded(band_levels(samples, float(np.mean(samples.astype(np.float64) ** 2))))


@pytest.mark.parametrize("seed", range(3))
def test_frames_equal_their_definition(seed):
    samples = piece(15, seed)[: 15 * SAMPLE_RATE - 700 * seed]
    frames = Chroma().transform(samples)
    assert frames.dtype == np.float32
    np.testing.assert_allclose(frames, by_definition(samples), atol=1e-3)


def test_sound_above_the_highest_band_does_not_alias_into_it():
    random = np.random.default_rng(0)
    whistle = np.sin(2 * np.pi * 9000 * np.arange(5 * SAMPLE_RATE) / SAMPLE_RATE)
    samples = (0.3 * whistle + 0.001 * random.normal(size=len(whistle))).astype(np.float32)
    np.testing.assert_allclose(Chroma().transform(samples), by_definition(samples), atol=1e-2)


def test_the_low_pass_filter_passes_the_bands_and_stops_what_would_alias():
    filter_taps = np.zeros(31)
    filter_taps[15] = 0.5
    filter_taps[[15 + k for k in range(1, 16, 2)]] = filter_taps[[15 - k for k in range(1, 16, 2)]] = _LOW_PASS
    response = np.abs(np.fft.rfft(filter_taps, 22_050))  # a bin for each Hz
    highest = (semitone_bands(SAMPLE_RATE).shape[1] + 2) * SAMPLE_RATE / FRAME
    np.testing.assert_allclose(response[: int(highest)], 1.0, atol=2e-3)
    assert response[int(SAMPLE_RATE / 2 - 3322) :].max() < 1e-4  # 3,322 Hz is the highest centre of a band
    assert response[int(SAMPLE_RATE / 2 - highest) :].max() < 2e-3  # at most the edge of the highest band aliases


@pytest.mark.parametrize("pitch", [45, 48, 57, 61, 70, 76, 83, 95, 104])
def test_a_note_is_its_pitch_class_in_every_octave(pitch):
    frames = Chroma().transform(tone(pitch))
    assert (frames[2:-2].argmax(axis=1) == (pitch - 45) % 12).all()


@pytest.mark.parametrize("interval", [1, 5, 7, 12])
def test_transposed_music_has_rolled_chroma(interval):
    chords = [(57, 61, 64), (62, 66, 69), (64, 68, 71)]

    def frames_of(shift: int) -> np.ndarray:
        music = np.concatenate([sum(tone(pitch + shift, 1.0, 3) for pitch in chord) for chord in chords])
        noise = np.random.default_rng(0).normal(0, 0.01, len(music))
        return Chroma().transform((music + noise).astype(np.float32))

    expected, found = np.roll(frames_of(0), interval, axis=1), frames_of(interval)
    assert np.mean(np.sum(expected * found, axis=1)) > 0.9
    assert np.mean(np.sum(frames_of(0) * found, axis=1)) < 0.9 or interval == 12


@pytest.mark.parametrize("gain", [1e-4, 0.1, 30.0])
def test_loudness_does_not_matter(gain):
    samples = piece(5)
    louder = Chroma().transform(samples * np.float32(gain))
    np.testing.assert_allclose(louder, Chroma().transform(samples), atol=1e-4)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 400_000), max_size=8))
def test_frames_are_the_same_bytes_for_any_blocks(cuts):
    samples = piece(20)[:433_000]
    blocks = np.split(samples, sorted(cuts))
    assert np.concatenate(list(Chroma().stream(blocks))).tobytes() == Chroma().transform(samples).tobytes()


def test_blocks_do_not_matter_for_a_song_of_several_segments():
    samples = np.resize(piece(30), int(2.3 * SEGMENT_FRAMES * HOP))
    complete = Chroma().transform(samples)
    for size in (1024, 100_000, HOP * SEGMENT_FRAMES):
        blocks = [samples[start : start + size] for start in range(0, len(samples), size)]
        assert np.concatenate(list(Chroma().stream(blocks))).tobytes() == complete.tobytes()


def test_a_long_song_is_measured_by_its_loudness_so_far():
    loudness = np.repeat([1.0, 0.01, 0.3], SEGMENT_FRAMES * HOP).astype(np.float32)
    samples = np.resize(piece(40), len(loudness)) * loudness
    frames = Chroma().transform(samples)
    square = np.cumsum(samples.astype(np.float64) ** 2)
    for start in (0, SEGMENT_FRAMES, 2 * SEGMENT_FRAMES):
        end = (start + SEGMENT_FRAMES) * HOP
        around = samples[max(0, start * HOP - FRAME) : start * HOP + 60 * HOP]
        inner = slice(4 if start else 0, 56)
        expected = folded(band_levels(around, square[end - 1] / end))[inner]
        np.testing.assert_allclose(frames[max(0, start - 4) :][inner], expected, atol=1e-3)


def test_a_stream_holds_two_minutes_at_most():
    stream = Chroma().start()
    second = tone(60)
    n_frames = [len(stream.add(second)) for _ in range(300)]
    assert sum(n_frames) == 2 * SEGMENT_FRAMES
    assert sum(n_frames) + len(stream.finish()) == 1 + 300 * SAMPLE_RATE // HOP


SOUNDS = {
    "silence": np.zeros(SAMPLE_RATE, np.float32),
    "one second": piece(1),
    "a hop": piece(1)[:HOP],
    "a pure tone": tone(69, 3),
    "a constant": np.full(30_000, 0.5, np.float32),
    "very loud": piece(2) * np.float32(1e6),
    "very quiet": piece(2) * np.float32(1e-30),
    "a click": np.eye(1, 50_000, 25_000, dtype=np.float32)[0],
    "silence, then music": np.concatenate([np.zeros(50_000, np.float32), piece(2)]),
}


@pytest.mark.parametrize("samples", SOUNDS.values(), ids=list(SOUNDS))
def test_every_sound_has_frames_of_length_one_or_zero(samples):
    frames = Chroma().transform(samples)
    assert frames.shape == (1 + len(samples) // HOP, 12)
    assert (frames >= 0).all()
    lengths = np.linalg.norm(frames, axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()


def test_silence_has_no_pitch_class():
    assert not Chroma().transform(np.zeros(SAMPLE_RATE, np.float32)).any()


def test_other_sample_rates_and_too_short_sounds():
    chroma = Chroma(sample_rate=44_100)
    time = np.arange(44_100) / 44_100
    assert (chroma.transform(np.sin(2 * np.pi * 440 * time))[4:-4].argmax(axis=1) == 0).all()
    assert chroma.parameters() == {"sample_rate": 44_100}
    with pytest.raises(InvalidInputError, match=r"sample_rate=16000 is too low for the highest octave.*22050"):
        Chroma(sample_rate=16_000)
    with pytest.raises(InvalidInputError, match="too few"):
        Chroma().transform(np.zeros(100, np.float32))
