"""Pairs of songs -> why they are similar: the sound characters and the listeners they share."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import LibraryError
from nearsong.library.answers.seeds import Seed, distance_between
from nearsong.library.answers.why.distance_parts import blocks_of
from nearsong.library.answers.why.explain import Explanation, SoundCharacter, explain, in_words, shared_sounds
from nearsong.library.answers.why.fused_reasons import FusedExplainer, FusedReasons
from nearsong.library.answers.why.library_sounds import LibrarySounds
from nearsong.library.listeners.artist_overlap import Overlap
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.library.store import ModelRow, Store
from nearsong.model import SongEncoder
from nearsong.model.encoders import ENCODERS

Vector = npt.NDArray[np.float32]

MAX_SOUNDS_NAMED = 3
"""Sounds named in the sentences; the record has all of them."""


@dataclass(frozen=True)
class Why:
    """Why a song is near a query.

    Attributes
    ----------
    query, other : str
        Names of the two songs.
    distance, similarity : float
    sound : Explanation
        What makes them similar and what makes them different.
    examples : dict of int -> tuple of Song
        Dimension of a sound in the explanation -> songs with much of that sound.
    same_artist : bool
    listeners : Overlap or None
        None if one of the artists has no listeners, or both are the same.
    artist : str
        Of the other song.
    fused : FusedReasons or None
        The parts of the distance; None for a model whose sounds make up its distance.
    """

    query: str
    other: str
    distance: float
    similarity: float
    sound: Explanation
    examples: dict[int, tuple[Song, ...]]
    same_artist: bool
    listeners: Overlap | None
    artist: str = ""
    fused: FusedReasons | None = None

    @property
    def lead(self) -> str:
        """The reasons in one sentence; empty for a model whose sounds make up its distance."""
        if self.fused is None:
            return ""
        shared = [sound.words for sound in self.sound.similarities if sound.is_above_average == (True, True)]
        return self.fused.lead(shared[0] if shared else "", self.artist if self.same_artist else "")

    def sentences(self) -> list[str]:
        """Return the reasons in words, the strongest first."""
        names = {song.id: song.name for songs in self.examples.values() for song in songs}
        short = replace(
            self.sound,
            similarities=tuple(_shortened(sound) for sound in self.sound.similarities[:MAX_SOUNDS_NAMED]),
            differences=tuple(_shortened(sound) for sound in self.sound.differences if _is_in_one_only(sound))[:1],
        )
        sounds = in_words(short, names, query="the seed", song="this song")
        fused = [] if self.fused is None else [self.lead, *self.fused.sentences()]
        return [*fused, *sounds, _listener_sentence(self.listeners, self.same_artist)]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        facts = {**asdict(self), "lead": self.lead}
        facts["examples"] = {str(word): [song.id for song in songs] for word, songs in self.examples.items()}
        return facts


def _is_in_one_only(sound: SoundCharacter) -> bool:
    """Return whether one song has more of a sound than average and the other less."""
    above = sound.is_above_average
    return above is None or above[0] != above[1]


def _shortened(sound: SoundCharacter) -> SoundCharacter:
    """Return a sound with at most two example songs; none if both songs have less of it than average."""
    lacking = sound.is_above_average == (False, False)
    return replace(sound, songs=() if lacking else sound.songs[:2])


def _listener_sentence(overlap: Overlap | None, same_artist: bool) -> str:
    if same_artist:
        return "Both songs are by the same artist."
    if overlap is None:
        return "Shared listeners: no data for at least one of the two artists."
    of_each = f"the seed's artist has {overlap.query:,}, this song's artist {overlap.other:,}"
    if overlap.rank is None:
        return f"Shared listeners: none ({of_each})."
    rank = "most similar artist" if overlap.rank == 1 else f"{_ordinal(overlap.rank)} most similar artist"
    return f"Shared listeners: {overlap.shared:,} ({of_each}). By listeners, it is the {rank}."


def _ordinal(number: int) -> str:
    """Return the ordinal of a number.

    >>> [_ordinal(number) for number in (2, 3, 11, 21, 1012, 1103)]
    ['2nd', '3rd', '11th', '21st', '1,012th', '1,103rd']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


@dataclass(frozen=True, eq=False, kw_only=True)
class WhyContext:
    """What the explanations of a snapshot need.

    Attributes
    ----------
    store : Store
        Holds the song vectors.
    space : Space
        The space of the seeds.
    encoder_ids : sequence of int
        The encoders of the vectors that ``sounds`` describes.
    encoder : SongEncoder
        The same, as one.
    listeners : Listeners
    sounds : LibrarySounds
        Sound statistics of the library under that encoder.
    fused : FusedExplainer or None
        For a fused model.
    """

    store: Store
    space: Space
    encoder_ids: Sequence[int]
    encoder: SongEncoder
    listeners: Listeners
    sounds: LibrarySounds
    fused: FusedExplainer | None = None


def describing_encoder(store: Store, space: Space, model: ModelRow) -> tuple[Sequence[int], SongEncoder]:
    """Return the ids of the encoders whose sounds describe songs in words, and the encoders as one.

    The model's own, if its sounds make up the distance. A fused model compares what has no words, and then it is one
    that measures shares of songs, if scans of the library use one.
    """
    if blocks_of(space.model):
        scanned = store.models.scanned_encoders()
        for name, encoder_id in scanned.items():
            if name in ENCODERS and ENCODERS[name].has_shares:
                return (encoder_id,), stored_encoder(store, (encoder_id,))
    return model.encoder_ids, space.model.encoder


def explain_pairs(context: WhyContext, pairs: Sequence[tuple[Seed, Seed]]) -> list[Why]:
    """Explain pairs of songs."""
    space, sounds = context.space, context.sounds
    vectors = _vectors(context.store, context.encoder_ids, pairs)
    explanations = []
    for query, other in pairs:
        distance = distance_between(query, other)
        sound = _described(context, query, other, vectors)
        excluded = {seed.song.id for seed in (query, other) if seed.song is not None}  # not examples of themselves
        sound = replace(
            sound,
            similarities=tuple(_with_examples(character, sounds, excluded) for character in sound.similarities),
            differences=tuple(_with_examples(character, sounds, excluded) for character in sound.differences),
        )
        examples = {
            character.dimension: tuple(space.songs[space.row_of[song]] for song in character.songs)
            for character in (*sound.similarities, *sound.differences)
        }
        explanations.append(
            Why(
                query=query.name,
                other=other.name,
                distance=distance,
                similarity=float(space.calibration.similarity(np.array([distance]))[0]),
                sound=sound,
                examples=examples,
                same_artist=bool(query.artist_key) and query.artist_key == other.artist_key,
                artist=other.song.artist if other.song is not None else "",
                listeners=context.listeners.overlap(query.artist_key, other.artist_key),
                fused=None if context.fused is None else context.fused.reasons(query, other),
            )
        )
    return explanations


def _described(context: WhyContext, query: Seed, other: Seed, vectors: dict[int, Vector]) -> Explanation:
    """Return the sounds of two songs: what the distance is made of, or beside a fused model a description."""
    words = context.sounds.words if any(context.sounds.words) else None
    if context.fused is None:
        pair = [_vector(seed, vectors) for seed in (query, other)]
        return explain(context.space.model, *pair, words=words, average=context.sounds.average)
    first, second = (np.asarray(seed.embedding, dtype=np.float64) for seed in (query, other))
    rows = [None if seed.song is None else vectors.get(seed.song.id) for seed in (query, other)]
    similarities: tuple[SoundCharacter, ...] = ()
    differences: tuple[SoundCharacter, ...] = ()
    if words is not None and rows[0] is not None and rows[1] is not None:
        stored = context.encoder.restore(np.stack([rows[0], rows[1]]))
        similarities, differences = shared_sounds(context.encoder, stored, words, context.sounds.average)
    return Explanation(
        similarities=similarities,
        differences=differences,
        distance=distance_between(query, other),
        inner=float(first @ second),
        query_square=float(first @ first),
        song_square=float(second @ second),
    )


def _with_examples(sound: SoundCharacter, sounds: LibrarySounds, excluded: set[int]) -> SoundCharacter:
    return replace(sound, songs=sounds.examples(sound.words, 3, excluded))


def _vectors(store: Store, encoder_ids: Sequence[int], pairs: Sequence[tuple[Seed, Seed]]) -> dict[int, Vector]:
    """Read the vectors of the songs of some pairs, by id."""
    ids = {seed.song.id for pair in pairs for seed in pair if seed.song is not None}
    blocks = store.songs.vectors(encoder_ids, ids)
    return {song: row for numbers, rows in blocks for song, row in zip(numbers.tolist(), rows, strict=True)}


def _vector(seed: Seed, vectors: dict[int, Vector]) -> npt.NDArray[Any]:
    vector = seed.vector if seed.song is None else vectors.get(seed.song.id)
    if vector is None:
        raise LibraryError(f"{seed.name} is not analysed for this model; run `nearsong scan`.")
    return np.asarray(vector, dtype=np.float64)
