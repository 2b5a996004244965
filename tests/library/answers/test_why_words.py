import pytest

from nearsong.library.answers.why.explain import Explanation, SoundCharacter
from nearsong.library.answers.why.fused_reasons import FusedReasons, KindReason
from nearsong.library.answers.why.reasons import Why
from nearsong.library.answers.words.sound_traits import TraitPair
from nearsong.library.listeners.artist_overlap import Overlap


def last_words(listeners: Overlap | None, same_artist: bool = False) -> str:
    sound = Explanation((), (), 1.0, 0.0, 0.5, 0.5)
    return Why("A - a", "B - b", 1.0, 0.5, 0.2, sound, {}, same_artist, listeners).sentences()[-1]


@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        (
            Overlap(38, 50, 61, 0.52, 3),
            "38 (the seed's artist has 50, this song's artist 61). By listeners, it is the 3rd",
        ),
        (
            Overlap(1, 1200, 1, 0.1, 1),
            "1 (the seed's artist has 1,200, this song's artist 1). By listeners, it is the most",
        ),
        (Overlap(0, 50, 61, 0.0, None), "none (the seed's artist has 50, this song's artist 61)."),
        (None, "no data for at least one of the two artists."),
    ],
)
def test_what_listeners_say_of_two_artists_is_stated_in_plain_words(overlap, words):
    sentence = last_words(overlap)
    assert sentence.startswith(f"Shared listeners: {words}")
    assert "accard" not in sentence
    if overlap is not None and overlap.rank is not None:
        assert sentence.endswith("most similar artist.")


def test_an_artist_is_not_compared_with_itself():
    assert last_words(None, same_artist=True) == "Both songs are by the same artist."


LEARNED = FusedReasons((KindReason("taste", "listeners' taste", 1.0, 1.0, 0.94),), (), (), ("Can",), 312)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (
            {"traits": TraitPair(("bright", "electric", "drum-driven", "punchy")), "listeners": 5, "fused": LEARNED},
            "Both are bright, electric and drum-driven; 5 listeners play both artists; learned from 312 listeners.",
        ),
        ({"traits": TraitPair(("dark",)), "listeners": 1}, "Both are dark; 1 listener plays both artists."),
        ({"same_artist": True, "artist": "Can", "fused": LEARNED}, "Both are by Can; learned from 312 listeners."),
        ({"same_artist": True}, "Both are by the same artist."),
        (
            {"same_artist": True, "artist": "Can", "traits": TraitPair(("dark", "acoustic"))},
            "Both are by Can: dark and acoustic.",
        ),
        (
            {"fused": LEARNED},
            "Nearest in listeners' taste: nearer than 94 % of all pairs; learned from 312 listeners.",
        ),
        ({"traits": TraitPair((), (("bright", "dark"),)), "listeners": 0}, "No sound stands out in both."),
        (
            {"traits": TraitPair(("dark",)), "listeners": 1, "closeness": 0.1},
            "Far apart; both are dark; 1 listener plays both artists.",
        ),
        ({"same_artist": True, "artist": "Can", "closeness": 0.1}, "Both are by Can."),
    ],
)
def test_the_first_sentence_says_the_reasons_in_the_order_of_their_worth(facts, sentence):
    shared = facts.pop("listeners", None)
    overlap = None if shared is None else Overlap(shared, 50, 61, 0.1, 1 if shared else None)
    sound = Explanation((), (), 1.0, 0.0, 0.5, 0.5)
    closeness = facts.pop("closeness", 0.6)
    why = Why("A - a", "B - b", 1.0, 0.9, closeness, sound, {}, facts.pop("same_artist", False), overlap, **facts)
    assert why.lead == why.sentences()[0] == sentence
    if why.traits.opposed:
        assert why.sentences()[1] == "In sound they differ: the seed is bright, this song dark."


@pytest.mark.parametrize("fused", [None, LEARNED])
def test_the_first_sentence_never_says_words_of_single_sounds(fused):
    loud = SoundCharacter(True, 0, (0,), 0.4, 0.3, 0.3, 0.1, "loud, bass-heavy, noise-like")
    sound = Explanation((loud,), (), 1.0, 0.0, 0.5, 0.5)
    why = Why("A - a", "B - b", 1.0, 0.9, 0.6, sound, {}, False, None, fused=fused)
    assert "loud" not in why.lead
    assert any("loud, bass-heavy, noise-like" in line for line in why.sentences()[1:])


@pytest.mark.parametrize(("closeness", "names"), [(0.6, True), (0.1, False)])
def test_songs_that_are_far_apart_are_not_said_to_share_likely_listeners(closeness, names):
    sound = Explanation((), (), 1.0, 0.0, 0.5, 0.5)
    why = Why("A - a", "B - b", 1.0, 0.9, closeness, sound, {}, False, None, fused=LEARNED)
    assert any("also play Can" in line for line in why.sentences()) == names
