import librosa
import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from nearsong.audio import DeltaMFCC, load_frames, stream_frames, with_derivatives
from nearsong.audio.spectrum.fourier import LANES
from nearsong.audio.spectrum.mel_power import FRAME_LENGTH, band_edges, hann_window, mel_bands, mel_power
from nearsong.errors import InvalidInputError, TooShortAudioError

from .conftest import tone

RATE = 22_050


def librosa_frames(sound: np.ndarray, rate: int = RATE, n_mfcc: int = 13, n_mels: int = 40) -> np.ndarray:
    mel = librosa.feature.melspectrogram(y=sound, sr=rate, n_fft=512, hop_length=256, n_mels=n_mels)
    mfcc = librosa.feature.mfcc(S=librosa.power_to_db(mel, top_db=None), n_mfcc=n_mfcc)
    return np.concatenate([mfcc, librosa.feature.delta(mfcc), librosa.feature.delta(mfcc, order=2)]).T


def music_like(seconds: float, seed: int = 0) -> np.ndarray:
    """Return chords with attacks, noise and rests."""
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(int(np.ceil(seconds * 4))):
        length = RATE // 4
        chord = sum(tone(RATE, 0.25, f, 0.2)[:length] for f in random.uniform(80, 4_000, size=3))
        decay = np.exp(-np.arange(length) / random.uniform(500, 8_000)) * (random.random() > 0.1)
        parts.append((chord + random.normal(scale=0.02, size=length)) * decay)
    return np.concatenate(parts)[: int(seconds * RATE)].astype(np.float32)


SOUNDS = {
    "music": music_like(6.3),
    "white noise": np.random.default_rng(0).normal(scale=0.1, size=70_000).astype(np.float32),
    "tone": tone(RATE, 3.0, 1_000),
    "high tone": tone(RATE, 2.0, 9_000, level=1.0),
    "low tone": tone(RATE, 2.0, 50, level=0.9),
    "sweep": np.sin(np.linspace(0, 300, 60_000) ** 2 / 5).astype(np.float32),
    "constant": np.full(20_000, 0.7, dtype=np.float32),
    "quiet": 1e-5 * music_like(2.0, seed=3),
    "loud": 300 * music_like(2.0, seed=4),
    "click": np.eye(1, 30_000, 12_345, dtype=np.float32)[0],
    "rests": np.concatenate([np.zeros(20_000), music_like(1.0), np.zeros(20_000)]).astype(np.float32),
    "shortest": music_like(1.0)[: 8 * 256],
    "a sample more": music_like(1.0)[: 8 * 256 + 1],
    "a tile": music_like(3.0)[: 256 * 255],
    "a tile and a frame": music_like(3.0)[: 256 * 256],
}


@pytest.mark.parametrize("name", SOUNDS)
def test_frames_equal_those_of_librosa(name):
    frames = DeltaMFCC().transform(SOUNDS[name])
    assert frames.dtype == np.float32
    np.testing.assert_allclose(frames, librosa_frames(SOUNDS[name]), atol=1e-3)


@pytest.mark.parametrize(("rate", "n_mfcc", "n_mels"), [(RATE, 20, 64), (44_100, 13, 40), (16_000, 5, 24)])
def test_other_parameters_equal_those_of_librosa(rate, n_mfcc, n_mels):
    frames = DeltaMFCC(sample_rate=rate, n_mfcc=n_mfcc, n_mels=n_mels).transform(SOUNDS["music"])
    assert frames.shape[1] == 3 * n_mfcc
    np.testing.assert_allclose(frames, librosa_frames(SOUNDS["music"], rate, n_mfcc, n_mels), atol=1e-3)


@pytest.mark.parametrize("n_mels", [1, 24, 40, 128])
def test_mel_bands_equal_those_of_librosa(n_mels):
    with np.errstate(all="ignore"):
        expected = librosa.filters.mel(sr=RATE, n_fft=512, n_mels=n_mels) if n_mels < 128 else None
    bands = mel_bands(RATE, n_mels)
    if expected is not None:
        np.testing.assert_allclose(bands, expected, atol=1e-7)
    first, last = band_edges(bands)
    for band, start, stop in zip(bands, first, last, strict=True):
        assert not band[:start].any()
        assert not band[stop:].any()


def test_the_transform_of_sixteen_frames_is_that_of_numpy():
    random = np.random.default_rng(5)
    samples = random.normal(size=(LANES + 1) * 256).astype(np.float32)
    window = random.uniform(0.5, 1, size=FRAME_LENGTH).astype(np.float32)
    bins = np.eye(FRAME_LENGTH // 2 + 1, dtype=np.float32)  # a "band" for every bin
    power, total = mel_power(samples, LANES, window, bins, band_edges(bins))
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(float), FRAME_LENGTH)[::256]
    np.testing.assert_allclose(power, np.abs(np.fft.rfft(frames * window, axis=1)) ** 2, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(total, power.sum(axis=1), rtol=1e-5)


def test_integer_samples_are_scaled():
    integers = np.round(SOUNDS["white noise"] * 32_767 / 2).astype(np.int16)
    expected = DeltaMFCC().transform(integers / 32_768)
    np.testing.assert_array_equal(DeltaMFCC().transform(integers), expected)


def test_digital_silence_is_finite():
    frames = DeltaMFCC().transform(np.zeros(RATE, dtype=np.float32))
    assert np.isfinite(frames).all()
    # every band at the floor of -100 dB: only the first cepstral coefficient is not zero, and nothing changes
    np.testing.assert_allclose(frames[:, 0], -100 * np.sqrt(40), rtol=1e-5)
    np.testing.assert_allclose(frames[:, 1:], 0, atol=1e-3)


def test_five_seconds_are_431_frames():
    assert DeltaMFCC().transform(music_like(5.0)).shape == (431, 39)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 70_000), max_size=6), st.integers(8 * 256, 120_000))
def test_frames_do_not_depend_on_how_the_sound_comes(cuts, n_samples):
    sound = np.resize(SOUNDS["music"], n_samples)
    features = DeltaMFCC()
    parts = np.split(sound, sorted(min(cut, n_samples) for cut in cuts))
    streamed = np.concatenate(list(features.stream(parts)))
    np.testing.assert_array_equal(streamed, features.transform(sound))


def test_frames_do_not_depend_on_the_number_of_threads():
    with threadpool_limits(limits=1):
        one = DeltaMFCC().transform(SOUNDS["music"])
    with threadpool_limits(limits=4):
        four = DeltaMFCC().transform(SOUNDS["music"])
    np.testing.assert_array_equal(one, four)


@settings(max_examples=25, deadline=None)
@given(st.integers(9, 60), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_derivatives_equal_those_of_librosa(n_frames, width, seed):
    mfcc = np.random.default_rng(seed).normal(scale=20, size=(n_frames, width)).astype(np.float32)
    expected = np.concatenate([mfcc.T, librosa.feature.delta(mfcc.T), librosa.feature.delta(mfcc.T, order=2)]).T
    np.testing.assert_allclose(with_derivatives(mfcc), expected, atol=1e-3)


def test_derivatives_of_half_precision_frames_are_computed_in_single():
    mfcc = np.random.default_rng(0).normal(scale=100, size=(50, 13)).astype(np.float16)
    np.testing.assert_array_equal(with_derivatives(mfcc), with_derivatives(mfcc.astype(np.float32)))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros((5_000, 2)), r"shape \(5000, 2\) and dtype float64; mono audio is needed"),
        (np.array(["a"]), "mono audio is needed"),
        (np.arange(5_000), "int64; .* 32-bit integers"),
        (np.full(5_000, np.nan), "NaN or a value far above full scale, 1; set such samples to 0"),
        (np.full(5_000, -1e9), "far above full scale"),
        (np.zeros(2_047), r"2047 samples are too few; at least 2048 are needed \(93 ms\)"),
        (np.zeros(0), "0 samples are too few"),
    ],
)
def test_samples_that_cannot_work_are_refused(samples, message):
    with pytest.raises(InvalidInputError, match=message):
        DeltaMFCC().transform(samples)


def test_parameters_that_cannot_work_are_refused():
    with pytest.raises(InvalidInputError, match=r"n_mfcc=41 is more than the mel bands, n_mels=40"):
        DeltaMFCC(n_mfcc=41)
    with pytest.raises(InvalidInputError, match=r"shape \(8, 13\).*at least 9 frames"):
        with_derivatives(np.zeros((8, 13)))


def test_a_file_gives_the_frames_of_its_samples(make_sound):
    from nearsong.audio import load_audio

    path = make_sound("song.mp3", seconds=9)
    expected = DeltaMFCC().transform(load_audio(path))
    np.testing.assert_array_equal(load_frames(path), expected)
    assert sum(1 for _ in stream_frames(path)) > 1


def test_a_file_of_too_little_sound_is_too_short(make_sound):
    with pytest.raises(TooShortAudioError, match=r"song\.wav: is shorter than 93 ms, too short to analyse"):
        load_frames(make_sound("song.wav", seconds=0.05))


def test_the_window_is_scipys_hann_to_the_last_bit():
    np.testing.assert_array_equal(hann_window(512), scipy.signal.get_window("hann", 512))
