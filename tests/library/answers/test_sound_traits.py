"""Words for the sound of songs, on sounds that have them beyond doubt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.audio import MelLevels
from nearsong.library.answers.words.sound_traits import TRAITS, SongTraits, trait_signs, trait_values, trait_word
from nearsong.library.answers.words.voice import VOICE_WORD
from nearsong.model.encoders.spectral_pattern import SpectralPatternEncoder

RATE = MelLevels().sample_rate
TIMES = np.arange(4 * RATE) / RATE
SIGNS = st.tuples(*[st.integers(-1, 1)] * len(TRAITS), st.integers(0, 1)).map(lambda row: np.array(row, np.int8))


def chord(*pitches):
    return sum(np.sin(2 * np.pi * pitch * TIMES) for pitch in pitches) * 0.05


def beat():
    since, noise = TIMES % 0.5, np.random.default_rng(0).standard_normal(len(TIMES))
    return 0.5 * np.sin(2 * np.pi * 60 * TIMES) * np.exp(-since / 0.05) + 0.2 * noise * np.exp(-since / 0.03)


SOUNDS = {
    "strings": chord(220, 277, 330, 660),
    "band": chord(220, 277, 330, 660) + beat(),
    "hiss": 0.1 * np.random.default_rng(1).standard_normal(len(TIMES)),
}


@pytest.fixture(scope="module")
def traits():
    features = MelLevels()
    frames = [features.transform(sound.astype(np.float32)) for sound in SOUNDS.values()]
    encoder = SpectralPatternEncoder.fit(frames)
    vectors = encoder.encode_all(frames).astype(np.float32)
    ids = np.arange(1, len(SOUNDS) + 1)
    return SongTraits.measure(encoder, [(ids, vectors)], ids)


def words_of(traits, name):
    signs = traits.of_song(1 + list(SOUNDS).index(name))
    return {trait_word(number, sign) for number, sign in enumerate(signs) if sign}


def test_a_chord_and_a_beat_and_a_hiss_have_the_words_that_anybody_would_use(traits):
    assert words_of(traits, "strings") >= {"without drums", "acoustic", "dark", "sustained"}
    assert words_of(traits, "band") >= {"drum-driven", "punchy", "bass-heavy"}
    assert "bright" in words_of(traits, "hiss")


def test_the_words_of_two_songs_are_shared_or_opposites(traits):
    found = traits.compared(traits.of_song(1), traits.of_song(2))
    assert ("without drums", "drum-driven") in found.opposed
    assert traits.of_song(77) is None
    same = traits.compared(traits.of_song(1), traits.of_song(1))
    assert set(same.shared) == words_of(traits, "strings")
    assert not same.opposed


@given(SIGNS, SIGNS)
def test_a_trait_is_shared_or_opposed_or_neither_and_turns_with_the_pair(first, second):
    library = SongTraits(None, np.arange(2), np.stack([first, second]))
    found, turned = library.compared(first, second), library.compared(second, first)
    assert set(found.shared) == set(turned.shared)
    assert set(found.opposed) == {(b, a) for a, b in turned.opposed}
    named = [*found.shared, *(word for pair in found.opposed for word in pair)]
    assert len(named) == len(set(named))
    for number, trait in enumerate(TRAITS):
        both_ends = {trait.low, trait.high}
        assert len(both_ends & set(found.shared)) == int(first[number] == second[number] != 0)
        assert any(set(pair) == both_ends for pair in found.opposed) == (first[number] * second[number] == -1)
    assert (VOICE_WORD in found.shared) == bool(first[-1] and second[-1])
    assert VOICE_WORD not in {word for pair in found.opposed for word in pair}


def test_what_few_songs_of_the_library_have_is_named_first():
    signs = np.zeros((10, len(TRAITS) + 1), np.int8)
    signs[:, 0] = 1
    signs[:2, 3] = -1
    library = SongTraits(None, np.arange(10), signs)
    assert library.compared(signs[0], signs[1]).shared == (TRAITS[3].low, TRAITS[0].high)


def test_silence_and_missing_vectors_have_no_words():
    centres = MelLevels().band_centres()
    assert not trait_signs(trait_values(np.full((1, 640), np.nan), centres)).any()
