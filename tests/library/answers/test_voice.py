"""The learned word of the voice: the same in every library, and never said of what is no music."""

import numpy as np
import pytest

from nearsong.audio import DeltaMFCC, MelLevels
from nearsong.library.answers.words.sound_traits import SongTraits
from nearsong.library.answers.words.voice import _WEIGHTS, VOICE_WORD, has_voice, voice_numbers, voice_values
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.model.encoders.spectral_pattern import SpectralPatternEncoder
from synthesised_song import synthesised_song

FRAMES = [DeltaMFCC().transform(synthesised_song(5.0, seed=seed)) for seed in range(6)]


def test_a_song_has_the_same_numbers_whatever_songs_the_library_has():
    random = np.random.default_rng(0)
    mixes = random.normal(scale=0.05, size=(5, 39, 39)) + np.eye(39)
    songs = [(random.normal(size=(400, 39)) @ mix).astype(np.float32) for mix in mixes]
    factors = random.uniform(0.7, 1.4, size=39).astype(np.float32)
    encoders = GaussianEncoder.fit(songs), GaussianEncoder.fit([song * factors for song in songs])
    vectors = [encoder.encode_all(songs) for encoder in encoders]
    plain = np.abs(vectors[0] - vectors[1]).mean()
    numbers = [voice_numbers(rows, one.gaussian.scales) for rows, one in zip(vectors, encoders, strict=True)]
    assert np.abs(numbers[0] - numbers[1]).mean() < plain / 3
    assert numbers[0].shape == (len(songs), len(_WEIGHTS))


def test_the_value_is_the_weighted_sum_of_means_and_logarithms():
    encoder = GaussianEncoder.fit(FRAMES)
    frames = np.asarray(FRAMES[0], np.float64)
    numbers = voice_numbers(encoder.encode(FRAMES[0])[None], encoder.gaussian.scales)[0]
    assert np.allclose(numbers[:12], frames[:, 1:13].mean(axis=0), atol=1e-3)
    difference = np.diff(voice_values(encoder, encoder.encode_all(FRAMES[:2])))[0]
    rows = voice_numbers(encoder.encode_all(FRAMES[:2]), encoder.gaussian.scales)
    assert difference == pytest.approx((rows[1] - rows[0]) @ _WEIGHTS)


def test_other_features_and_missing_vectors_have_no_word():
    encoder = GaussianEncoder.fit([frames[:, :30] for frames in FRAMES], features=DeltaMFCC(n_mfcc=10))
    assert np.isnan(voice_values(encoder, encoder.encode_all([frames[:, :30] for frames in FRAMES]))).all()
    own = GaussianEncoder.fit(FRAMES)
    assert not has_voice(voice_values(own, np.full((2, own.n_dimensions), np.nan))).any()


def test_synthesised_songs_without_a_voice_do_not_have_it():
    encoder = GaussianEncoder.fit(FRAMES)
    assert not has_voice(voice_values(encoder, encoder.encode_all(FRAMES))).any()


def test_the_word_goes_to_the_songs_whose_vectors_have_it(monkeypatch):
    monkeypatch.setattr("nearsong.library.answers.words.sound_traits.voice_values", lambda _, rows: rows[:, 0])
    features = MelLevels()
    levels = [features.transform(synthesised_song(3.0, seed=seed)) for seed in range(3)]
    patterns = SpectralPatternEncoder.fit(levels)
    ids = np.array([3, 5, 8])
    traits = SongTraits.measure(patterns, [(ids, patterns.encode_all(levels).astype(np.float32))], ids)
    assert not traits.of_song(5)[-1]
    gaussian = GaussianEncoder.fit(FRAMES)
    numbers = np.array([4, 5, 8, 9])
    values = np.array([[0.9], [0.9], [0.1], [0.9]], np.float32)
    sung = traits.with_voices(gaussian, [(numbers[:2], values[:2]), (numbers[2:], values[2:])])
    assert [bool(sung.of_song(song)[-1]) for song in ids.tolist()] == [False, True, False]
    pattern = patterns.encode(levels[0])
    both = {patterns.key: pattern, gaussian.key: np.array([0.9])}
    assert sung.of_vectors(both)[-1] == 1
    assert sung.of_vectors({patterns.key: pattern})[-1] == 0
    assert sung.of_vectors({gaussian.key: np.array([0.9])}) is None
    assert VOICE_WORD in sung.compared(sung.of_song(5), sung.of_vectors(both)).shared
