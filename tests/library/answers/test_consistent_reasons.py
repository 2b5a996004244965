"""No two statements of an answer contradict each other, whatever the songs, the sounds and the tags are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.library.answers.why.claims import Claims, ends_of
from nearsong.library.answers.why.explain import Explanation, SoundCharacter
from nearsong.library.answers.why.fused_reasons import FusedReasons, KindReason
from nearsong.library.answers.why.reasons import Why, _consistent
from nearsong.library.answers.words.sound_traits import TRAITS, SongTraits

OPPOSITES = (
    [{"bright", "airy"}, {"dark", "warm"}],
    [{"bass-heavy"}, {"light on bass", "thin"}],
    [{"loud"}, {"quiet"}],
    [{"tone-like"}, {"noise-like"}],
    [{"punchy", "short bursts", "gaps between bursts"}, {"sustained"}],
    [{"drum-driven"}, {"without drums"}],
    [{"electric", "electronic", "metal"}, {"acoustic"}],
    [{"female vocalists", "sung by women"}, {"instrumental"}],
    [{"happy"}, {"sad"}],
    [{"mellow"}, {"metal"}],
)
"""Written anew, not taken from the code: two words of a row never hold for one song."""

LABELS = st.tuples(
    st.sampled_from(["loud", "quiet", ""]),
    st.sampled_from(["bass-heavy", "warm", "mid-range", "bright", "airy", "dark", "thin", "full-range"]),
    st.sampled_from(["tone-like", "noise-like", ""]),
    st.sampled_from(["steady", "rising", "fading", "short bursts", "gaps between bursts"]),
).map(lambda words: ", ".join(filter(None, words)))
SHARES = st.sampled_from([0.0, 0.05, 0.2])
TAGS = st.lists(
    st.sampled_from(
        ["rock", "acoustic", "metal", "mellow", "instrumental", "female vocalists", "happy", "sad", "80s"]
    ),
    max_size=3,
    unique=True,
)
SIGNS = st.tuples(*[st.integers(-1, 1)] * len(TRAITS), st.integers(0, 1)).map(lambda row: np.array(row, np.int8))


def sounds(is_similarity):
    made = st.builds(
        lambda words, query, song: SoundCharacter(is_similarity, 0, (0,), 0.2, query, song, 0.1, words),
        LABELS,
        SHARES,
        SHARES,
    )
    return st.lists(made, max_size=5, unique_by=lambda sound: sound.words).map(tuple)


def opposite(first: str, second: str) -> bool:
    return any(
        (first in low and second in high) or (first in high and second in low) for low, high in OPPOSITES
    )  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(SIGNS, SIGNS, sounds(True), sounds(False), TAGS)
def test_an_answer_never_contradicts_itself(first, second, similarities, differences, tags):
    traits = SongTraits(None, np.arange(2), np.stack([first, second])).compared(first, second)
    sound = Explanation(similarities, differences, 1.0, 0.0, 0.5, 0.5)
    kinds = (KindReason("sound", "sound", 1.0, 1.0, 0.9),)
    sound, fused = _consistent(sound, FusedReasons(kinds, (), tuple(tags), (), None), traits)
    why = Why("A", "B", 1.0, 0.9, 0.6, sound, {}, False, None, fused=fused, traits=traits)

    of_both = [*traits.shared, *fused.tags, *(word for one in sound.similarities for word in one.words.split(", "))]
    more = {True: [pair[0] for pair in traits.opposed], False: [pair[1] for pair in traits.opposed]}
    for one in sound.differences:
        more[one.in_query > one.in_song].extend(one.words.split(", "))
    assert not any(opposite(one, other) for one in of_both for other in of_both)
    for words in more.values():  # what both are, neither is more of; and nobody is more of two opposites
        neutral = {"steady", "rising", "fading", "mid-range", "full-range"}
        assert not any(opposite(one, other) for one in words for other in [*words, *of_both])
        assert not set(words) & set(of_both) - neutral
    assert all(one.is_above_average == (True, True) for one in sound.similarities)
    assert all(len(set(one.is_above_average)) == 2 for one in sound.differences)
    assert why.lead.endswith(".")
    assert why.lead.count(".") == 1
    assert why.sentences()[0] == why.lead


@given(LABELS)
def test_every_word_of_a_sound_that_has_an_opposite_is_known(label):
    for word in label.split(", "):
        assert bool(ends_of(word)) == any(word in low | high for low, high in OPPOSITES)


def test_a_refused_statement_claims_nothing():
    claims = Claims()
    assert claims.add_shared(["bright"])
    assert not claims.add_shared(["loud", "dark"])
    assert claims.add_shared(["quiet"])  # loud was not said
    assert not claims.add_difference(["airy"], of_first=True)
    assert claims.add_difference(["noise-like"], of_first=True)
    assert not claims.add_difference(["noise-like"], of_first=False)
    assert claims.add_difference(["tone-like"], of_first=False)
