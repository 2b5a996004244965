"""Why two songs are near: the sound characters they share, and who listens to both."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import LibraryError
from nearsong.library.explain import Explanation, SoundCharacter, explain, in_words
from nearsong.library.fullest import LibrarySounds
from nearsong.library.overlaps import Listeners, Overlap
from nearsong.library.recommend import Seed
from nearsong.library.records import Song
from nearsong.library.space import Space
from nearsong.library.store import Store

SHOWN = 3
"""Sounds named in the words; the record has them all."""


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
    of_both = f"of the {overlap.query:,} and {overlap.other:,} listeners of the two"
    if overlap.rank is None:
        return f"listeners: none {of_both} plays both"
    plays = "plays" if overlap.shared == 1 else "play"
    rank = "the nearest artist" if overlap.rank == 1 else f"the {_ordinal(overlap.rank)} nearest artist"
    return f"listeners: {overlap.shared:,} {of_both} {plays} both, which makes it {rank} by listeners"


def _ordinal(number: int) -> str:
    """Return a number as a place in a row.

    >>> [_ordinal(number) for number in (2, 3, 11, 21, 1012, 1103)]
    ['2nd', '3rd', '11th', '21st', '1,012th', '1,103rd']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def explain_pairs(
    store: Store,
    space: Space,
    ear_id: int,
    pairs: Sequence[tuple[Seed, Seed]],
    listeners: Listeners,
    sounds: LibrarySounds,
) -> list[Why]:
    """Explain pairs of songs.

    Parameters
    ----------
    store : Store
        Has the songs' vectors.
    space : Space
        Where the seeds are.
    ear_id : int
        The ear of its model.
    pairs : sequence of (Seed, Seed)
    listeners : Listeners
    sounds : LibrarySounds
        What the library sounds like to that ear.
    """
    vectors = _vectors(store, ear_id, pairs)
    found = []
    for query, other in pairs:
        sound = explain(
            space.model, _vector(query, vectors), _vector(other, vectors), words=sounds.words, usual=sounds.usual
        )
        themselves = {seed.song.id for seed in (query, other) if seed.song is not None}  # no examples of themselves
        sound = replace(
            sound,
            together=tuple(replace(one, songs=sounds.examples(one.words, 3, themselves)) for one in sound.together),
            apart=tuple(replace(one, songs=sounds.examples(one.words, 3, themselves)) for one in sound.apart),
        )
        named = {
            one.codeword: tuple(space.songs[space.row_of[song]] for song in one.songs)
            for one in (*sound.together, *sound.apart)
        }
        distance = float(np.linalg.norm(np.asarray(query.place, float) - np.asarray(other.place, float)))
        similarity = float(space.calibration.similarity(np.array([distance]))[0])
        overlap = listeners.overlap(query.artist_key, other.artist_key)
        same = bool(query.artist_key) and query.artist_key == other.artist_key
        found.append(Why(query.name, other.name, distance, similarity, sound, named, same, overlap))
    return found


def _vectors(store: Store, ear_id: int, pairs: Sequence[tuple[Seed, Seed]]) -> dict[int, npt.NDArray[np.float32]]:
    """Read what the songs of some pairs sound like."""
    ids = {seed.song.id for pair in pairs for seed in pair if seed.song is not None}
    blocks = store.songs.vectors(ear_id, ids)
    return {song: row for numbers, rows in blocks for song, row in zip(numbers.tolist(), rows, strict=True)}


def _vector(seed: Seed, vectors: dict[int, npt.NDArray[np.float32]]) -> npt.NDArray[Any]:
    heard = seed.vector if seed.song is None else vectors.get(seed.song.id)
    if heard is None:
        raise LibraryError(f"{seed.name} has not been heard by this model; run `nearsong scan`.")
    return np.asarray(heard, dtype=np.float64)
