"""A search text -> the song it refers to: an id, a path, "artist - title", or an approximate name."""

import os
import re
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from nearsong.errors import UnclearSongError
from nearsong.library.neighbours.name_forms import NameForms, sorted_words
from nearsong.library.neighbours.name_rows import NameRow, RowsOfKeys, SongsOfRows
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist, title_key

CLEAR_SCORE = 84.0
"""An approximate match is accepted from this score (of 100) ..."""

CLEAR_MARGIN = 4.0
"""... if the next song scores at least this much lower."""

SUGGESTIONS = 5
"""Songs suggested when no match is clear."""

MIN_NEAR_SCORE = 70.0
"""Names from this score on are near; names that share nothing with a text have up to 65 by chance."""

_MIN_SIMILAR_ARTIST = 80.0
_DASH = re.compile(r"\s[-\u2010-\u2015\u2212]\s")
_NUMBER = re.compile(r"\d+")
_LIKE_A_PATH = re.compile(
    r"\.{1,2}$|\.{0,2}/|~/|.*\.(aac|aiff?|ape|flac|m4a|mp3|mpc|oga|ogg|opus|wav|wma|wv)$", re.IGNORECASE
)


class SongFinder:
    """Finds songs by id, path or name.

    Parameters
    ----------
    songs : sequence of Song
        In any order.

    Notes
    -----
    Keys are computed at the first search by name; ids and paths need none. The first search compares a text with all
    keys, since tables of them take longer to make; the next one makes the tables.

    Examples
    --------
    >>> finder = SongFinder([
    ...     Song(id=1, path="/m/caravan.mp3", artist="Wynton Marsalis", title="Caravan"),
    ...     Song(id=2, path="/m/so-what.mp3", artist="Miles Davis", title="So What"),
    ... ])
    >>> [finder.find(text).id for text in ("Wynton Marsalis - Caravan", "so what", "mils davis so what", "1")]
    [1, 2, 2, 1]
    """

    def __init__(self, songs: Sequence[Song]) -> None:
        self._songs: Sequence[Song] = sorted(songs, key=lambda song: song.id)
        self._forms = NameForms(lambda field: list(map(attrgetter(field), self._songs)))

    @classmethod
    def of_rows(cls, rows: Sequence[NameRow], forms: NameForms | None = None) -> "SongFinder":
        """Return a finder that makes a song of a row only where it is found, which is quicker for one search.

        Parameters
        ----------
        rows : sequence of NameRow
            By increasing id.
        forms : NameForms, optional
            Of these rows; by default they are made of them.
        """
        finder = cls(())
        finder._songs = SongsOfRows(rows)
        finder._forms = NameForms.of_rows(rows) if forms is None else forms
        return finder

    def find(self, text: str) -> Song:
        """Return the song that a text refers to.

        Tried in this order: an id; a path, or the last components of one; artist and title; a title, an artist or
        words of both that only one song has; the most similar name, if it is clearly ahead of the next. Several files
        with the same artist and title count as one song, the one with the lowest id.

        Raises
        ------
        UnclearSongError
            If no song or several match; ``suggestions`` has names that would be clear.
        """
        text = text.strip()
        if not text:
            raise UnclearSongError("the name is empty; give an artist and a title, an id or a path.")
        if not self._songs:
            raise UnclearSongError(
                f"cannot find {_quoted(text)}: the library is empty; scan a folder of music first."
            )
        if (number := id_in(text)) is not None and number in self._row_of_id:
            return self._songs[self._row_of_id[number]]
        for look in (self._at_path, self._named, self._with_words):
            if rows := look(text):
                return self._only_song(text, rows)
        return self._closest_match(text)

    def of_group(self, text: str) -> list[Song]:
        """Return the songs of the artist, or else of the album, whose normalised name equals the text."""
        album = title_key(text)
        rows = self._by_known_artist(text) or (self._by_album.of(album) if album else [])
        return [self._songs[row] for row in rows]

    def candidates(self, text: str, limit: int = SUGGESTIONS) -> list[tuple[Song, float]]:
        """Return the songs with the most similar names, with scores from 100 (equal) down to 0.

        Returns
        -------
        list of (Song, float)
            The best first, ties by id; several files of a song are listed once.
        """
        key = _key(text)
        if not key or limit < 1 or not self._songs:
            return []
        scores = self._scores(key)
        wanted = min(len(scores), limit)
        best = np.flatnonzero((scores >= np.partition(scores, -wanted)[-wanted]) & (scores > 0)).tolist()
        ranked = sorted(best, key=lambda row: (-scores[row], row))[:limit]
        return [(self._songs[self._first_files[row]], float(scores[row])) for row in ranked]

    # ---- ids and paths

    @cached_property
    def _row_of_id(self) -> dict[int, int]:
        return {id: row for row, id in enumerate(self._forms.ids)}

    def _at_path(self, text: str) -> list[int]:
        """Return the songs whose path equals the text or ends with it."""
        path = PurePath(os.path.expanduser(text) if text.startswith("~/") else text)
        named = self._forms.with_file_name(path.name) if path.suffix else []  # music has one
        if not named:
            return []
        absolute = os.path.abspath(path)
        exact = [row for row in named if self._songs[row].path in (text, str(path), absolute)]
        tail = tuple(part for part in path.parts if part not in (".", ".."))
        return exact or [row for row in named if PurePath(self._songs[row].path).parts[-len(tail) :] == tail]

    # ---- names

    @cached_property
    def _by_artist(self) -> RowsOfKeys:
        return RowsOfKeys(self._forms.artists)

    @cached_property
    def _by_album(self) -> RowsOfKeys:
        return RowsOfKeys(self._forms.albums)

    @cached_property
    def _keys(self) -> list[tuple[str, str]]:
        """The normalised artist and title of each song."""
        return list(zip(self._forms.artists, self._forms.titles, strict=True))

    @cached_property
    def _by_sorted_words(self) -> RowsOfKeys:
        return RowsOfKeys(self._forms.names)

    @cached_property
    def _by_title(self) -> RowsOfKeys:
        return RowsOfKeys(self._forms.titles)

    def _named(self, text: str) -> list[int]:
        """Return the songs whose normalised name, title or artist equals the text."""
        for dash in _DASH.finditer(text):  # either part may have dashes of its own
            parts = text[: dash.start()], text[dash.end() :]
            for artist, title in (parts, parts[::-1]):
                key = title_key(title)
                if exact := [row for row in self._by_known_artist(artist) if self._forms.titles[row] == key]:
                    return exact
        key = _key(text)
        named = [row for row in self._by_sorted_words.of(sorted_words(key)) if _joined(*self._keys[row]) == key]
        return named or self._by_title.of(title_key(text)) or self._by_known_artist(text)

    def _by_known_artist(self, name: str) -> list[int]:
        """Return the songs of an artist; songs without one are nobody's."""
        key = artist_key(primary_artist(name))
        return self._by_artist.of(key) if key else []

    @cached_property
    def _first_files(self) -> Sequence[int]:
        """The row of the first file of each song."""
        names = self._forms.names
        if len(set(names)) == len(names):  # then artist and title are different, too
            return range(len(names))
        firsts: dict[tuple[str, str], int] = {}
        for row, key in enumerate(self._keys):
            firsts.setdefault(key, row)
        return list(firsts.values())

    def _with_words(self, text: str) -> list[int]:
        """Return the songs that contain all words of the text, the most similar name first."""
        key = _key(text)
        words = set(key.split())
        longest = max(words, key=len, default="")
        names, _ = self._texts
        likely = (row for row, name in enumerate(names) if longest in name) if words else ()
        rows = [row for row in likely if words.issubset(names[row].split())]
        if len(rows) > 1:
            scores = self._scores(key)
            rows.sort(key=lambda row: -scores[row])
        return [self._first_files[row] for row in rows]

    @cached_property
    def _texts(self) -> tuple[list[str], list[str]]:
        """The name of each song with its words sorted, and its title."""
        names, titles = self._forms.names, self._forms.titles
        if isinstance(self._first_files, range):
            return names, titles
        return [names[row] for row in self._first_files], [titles[row] for row in self._first_files]

    def _scores(self, key: str) -> npt.NDArray[np.float64]:
        """Return the similarity of each song's name to a key, from 0 to 100."""
        names, titles = self._texts
        # a title alone counts less: many songs share one
        return np.maximum(_name_similarities(sorted_words(key), names), 0.95 * _name_similarities(key, titles))

    def _closest_match(self, text: str) -> Song:
        ranked = self.candidates(text)
        numbers = set(_NUMBER.findall(_key(text)))
        if ranked:
            song, score = ranked[0]
            same_numbers = numbers <= set(_NUMBER.findall(_joined(artist_key(song.artist), title_key(song.title))))
            if score >= CLEAR_SCORE and same_numbers and _is_clearly_best([score for _, score in ranked]):
                return song
        shown = [song.name for song in self._similarly_named(text, ranked)]
        advice = "give artist - title, an id or a path"
        if _LIKE_A_PATH.match(text):
            advice = f"no file that can be read is there, and no song of the library; {advice}"
        similar = f". Similar names: {_listed(shown)}" if shown else ""
        raise UnclearSongError(f"no match for {_quoted(text)}; {advice}{similar}.", shown)

    def _similarly_named(self, text: str, ranked: Sequence[tuple[Song, float]]) -> list[Song]:
        """Return songs to suggest: by their name, by all words of the text, or by its artist, allowing for typos.

        A song that shares no more than some letters, or one word of many, is a stranger to whoever looks for another.
        """
        near = {song.id: song for song, score in ranked if score >= MIN_NEAR_SCORE}
        rows = self._with_similar_words(_key(text)) or self._by_similar_artist(_DASH.split(text, maxsplit=1)[0])
        near |= {self._songs[row].id: self._songs[row] for row in rows}
        return list(near.values())[:SUGGESTIONS]

    def _with_similar_words(self, key: str) -> list[int]:
        """Return the songs whose names have every word of a key, each with a typo at most, the nearest name first."""
        words = set(key.split())
        if not words:
            return []
        names, _ = self._texts
        found: Sequence[int] = range(len(names))
        for word in sorted(words, key=len, reverse=True):
            at = within_edit_distance(word, self._vocabulary, _typos_in(word))
            near = {self._vocabulary[one] for one in at}
            found = [row for row in found if not near.isdisjoint(names[row].split())] if near else []
            if not found:
                return []
        scores = self._scores(key)
        ranked = sorted(found, key=lambda row: (-scores[row], row))
        return [self._first_files[row] for row in ranked[:SUGGESTIONS]]

    @cached_property
    def _vocabulary(self) -> list[str]:
        """All words of names, in no order."""
        return list(set(" ".join(self._texts[0]).split()))

    def _by_similar_artist(self, text: str) -> list[int]:
        """Return songs by the artist whose name is most similar to a text, if it is similar at all."""
        artists = list(dict.fromkeys(filter(None, self._forms.artists)))
        if not artists:
            return []
        scores = _name_similarities(artist_key(primary_artist(text)), artists)
        best = int(np.argmax(scores))
        return self._by_artist.of(artists[best])[:SUGGESTIONS] if scores[best] >= _MIN_SIMILAR_ARTIST else []

    def _only_song(self, text: str, rows: Sequence[int]) -> Song:
        """Return the first song of some rows if all are files of the same song."""
        if len(rows) == 1 or len({self._keys[row] for row in rows}) == 1:
            return self._songs[rows[0]]
        firsts: dict[tuple[str, str], int] = {}
        for row in rows:
            firsts.setdefault(self._keys[row], row)
        songs = [self._songs[row] for row in firsts.values()]
        message = f"{len(firsts):,} songs match {_quoted(text)}; be more specific, or give an id"
        with_ids = [f"{song.name} (id {song.id})" for song in songs]
        raise UnclearSongError(f"{message}: {_listed(with_ids)}.", [song.name for song in songs[:SUGGESTIONS]])


def within_edit_distance(word: str, others: Sequence[str], max_edits: int) -> list[int]:
    """Return the rows of the words within an edit distance of a word.

    An edit inserts, deletes or changes a letter, or swaps two adjacent ones (optimal string alignment).

    Examples
    --------
    >>> within_edit_distance("beatels", ["beatles", "beetles", "battles", "kinks"], 1)
    [0]
    """
    distances: Any = process.cdist([word], others, scorer=OSA.distance, score_cutoff=max_edits, dtype=np.uint8)
    return np.flatnonzero(distances[0] <= max_edits).tolist()


def _typos_in(word: str) -> int:
    """Return how many wrong letters a word may have: none in three letters, one in six, then two."""
    return min(max(0, (len(word) - 1) // 3), 2)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def id_in(text: str) -> int | None:
    """Return the number that a text consists of, if it can be an id."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _key(text: str) -> str:
    """Return the normalised form of a name: artist - title, or any part of it."""
    parts = _DASH.split(text, maxsplit=1)
    if len(parts) == 2:
        return _joined(artist_key(primary_artist(parts[0])), title_key(parts[1]))
    return artist_key(title_key(text))


def _joined(artist: str, title: str) -> str:
    return f"{artist} {title}".strip()


def _name_similarities(text: str, choices: Sequence[str]) -> npt.NDArray[np.float64]:
    scores: Any = process.cdist([text], choices, scorer=fuzz.ratio, dtype=np.float32)
    return np.asarray(scores[0], np.float64)


def _is_clearly_best(scores: Sequence[float]) -> bool:
    return len(scores) == 1 or scores[0] - scores[1] >= CLEAR_MARGIN


def _listed(names: Sequence[str]) -> str:
    more = f"; and {len(names) - SUGGESTIONS:,} more" if len(names) > SUGGESTIONS else ""
    return "; ".join(names[:SUGGESTIONS]) + more
