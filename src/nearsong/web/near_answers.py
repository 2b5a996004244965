"""Near songs -> the answer of /similar, as bytes; several questions at a time."""

import json
from collections.abc import Sequence

from nearsong.library.recommend import Question, Seed
from nearsong.library.records import Neighbour
from nearsong.library.snapshot import Snapshot
from nearsong.web.answers import model_json, neighbours_json, song_json

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def near_answers(topic: tuple[Snapshot, str], questions: Sequence[Question]) -> list[bytes]:
    """Answer questions about one snapshot under one metric."""
    snapshot, metric = topic
    found = snapshot.similar_each(questions, metric)
    return [near_json(snapshot, metric, one.seeds, near) for one, near in zip(questions, found, strict=True)]


def near_json(snapshot: Snapshot, metric: str, seeds: Sequence[Seed], near: Sequence[Neighbour]) -> bytes:
    """Return near songs as :class:`~nearsong.web.schemas.SimilarOut` has them."""
    plays = snapshot.plays
    agree = snapshot.agrees(seeds[0], [one.song for one in near])
    return _ENCODER.encode(
        {
            "metric": metric,
            "model": model_json(snapshot),
            "seeds": [song_json(seed.song, plays) for seed in seeds if seed.song is not None],
            "songs": neighbours_json(near, agree, {seed.artist_key for seed in seeds}, plays),
        }
    ).encode()
