"""Songs of the library and files outside it -> seeds: the embeddings that queries and playlists start from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.audio.tags import Tags, read_tags
from nearsong.errors import AudioError, InvalidInputError
from nearsong.library.neighbours.exact import squared_distances
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist, title_key

if TYPE_CHECKING:
    from nearsong.library.neighbours.space import Space
    from nearsong.model import SongEncoder

MAX_SEED_SECONDS = 24 * 3600.0
"""Of a file outside the library, so much is heard."""


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


def spread_songs(songs: Sequence[Song], most: int) -> list[Song]:
    """Return at most so many songs of an album, artist or playlist, evenly spaced, to stand for all of them."""
    if len(songs) <= most:
        return list(songs)
    return [songs[round(position)] for position in np.linspace(0, len(songs) - 1, most).tolist()]


def seed_of_song(space: "Space", song: Song) -> Seed:
    """Return the seed of a song of a space."""
    return Seed(
        name=song.name,
        embedding=space.embedding_of(song),
        model_id=space.model_id,
        song=song,
        artist_key=song.artist_key,
        title_key=title_key(song.title),
    )


def seed_of_file(space: "Space", path: str, *, in_worker: bool = False) -> Seed:
    """Analyse a file outside the library, perhaps in a worker process with limits; return its seed."""
    if not in_worker:
        return seed_of_vector(space, *_vector_and_tags(space.model.encoder, path), os.path.basename(path), path)
    from nearsong.audio import map_audio_files

    read = partial(_vector_and_tags, space.model.encoder)
    ((_, result),) = map_audio_files(read, [path], workers=1)
    if isinstance(result, AudioError):
        raise result
    return seed_of_vector(space, *result, os.path.basename(path), path)


def _vector_and_tags(encoder: "SongEncoder", path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], Tags]:
    from nearsong.library.scanning.analyse_file import analyse_upload  # loads decoders

    analysed = analyse_upload(encoder, path, os.path.basename(path), MAX_SEED_SECONDS)
    return np.concatenate(analysed.sound.vectors), read_tags(path)


def seed_of_vector(space: "Space", vector: npt.NDArray[Any], tags: Tags, name: str, path: str = "") -> Seed:
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
