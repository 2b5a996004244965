"""What a person types -> the song that is meant: an id, a path, "artist - title", or something like it."""

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from nearsong.errors import UnclearSongError
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist, title_key

CLEAR_SCORE = 84.0
"""A guess is taken from this score on (of 100) ..."""

CLEAR_MARGIN = 4.0
"""... if the next different song has a score lower by as much."""

SUGGESTIONS = 5
"""Songs that are named when none is clear."""

_WORTH_NAMING = 45.0
_DASH = re.compile(r"\s[-\u2010-\u2015\u2212]\s")
_NUMBERS = re.compile(r"\d+")


class SongFinder:
    """Finds songs by what a person types.

    Parameters
    ----------
    songs : sequence of Song

    Notes
    -----
    Keys are made when the first name is looked for; ids and paths need none.

    Examples
    --------
    >>> finder = SongFinder([
    ...     Song(1, "/m/caravan.mp3", "Wynton Marsalis", "Caravan", "", "Jazz", 1987, 300.0, "wynton marsalis"),
    ...     Song(2, "/m/so-what.mp3", "Miles Davis", "So What", "", "Jazz", 1959, 545.0, "miles davis"),
    ... ])
    >>> [finder.find(text).id for text in ("Wynton Marsalis - Caravan", "so what", "mils davis so what", "1")]
    [1, 2, 2, 1]
    """

    def __init__(self, songs: Sequence[Song]) -> None:
        self._songs = sorted(songs, key=lambda song: song.id)

    def find(self, text: str) -> Song:
        """Return the song that is meant.

        In this order: an id; the path of a file, or the end of it; artist and title; a title, an artist or some words
        of both that one song alone has; what is written most alike, if nothing else is nearly as much. Several files
        of the same artist and title are one song, that of the lowest id.

        Parameters
        ----------
        text : str

        Returns
        -------
        Song

        Raises
        ------
        UnclearSongError
            If no song or several fit; ``suggestions`` has names that would be clear.
        """
        said = text.strip()
        if not said:
            raise UnclearSongError("an empty name fits every song; give an artist and a title, an id or a path.")
        if not self._songs:
            raise UnclearSongError(f"{_quoted(said)} cannot be found in an empty library; scan a music folder first.")
        if (number := _whole_number(said)) is not None and number in self._place_of_id:
            return self._songs[self._place_of_id[number]]
        for look in (self._at_path, self._named, self._with_words):
            if places := look(said):
                return self._the_one(said, places)
        return self._most_alike(said)

    def candidates(self, text: str, limit: int = SUGGESTIONS) -> list[tuple[Song, float]]:
        """Return the songs written most alike, with scores of 100 for the same down to 0.

        Parameters
        ----------
        text : str
        limit : int

        Returns
        -------
        list of (Song, float)
            The best first, equals by lower id; several files of one song once.
        """
        key = _key(text)
        if not key or limit < 1 or not self._songs:
            return []
        scores = self._scores(key)
        wanted = min(len(scores), limit)
        best = np.flatnonzero((scores >= np.partition(scores, -wanted)[-wanted]) & (scores > 0)).tolist()
        ranked = sorted(best, key=lambda place: (-scores[place], place))[:limit]
        return [(self._songs[self._first_files[place]], float(scores[place])) for place in ranked]

    # ---- ids and paths

    @cached_property
    def _place_of_id(self) -> dict[int, int]:
        return {song.id: place for place, song in enumerate(self._songs)}

    @cached_property
    def _by_file_name(self) -> dict[str, list[int]]:
        return _grouped(os.path.basename(song.path) for song in self._songs)

    def _at_path(self, said: str) -> list[int]:
        """Return the songs whose path is, or ends with, what was said."""
        path = PurePath(os.path.expanduser(said) if said.startswith("~/") else said)
        named = self._by_file_name.get(path.name, [])
        if not named:
            return []
        absolute = os.path.abspath(path)
        exact = [place for place in named if self._songs[place].path in (said, str(path), absolute)]
        tail = tuple(part for part in path.parts if part not in (".", ".."))
        return exact or [place for place in named if PurePath(self._songs[place].path).parts[-len(tail) :] == tail]

    # ---- names

    @cached_property
    def _artists(self) -> list[str]:
        """Each song's artist as artists are compared."""
        known: dict[str, str] = {}
        for song in self._songs:
            if song.artist not in known:
                known[song.artist] = artist_key(primary_artist(song.artist))
        return [known[song.artist] for song in self._songs]

    @cached_property
    def _by_artist(self) -> dict[str, list[int]]:
        return {key: places for key, places in _grouped(self._artists).items() if key}

    @cached_property
    def _keys(self) -> list[tuple[str, str]]:
        """Each song's artist and title as they are compared."""
        titles = (title_key(song.title) for song in self._songs)
        return list(zip(self._artists, titles, strict=True))

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        return _grouped(_joined(artist, title) for artist, title in self._keys)

    @cached_property
    def _by_title(self) -> dict[str, list[int]]:
        return _grouped(title for _, title in self._keys)

    def _named(self, said: str) -> list[int]:
        """Return the songs that have exactly the name that was said."""
        for dash in _DASH.finditer(said):  # either part may have dashes of its own
            parts = said[: dash.start()], said[dash.end() :]
            for artist, title in (parts, parts[::-1]):
                key = title_key(title)
                places = self._by_artist.get(artist_key(primary_artist(artist)), [])
                if exact := [place for place in places if title_key(self._songs[place].title) == key]:
                    return exact
        return (
            self._by_name.get(_key(said))
            or self._by_title.get(title_key(said))
            or self._by_artist.get(artist_key(primary_artist(said)))
            or []
        )

    @cached_property
    def _first_files(self) -> list[int]:
        """The first file of each song."""
        firsts: dict[tuple[str, str], int] = {}
        for place, key in enumerate(self._keys):
            firsts.setdefault(key, place)
        return list(firsts.values())

    def _with_words(self, said: str) -> list[int]:
        """Return the songs that have all words that were said, the most alike first."""
        key = _key(said)
        words = set(key.split())
        longest = max(words, key=len, default="")
        names, _ = self._texts
        likely = (place for place, name in enumerate(names) if longest in name) if words else ()
        places = [place for place in likely if words.issubset(names[place].split())]
        if len(places) > 1:
            scores = self._scores(key)
            places.sort(key=lambda place: -scores[place])
        return [self._first_files[place] for place in places]

    @cached_property
    def _texts(self) -> tuple[list[str], list[str]]:
        """Each song's name with its words in order of the alphabet, and its title."""
        keys = [self._keys[place] for place in self._first_files]
        return [_sorted_words(_joined(artist, title)) for artist, title in keys], [title for _, title in keys]

    def _scores(self, key: str) -> npt.NDArray[np.float64]:
        """Return how much each song is written like a key, from 0 to 100."""
        names, titles = self._texts
        # a title alone counts less: many songs share one
        return np.maximum(_alike(_sorted_words(key), names), 0.95 * _alike(key, titles))

    def _most_alike(self, said: str) -> Song:
        ranked = self.candidates(said)
        numbers = set(_NUMBERS.findall(_key(said)))
        if ranked:
            song, score = ranked[0]
            same_numbers = numbers <= set(_NUMBERS.findall(_joined(artist_key(song.artist), title_key(song.title))))
            if score >= CLEAR_SCORE and same_numbers and _stands_out([score for _, score in ranked]):
                return song
        shown = [song.name for song, score in ranked if score >= _WORTH_NAMING]
        raise _unclear(
            f"no song is called {_quoted(said)}", shown, "give artist - title as the files have it, an id or a path"
        )

    def _the_one(self, said: str, places: Sequence[int]) -> Song:
        """Return the first of some places if they are all the same song."""
        if len(places) == 1 or len({self._keys[place] for place in places}) == 1:
            return self._songs[places[0]]
        firsts: dict[tuple[str, str], int] = {}
        for place in places:
            firsts.setdefault(self._keys[place], place)
        names = [self._songs[place].name for place in firsts.values()]
        raise _unclear(f"{_quoted(said)} fits {len(firsts):,} songs", names, "say which one")


def nearly(word: str, others: Sequence[str], strokes: int) -> list[int]:
    """Return the places of those words that become another with at most so many strokes.

    A stroke puts in, takes out or changes a letter, or swaps two neighbours.

    Examples
    --------
    >>> nearly("beatels", ["beatles", "beetles", "battles", "kinks"], 1)
    [0]
    """
    found: Any = process.cdist([word], others, scorer=OSA.distance, score_cutoff=strokes, dtype=np.uint8)
    return np.flatnonzero(found[0] <= strokes).tolist()


def _quoted(said: str) -> str:
    return repr(said if len(said) <= 80 else said[:77] + "...")


def _whole_number(said: str) -> int | None:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else None


def _key(text: str) -> str:
    """Return a text as names are compared: artist - title, or any part of it."""
    parts = _DASH.split(text, maxsplit=1)
    if len(parts) == 2:
        return _joined(artist_key(primary_artist(parts[0])), title_key(parts[1]))
    return artist_key(title_key(text))


def _sorted_words(key: str) -> str:
    return " ".join(sorted(key.split()))


def _joined(artist: str, title: str) -> str:
    return f"{artist} {title}".strip()


def _grouped(keys: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return found


def _alike(text: str, choices: Sequence[str]) -> npt.NDArray[np.float64]:
    scores: Any = process.cdist([text], choices, scorer=fuzz.ratio, dtype=np.float32)
    return np.asarray(scores[0], np.float64)


def _stands_out(scores: Sequence[float]) -> bool:
    return len(scores) == 1 or scores[0] - scores[1] >= CLEAR_MARGIN


def _unclear(what: str, names: Sequence[str], otherwise: str) -> UnclearSongError:
    shown = list(names[:SUGGESTIONS])
    if not shown:
        return UnclearSongError(f"{what}, nor anything like it; {otherwise}.")
    return UnclearSongError(f"{what}; {otherwise}, for example: {'; '.join(shown)}.", shown)
