"""A text such as "mellow acoustic, no rap" -> the tags of an encoder that it means, and the words without a tag."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import OSA

from nearsong.errors import InvalidInputError

MAX_WORDS = 20
"""Words of a text, at most."""

MAX_TAG_WORDS = 3
"""Words of the longest tag or synonym."""

MIN_SPELLING_SIMILARITY = 0.8
"""A word is a misspelled tag from this share of equal letters on: one wrong letter in five."""

SYNONYMS = {
    "hip-hop": ("rap", "hip hop", "rapper"),
    "rnb": ("r&b", "r and b", "r n b", "rhythm and blues"),
    "female vocalists": ("female", "female vocals", "female voice", "female singer", "woman singing", "women"),
    "male vocalists": ("male", "male vocals", "male voice", "male singer", "man singing", "men"),
    "instrumental": ("no vocals", "without vocals", "no singing", "without singing"),
    "electronic": ("edm", "synth", "electronic music"),
    "progressive rock": ("prog", "prog rock", "progressive"),
    "alternative rock": ("alt rock",),
    "alternative": ("alt",),
    "chillout": ("chill out", "relaxing", "relaxed", "downtempo"),
    "mellow": ("calm", "gentle", "soft"),
    "sad": ("melancholic", "melancholy", "melancholia", "sadness"),
    "happy": ("cheerful", "joyful", "upbeat", "happiness"),
    "beautiful": ("beauty", "pretty"),
    "acoustic": ("unplugged",),
    "dance": ("danceable", "dancing"),
    "jazz": ("jazzy",),
    "blues": ("bluesy",),
    "folk": ("folky",),
    "funk": ("funky",),
    "experimental": ("avantgarde", "avant garde"),
    "heavy metal": ("heavy",),
    "60s": ("1960s", "sixties"),
    "70s": ("1970s", "seventies"),
    "80s": ("1980s", "eighties"),
    "90s": ("1990s", "nineties"),
    "00s": ("2000s", "noughties"),
}
"""Tag -> what else people call it."""

_NEGATIONS = frozenset({"not", "no", "without", "non", "minus"})
_EMPTY_WORDS = frozenset(
    {"a", "an", "and", "but", "for", "in", "like", "music", "of", "or", "some", "something", "song", "songs"}
    | {"sound", "sounding", "sounds", "that", "the", "to", "tracks", "very", "with"}
)


@dataclass(frozen=True)
class WordMatch:
    """What a text asks for.

    Attributes
    ----------
    wanted, unwanted : tuple of int
        Numbers of tags that songs should have, and should not have.
    unknown : tuple of str
        Words without a tag.
    """

    wanted: tuple[int, ...]
    unwanted: tuple[int, ...]
    unknown: tuple[str, ...]


def match_words(text: str, tags: Sequence[str]) -> WordMatch:
    """Find the tags that a text means.

    Case, hyphens and plurals make no difference; some synonyms are known, and small spelling mistakes are forgiven.
    The tag after "not", "no" or "without" is unwanted.

    Parameters
    ----------
    text : str
        Words, with or without commas.
    tags : sequence of str
        The tags of an encoder.

    Raises
    ------
    InvalidInputError
        If there are no words, or too many.

    Examples
    --------
    >>> match_words("Mellow Guitars without rap, didgeridoo", ["guitar", "hip-hop", "mellow"])
    WordMatch(wanted=(2, 0), unwanted=(1,), unknown=('didgeridoo',))
    """
    words = re.findall(r"[^\s,;+/]+", text)
    if not any(_folded(word) for word in words):
        raise InvalidInputError('No words given; describe the music, such as "mellow acoustic".')
    if len(words) > MAX_WORDS:
        raise InvalidInputError(f"{len(words)} words given; use {MAX_WORDS} at most.")
    table = _spellings(tags)
    wanted: dict[int, None] = {}
    unwanted: dict[int, None] = {}
    unknown: dict[str, None] = {}
    position, negated = 0, False
    while position < len(words):
        tag, length = _longest(words[position:], table)
        word = words[position]
        if tag is not None:
            (unwanted if negated else wanted)[tag] = None
            negated = False
        elif _folded(word) in _NEGATIONS:
            negated = True
        elif _folded(word) and _folded(word) not in _EMPTY_WORDS:
            unknown[word] = None
            negated = False
        position += length
    return WordMatch(tuple(wanted), tuple(tag for tag in unwanted if tag not in wanted), tuple(unknown))


def _longest(words: Sequence[str], table: dict[str, int]) -> tuple[int | None, int]:
    """Return the tag that the most of the first words mean, and how many they are."""
    for length in range(min(MAX_TAG_WORDS, len(words)), 0, -1):
        tag = table.get(_key(words[:length]))
        if tag is not None:
            return tag, length
    first = _key(words[:1])
    if len(first) >= 4 and _folded(words[0]) not in _NEGATIONS | _EMPTY_WORDS:
        scorer = OSA.normalized_similarity
        close = process.extractOne(first, list(table), scorer=scorer, score_cutoff=MIN_SPELLING_SIMILARITY)
        if close is not None:
            return table[close[0]], 1
    return None, 1


def _spellings(tags: Sequence[str]) -> dict[str, int]:
    """Return the number of the tag for every spelling; tags before synonyms, the first of equal ones."""
    table: dict[str, int] = {}
    for number, tag in enumerate(tags):
        table.setdefault(_key([tag]), number)
    for number, tag in enumerate(tags):
        for synonym in SYNONYMS.get(tag, ()):
            table.setdefault(_key([synonym]), number)
    return table


def _key(words: Iterable[str]) -> str:
    """Return words as one, without punctuation and plural.

    >>> _key(["Hip-Hop"]), _key(["female", "vocalists"]), _key(["blues"]), _key(["60's"])
    ('hiphop', 'femalevocalist', 'blue', '60')
    """
    return re.sub(r"s$", "", "".join(map(_folded, words)))


def _folded(word: str) -> str:
    return re.sub(r"[\W_]", "", word.casefold())
