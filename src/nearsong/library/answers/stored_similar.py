"""Ids of songs -> similar songs, read from a SQLite library for this one query."""

from collections.abc import Sequence
from typing import NamedTuple

from nearsong.library.answers.filters import Filters
from nearsong.library.answers.seeds import Seed, seed_of_song
from nearsong.library.answers.similar import Query, run_queries
from nearsong.library.neighbours.stored_space import StoredSpace
from nearsong.library.records import Neighbour
from nearsong.library.store.light.store import LightStore


class SimilarSongs(NamedTuple):
    """The answer to one query: its seeds, the songs nearest to them, and the kind of the active model."""

    seeds: list[Seed]
    neighbours: list[Neighbour]
    kind: str


def stored_similar(store: LightStore, songs: Sequence[int], n: int, filters: Filters) -> SimilarSongs | None:
    """Return the songs nearest to songs of the library; None if one of them is not among those that can be compared.

    Parameters
    ----------
    store : LightStore
    songs : sequence of int
        Ids.
    n : int
    filters : Filters
        None that excludes songs before the ranking.
    """
    with store.snapshot():
        model_id = store.models.active
        if model_id is None:
            return None
        space = StoredSpace(store, model_id)
        if not all(song in space.row_of for song in songs):
            return None
        seeds = [seed_of_song(space, space.songs[space.row_of[song]]) for song in songs]
        (neighbours,) = run_queries(space, [Query(seeds, n, filters)])
        return SimilarSongs(seeds, neighbours, store.models.kind(model_id))
