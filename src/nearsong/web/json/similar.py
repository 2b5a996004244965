"""Similar songs -> their JSON, joined from songs that are encoded once.

Of an answer only distances are new; its songs look the same in every other one. So a snapshot's songs are encoded
when they are first in an answer, and an answer is a few short texts in between: the same bytes as from `json_bytes`,
in a third of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nearsong.web.json.answers import Plays, json_text, model_json, song_json, text_bytes

if TYPE_CHECKING:
    from nearsong.library import Neighbour, Query, Seed, Snapshot, Song

MAX_SONG_TEXTS = 100_000
"""Songs of a snapshot that are held encoded, some 300 bytes each."""

_CONSTANTS = {True: "true", False: "false", None: "null"}


class SongTexts:
    """The songs of a snapshot as JSON. Thread-safe.

    Parameters
    ----------
    plays : mapping of int to float
        Song id -> plays.
    """

    def __init__(self, plays: Plays) -> None:
        self._plays = plays
        self._texts: dict[int, tuple[Song, str]] = {}

    def of(self, song: Song) -> str:
        """Return a song as `SongOut`."""
        known = self._texts.get(song.id)
        if known is not None and known[0] is song:
            return known[1]
        text = json_text(song_json(song, self._plays))
        if len(self._texts) >= MAX_SONG_TEXTS:
            self._texts.clear()
        self._texts[song.id] = (song, text)
        return text


_of_snapshots: WeakKeyDictionary[Snapshot, SongTexts] = WeakKeyDictionary()
_lock = threading.Lock()


def _texts_of(snapshot: Snapshot) -> SongTexts:
    """Return the texts of a snapshot's songs, which live as long as it does."""
    plays = snapshot.plays  # may take seconds, so not under the lock
    with _lock:
        texts = _of_snapshots.get(snapshot)
        if texts is None:
            texts = _of_snapshots[snapshot] = SongTexts(plays)
        return texts


def similar_json(snapshot: Snapshot, metric: str, seeds: Sequence[Seed], neighbours: Sequence[Neighbour]) -> bytes:
    """Return similar songs as an encoded `SimilarOut`."""
    texts = _texts_of(snapshot)
    own = ",".join(texts.of(seed.song) for seed in seeds if seed.song is not None)
    near = ",".join(_neighbour_texts(snapshot, texts, seeds, neighbours))
    model = json_text(model_json(snapshot))
    return text_bytes(f'{{"metric":{json_text(metric)},"model":{model},"seeds":[{own}],"songs":[{near}]}}')


def _neighbour_texts(
    snapshot: Snapshot, texts: SongTexts, seeds: Sequence[Seed], neighbours: Sequence[Neighbour]
) -> list[str]:
    """Return each similar song as `NeighbourOut`; floats as `json` writes them."""
    artist_keys, number = {seed.artist_key for seed in seeds} - {""}, float.__repr__
    agreement = snapshot.agrees(seeds[0], [neighbour.song for neighbour in neighbours])
    return [
        f'{{"song":{texts.of(one.song)},"distance":{number(one.distance)},"similarity":{number(one.similarity)},'
        f'"closeness":{number(one.closeness)},"closeness_word":"{one.closeness_word}",'
        f'"listeners_agree":{_CONSTANTS[agrees]},"same_artist":{_CONSTANTS[one.song.artist_key in artist_keys]}}}'
        for one, agrees in zip(neighbours, agreement, strict=True)
    ]


def similar_batch_json(topic: tuple[Snapshot, str], queries: Sequence[Query]) -> list[bytes]:
    """Return the encoded `SimilarOut` of each query on one snapshot and metric."""
    snapshot, metric = topic
    results = snapshot.similar_batch(queries, metric)
    return [
        similar_json(snapshot, metric, query.seeds, neighbours)
        for query, neighbours in zip(queries, results, strict=True)
    ]
