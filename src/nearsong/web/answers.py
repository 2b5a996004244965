"""Records of the library -> what the API says of them, as plain values for JSON."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from nearsong.library.explain import SoundCharacter
from nearsong.library.records import Neighbour, Song
from nearsong.library.snapshot import Snapshot
from nearsong.library.why import Why
from nearsong.names import readable

Plays = Mapping[int, float]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Json(Response):
    """Plain values that are known to fit their schema, written at once: no record is made of every song."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        return _ENCODER.encode(content).encode()


def song_json(song: Song, plays: Plays) -> dict[str, Any]:
    """Return a song as :class:`~nearsong.web.schemas.SongOut` has it."""
    return {
        "id": song.id,
        "artist": readable(song.artist),
        "title": readable(song.title),
        "album": readable(song.album),
        "genre": readable(song.genre),
        "year": song.year,
        "seconds": round(song.seconds, 2),
        "plays": round(plays.get(song.id, 0.0), 2),
    }


def model_json(snapshot: Snapshot) -> dict[str, Any]:
    """Return which model answers."""
    return {"id": snapshot.model.id, "kind": snapshot.model.kind}


def neighbours_json(
    near: Sequence[Neighbour], agree: Sequence[bool | None], artist_keys: Collection[str], plays: Plays
) -> list[dict[str, Any]]:
    """Return near songs as :class:`~nearsong.web.schemas.NeighbourOut` has them; the keys are the seeds' artists'."""
    return [
        {
            "song": song_json(one.song, plays),
            "distance": one.distance,
            "similarity": one.similarity,
            "listeners_agree": told,
            "same_artist": bool(one.song.artist_key) and one.song.artist_key in artist_keys,
        }
        for one, told in zip(near, agree, strict=True)
    ]


def why_json(why: Why, plays: Plays) -> dict[str, Any]:
    """Return a reason as :class:`~nearsong.web.schemas.WhyOut` has it."""
    return {
        "query": readable(why.query),
        "other": readable(why.other),
        "distance": why.distance,
        "similarity": why.similarity,
        "sentences": [readable(sentence) for sentence in why.sentences()],
        "together": [_sound_json(one, why, plays) for one in why.sound.together],
        "apart": [_sound_json(one, why, plays) for one in why.sound.apart],
        "same_artist": why.same_artist,
        "listeners": None if why.listeners is None else asdict(why.listeners),
    }


def _sound_json(one: SoundCharacter, why: Why, plays: Plays) -> dict[str, Any]:
    return {
        "words": one.words,
        "reason": one.reason("this song", "the other"),
        "share": float(one.share),
        "in_query": float(one.in_query),
        "in_song": float(one.in_song),
        "usual": float(one.usual),
        "examples": [song_json(song, plays) for song in why.examples.get(one.codeword, ())],
    }
