"""Seeds and filters -> the nearest songs of the library.

A seed is a song of the library or a file it has never heard. With several seeds a song is as near as to its nearest
seed, each seed's distances in its own unit, as in a playlist: the middle between a piano and a drum is neither.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError, NoSuchSongError
from nearsong.library.file_tags import read_tags
from nearsong.library.playlist import NEIGHBOURS, Playlist, PlaylistRules, walk
from nearsong.library.records import Neighbour, Song, Tags
from nearsong.library.space import Space
from nearsong.names import artist_key, primary_artist, title_key
from nearsong.validation import check_count, check_positive

_MORE = 4
"""When too few songs are left, so many times as many are asked for."""

_FEW = 200
"""So many songs that may not come are left out of what was found; more are not looked for."""

_SAME = 1e-6
"""Sounds that are no farther apart are the same."""


@dataclass(frozen=True, eq=False)
class Seed:
    """Where to ask from.

    Attributes
    ----------
    name : str
        What it is called.
    place : array of shape (rank,)
        Where it is.
    song : Song or None
        None for a file outside the library.
    vector : array of shape (n_codewords,) or None
        What a file outside the library sounds like.
    artist_key, title_key : str
        What it is recognised by.
    model_id : int
        The model under which it is there.
    path : str
        A file outside the library.
    """

    name: str
    place: npt.NDArray[Any]
    song: Song | None
    vector: npt.NDArray[np.float64] | None
    artist_key: str
    title_key: str
    model_id: int
    path: str = ""


SeedLike = Seed | Song | int | str | os.PathLike[str]


@dataclass(frozen=True)
class Filters:
    """Which songs may be answered.

    Attributes
    ----------
    artist_once : bool
        Only the nearest song of every artist.
    new_artists : bool
        No songs by the seeds' own artists.
    exclude_artists : tuple of str
        Artists that are not wanted.
    genres : tuple of str
        Only songs whose genre contains one of these; upper and lower case are the same.
    year_from, year_to : int or None
        Only songs from these years; songs without a year are left out when one is given.
    fewer_plays : float or None
        Only songs that were played less often than this.
    """

    artist_once: bool = False
    new_artists: bool = False
    exclude_artists: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    year_from: int | None = None
    year_to: int | None = None
    fewer_plays: float | None = None

    def __post_init__(self) -> None:
        if self.year_from is not None and self.year_to is not None and self.year_from > self.year_to:
            raise InvalidInputError(f"the years {self.year_from} to {self.year_to} run backwards; swap them.")
        if self.fewer_plays is not None:
            check_positive(self.fewer_plays, "fewer_plays")

    @property
    def leave_out(self) -> bool:
        """Whether some songs may not be answered at all; ``artist_once`` alone leaves out none before the ranking."""
        return bool(
            self.new_artists
            or self.exclude_artists
            or self.genres
            or (self.year_from, self.year_to, self.fewer_plays) != (None, None, None)
        )

    @property
    def looks_at_songs(self) -> bool:
        """Whether it takes more than a few artists to say which songs may be answered."""
        others = (self.year_from, self.year_to, self.fewer_plays)
        return len(self.exclude_artists) > 1 or bool(self.genres) or others != (None, None, None)

    def allowed(
        self, space: Space, seeds: Sequence[Seed], plays: npt.NDArray[np.float64] | None = None
    ) -> npt.NDArray[np.bool_]:
        """Say which songs of a space may be answered; ``plays`` are counts of its songs."""
        unwanted = {artist_key(primary_artist(name)) for name in self.exclude_artists if name.strip()}
        if self.new_artists:
            unwanted |= {seed.artist_key for seed in seeds} - {""}
        mask = np.ones(len(space.songs), dtype=bool)
        numbers = [space.artist_numbers[key] for key in unwanted if key in space.artist_numbers]
        if len(numbers) == 1:
            mask = space.artists != numbers[0]
        elif numbers:
            mask = ~np.isin(space.artists, numbers)
        if self.genres:
            wanted = [genre.casefold() for genre in self.genres]
            fits = [any(genre in name for genre in wanted) for name in space.genres.names]
            mask &= np.array(fits, dtype=bool)[space.genres.codes]
        if (
            self.year_from is not None or self.year_to is not None
        ):  # a song without a year has NaN, which fits nothing
            mask &= (space.years >= (self.year_from or 0)) & (space.years <= (self.year_to or 9999))
        if self.fewer_plays is not None:
            if plays is None:
                raise InvalidInputError("fewer_plays needs play counts; import listens first.")
            mask &= plays < self.fewer_plays
        for seed in seeds:
            if seed.song is not None and seed.song.id in space.row_of:
                mask[space.row_of[seed.song.id]] = False
        return mask


@dataclass(frozen=True, eq=False)
class Question:
    """Seeds, how many near songs are wanted at most, and which may come."""

    seeds: Sequence[Seed]
    n: int = 10
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        check_count(self.n, "n")
        if not self.seeds:
            raise InvalidInputError("no seed came; give a song, a file or its name.")


def resolve(space: Space, seed: SeedLike) -> Seed:
    """Turn a song, an id, a name or a path into a seed; a file outside the library is heard."""
    if isinstance(seed, Seed):
        if seed.model_id == space.model_id:
            return seed
        seed = seed.path if seed.song is None else seed.song  # another model answers by now
    if isinstance(seed, Song):
        return seed_of_song(space, seed)
    text = str(seed) if isinstance(seed, int) else os.path.expanduser(os.fspath(seed))
    is_number = text.isascii() and text.isdigit()
    if not isinstance(seed, int) and os.path.isfile(text) and not (is_number and int(text) in space.row_of):
        song = space.song_at(text)
        return _of_file(space, text) if song is None else seed_of_song(space, song)
    if is_number and int(text) in space.missing:
        raise NoSuchSongError(f"the file of song {text} is gone; bring it back and run `nearsong scan`.")
    return seed_of_song(space, space.finder.find(text))


def seed_of_song(space: Space, song: Song) -> Seed:
    """Return a song of a space as a seed."""
    keys = song.artist_key, title_key(song.title)
    return Seed(song.name, space.place_of(song), song, None, *keys, space.model_id)


def _of_file(space: Space, path: str) -> Seed:
    vector, tags = space.model.encode(path), read_tags(path)
    return seed_of_sound(space, vector, tags, os.path.basename(path), path)


def seed_of_sound(space: Space, vector: npt.NDArray[Any], tags: Tags, name: str, path: str = "") -> Seed:
    """Return what was heard outside the library as a seed; ``name`` is what it is called if its tags do not say."""
    called = f"{tags.artist} - {tags.title}" if tags.artist and tags.title else name
    key = artist_key(primary_artist(tags.artist)) if tags.artist else ""
    return Seed(called, space.model.project(vector), None, vector, key, title_key(tags.title), space.model_id, path)


def similar(
    space: Space,
    seeds: Sequence[Seed],
    n: int = 10,
    filters: Filters | None = None,
    plays: npt.NDArray[np.float64] | None = None,
) -> list[Neighbour]:
    """Return the nearest songs.

    Parameters
    ----------
    space : Space
    seeds : sequence of Seed
    n : int
        How many at most.
    filters : Filters, optional
    plays : array of shape (n_songs,), optional
        How often the songs of the space were played; for ``fewer_plays``.

    Returns
    -------
    list of Neighbour
        The nearest first. Copies of a seed (the same artist and title at no distance) are left out.
    """
    return similar_each(space, [Question(seeds, n, filters or Filters())], plays)[0]


def similar_each(
    space: Space, questions: Sequence[Question], plays: npt.NDArray[np.float64] | None = None
) -> list[list[Neighbour]]:
    """Return the nearest songs of each question; those that leave out few songs share one product.

    An answer does not depend on what else is asked.
    """
    searches = [_Search(space, question, plays) for question in questions]
    while left := [search for search in searches if not search.done]:
        together = [search for search in left if not search.masked]
        if together:
            k = max(search.k for search in together)
            ids, distances = space.index.nearest(np.concatenate([search.places for search in together]), k)
            first = 0
            for search in together:
                part = slice(first, first + len(search.places))
                search.take(ids[part, : search.k], distances[part, : search.k])
                first = part.stop
        for search in left:
            if search.masked:
                search.take(*space.index.nearest(search.places, search.k, allowed=search.allowed))
    similarities = space.calibration.similarity([away for search in searches for _, away in search.chosen]).tolist()
    shares = iter(similarities)
    return [[Neighbour(song, away, next(shares)) for song, away in search.chosen] for search in searches]


class _Search:
    """A question on its way to an answer: songs are fetched, some left out, and more fetched if too few are left.

    Few songs that may not come are left out of what was found; for many, the index is told (``masked``).
    """

    def __init__(self, space: Space, question: Question, plays: npt.NDArray[np.float64] | None) -> None:
        self._space, self._question = space, question
        seeds, filters = question.seeds, question.filters
        self.places = np.array([seed.place for seed in seeds], dtype=np.float32)
        self.allowed = filters.allowed(space, seeds, plays) if filters.leave_out else None
        self._own = {seed.song.id for seed in seeds if seed.song is not None and seed.song.id in space.row_of}
        n_songs = len(space.songs)
        self._possible = n_songs - len(self._own) if self.allowed is None else int(np.count_nonzero(self.allowed))
        self._left_out = n_songs - self._possible
        self.masked = self.allowed is not None and self._left_out > _FEW
        self._fetch = min(question.n + len(seeds), self._possible)
        self.chosen: list[tuple[Song, float]] = []
        self.done = not self._fetch

    @property
    def k(self) -> int:
        """How many songs to fetch for each seed."""
        if self.masked:
            return self._fetch
        return max(self._fetch + self._left_out, self._for_unit if len(self.places) > 1 else 0)

    @property
    def _for_unit(self) -> int:
        return min(NEIGHBOURS, len(self._space.songs))

    def take(self, ids: npt.NDArray[np.int64], distances: npt.NDArray[np.float64]) -> None:
        """Go on with the nearest songs of each seed."""
        found, away = ids[0], distances[0]
        if len(ids) > 1:
            found, away = self._of_several(ids, distances)
        elif not self.masked:
            kept = self._may_come(found)
            found, away = found[kept], away[kept]
        wanted = self._question
        found, away = found[: self._fetch], away[: self._fetch]
        self.chosen = _chosen(self._space, wanted.seeds, found, away, wanted.n, wanted.filters.artist_once)
        self.done = len(self.chosen) == wanted.n or self._fetch == self._possible
        self._fetch = min(self._fetch * _MORE, self._possible)

    def _may_come(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        if self.allowed is None:
            return np.array([song not in self._own for song in ids.tolist()], dtype=bool)
        rows = self._space.row_of
        allowed: npt.NDArray[np.bool_] = self.allowed[[rows[song] for song in ids.tolist()]]
        return allowed

    def _of_several(self, ids: npt.NDArray[np.int64], distances: npt.NDArray[np.float64]) -> tuple[Any, Any]:
        """Return the songs that are nearest to their nearest seed, in that seed's unit, and their distances.

        A song that is among the first so many is among the first so many of its nearest seed.
        """
        units = distances[:, self._for_unit - 1 :][:, :1].copy()
        if self.masked:
            units = self._space.index.nearest(self.places, self._for_unit)[1][:, -1:]
        units[units == 0] = 1
        found, scaled = ids.ravel(), (distances / units).ravel()
        if not self.masked:
            kept = self._may_come(found)
            found, scaled = found[kept], scaled[kept]
        found = found[np.lexsort((found, scaled))]
        found = found[np.sort(np.unique(found, return_index=True)[1])[: self._fetch]]
        places = self._space.places[[self._space.row_of[song] for song in found.tolist()]].astype(np.float64)
        away = np.min([np.sqrt(((places - place) ** 2).sum(axis=1)) for place in self.places], axis=0)
        return found, away


def nearest_seed(seeds: Sequence[Seed], other: Seed) -> Seed:
    """Return the seed that a song is nearest to; the first of equals."""
    if not seeds:
        raise InvalidInputError("no seed came; give a song, a file or its name.")
    return min(seeds, key=lambda seed: float(np.linalg.norm(np.asarray(seed.place) - np.asarray(other.place))))


def _chosen(
    space: Space, seeds: Sequence[Seed], ids: Any, distances: Any, n: int, artist_once: bool
) -> list[tuple[Song, float]]:
    """Return the first ``n`` songs, without copies of a seed or of one another."""
    chosen: list[tuple[Song, float]] = []
    seen: set[str] = set()
    there: dict[tuple[str, str], float] = {}
    copies = {(seed.artist_key, seed.title_key) for seed in seeds if seed.title_key}
    in_order = np.sort(distances)
    could_be_copies = in_order[:1].min(initial=np.inf) < _SAME or np.diff(in_order).min(initial=np.inf) < _SAME
    for song_id, distance in zip(ids.tolist(), distances.tolist(), strict=True):
        song = space.songs[space.row_of[song_id]]
        if could_be_copies:
            name = (song.artist_key, title_key(song.title))
            if distance < _SAME and name in copies:
                continue
            if name in there and abs(there[name] - distance) < _SAME:
                continue  # another file of a song that is in the list
            there[name] = distance
        if artist_once and song.artist_key:
            if song.artist_key in seen:
                continue
            seen.add(song.artist_key)
        chosen.append((song, distance))
        if len(chosen) == n:
            break
    return chosen


def walk_between(
    space: Space, ends: Sequence[Seed], rules: PlaylistRules, allowed: npt.NDArray[np.bool_]
) -> Playlist:
    """Return a playlist from one seed to another; a file outside is stood in for by the song nearest to it."""
    if len(ends) != 2:
        raise InvalidInputError(f"a walk has two ends and {len(ends)} came; give one to start from and one to reach.")
    rows = []
    for end in ends:
        if end.song is None:
            nearest, _ = space.index.nearest(end.place, 1)
            rows.append(space.row_of[int(nearest[0])])
        else:
            rows.append(space.row_of[end.song.id])
    return walk(space.places, space.artists, rows[0], rows[1], rules, allowed=allowed)
