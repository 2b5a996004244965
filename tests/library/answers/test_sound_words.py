import librosa
import numpy as np
import pytest
import scipy.fft
from scipy.signal import lfilter

from nearsong.audio import DeltaMFCC
from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.errors import InvalidInputError
from nearsong.model import SimilarityModel
from nearsong.model.encoders.sound_words import band_centres, describe, spectra

RATE = 22_050


def sounds():
    """Six seconds each of sounds with a plain character, over the faint noise that every recording has."""
    random = np.random.default_rng(0)
    t = np.arange(6 * RATE) / RATE

    def noise():
        return random.normal(size=len(t))

    voice = 0.2 * sum(np.sin(2 * np.pi * 220 * k * t) / k for k in range(1, 30))
    made = {
        "low sine": 0.3 * np.sin(2 * np.pi * 90 * t),
        "middle sine": 0.3 * np.sin(2 * np.pi * 1000 * t),
        "high sine": 0.3 * np.sin(2 * np.pi * 7500 * t),
        "white noise": 0.1 * noise(),
        "faint noise": 0.01 * noise(),
        "dull noise": lfilter([0.05], [1, -0.95], noise()),
        "clicks": np.where(np.arange(len(t)) % 4410 < 220, 0.5, 0) * noise(),
        "swells": voice * 10 ** (-1.5 + 1.5 * ((3 * t) % 1)),
        "fades": voice * 10 ** (-1.5 * ((3 * t) % 1)),
    }
    return {name: (sound + 0.003 * noise()).astype(np.float32) for name, sound in made.items()}


@pytest.fixture(scope="module")
def analysed():
    """Return, for each sound, which part of it each word describes, by a codebook learned from all of them."""
    frames = {name: DeltaMFCC().transform(sound)[5:-5] for name, sound in sounds().items()}
    codebook = Codebook(64).fit(np.concatenate(list(frames.values())))
    words = describe(codebook)
    parts = {}
    for name, rows in frames.items():
        parts[name] = {}
        for described, share in zip(words, TopTauHistogram(codebook, 1).transform([rows])[0], strict=True):
            for word in described.split(", "):
                parts[name][word] = parts[name].get(word, 0.0) + float(share)
    return parts


@pytest.mark.parametrize(
    ("sound", "words"),
    [
        ("low sine", ["bass-heavy", "tone-like", "steady"]),
        ("middle sine", ["mid-range", "tone-like", "steady"]),
        ("high sine", ["airy", "tone-like", "steady"]),
        ("white noise", ["noise-like", "steady"]),
        ("dull noise", ["noise-like", "steady"]),
        ("swells", ["rising", "warm"]),
        ("fades", ["fading", "warm"]),
    ],
)
def test_words_fit_the_sound(analysed, sound, words):
    assert {word: analysed[sound].get(word, 0) > 0.6 for word in words} == dict.fromkeys(words, True)


def test_words_distinguish_sounds(analysed):
    for word, its_sound in [("short bursts", "clicks"), ("rising", "swells"), ("fading", "fades")]:
        assert max(analysed, key=lambda sound: analysed[sound].get(word, 0)) == its_sound
    assert analysed["faint noise"].get("quiet", 0) > analysed["white noise"].get("quiet", 0) + 0.15
    assert analysed["white noise"].get("tone-like", 0) < 0.1
    assert analysed["low sine"].get("airy", 0) + analysed["high sine"].get("bass-heavy", 0) < 0.05
    dark = ("bass-heavy", "warm", "dark")
    assert sum(analysed["dull noise"].get(word, 0) for word in dark) > 0.4
    assert sum(analysed["white noise"].get(word, 0) for word in dark) < 0.2


def test_levels_are_the_spectrum_that_the_coefficients_keep():
    samples = sounds()["swells"]
    frames = DeltaMFCC().transform(samples)
    power = librosa.feature.melspectrogram(
        y=samples, sr=RATE, n_fft=512, hop_length=256, n_mels=40, pad_mode="constant"
    )
    decibels = 10 * np.log10(np.maximum(power.T, 1e-10))
    retained = scipy.fft.dct(decibels, norm="ortho", axis=1)
    retained[:, 13:] = 0
    expected = scipy.fft.idct(retained, norm="ortho", axis=1)[100:104]
    mean, scale = frames.mean(axis=0), frames.std(axis=0)
    codebook = Codebook.from_arrays(mean, scale, (frames[100:104] - mean) / scale, [1, 2, 3, 4])
    found = spectra(codebook)
    np.testing.assert_allclose(found.levels, expected, atol=0.02)
    average = np.average(expected, axis=0, weights=[1, 2, 3, 4])
    np.testing.assert_allclose(found.levels - found.average, expected - average, atol=0.03)
    # how the mean level changes, against the same fit to nine frames
    level = decibels.mean(axis=1)
    slopes = [np.polyfit(np.arange(9), level[i - 4 : i + 5], 1)[0] for i in range(100, 104)]
    np.testing.assert_allclose(found.slope, slopes, atol=0.01)


def test_bands_are_where_librosa_has_them():
    expected = librosa.mel_frequencies(42, fmin=0, fmax=RATE / 2)[1:-1]
    np.testing.assert_allclose(band_centres(DeltaMFCC()), expected, rtol=0.06)
    assert (np.diff(band_centres(DeltaMFCC(n_mels=400))) > 0).mean() > 0.5  # some bands lie between two bins


def codebook_of(frames, counts=None):
    return Codebook.from_arrays(np.zeros(39), np.ones(39), frames, counts)


def test_words_are_relative_to_what_is_common():
    frames = np.zeros((3, 39))
    frames[:, 0] = [-100, 0, 100]
    assert [words.split(", ")[0] for words in describe(codebook_of(frames, [10, 10, 10]))] == [
        "quiet",
        "full-range",
        "loud",
    ]
    rare = describe(codebook_of(frames, [1, 1, 1000]))
    assert rare[2].startswith("full-range")  # what nearly everything is like is not loud
    assert rare[1].startswith("quiet")


def test_silence_is_called_so():
    frames = np.zeros((2, 39))
    frames[0, 0] = -100 * np.sqrt(40)
    assert describe(codebook_of(frames)) == ["silence", "full-range, steady"]


def test_codewords_that_are_all_the_same_have_the_same_plain_words():
    assert describe(codebook_of(np.full((5, 39), 0.25))) == ["full-range, steady"] * 5
    assert describe(codebook_of(np.zeros((1, 39)), [0])) == ["full-range, steady"]


def test_other_features_have_words_too():
    features = DeltaMFCC(16_000, n_mfcc=20, n_mels=64)
    frames = np.random.default_rng(0).normal(size=(12, 60)) * 20
    codebook = Codebook.from_arrays(np.zeros(60), np.ones(60), frames)
    assert len(describe(codebook, features)) == 12
    assert spectra(codebook, features).levels.shape == (12, 64)
    with pytest.raises(InvalidInputError, match="codewords have 60 numbers and the features give 39"):
        describe(codebook)
    few = DeltaMFCC(n_mfcc=1, n_mels=1)
    one = Codebook.from_arrays(np.zeros(3), np.ones(3), [[-30.0, 0, 0], [0, 0, 0]])
    assert describe(one, few) == ["quiet, full-range, steady", "loud, full-range, steady"]


def test_a_models_words_are_its_codebooks_in_a_row():
    random = np.random.default_rng(0)
    books = [Codebook.from_arrays(np.zeros(39), np.ones(39), random.normal(size=(size, 39)) * 30) for size in (4, 6)]
    parts = [SimilarityModel.learn(book, random.dirichlet(np.ones(len(book.codewords_)), 9)) for book in books]
    model = SimilarityModel.combined(parts)
    assert model.encoder.labels() == describe(books[0]) + describe(books[1])
