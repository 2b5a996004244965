"""Seeds and filters -> the nearest songs of the library.

A seed is a song of the library or a file it has never heard. With several seeds a song is as near as to its nearest
seed, each seed's distances in its own unit, as in a playlist: the middle between a piano and a drum is neither.
"""

import os
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError, NoSuchSongError
from nearsong.library.file_tags import read_tags
from nearsong.library.playlist import Playlist, PlaylistRules, nearest_of_seeds, walk
from nearsong.library.records import Neighbour, Song, Tags
from nearsong.library.space import Space
from nearsong.names import artist_key, primary_artist, title_key
from nearsong.validation import check_count, check_positive

_FETCH = 4
"""Songs asked for, for each one wanted, when some will be left out afterwards."""


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

    def allowed(
        self, space: Space, seeds: Sequence[Seed], plays: npt.NDArray[np.float64] | None = None
    ) -> npt.NDArray[np.bool_]:
        """Say which songs of a space may be answered; ``plays`` are counts of its songs."""
        unwanted = {artist_key(primary_artist(name)) for name in self.exclude_artists if name.strip()}
        if self.new_artists:
            unwanted |= {seed.artist_key for seed in seeds} - {""}
        genres = [genre.casefold() for genre in self.genres]
        mask = np.ones(len(space.songs), dtype=bool)
        if unwanted or genres or self.year_from is not None or self.year_to is not None:
            mask = np.array([self._fits(song, unwanted, genres) for song in space.songs], dtype=bool)
        if self.fewer_plays is not None:
            if plays is None:
                raise InvalidInputError("fewer_plays needs play counts; import listens first.")
            mask &= plays < self.fewer_plays
        for seed in seeds:
            if seed.song is not None and seed.song.id in space.row_of:
                mask[space.row_of[seed.song.id]] = False
        return mask

    def _fits(self, song: Song, unwanted: set[str], genres: Sequence[str]) -> bool:
        if song.artist_key in unwanted:
            return False
        if genres and not any(genre in song.genre.casefold() for genre in genres):
            return False
        if self.year_from is None and self.year_to is None:
            return True
        return song.year is not None and (self.year_from or 0) <= song.year <= (self.year_to or 9999)


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
    n = check_count(n, "n")
    if not seeds:
        raise InvalidInputError("no seed came; give a song, a file or its name.")
    filters = filters or Filters()
    allowed = None
    if len(seeds) > 1 or filters.leave_out:
        allowed = filters.allowed(space, seeds, plays)
    own = {seed.song.id for seed in seeds if seed.song is not None and seed.song.id in space.row_of}
    possible = len(space.songs) - len(own) if allowed is None else int(allowed.sum())
    fetch = n + len(seeds)
    while True:
        fetch = min(fetch, possible)
        if not fetch:
            return []
        ids, distances = _nearest(space, seeds, fetch, allowed, own)
        chosen = _chosen(space, seeds, ids, distances, n, filters.artist_once)
        if len(chosen) == n or fetch == possible:
            break
        fetch *= _FETCH
    found = np.array([distance for _, distance in chosen])
    similarities = space.calibration.similarity(found)
    return [
        Neighbour(song, float(distance), float(similarity))
        for (song, distance), similarity in zip(chosen, similarities, strict=True)
    ]


def nearest_seed(seeds: Sequence[Seed], other: Seed) -> Seed:
    """Return the seed that a song is nearest to; the first of equals."""
    if not seeds:
        raise InvalidInputError("no seed came; give a song, a file or its name.")
    return min(seeds, key=lambda seed: float(np.linalg.norm(np.asarray(seed.place) - np.asarray(other.place))))


def _nearest(
    space: Space, seeds: Sequence[Seed], k: int, allowed: npt.NDArray[np.bool_] | None, own: Set[int]
) -> tuple[Any, Any]:
    """Return the ids and distances of the nearest songs that are allowed; None allows all but the seed's own."""
    if allowed is None:
        ids, distances = space.together.nearest(np.asarray(seeds[0].place), k + len(own))
        kept = np.flatnonzero(ids != next(iter(own)))[:k] if own else slice(k)
        return ids[kept], distances[kept]
    if len(seeds) == 1:
        return space.together.nearest(np.asarray(seeds[0].place), k, allowed)
    away = np.stack(
        [np.linalg.norm(space.places - np.asarray(seed.place, dtype=np.float64), axis=1) for seed in seeds], axis=1
    )
    ranked = np.where(allowed, nearest_of_seeds(away), np.inf)
    rows = np.lexsort((space.ids, ranked))[:k]
    return space.ids[rows], away[rows].min(axis=1)


def _chosen(
    space: Space, seeds: Sequence[Seed], ids: Any, distances: Any, n: int, artist_once: bool
) -> list[tuple[Song, float]]:
    chosen: list[tuple[Song, float]] = []
    seen: set[str] = set()
    there: dict[tuple[str, str], float] = {}
    copies = {(seed.artist_key, seed.title_key) for seed in seeds if seed.title_key}
    for song_id, distance in zip(ids.tolist(), distances.tolist(), strict=True):
        song = space.songs[space.row_of[song_id]]
        name = (song.artist_key, title_key(song.title))
        if distance < 1e-6 and name in copies:
            continue
        if name in there and abs(there[name] - distance) < 1e-6:
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
