"""Songs, and what is typed into a search field -> the songs that fit, sorted, page by page, while one types.

Every word that was typed must begin a word of a song's artist, title, album or genre; case, accents and punctuation
do not count. The words of all songs are sorted once, so that those with the same beginning lie side by side.
"""

import threading
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.library.made_once import made_once
from nearsong.library.records import Song
from nearsong.library.search import SongFinder, nearly
from nearsong.names import artist_key, primary_artist
from nearsong.validation import check_choice, check_count

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SORTS = ("artist", "title", "year", "plays", "newest")
"""Orders a list of songs can have."""

FUZZY_SONGS = 50
"""Songs named, at most, where none has the words that were typed ..."""

FUZZY_SCORE = 55.0
"""... and each is written this much alike, of 100."""

_MANY_WORDS = 20  # of a search, those that are looked at
_SHORT = 3  # letters that are enough to be written like something
_LONG_AGO = -(10**6)  # the year of songs that have none
_APOSTROPHES = "'\u2018\u2019\u201b`"
_LIKE_APOSTROPHES = str.maketrans("\u02bc\u00b4", "''")  # to Unicode a letter, and a blank with an accent
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)


class _Reading(dict[int, str]):
    """What becomes of each character: letters and digits stay, white space is a blank."""

    def __init__(self, punctuation: str, left_out: str = "") -> None:
        super().__init__({ord(letter): "" for letter in left_out})
        self._punctuation = punctuation

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kept = " " if letter.isspace() else letter if letter.isalnum() else self._punctuation
        self[code] = kept
        return kept


class _Accents(dict[int, str]):
    """What becomes of each character once accents are apart: they go."""

    def __missing__(self, code: int) -> str:
        self[code] = "" if unicodedata.category(chr(code)).startswith("M") else chr(code)
        return self[code]


_WITHOUT_ACCENTS = _Accents()
_CLOSED = _Reading("")  # AC/DC is acdc
_OPEN = _Reading(" ")  # AC/DC is ac dc
_TYPED = _Reading(" ", left_out=_APOSTROPHES + ".")  # a person who types don't or R.E.M. means one word


@dataclass(frozen=True)
class Page:
    """Some of the songs that fit.

    Attributes
    ----------
    songs : list of Song
    total : int
        How many fit, all pages together.
    fuzzy : bool
        Whether no song has all the words, and these are only written like them.
    """

    songs: list[Song]
    total: int
    fuzzy: bool


class Browser:
    """The songs of a library as lists to look through; threads may share one.

    Parameters
    ----------
    songs : sequence of Song
    plays : mapping of int to float, optional
        How often each song, by id, was played.
    finder : SongFinder, optional
        What finds songs that are written alike; made when needed otherwise.

    Examples
    --------
    >>> browser = Browser([
    ...     Song(1, "/m/joga.mp3", "Björk", "Jóga", "Homogenic", "Pop", 1997, 305.0, "bjork"),
    ...     Song(2, "/m/help.mp3", "The Beatles", "Help!", "Help!", "Rock", 1965, 139.0, "beatles"),
    ... ])
    >>> [browser.page(text).songs[0].title for text in ("bjo jog", "HELP", "beatels")]
    ['Jóga', 'Help!', 'Help!']
    """

    def __init__(
        self, songs: Sequence[Song], plays: Mapping[int, float] | None = None, finder: SongFinder | None = None
    ) -> None:
        self._songs = list(songs)
        self._plays = plays or {}
        self._given_finder = finder
        self._orders: dict[str, Rows] = {}
        self._ordering = threading.RLock()

    def page(
        self,
        search: str = "",
        *,
        artist: str = "",
        genre: str = "",
        album: str = "",
        sort: str = "artist",
        offset: int = 0,
        limit: int = 50,
    ) -> Page:
        """Return some of the songs that fit.

        Parameters
        ----------
        search : str
            Words; each must begin a word of the song. Where nothing fits, the songs written most alike are
            answered.
        artist, genre, album : str
            Only songs of this artist, genre, album, case and accents aside; empty for all.
        sort : str
            artist (then album and path), title, year (the latest first), plays (the most first) or newest (the last
            that came first).
        offset, limit : int
            From which song on, and how many.

        Raises
        ------
        InvalidInputError
            If the order is unknown or a number negative.
        """
        check_choice(sort, "sort", SORTS)
        check_count(offset, "offset", minimum=0)
        check_count(limit, "limit", minimum=0)
        chosen = self._chosen(artist, genre, album)
        words = typed_words(search)[:_MANY_WORDS]
        fuzzy = False
        if words:
            fitting = self._words.with_all(words)
            if not fitting.any():
                fuzzy = True
                fitting = self._words.with_nearly_all(words)
                if not fitting.any():
                    return self._written_alike(search, chosen, offset, limit)
            chosen = fitting if chosen is None else chosen & fitting
        order = self._order(sort)
        rows = order if chosen is None else order[chosen[order]]
        found = [self._songs[row] for row in rows[offset : offset + limit].tolist()]
        return Page(found, len(rows), fuzzy and len(rows) > 0)

    def genres(self) -> list[tuple[str, int]]:
        """Return all genres, as most songs write them, with how many songs have each; the most songs first."""
        return list(self._genres)

    def warm(self) -> None:
        """Make what the first search would wait for."""
        self.page("-", artist="-", limit=0)

    @made_once
    def _genres(self) -> list[tuple[str, int]]:
        spellings: dict[str, Counter[str]] = {}
        for song in self._songs:
            if name := song.genre.strip():
                spellings.setdefault(self._fold(name), Counter())[name] += 1
        found = [(most_common(names), names.total()) for names in spellings.values()]
        return sorted(found, key=lambda genre: (-genre[1], folded(genre[0])))

    # ---- which songs

    def _chosen(self, artist: str, genre: str, album: str) -> Mask | None:
        """Return which songs the filters leave; None for all."""
        chosen: Mask | None = None
        for wanted, groups in ((artist_value(artist), "artist"), (folded(genre), "genre"), (folded(album), "album")):
            if wanted:
                mask = np.zeros(len(self._songs), dtype=bool)
                mask[self._groups[groups].get(wanted, [])] = True
                chosen = mask if chosen is None else chosen & mask
        return chosen

    @made_once
    def _groups(self) -> dict[str, dict[str, list[int]]]:
        """For each filter, the rows of the songs by their folded values."""
        values: dict[str, Callable[[Song], str]] = {
            "artist": lambda song: song.artist_key,
            "genre": lambda song: self._fold(song.genre),
            "album": lambda song: self._fold(song.album),
        }
        groups: dict[str, dict[str, list[int]]] = {name: {} for name in values}
        for row, song in enumerate(self._songs):
            for name, value in values.items():
                groups[name].setdefault(value(song), []).append(row)
        return groups

    @made_once
    def _words(self) -> "_Words":
        return _Words((song.artist, song.title, song.album, song.genre) for song in self._songs)

    @made_once
    def _finder(self) -> SongFinder:
        return self._given_finder or SongFinder(self._songs)

    @made_once
    def _row_of(self) -> dict[int, int]:
        return {song.id: row for row, song in enumerate(self._songs)}

    def _written_alike(self, search: str, chosen: Mask | None, offset: int, limit: int) -> Page:
        """Return the songs written most like a search, the best first."""
        worth_it = len(folded(search)) >= _SHORT
        found = [
            song
            for song, score in (self._finder.candidates(search, FUZZY_SONGS) if worth_it else [])
            if score >= FUZZY_SCORE and (chosen is None or chosen[self._row_of[song.id]])
        ]
        return Page(found[offset : offset + limit], len(found), bool(found))

    # ---- in which order

    def _order(self, sort: str) -> Rows:
        """Return the rows of all songs in an order that is made once."""
        with self._ordering:
            if sort not in self._orders:
                self._orders[sort] = self._sorted(sort)
            return self._orders[sort]

    def _sorted(self, sort: str) -> Rows:
        songs = self._songs
        if sort == "newest":
            by_time = sorted(range(len(songs)), key=lambda row: (-songs[row].added, -songs[row].id))
            return np.array(by_time, dtype=np.int64)
        if sort == "artist":
            keys = [
                (not song.artist_key, song.artist_key, not song.album, self._fold(song.album), song.path, song.id)
                for song in songs
            ]
            return np.array(sorted(range(len(songs)), key=keys.__getitem__), dtype=np.int64)
        by_artist = self._order("artist").tolist()  # equals stay in this order
        values: list[Any]
        if sort == "title":
            values = [(not title, title) for title in (folded(song.title) for song in songs)]
        elif sort == "year":
            values = [-(song.year or _LONG_AGO) for song in songs]
        else:
            values = [-self._plays.get(song.id, 0.0) for song in songs]
        return np.array(sorted(by_artist, key=values.__getitem__), dtype=np.int64)

    @made_once
    def _fold(self) -> Callable[[str], str]:
        """Return what folds names that come again and again."""
        known: dict[str, str] = {}

        def fold(text: str) -> str:
            found = known.get(text)
            if found is None:
                found = known[text] = folded(text)
            return found

        return fold


class _Words:
    """Which songs have a word: all words sorted, and the songs of each side by side."""

    def __init__(self, fields: Iterable[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        of_text: dict[str, list[int]] = {}
        flat: list[int] = []
        lengths: list[int] = []
        for texts in fields:
            before = len(flat)
            for text in texts:
                found = of_text.get(text)
                if found is None:
                    found = of_text[text] = [numbers.setdefault(word, len(numbers)) for word in song_words(text)]
                flat += found
            lengths.append(len(flat) - before)
        self.n_songs = len(lengths)
        self.vocabulary = sorted(numbers)
        place = np.empty(len(numbers), dtype=np.int64)
        place[[numbers[word] for word in self.vocabulary]] = np.arange(len(numbers))
        words = place[np.array(flat, dtype=np.int64)]
        by_word = np.argsort(words, kind="stable")
        self._rows = np.repeat(np.arange(self.n_songs), lengths)[by_word]
        self._starts = np.searchsorted(words[by_word], np.arange(len(numbers) + 1))

    def with_all(self, words: Sequence[str]) -> Mask:
        """Return which songs have, for each of some words, one that begins with it."""
        mask = np.ones(self.n_songs, dtype=bool)
        for word in words:
            mask &= self._having(self._begun_by(word))
        return mask

    def with_nearly_all(self, words: Sequence[str]) -> Mask:
        """Return which songs have, for each of some words, one that begins with it, or with a slip of the pen."""
        mask = np.ones(self.n_songs, dtype=bool)
        for word in words:
            mask &= self._having([*self._begun_by(word), *self._begun_by_nearly(word)])
        return mask

    def _having(self, spans: Sequence[tuple[int, int]]) -> Mask:
        mask = np.zeros(self.n_songs, dtype=bool)
        for first, after in spans:
            mask[self._rows[self._starts[first] : self._starts[after]]] = True
        return mask

    def _begun_by(self, word: str) -> list[tuple[int, int]]:
        """Return which words, from and up to a place, begin with a word; or hold it, where no blanks part words."""
        if any(low <= ord(letter) <= high for letter in word for low, high in _UNSPACED):
            return [(place, place + 1) for place, other in enumerate(self.vocabulary) if word in other]
        first = bisect_left(self.vocabulary, word)
        return [(first, bisect_right(self.vocabulary, word, lo=first, key=lambda other: other[: len(word)]))]

    def _begun_by_nearly(self, word: str) -> list[tuple[int, int]]:
        """Return which words begin with something that takes one or two strokes to become the word."""
        strokes = 0 if len(word) < 4 else 1 if len(word) < 8 else 2
        if not strokes:
            return []
        beginnings = [other[: len(word)] for other in self.vocabulary]
        return [(place, place + 1) for place in nearly(word, beginnings, strokes)]


def folded(text: str) -> str:
    """Return what names of albums, genres and titles are compared and sorted by.

    Lower case, without accents and punctuation, one blank between words; a name of nothing but punctuation keeps it.

    Examples
    --------
    >>> [folded(text) for text in ("Ágætis  Byrjun", "Don't Stop!", "R&B", "Hip-Hop", "+")]
    ['agætis byrjun', 'dont stop', 'r and b', 'hip hop', '+']
    """
    return " ".join(typed_words(text))


def artist_value(name: str) -> str:
    """Return what songs of an artist are found by."""
    return artist_key(primary_artist(name)) if name.strip() else ""


def most_common(names: Counter[str]) -> str:
    """Return the spelling that comes most often; of equals the first in the alphabet."""
    return min(names, key=lambda name: (-names[name], name))


def typed_words(text: str) -> list[str]:
    """Return the words of what a person types, folded."""
    plain = _plain(text)
    return plain.translate(_TYPED).split() or plain.split()


def song_words(text: str) -> set[str]:
    """Return all words that something can be found by: with its punctuation left out, and parted by it."""
    plain = _plain(text)
    return {*plain.translate(_CLOSED).split(), *plain.translate(_OPEN).split()} or set(plain.split())


def _plain(text: str) -> str:
    """Return a text in lower case, without ligatures and accents."""
    if text.isascii():
        plain = text.lower()
    else:
        apart = unicodedata.normalize("NFKD", text.translate(_LIKE_APOSTROPHES)).casefold()
        plain = unicodedata.normalize("NFKD", apart).translate(_WITHOUT_ACCENTS)
    return plain.replace("&", " and ") if "&" in plain else plain
