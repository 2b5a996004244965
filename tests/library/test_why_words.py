import pytest

from nearsong.library.explain import Explanation
from nearsong.library.overlaps import Overlap
from nearsong.library.why import Why


def last_words(listeners: Overlap | None, same_artist: bool = False) -> str:
    sound = Explanation((), (), 1.0, 0.0, 0.5, 0.5)
    return Why("A - a", "B - b", 1.0, 0.5, sound, {}, same_artist, listeners).sentences()[-1]


@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        (Overlap(38, 50, 61, 0.52, 3), "38 of the 50 and 61 listeners of the two play both, which makes it the 3rd"),
        (Overlap(1, 1200, 1, 0.1, 1), "1 of the 1,200 and 1 listeners of the two plays both, which makes it the"),
        (Overlap(0, 50, 61, 0.0, None), "none of the 50 and 61 listeners of the two plays both"),
        (None, "none are known of at least one of the two artists"),
    ],
)
def test_what_listeners_say_of_two_artists_is_said_in_plain_words(overlap, words):
    said = last_words(overlap)
    assert said.startswith(f"listeners: {words}")
    assert "accard" not in said
    if overlap is not None and overlap.rank is not None:
        assert said.endswith("nearest artist by listeners")


def test_an_artist_is_not_compared_with_itself():
    assert last_words(None, same_artist=True) == "listeners: the same artist"
