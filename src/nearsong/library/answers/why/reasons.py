"""Pairs of songs -> why they are similar: one sentence first, then the sounds and the listeners they share.

No answer contradicts itself: each statement about sound passes `nearsong.library.answers.why.claims`, the words of
the sentence first.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import LibraryError
from nearsong.library.answers.seeds import Seed, distance_between
from nearsong.library.answers.why.claims import Claims
from nearsong.library.answers.why.distance_parts import blocks_of
from nearsong.library.answers.why.explain import Explanation, SoundCharacter, explain, in_words, shared_sounds
from nearsong.library.answers.why.fused_reasons import FusedExplainer, FusedReasons, listed
from nearsong.library.answers.why.library_sounds import LibrarySounds
from nearsong.library.answers.words.sound_traits import Signs, SongTraits, TraitPair
from nearsong.library.listeners.artist_overlap import Overlap
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.neighbours.closeness import CLOSENESS_WORDS, closeness_word
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.library.store import ModelRow, Store
from nearsong.model import SongEncoder
from nearsong.model.encoders import ENCODERS
from nearsong.names import count

Vector = npt.NDArray[np.float32]

MAX_SOUNDS_NAMED = 3
"""Sounds named in the sentences; the record has all of them."""

MAX_SOUNDS = 5
"""Sounds of each kind in the record, ..."""

N_CANDIDATES = 20
"""... chosen among this many: those that contradict the first sentence are left out."""

MAX_WORDS_NAMED = 3
"""Words that the first sentence says of both songs; the record has all of them."""


@dataclass(frozen=True)
class Why:
    """Why a song is near a query.

    Attributes
    ----------
    query, other : str
        Names of the two songs.
    distance, similarity, closeness : float
    sound : Explanation
        What makes them similar and what makes them different.
    traits : TraitPair
        The words that hold for both songs, and those that are opposites.
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
    closeness: float
    sound: Explanation
    examples: dict[int, tuple[Song, ...]]
    same_artist: bool
    listeners: Overlap | None
    artist: str = ""
    fused: FusedReasons | None = None
    traits: TraitPair = field(default_factory=TraitPair)

    @property
    def closeness_word(self) -> str:
        """Very close, close, loose or far."""
        return closeness_word(self.closeness)

    @property
    def lead(self) -> str:
        """The reasons in one sentence; of songs that are far from each other it says so first."""
        clauses = [] if self.same_artist or not self._is_far else ["far apart"]
        words = [listed(self.traits.shared[:MAX_WORDS_NAMED])] if self.traits.shared else []
        by = [f"by {self.artist}" if self.artist else "by the same artist"] * self.same_artist
        if by or words:
            clauses.append(f"both are {': '.join([*by, *words])}")
        if self.fused is not None and self.fused.tags:
            clauses.append(f"heard in both: {', '.join(self.fused.tags)}")
        if not clauses:
            clauses.append(self._without_words())
        if self.listeners is not None and self.listeners.shared:
            plays = "plays" if self.listeners.shared == 1 else "play"
            clauses.append(f"{count(self.listeners.shared, 'listener')} {plays} both artists")
        if self.fused is not None and self.fused.n_listeners:
            clauses.append(f"learned from {count(self.fused.n_listeners, 'listener')}")
        text = "; ".join(clauses)
        return f"{text[0].upper()}{text[1:]}."

    @property
    def _is_far(self) -> bool:
        return self.closeness_word == CLOSENESS_WORDS[-1][1]

    def _without_words(self) -> str:
        """Return the first clause about songs that no word holds for; words of single sounds are not sure enough."""
        return "no sound stands out in both" if self.fused is None else self.fused.nearest

    def sentences(self) -> list[str]:
        """Return the reasons in words, the first sentence first."""
        names = {song.id: song.name for songs in self.examples.values() for song in songs}
        short = replace(
            self.sound,
            similarities=tuple(_shortened(sound) for sound in self.sound.similarities[:MAX_SOUNDS_NAMED]),
            differences=tuple(_shortened(sound) for sound in self.sound.differences[:1]),
        )
        opposed = [f"the seed is {first}, this song {second}" for first, second in self.traits.opposed]
        different = [f"In sound they differ: {'; '.join(opposed)}."] if opposed else []
        parts = self.fused if self.fused is None or not self._is_far else replace(self.fused, played=())
        fused = [] if parts is None else parts.sentences()
        sounds = in_words(short, names, query="the seed", song="this song")
        return [self.lead, *different, *fused, *sounds, _listener_sentence(self.listeners, self.same_artist)]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        facts = {"lead": self.lead, **asdict(self), "closeness_word": self.closeness_word}
        facts["examples"] = {str(word): [song.id for song in songs] for word, songs in self.examples.items()}
        return facts


def _shortened(sound: SoundCharacter) -> SoundCharacter:
    """Return a sound with at most two example songs."""
    return replace(sound, songs=sound.songs[:2])


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
    traits : SongTraits or None
        The words of the library's songs; None if scans of it use no encoder that has them.
    """

    store: Store
    space: Space
    encoder_ids: Sequence[int]
    encoder: SongEncoder
    listeners: Listeners
    sounds: LibrarySounds
    fused: FusedExplainer | None = None
    traits: SongTraits | None = None


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
        similarity = space.calibration.similarity(distance)
        fused = None if context.fused is None else context.fused.reasons(query, other)
        traits = _traits_of_pair(context, query, other)
        sound, fused = _consistent(_described(context, query, other, vectors), fused, traits)
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
                similarity=float(similarity),
                closeness=float(space.calibration.closeness(similarity)),
                sound=sound,
                examples=examples,
                same_artist=bool(query.artist_key) and query.artist_key == other.artist_key,
                artist=other.song.artist if other.song is not None else "",
                listeners=context.listeners.overlap(query.artist_key, other.artist_key),
                fused=fused,
                traits=traits,
            )
        )
    return explanations


def _described(context: WhyContext, query: Seed, other: Seed, vectors: dict[int, Vector]) -> Explanation:
    """Return the sounds of two songs: what the distance is made of, or beside a fused model a description."""
    words = context.sounds.words if any(context.sounds.words) else None
    if context.fused is None:
        pair = [_vector(seed, vectors) for seed in (query, other)]
        return explain(context.space.model, *pair, n=N_CANDIDATES, words=words, average=context.sounds.average)
    first, second = (np.asarray(seed.embedding, dtype=np.float64) for seed in (query, other))
    rows = [None if seed.song is None else vectors.get(seed.song.id) for seed in (query, other)]
    similarities: tuple[SoundCharacter, ...] = ()
    differences: tuple[SoundCharacter, ...] = ()
    if words is not None and rows[0] is not None and rows[1] is not None:
        stored = context.encoder.restore(np.stack([rows[0], rows[1]]))
        similarities, differences = shared_sounds(
            context.encoder, stored, words, context.sounds.average, N_CANDIDATES
        )
    return Explanation(
        similarities=similarities,
        differences=differences,
        distance=distance_between(query, other),
        inner=float(first @ second),
        query_square=float(first @ first),
        song_square=float(second @ second),
    )


def _traits_of_pair(context: WhyContext, query: Seed, other: Seed) -> TraitPair:
    traits = context.traits
    if traits is None:
        return TraitPair()
    signs = [_signs_of(context, traits, seed) for seed in (query, other)]
    return TraitPair() if signs[0] is None or signs[1] is None else traits.compared(signs[0], signs[1])


def _signs_of(context: WhyContext, traits: SongTraits, seed: Seed) -> Signs | None:
    """Return the traits of a song; None if the encoder that has them did not analyse it."""
    if seed.song is not None:
        return traits.of_song(seed.song.id)
    if seed.vector is None:
        return None
    encoder = context.space.model.encoder
    blocks = encoder.blocks(np.asarray(seed.vector, dtype=np.float64)[None])
    return traits.of_vectors({one.key: block[0] for one, block in zip(encoder.encoders, blocks, strict=True)})


def _consistent(
    sound: Explanation, fused: FusedReasons | None, traits: TraitPair
) -> tuple[Explanation, FusedReasons | None]:
    """Return sounds and tags without those that contradict the words of both songs, or one another.

    Sounds that both songs have less of than most, or that the model links to others, explain nothing to a listener.
    """
    claims = Claims()
    for word in traits.shared:
        claims.add_shared([word])
    for first, _ in traits.opposed:
        claims.add_difference([first], of_first=True)
    if fused is not None:
        fused = replace(fused, tags=tuple(tag for tag in fused.tags if claims.add_shared([tag])))
    similarities = tuple(
        one
        for one in sound.similarities
        if one.is_above_average in (None, (True, True)) and claims.add_shared(one.words.split(", "))
    )
    differences = tuple(
        one
        for one in sound.differences
        if one.is_above_average in (None, (True, False), (False, True))
        and claims.add_difference(one.words.split(", "), of_first=one.is_above_average != (False, True))
    )
    return replace(sound, similarities=similarities[:MAX_SOUNDS], differences=differences[:MAX_SOUNDS]), fused


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
