"""Why two songs are near: the sound characters they share, and who listens to both."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import LibraryError
from nearsong.library.explain import Explanation, SoundCharacter, average_song, exemplars, explain, in_words
from nearsong.library.learning import Histories
from nearsong.library.recommend import Seed
from nearsong.library.records import Song
from nearsong.library.sound_words import describe_model
from nearsong.library.space import Space
from nearsong.library.store import Store

SHOWN = 3
"""Sounds named in the words; the record has them all."""


@dataclass(frozen=True)
class Overlap:
    """What listeners make of two artists.

    Attributes
    ----------
    shared, query, other : int
        Listeners of both, of the query's artist and of the other's.
    jaccard : float
        The paper's similarity: shared / (query + other - shared).
    rank : int or None
        The other's place among the query's nearest artists by listeners; 1 is the nearest.
    """

    shared: int
    query: int
    other: int
    jaccard: float
    rank: int | None


@dataclass(frozen=True)
class Why:
    """Why a song is near a query.

    Attributes
    ----------
    query, other : str
        Their names.
    distance, similarity : float
    sound : Explanation
        What brings them together and what parts them.
    examples : dict of int -> tuple of Song
        Songs that are full of each of the sounds in the explanation.
    same_artist : bool
    listeners : Overlap or None
        None when one of the artists has no listeners, or both are the same.
    """

    query: str
    other: str
    distance: float
    similarity: float
    sound: Explanation
    examples: dict[int, tuple[Song, ...]]
    same_artist: bool
    listeners: Overlap | None

    def sentences(self) -> list[str]:
        """Return the reasons in words, the strongest first."""
        names = {song.id: song.name for songs in self.examples.values() for song in songs}
        short = replace(
            self.sound,
            together=tuple(_short(one) for one in self.sound.together[:SHOWN]),
            apart=tuple(_short(one) for one in self.sound.apart if _differs(one))[:1],
        )
        sounds = in_words(short, names, query="this one", song="that one")
        return [*sounds, _of_listeners(self.listeners, self.same_artist)]

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON has it."""
        facts = asdict(self)
        facts["examples"] = {str(word): [song.id for song in songs] for word, songs in self.examples.items()}
        return facts


def _differs(one: SoundCharacter) -> bool:
    """Say whether one of the two has more of a sound than usual and the other less."""
    return (one.in_query > one.usual) != (one.in_song > one.usual)


def _short(one: SoundCharacter) -> SoundCharacter:
    """Name two songs that are full of a sound the two have; none for one that they lack."""
    lacking = max(one.in_query, one.in_song) <= one.usual
    return replace(one, songs=() if lacking else one.songs[:2])


def _of_listeners(overlap: Overlap | None, same_artist: bool) -> str:
    if same_artist:
        return "listeners: the same artist"
    if overlap is None:
        return "listeners: none are known of at least one of the two artists"
    if not overlap.shared:
        return f"listeners: none of {overlap.query:,} and {overlap.other:,} plays both"
    rank = f", which makes it number {overlap.rank:,} among the artists nearest by listeners" if overlap.rank else ""
    return (
        f"listeners: {overlap.shared:,} play both (of {overlap.query:,} and {overlap.other:,}; "
        f"Jaccard {overlap.jaccard:.3f}){rank}"
    )


def explain_pairs(store: Store, space: Space, pairs: Sequence[tuple[Seed, Seed]], histories: Histories) -> list[Why]:
    """Explain pairs of songs; the library is passed over once for all of them."""
    if not pairs:
        return []
    ear_id = store.models.row(space.model_id).ear_id
    words, usual = describe_model(space.model), average_song(store.songs.vectors(ear_id))
    sounds = [
        explain(space.model, _vector(store, ear_id, query), _vector(store, ear_id, other), words=words, usual=usual)
        for query, other in pairs
    ]
    everything = [one for sound in sounds for one in (*sound.together, *sound.apart)]
    ids = [seed.song.id for pair in pairs for seed in pair if seed.song is not None]
    # one pass over the library for all of them; a song is no example of itself
    away = [*ids, *space.missing]
    full = exemplars(store.songs.vectors(ear_id), [one.codewords for one in everything], n=3, exclude=away)
    full = {word: [song for song in songs if song in space.row_of] for word, songs in full.items()}
    listeners = _Listeners(histories)
    found = []
    for (query, other), sound in zip(pairs, sounds, strict=True):
        distance = float(np.linalg.norm(np.asarray(query.place, float) - np.asarray(other.place, float)))
        sound = replace(sound, together=_named(sound.together, full), apart=_named(sound.apart, full))
        named = {
            one.codeword: tuple(space.songs[space.row_of[song]] for song in one.songs)
            for one in (*sound.together, *sound.apart)
        }
        similarity = float(space.calibration.similarity(np.array([distance]))[0])
        overlap = listeners.overlap(query.artist_key, other.artist_key)
        same = bool(query.artist_key) and query.artist_key == other.artist_key
        found.append(Why(query.name, other.name, distance, similarity, sound, named, same, overlap))
    return found


def _named(sounds: Sequence[SoundCharacter], full: dict[int, list[int]]) -> tuple[SoundCharacter, ...]:
    return tuple(replace(one, songs=tuple(full.get(one.codeword, ()))) for one in sounds)


def _vector(store: Store, ear_id: int, seed: Seed) -> npt.NDArray[Any]:
    if seed.song is None:
        assert seed.vector is not None
        return seed.vector
    for _, vectors in store.songs.vectors(ear_id, [seed.song.id]):
        if len(vectors):
            return np.asarray(vectors[0], dtype=np.float64)
    raise LibraryError(f"{seed.name} has not been heard by this model; run `nearsong scan`.")


class _Listeners:
    """Who listens to whom, read when first asked for."""

    def __init__(self, histories: Histories) -> None:
        self._histories = histories
        self._plays: Any = None
        self._columns: dict[str, int] = {}

    def overlap(self, query: str, other: str) -> Overlap | None:
        if not query or not other or query == other or not self._histories.sources:
            return None
        if self._plays is None:
            self._plays = self._histories.listening().artist_plays.tocsc().astype(np.float64)
            self._columns = {key: column for column, key in enumerate(self._histories.catalogue.artist_keys)}
        mine, theirs = self._columns.get(query), self._columns.get(other)
        if mine is None or theirs is None:
            return None
        sizes = np.diff(self._plays.indptr)
        if not sizes[mine] or not sizes[theirs]:
            return None
        shared = np.asarray((self._plays.T @ self._plays[:, [mine]]).toarray()).ravel()
        jaccard = shared / np.maximum(sizes + sizes[mine] - shared, 1)
        jaccard[mine] = -1.0
        rank = int((jaccard > jaccard[theirs]).sum()) + 1 if jaccard[theirs] > 0 else None
        return Overlap(int(shared[theirs]), int(sizes[mine]), int(sizes[theirs]), float(jaccard[theirs]), rank)
