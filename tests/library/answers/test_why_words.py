import pytest

from nearsong.library.answers.why.explain import Explanation
from nearsong.library.answers.why.reasons import Why
from nearsong.library.listeners.artist_overlap import Overlap


def last_words(listeners: Overlap | None, same_artist: bool = False) -> str:
    sound = Explanation((), (), 1.0, 0.0, 0.5, 0.5)
    return Why("A - a", "B - b", 1.0, 0.5, sound, {}, same_artist, listeners).sentences()[-1]


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
