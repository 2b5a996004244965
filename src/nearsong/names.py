"""Names of artists and songs -> keys they are compared by, whoever wrote them; and text that can be written."""

import re
import unicodedata
from functools import lru_cache

_LEADING_THE = re.compile(r"^(the )+(?=.)")
_SPACED_DASH = re.compile(r"\s[-\u2010-\u2015\u2212]+\s")
_STRUCTURE = re.compile(rf"[(\[]|{_SPACED_DASH.pattern}")
_BRACKETS = re.compile(r"(\([^()]*(?:\)|$)|\[[^\[\]]*(?:\]|$))")
_PIECES = re.compile(r"[/;,]")
_GUESTS = re.compile(r"(?<=\S)(?<!\d) (?:feat|ft|featuring) (?!of\b).*", re.DOTALL)
_PART = re.compile(r"\bpt\b")
_YEAR = re.compile(r"(?:19|20)\d\d")

# What a release adds to a title without its being another recording. A note of the release has one of the first and
# may have any of the others: "2009 digital remaster", "mono version", "bonus track for japan".
_OF_THE_RELEASE = re.compile(r"\b(?:remaster\w*|mono|stereo|explicit|bonus|(?:album|lp) version)\b")
_RELEASE_WORDS = re.compile(
    r"""(?:(?:album|and|anniversary|bit|bonus|by|deluxe|digital|digitally|edition|exclusive|expanded|explicit|for|from
    |in|itunes|japan|japanese|lp|mix|mono|only|original|remaster\w*|special|stereo|the|tracks?|uk|us|version
    |\d+(?:st|nd|rd|th)?)(?:\ |$))+""",
    re.VERBOSE,
)

_ARTISTS_APART = re.compile(
    r"""
      (?<!&amp)[;\uff1b]                                       # A; B
    | \s(?:/{1,2}|\\{1,2}|\|)\s                                # A / B, but AC/DC
    | [(\[]\s*(?:feat|ft|featuring)\b\.?\s*(?=\S)              # A (feat. B)
    | (?<=[^\s\d])\s+(?:feat|ft|featuring)(?:\.\s*|\s+)(?=\S)  # A feat. B, but 6 ft Deep
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ARTIST_MARKS = (";", "/", "\\", "|", "\uff1b")


class _Letters(dict[int, str]):
    """What becomes of each character: letters and digits stay, hyphens are spaces, the rest goes."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter == "-" or letter == "\u2212" or "\u2010" <= letter <= "\u2015" or letter.isspace():
            kept = " "
        else:
            kept = letter if letter.isalnum() else ""
        self[code] = kept
        return kept


_LETTERS = _Letters()


def artist_key(name: str) -> str:
    """Return what an artist's name is compared by.

    Lower case; accents stripped (the marks of Unicode's compatibility decomposition, NFKD); ``&`` read as "and" and
    a hyphen as a space; all other punctuation and symbols removed; runs of white space made one space; a leading
    "the" dropped. A name of nothing but punctuation keeps it. The key of a key is the key.

    Parameters
    ----------
    name : str

    Returns
    -------
    str

    Examples
    --------
    >>> [artist_key(name) for name in ["The Beatles", "Sigur Rós", "AC/DC", "A-ha", "Hall & Oates", "The The", "!!!"]]
    ['beatles', 'sigur ros', 'acdc', 'a ha', 'hall and oates', 'the', '!!!']
    """
    plain = _folded(name)
    key = _words(plain)
    if key.startswith("the "):
        key = _LEADING_THE.sub("", key)
    return key or " ".join(plain.split())


def title_key(title: str) -> str:
    """Return what a song's title is compared by, the same for all releases of a recording.

    Letters are treated as in :func:`artist_key`; "the" stays. What only tells releases apart is dropped, in brackets
    or after a dash: remastered, mono or stereo, album version, explicit, bonus track, a year alone. Guests ("feat.
    X") are dropped anywhere, "Pt." is read as "Part" and an underscore as a space. What tells recordings apart
    stays: live, remix, acoustic, instrumental, demo, edit. The key of a key is the key, and only a blank title has
    an empty one.

    Parameters
    ----------
    title : str

    Returns
    -------
    str

    Examples
    --------
    >>> title_key("Don't Stop (feat. Someone) - 2009 Remaster")
    'dont stop'
    >>> title_key("Don't Stop [Live / Remastered]")
    'dont stop live'
    """
    plain = _folded(title)
    text = plain.replace("_", " ")
    key = _without_release(text) if _STRUCTURE.search(text) else _words(text)
    if " f" in key:
        key = _GUESTS.sub("", key)
    if "pt" in key:
        key = _PART.sub("part", key)
    return key or " ".join(plain.split())


def primary_artist(name: str) -> str:
    """Return the first of several artists.

    Guests ("A feat. B", "A (ft. B)") and what follows a semicolon or a slash between blanks are cut off. Commas, "&"
    and "and" stay, for they are in the names of many bands, and so do slashes without blanks.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
        Without blanks around; never empty unless the name is.

    Examples
    --------
    >>> [primary_artist(name) for name in ["Santana feat. Rob Thomas", "Miles Davis; John Coltrane", "AC/DC"]]
    ['Santana', 'Miles Davis', 'AC/DC']
    >>> primary_artist("Earth, Wind & Fire")
    'Earth, Wind & Fire'
    """
    whole = name.strip()
    lower = whole.lower()
    if not ("feat" in lower or "ft" in lower or any(mark in whole for mark in _ARTIST_MARKS)):
        return whole  # nearly always, and in a tenth of the time
    for part in _ARTISTS_APART.split(whole):
        first = part.strip()
        if first:
            return first
    return whole


def _folded(name: str) -> str:
    """Return a name in lower case and without ligatures; accents follow their letters."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).lower())


def _words(plain: str) -> str:
    """Return the letters and digits of a folded name, with one blank between words."""
    if "&" in plain:
        plain = plain.replace("&", " and ")
    return " ".join(plain.translate(_LETTERS).split())


def _without_release(plain: str) -> str:
    """Return a folded title's words without the notes on its release."""
    kept = []
    for place, part in enumerate(_BRACKETS.split(plain)):  # text and brackets take turns
        if place % 2:
            kept.append(_recording_note(part))
            continue
        text, *notes = _SPACED_DASH.split(part)
        kept.append(_without_guests(_words(text)))
        kept.extend(_recording_note(note) for note in notes)
    return " ".join(filter(None, kept)) or _words(_BRACKETS.sub(r" \1 ", plain))


@lru_cache(2**14)  # a few notes make most of them
def _recording_note(note: str) -> str:
    """Return what a note in brackets or after a dash says of the recording; empty if it only tells its release."""
    whole = _words(note)
    if whole.startswith(("feat ", "ft ", "featuring ")):
        return ""
    pieces = [words for piece in _PIECES.split(note) if (words := _words(piece))]
    said = [words for words in pieces if not _tells_the_release(words)]
    if all(_YEAR.fullmatch(words) for words in said):
        return ""
    return _without_guests(whole if len(said) == len(pieces) else " ".join(said))


def _tells_the_release(words: str) -> bool:
    return bool(_OF_THE_RELEASE.search(words) and _RELEASE_WORDS.fullmatch(words))


def _without_guests(words: str) -> str:
    return _GUESTS.sub("", words) if " f" in words else words


def readable(text: str) -> str:
    r"""Return text that UTF-8 can hold: a byte of a name that was no UTF-8 becomes a mark.

    >>> readable("Béla"), readable("B\udce9la")
    ('Béla', 'B\ufffdla')
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
