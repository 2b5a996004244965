"""Records of the library -> the API's responses as plain values for JSON.

They are known to fit their schemas, so no model is built and validated for each song. Texts that UTF-8 cannot hold
become readable in `text_bytes`, once for a response instead of once for each text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from nearsong.names import readable

if TYPE_CHECKING:  # of what explains a query the first page needs nothing
    from nearsong.library import (
        FoundByWords,
        FusedReasons,
        Neighbour,
        Seed,
        Snapshot,
        Song,
        SoundCharacter,
        Why,
    )

Plays = Mapping[int, float]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_text(content: Any) -> str:
    """Return plain values as the text of their JSON, perhaps with characters that UTF-8 cannot hold."""
    return _ENCODER.encode(content)


def json_bytes(content: Any) -> bytes:
    """Return plain values as JSON."""
    return text_bytes(json_text(content))


def text_bytes(text: str) -> bytes:
    """Return a text of JSON as bytes."""
    try:
        return text.encode()
    except UnicodeEncodeError:  # a file name whose bytes are no UTF-8
        return readable(text).encode()


class Json(Response):
    """A response of plain values, or of JSON that is encoded already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return content if isinstance(content, bytes) else json_bytes(content)


def song_json(song: Song, plays: Plays) -> dict[str, Any]:
    """Return a song as `SongOut`."""
    values = song.as_json()
    values["plays"] = round(plays.get(song.id, 0.0), 2)
    return values


def model_json(snapshot: Snapshot) -> dict[str, Any]:
    """Return the active model as `ModelRef`."""
    return {"id": snapshot.model.id, "kind": snapshot.model.kind}


def neighbours_json(
    snapshot: Snapshot, seeds: Sequence[Seed], neighbours: Sequence[Neighbour]
) -> list[dict[str, Any]]:
    """Return similar songs of the seeds as a list of `NeighbourOut`."""
    plays, artist_keys = snapshot.plays, {seed.artist_key for seed in seeds}
    agreement = snapshot.agrees(seeds[0], [neighbour.song for neighbour in neighbours])
    return [
        {
            "song": song_json(neighbour.song, plays),
            "distance": neighbour.distance,
            "similarity": neighbour.similarity,
            "closeness": neighbour.closeness,
            "closeness_word": neighbour.closeness_word,
            "listeners_agree": agrees,
            "same_artist": bool(neighbour.song.artist_key) and neighbour.song.artist_key in artist_keys,
        }
        for neighbour, agrees in zip(neighbours, agreement, strict=True)
    ]


def why_json(why: Why, plays: Plays) -> dict[str, Any]:
    """Return an explanation as `WhyOut`."""
    return {
        "query": why.query,
        "other": why.other,
        "distance": why.distance,
        "similarity": why.similarity,
        "closeness": why.closeness,
        "closeness_word": why.closeness_word,
        "lead": why.lead,
        "traits": {"shared": list(why.traits.shared), "opposed": [list(pair) for pair in why.traits.opposed]},
        "parts": None if why.fused is None else _parts_json(why.fused),
        "sentences": why.sentences(),
        "similarities": [_sound_json(sound, why, plays) for sound in why.sound.similarities],
        "differences": [_sound_json(sound, why, plays) for sound in why.sound.differences],
        "same_artist": why.same_artist,
        "listeners": None if why.listeners is None else asdict(why.listeners),
    }


def _parts_json(fused: FusedReasons) -> dict[str, Any]:
    return {
        "kinds": [asdict(kind) for kind in fused.kinds],
        "aspects": [{"words": aspect.name, "squared": aspect.squared} for aspect in fused.aspects],
        "tags": list(fused.tags),
        "played": list(fused.played),
        "listeners": fused.n_listeners,
    }


def find_json(found: FoundByWords, plays: Plays) -> dict[str, Any]:
    """Return songs found by words as `FindOut`."""
    return {
        "wanted": list(found.wanted),
        "unwanted": list(found.unwanted),
        "unknown": list(found.unknown),
        "encoder": found.encoder,
        "songs": [
            {
                "song": song_json(item.song, plays),
                "probability": item.probability,
                "tags": item.tags,
                "share": item.share,
            }
            for item in found.songs
        ],
        "notes": found.notes(),
    }


def _sound_json(sound: SoundCharacter, why: Why, plays: Plays) -> dict[str, Any]:
    return {
        "words": sound.words,
        "reason": sound.reason("this song", "the other song"),
        "share": float(sound.share),
        "in_query": sound.in_query,
        "in_song": sound.in_song,
        "in_library": sound.in_library,
        "examples": [song_json(song, plays) for song in why.examples.get(sound.dimension, ())],
    }
