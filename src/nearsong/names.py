"""Names of artists, songs and listeners -> keys for comparing spellings; text that can be stored and displayed."""

import re
import unicodedata
from functools import lru_cache

MAX_TEXT_LENGTH = 500
"""Characters of a tag or file name that are used."""

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: controls, format characters (text direction among them), surrogates, separators."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ufeff]+")
_LEADING_THE = re.compile(r"^(the )+(?=.)")
_SPACED_DASH = re.compile(r"\s[-\u2010-\u2015\u2212]+\s")
_STRUCTURE = re.compile(rf"[(\[]|{_SPACED_DASH.pattern}")
_BRACKETS = re.compile(r"(\([^()]*(?:\)|$)|\[[^\[\]]*(?:\]|$))")
_NOTE_SEPARATOR = re.compile(r"[/;,]")
_GUESTS = re.compile(r"(?<=\S)(?<!\d) (?:feat|ft|featuring) (?!of\b).*", re.DOTALL)
_PART = re.compile(r"\bpt\b")
_YEAR = re.compile(r"(?:19|20)\d\d")

# Additions to a title that name a release but not another recording. Such a note has one of the first and may have
# any of the others: "2009 digital remaster", "mono version", "bonus track for japan".
_RELEASE_WORD = re.compile(r"\b(?:remaster\w*|mono|stereo|explicit|bonus|(?:album|lp) version)\b")
_RELEASE_WORDS = re.compile(
    r"""(?:(?:album|and|anniversary|bit|bonus|by|deluxe|digital|digitally|edition|exclusive|expanded|explicit|for|from
    |in|itunes|japan|japanese|lp|mix|mono|only|original|remaster\w*|special|stereo|the|tracks?|uk|us|version
    |\d+(?:st|nd|rd|th)?)(?:\ |$))+""",
    re.VERBOSE,
)

_ARTIST_SEPARATOR = re.compile(
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
    """Translation table: letters and digits are kept, hyphens become spaces, all else is removed."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter == "-" or letter == "\u2212" or "\u2010" <= letter <= "\u2015" or letter.isspace():
            parts = " "
        else:
            parts = letter if letter.isalnum() else ""
        self[code] = parts
        return parts


_LETTERS = _Letters()


def artist_key(name: str) -> str:
    """Return the key by which names of artists are compared.

    Lower case; accents stripped (the marks of Unicode's compatibility decomposition, NFKD); ``&`` read as "and" and
    a hyphen as a space; all other punctuation and symbols removed; runs of white space made one space; a leading
    "the" dropped. A name of punctuation only is kept. The key of a key is the key itself.

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
    """Return the key by which titles are compared; equal for all releases of a recording.

    Letters are treated as in :func:`artist_key`; "the" is kept. Notes that only distinguish releases are dropped, in
    brackets or after a dash: remastered, mono or stereo, album version, explicit, bonus track, a year alone. Guests
    ("feat. X") are dropped anywhere, "Pt." is read as "Part" and an underscore as a space. Notes that distinguish
    recordings are kept: live, remix, acoustic, instrumental, demo, edit. The key of a key is the key itself, and only
    a blank title has an empty key.

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

    Guests ("A feat. B", "A (ft. B)") and everything after a semicolon or a slash between spaces are removed. Commas,
    "&" and "and" are kept, as many bands have them in their names, and so are slashes without spaces. The result
    has no surrounding spaces, and is empty only if the name is.

    Examples
    --------
    >>> [primary_artist(name) for name in ["Santana feat. Rob Thomas", "Miles Davis; John Coltrane", "AC/DC"]]
    ['Santana', 'Miles Davis', 'AC/DC']
    >>> primary_artist("Earth, Wind & Fire")
    'Earth, Wind & Fire'
    """
    full = name.strip()
    lower = full.lower()
    if not ("feat" in lower or "ft" in lower or any(mark in full for mark in _ARTIST_MARKS)):
        return full  # nearly always, and in a tenth of the time
    for part in _ARTIST_SEPARATOR.split(full):
        first = part.strip()
        if first:
            return first
    return full


def _folded(name: str) -> str:
    """Return a name in lower case and without ligatures; accents follow their letters."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).lower())


def _words(plain: str) -> str:
    """Return the letters and digits of a folded name, separated into words by one space."""
    if "&" in plain:
        plain = plain.replace("&", " and ")
    return " ".join(plain.translate(_LETTERS).split())


def _without_release(plain: str) -> str:
    """Return a folded title's words without the notes on its release."""
    parts = []
    for index, part in enumerate(_BRACKETS.split(plain)):  # text and brackets alternate
        if index % 2:
            parts.append(_recording_note(part))
            continue
        text, *notes = _SPACED_DASH.split(part)
        parts.append(_without_guests(_words(text)))
        parts.extend(_recording_note(note) for note in notes)
    return " ".join(filter(None, parts)) or _words(_BRACKETS.sub(r" \1 ", plain))


@lru_cache(2**14)  # most notes are one of a few
def _recording_note(note: str) -> str:
    """Return the part of a note, in brackets or after a dash, that names a recording, not a release; may be empty."""
    full = _words(note)
    if full.startswith(("feat ", "ft ", "featuring ")):
        return ""
    pieces = [words for piece in _NOTE_SEPARATOR.split(note) if (words := _words(piece))]
    others = [words for words in pieces if not _is_release_note(words)]
    if all(_YEAR.fullmatch(words) for words in others):
        return ""
    return _without_guests(full if len(others) == len(pieces) else " ".join(others))


def _is_release_note(words: str) -> bool:
    return bool(_RELEASE_WORD.search(words) and _RELEASE_WORDS.fullmatch(words))


def _without_guests(words: str) -> str:
    return _GUESTS.sub("", words) if " f" in words else words


def readable(text: str) -> str:
    r"""Return text that UTF-8 can encode: bytes of a name that were not UTF-8 become replacement characters.

    >>> readable("Béla"), readable("B\udce9la")
    ('Béla', 'B\ufffdla')
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_text(text: str) -> str:
    r"""Return a tag or file name in one line of composed Unicode (NFC) that UTF-8 and databases can store.

    Examples
    --------
    >>> clean_text(" Sigur\x00  R\u00f3s\n")
    'Sigur Rós'
    """
    one_line = _CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text))
    return unicodedata.normalize("NFC", " ".join(one_line.split()))[:MAX_TEXT_LENGTH].strip()


def visible_name(text: str) -> str:
    r"""Return a name in composed Unicode (NFC) without invisible characters.

    >>> visible_name(" Zoe\u0301 \x1b[31m\u202e ") == "Zo\u00e9 [31m"
    True
    """
    visible = "".join(
        " " if unicodedata.category(letter) in _INVISIBLE else letter for letter in unicodedata.normalize("NFC", text)
    )
    return " ".join(visible.split())


def listener_key(name: str) -> str:
    """Return what names of listeners are compared by: their visible letters, in any case.

    >>> listener_key(" ZOE\u0308 ") == listener_key("zoë")
    True
    """
    return visible_name(name).casefold()


def count(n: float, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    >>> count(1, "song"), count(1200, "song"), count(2, "history", "histories")
    ('1 song', '1,200 songs', '2 histories')
    """
    return f"{n:,.0f} {singular if n == 1 else plural or singular + 's'}"
