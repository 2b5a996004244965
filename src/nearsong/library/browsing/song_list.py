"""Songs and a search text -> the matching songs, sorted and paged, fast enough to search while typing.

Every word of the text must be a prefix of a word in a song's artist, title, album or genre, ignoring case, accents
and punctuation. The words of all songs are sorted once, so that words with the same prefix are adjacent.
"""

import threading
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.audio.tags import SEARCHED_FIELDS
from nearsong.caching import cached_property
from nearsong.library.neighbours.song_finder import MIN_NEAR_SCORE, SongFinder, within_edit_distance
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist
from nearsong.validation import check_choice, check_count

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SORTS = ("artist", "title", "year", "plays", "newest")
"""Sort orders of song lists."""

FUZZY_SONGS = 50
"""At most this many songs with similar names are returned if no song matches the words."""

_MAX_WORDS = 20  # of a search
_MIN_FUZZY_LETTERS = 3
_NO_YEAR = -(10**6)  # sorts songs without a year last
_APOSTROPHES = "'\u2018\u2019\u201b`"
_LIKE_APOSTROPHES = str.maketrans("\u02bc\u00b4", "''")  # Unicode has them as a letter and as a space with an accent
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
    """Table for `str.translate`: letters and digits are unchanged, white space becomes a space."""

    def __init__(self, punctuation: str, left_out: str = "") -> None:
        super().__init__({ord(letter): "" for letter in left_out})
        self._punctuation = punctuation

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        replacement = " " if letter.isspace() else letter if letter.isalnum() else self._punctuation
        self[code] = replacement
        return replacement


class _Accents(dict[int, str]):
    """Table for `str.translate` that removes combining accents from decomposed text."""

    def __missing__(self, code: int) -> str:
        self[code] = "" if unicodedata.category(chr(code)).startswith("M") else chr(code)
        return self[code]


_WITHOUT_ACCENTS = _Accents()
_JOINING = _Reading("")  # "AC/DC" -> "acdc"
_SPLITTING = _Reading(" ")  # "AC/DC" -> "ac dc"
_QUERY_READING = _Reading(" ", left_out=_APOSTROPHES + ".")  # "don't" and "R.E.M." are one word each


@dataclass(frozen=True)
class Page:
    """A page of the matching songs.

    Attributes
    ----------
    songs : list of Song
    total : int
        Number of matching songs on all pages.
    fuzzy : bool
        Whether no song matches all words, and these only have similar ones.
    """

    songs: list[Song]
    total: int
    fuzzy: bool


class Browser:
    """Searches, sorts and pages through the songs of a library. Thread-safe.

    Parameters
    ----------
    songs : sequence of Song
    plays : mapping of int to float, optional
        Song id -> number of plays.
    finder : SongFinder, optional
        Finds songs with similar names; by default created when needed.

    Examples
    --------
    >>> browser = Browser([
    ...     Song(id=1, path="/m/joga.mp3", artist="Björk", title="Jóga", artist_key="bjork"),
    ...     Song(id=2, path="/m/help.mp3", artist="The Beatles", title="Help!", artist_key="beatles"),
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
        among: Iterable[int] | None = None,
        sort: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> Page:
        """Return a page of the matching songs.

        Parameters
        ----------
        search : str
            Words; each must be a prefix of a word of the song. If nothing matches, similar words do.
        artist, genre, album : str
            Only songs of this artist, genre or album, ignoring case and accents; empty for all.
        among : iterable of int, optional
            Only songs with these ids, each given once; those that the library does not have are left out.
        sort : str, optional
            artist (then album and path), title, year (latest first), plays (most first) or newest (last added first).
            By default the order of ``among``, if it is given, and else artist.
        offset, limit : int
            Index of the first song, and the maximum number of songs.

        Raises
        ------
        InvalidInputError
            If the sort order is unknown or a number is negative.
        """
        check_choice(sort or "artist", "sort", SORTS)
        check_count(offset, "offset", minimum=0)
        check_count(limit, "limit", minimum=0)
        chosen = self._chosen(artist, genre, album)
        if (only := None if among is None else self._rows_of(among)) is not None:
            mask = np.isin(np.arange(len(self._songs)), only)
            chosen = mask if chosen is None else chosen & mask
        words = typed_words(search)[:_MAX_WORDS]
        fuzzy = False
        if words:
            matching = self._words.matching(words)
            if fuzzy := not matching.any():
                matching = self._words.matching_fuzzily(words)
                if not matching.any():
                    return self._fuzzy_page(search, chosen, offset, limit)
            chosen = matching if chosen is None else chosen & matching
        order = self._order(sort or "artist") if sort or only is None else only
        rows = order if chosen is None else order[chosen[order]]
        songs = [self._songs[row] for row in rows[offset : offset + limit].tolist()]
        return Page(songs, len(rows), fuzzy and len(rows) > 0)

    def genres(self) -> list[tuple[str, int]]:
        """Return all genres in their most common spelling with their numbers of songs, most songs first."""
        return list(self._genres)

    def warm(self) -> None:
        """Compute what the first search would wait for."""
        self.page("-", artist="-", limit=0)

    @cached_property
    def _genres(self) -> list[tuple[str, int]]:
        spellings: dict[str, Counter[str]] = {}
        for song in self._songs:
            if name := song.genre.strip():
                spellings.setdefault(self._fold(name), Counter())[name] += 1
        counts = [(most_common(names), names.total()) for names in spellings.values()]
        return sorted(counts, key=lambda genre: (-genre[1], folded(genre[0])))

    # ---- selection

    def _chosen(self, artist: str, genre: str, album: str) -> Mask | None:
        """Return the mask of the songs that pass the filters; None for all."""
        chosen: Mask | None = None
        for wanted, groups in ((artist_value(artist), "artist"), (folded(genre), "genre"), (folded(album), "album")):
            if wanted:
                mask = np.zeros(len(self._songs), dtype=bool)
                mask[self._groups[groups].get(wanted, [])] = True
                chosen = mask if chosen is None else chosen & mask
        return chosen

    @cached_property
    def _groups(self) -> dict[str, dict[str, list[int]]]:
        """Filter -> folded value -> rows of the songs."""
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

    @cached_property
    def _words(self) -> "_Words":
        return _Words(map(attrgetter(*SEARCHED_FIELDS), self._songs))

    @cached_property
    def _finder(self) -> SongFinder:
        return self._given_finder or SongFinder(self._songs)

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {song.id: row for row, song in enumerate(self._songs)}

    def _rows_of(self, ids: Iterable[int]) -> Rows:
        return np.array([self._row_of[song] for song in ids if song in self._row_of], dtype=np.int64)

    def _fuzzy_page(self, search: str, chosen: Mask | None, offset: int, limit: int) -> Page:
        """Return the songs with names most similar to a search text, the best first."""
        is_long_enough = len(folded(search)) >= _MIN_FUZZY_LETTERS
        songs = [
            song
            for song, score in (self._finder.candidates(search, FUZZY_SONGS) if is_long_enough else [])
            if score >= MIN_NEAR_SCORE and (chosen is None or chosen[self._row_of[song.id]])
        ]
        return Page(songs[offset : offset + limit], len(songs), bool(songs))

    # ---- sorting

    def _order(self, sort: str) -> Rows:
        """Return the rows of all songs in a sort order; computed once."""
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
        by_artist = self._order("artist").tolist()  # ties keep this order
        values: list[Any]
        if sort == "title":
            values = [(not title, title) for title in (folded(song.title) for song in songs)]
        elif sort == "year":
            values = [-(song.year or _NO_YEAR) for song in songs]
        else:
            values = [-self._plays.get(song.id, 0.0) for song in songs]
        return np.array(sorted(by_artist, key=values.__getitem__), dtype=np.int64)

    @cached_property
    def _fold(self) -> Callable[[str], str]:
        """`folded` with a cache, for names that repeat."""
        known: dict[str, str] = {}

        def fold(text: str) -> str:
            key = known.get(text)
            if key is None:
                key = known[text] = folded(text)
            return key

        return fold


class _Words:
    """Inverted index: the sorted vocabulary, and for each word the rows of its songs, stored contiguously."""

    def __init__(self, fields: Iterable[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        of_text: dict[str, list[int]] = {}
        flat: list[int] = []
        lengths: list[int] = []
        for texts in fields:
            before = len(flat)
            for text in texts:
                word_numbers = of_text.get(text)
                if word_numbers is None:
                    word_numbers = of_text[text] = [
                        numbers.setdefault(word, len(numbers)) for word in song_words(text)
                    ]
                flat += word_numbers
            lengths.append(len(flat) - before)
        self.n_songs = len(lengths)
        self.vocabulary = sorted(numbers)
        rank = np.empty(len(numbers), dtype=np.int64)
        rank[[numbers[word] for word in self.vocabulary]] = np.arange(len(numbers))
        words = rank[np.array(flat, dtype=np.int64)]
        by_word = np.argsort(words, kind="stable")
        self._rows = np.repeat(np.arange(self.n_songs), lengths)[by_word]
        self._starts = np.searchsorted(words[by_word], np.arange(len(numbers) + 1))

    def matching(self, words: Sequence[str]) -> Mask:
        """Return the mask of the songs in which each word is a prefix of some word."""
        mask = np.ones(self.n_songs, dtype=bool)
        for word in words:
            mask &= self._songs_with(self._prefix_ranges(word))
        return mask

    def matching_fuzzily(self, words: Sequence[str]) -> Mask:
        """Return the mask of the songs in which each word, allowing for typos, is a prefix of some word."""
        mask = np.ones(self.n_songs, dtype=bool)
        for word in words:
            mask &= self._songs_with([*self._prefix_ranges(word), *self._fuzzy_prefix_ranges(word)])
        return mask

    def _songs_with(self, spans: Sequence[tuple[int, int]]) -> Mask:
        mask = np.zeros(self.n_songs, dtype=bool)
        for first, after in spans:
            mask[self._rows[self._starts[first] : self._starts[after]]] = True
        return mask

    def _prefix_ranges(self, word: str) -> list[tuple[int, int]]:
        """Return ranges of the vocabulary with a prefix; in scripts without spaces, of words that contain it."""
        if any(low <= ord(letter) <= high for letter in word for low, high in _UNSPACED):
            return [(i, i + 1) for i, other in enumerate(self.vocabulary) if word in other]
        first = bisect_left(self.vocabulary, word)
        return [(first, bisect_right(self.vocabulary, word, lo=first, key=lambda other: other[: len(word)]))]

    def _fuzzy_prefix_ranges(self, word: str) -> list[tuple[int, int]]:
        """Return ranges of the vocabulary with a prefix within one or two edits of a word."""
        if len(word) < 4:
            return []
        max_edits = 1 if len(word) < 8 else 2
        lengths = range(len(word), len(word) + max_edits + 1)  # letters of the word may be missing
        prefixes = ([other[:length] for other in self.vocabulary] for length in lengths)
        return [(i, i + 1) for some in prefixes for i in within_edit_distance(word, some, max_edits)]


def folded(text: str) -> str:
    """Return the key that names of albums, genres and titles are compared and sorted by.

    Lower case, without accents and punctuation, words separated by one space; a name of only punctuation keeps it.

    Examples
    --------
    >>> [folded(text) for text in ("Ágætis  Byrjun", "Don't Stop!", "R&B", "Hip-Hop", "+")]
    ['agætis byrjun', 'dont stop', 'r and b', 'hip hop', '+']
    """
    return " ".join(typed_words(text))


def artist_value(name: str) -> str:
    """Return the key that songs of an artist are looked up by."""
    return artist_key(primary_artist(name)) if name.strip() else ""


def most_common(names: Counter[str]) -> str:
    """Return the most common spelling; the alphabetically first in a tie."""
    return min(names, key=lambda name: (-names[name], name))


def typed_words(text: str) -> list[str]:
    """Return the folded words of a search text."""
    plain = _plain(text)
    return plain.translate(_QUERY_READING).split() or plain.split()


def song_words(text: str) -> set[str]:
    """Return all words that a text can be found by: with punctuation removed, and split at punctuation."""
    plain = _plain(text)
    return {*plain.translate(_JOINING).split(), *plain.translate(_SPLITTING).split()} or set(plain.split())


def _plain(text: str) -> str:
    """Return a text in lower case, without ligatures and accents."""
    if text.isascii():
        plain = text.lower()
    else:
        decomposed = unicodedata.normalize("NFKD", text.translate(_LIKE_APOSTROPHES)).casefold()
        plain = unicodedata.normalize("NFKD", decomposed).translate(_WITHOUT_ACCENTS)
    return plain.replace("&", " and ") if "&" in plain else plain
