"""Words said of two songs -> only those that contradict none before: an answer never says bright here and dark there.

Words lie on axes with two ends, such as brightness with *bright* and *airy* at one and *dark* and *warm* at the
other. What both songs are, on an axis, they are not said to differ in; and of two differences on an axis, the second
may not turn the first around. Words without an opposite, such as *steady* or *rock*, contradict nothing.
"""

from collections.abc import Iterable

from nearsong.library.answers.words.sound_traits import TRAITS
from nearsong.library.answers.words.voice import VOICE_WORD

_ENDS = {
    "level": (("quiet",), ("loud",)),
    "brightness": (("warm",), ("airy",)),
    "bass": (("thin",), ()),
    "texture": (("noise-like",), ("tone-like",)),
    "attack": ((), ("short bursts", "gaps between bursts")),
    "instruments": ((), ("electronic", "electronica", "electro", "house", "metal", "heavy metal", "hard rock")),
    "voice": (("instrumental",), (VOICE_WORD, "female vocalists", "female vocalist", "male vocalists")),
    "mood": (("sad",), ("happy",)),
    "energy": (
        ("mellow", "chillout", "chill", "ambient", "easy listening"),
        ("metal", "heavy metal", "hard rock", "punk", "party", "dance"),
    ),
}
"""Axis -> words of sounds and tags at its low and at its high end, beside those of the traits."""

_ALL_ENDS: list[tuple[str, int, tuple[str, ...]]] = [
    *((axis, sign, words) for axis, ends in _ENDS.items() for sign, words in zip((-1, 1), ends, strict=True)),
    *((trait.name, sign, (word,)) for trait in TRAITS for sign, word in ((-1, trait.low), (1, trait.high))),
]


def ends_of(word: str) -> list[tuple[str, int]]:
    """Return the axes that a word is on, and the end of each: -1 or 1.

    >>> ends_of("Bright"), ends_of("steady")
    ([('brightness', 1)], [])
    """
    key = word.casefold()
    return [(axis, sign) for axis, sign, words in _ALL_ENDS if key in words]


class Claims:
    """What an answer has said of two songs so far."""

    def __init__(self) -> None:
        self._of_both: dict[str, int] = {}
        self._differences: dict[str, int] = {}

    def add_shared(self, words: Iterable[str]) -> bool:
        """Say words of both songs, unless that contradicts something; return whether they were said."""
        ends = [end for word in words for end in ends_of(word)]
        return self._add(ends, self._of_both, self._differences)

    def add_difference(self, words: Iterable[str], *, of_first: bool) -> bool:
        """Say that one song, the first or the second, is more like these words; return whether it was said."""
        ends = [(axis, sign if of_first else -sign) for word in words for axis, sign in ends_of(word)]
        return self._add(ends, self._differences, self._of_both)

    @staticmethod
    def _add(ends: list[tuple[str, int]], own: dict[str, int], others: dict[str, int]) -> bool:
        claimed = dict(own)
        for axis, sign in ends:
            if axis in others or claimed.setdefault(axis, sign) != sign:
                return False
        own.update(claimed)
        return True
