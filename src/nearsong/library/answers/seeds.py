"""Songs of the library and files outside it -> seeds: the embeddings that queries and playlists start from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.audio import map_audio_files
from nearsong.audio.tags import Tags, read_tags
from nearsong.errors import AudioError, InvalidInputError
from nearsong.library.neighbours.exact import squared_distances
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.model import SongEncoder
from nearsong.names import artist_key, primary_artist, title_key


@dataclass(frozen=True, eq=False, kw_only=True)
class Seed:
    """A point of the space to search from.

    Attributes
    ----------
    name : str
        Name used in messages.
    embedding : array of shape (rank,)
    model_id : int
        The model that the embedding belongs to.
    song : Song or None
        None for a file outside the library.
    vector : array of shape (n_dimensions,) or None
        The song vector of a file outside the library.
    artist_key, title_key : str
        Normalised names, by which copies of the song and other songs of its artist are recognised.
    path : str
        Path of a file outside the library.
    """

    name: str
    embedding: npt.NDArray[Any]
    model_id: int
    song: Song | None = None
    vector: npt.NDArray[np.float64] | None = None
    artist_key: str = ""
    title_key: str = ""
    path: str = ""


SeedLike = Seed | Song | int | str | os.PathLike[str]


def seed_of_song(space: Space, song: Song) -> Seed:
    """Return the seed of a song of a space."""
    return Seed(
        name=song.name,
        embedding=space.embedding_of(song),
        model_id=space.model_id,
        song=song,
        artist_key=song.artist_key,
        title_key=title_key(song.title),
    )


def seed_of_file(space: Space, path: str, *, in_worker: bool = False) -> Seed:
    """Analyse a file outside the library, perhaps in a worker process with limits; return its seed."""
    if not in_worker:
        return seed_of_vector(space, space.model.encode(path), read_tags(path), os.path.basename(path), path)
    read = partial(_vector_and_tags, space.model.encoder)
    ((_, result),) = map_audio_files(read, [path], workers=1)
    if isinstance(result, AudioError):
        raise result
    return seed_of_vector(space, *result, os.path.basename(path), path)


def _vector_and_tags(encoder: SongEncoder, path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], Tags]:
    return encoder.encode(path), read_tags(path)


def seed_of_vector(space: Space, vector: npt.NDArray[Any], tags: Tags, name: str, path: str = "") -> Seed:
    """Return the seed of a song vector; ``name`` is used if the tags lack artist or title."""
    return Seed(
        name=f"{tags.artist} - {tags.title}" if tags.artist and tags.title else name,
        embedding=space.model.project(vector),
        model_id=space.model_id,
        vector=vector,
        artist_key=artist_key(primary_artist(tags.artist)) if tags.artist else "",
        title_key=title_key(tags.title),
        path=path,
    )


def nearest_seed(seeds: Sequence[Seed], other: Seed) -> Seed:
    """Return the seed nearest to another one; the first in a tie."""
    check_seeds(seeds)
    return min(seeds, key=lambda seed: distance_between(seed, other))


def distance_between(first: Seed, second: Seed) -> float:
    """Return the distance between two seeds of the same model."""
    return float(np.sqrt(squared_distances(first.embedding[None], second.embedding)[0]))


def check_seeds(seeds: Sequence[Seed]) -> None:
    """Raise an InvalidInputError if there are no seeds."""
    if not seeds:
        raise InvalidInputError('No seed given; name a song ("Artist - Title"), an id or a file.')
