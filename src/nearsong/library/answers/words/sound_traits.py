"""Spectral patterns of songs -> words that hold for their sound: drum-driven or without drums, bright or dark, ...

A trait is a difference of levels in dB between parts of a song's spectral pattern, and its two words are opposites. A
song above the upper limit has one, below the lower limit the other, and between the limits none. Patterns are
relative to the song's own loudness, so the limits are the same in every library: "without drums" is not said of a
band because the other songs of a library have louder drums.

Only traits that separate what people say of music have a word (`benchmarks/bench_traits.py`, docs/results.md). One
more word, with no opposite, is learned: `nearsong.library.answers.words.voice`. Tempo, changes of loudness and
whether anybody sings at all have none: the vectors of the default encoders do not tell them well enough.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from nearsong.caching import cached_property
from nearsong.library.answers.words.voice import VOICE_WORD, has_voice, voice_values
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.model.encoders.spectral_pattern import BLOCK_FRAMES, SpectralPatternEncoder
from nearsong.types import FloatArray

Signs = npt.NDArray[np.int8]

_BASS, _LOW, _MIDDLE, _TREBLE, _HIGH = (0.0, 160.0), (160.0, 500.0), (500.0, 2e3), (2e3, 6e3), (6e3, np.inf)
_QUIETEST, _TYPICAL, _LOUDEST = (0,), (4, 5), (BLOCK_FRAMES - 1,)

_Band = tuple[float, float]
_Part = tuple[float, Sequence[_Band], Sequence[int]]  # factor, bands in Hz, ranks of moments in a block


@dataclass(frozen=True)
class Trait:
    """A difference in sound with a word at either end.

    Attributes
    ----------
    name : str
        What it is about.
    low, high : str
        The words.
    below, above : float
        Songs below the one have the low word, above the other the high one; in dB.
    parts : sequence of (factor, bands, moments)
        Means of levels whose weighted sum is the value.
    """

    name: str
    low: str
    high: str
    below: float
    above: float
    parts: Sequence[_Part]

    def weights(self, centres: FloatArray) -> FloatArray:
        """Return what each number of a pattern counts, (n_bands * 10,); ``centres`` are the bands' in Hz."""
        total = np.zeros((len(centres), BLOCK_FRAMES))
        for factor, bands, moments in self.parts:
            inside = np.zeros(total.shape)
            for low, high in bands:
                inside[np.ix_((centres >= low) & (centres < high), np.array(moments))] = 1
            total += factor * inside / max(1.0, inside.sum())
        return total.ravel()


TRAITS = (
    Trait(
        name="drums",
        low="without drums",
        high="drum-driven",
        below=-18.0,
        above=9.0,
        parts=((1, [_BASS], _LOUDEST), (1, [_HIGH], _LOUDEST), (-2, [_LOW, _MIDDLE], _TYPICAL)),
    ),
    Trait(
        name="instruments",
        low="acoustic",
        high="electric",
        below=-20.0,
        above=-5.0,
        parts=((1, [_TREBLE], _TYPICAL), (1, [_BASS], _TYPICAL), (-2, [_LOW], _TYPICAL)),
    ),
    Trait(
        name="brightness",
        low="dark",
        high="bright",
        below=-27.0,
        above=-19.0,
        parts=((1, [_TREBLE, _HIGH], _TYPICAL), (-1, [_BASS, _LOW], _TYPICAL)),
    ),
    Trait(
        name="attack",
        low="sustained",
        high="punchy",
        below=9.5,
        above=13.5,
        parts=((1, [(0.0, np.inf)], _LOUDEST), (-1, [(0.0, np.inf)], _QUIETEST)),
    ),
    Trait(
        name="bass",
        low="light on bass",
        high="bass-heavy",
        below=14.5,
        above=23.0,
        parts=((1, [_BASS], _LOUDEST), (-1, [_MIDDLE], _TYPICAL)),
    ),
)
"""All traits; no two words of different traits are opposites."""


def trait_values(patterns: npt.ArrayLike, centres: npt.ArrayLike) -> FloatArray:
    """Return the values (n_songs, n_traits), in dB, of spectral patterns (n_songs, n_bands * 10) in dB."""
    weights = np.stack([trait.weights(np.asarray(centres, dtype=np.float64)) for trait in TRAITS], axis=1)
    return np.asarray(np.asarray(patterns, dtype=np.float64) @ weights)


def trait_signs(values: npt.ArrayLike) -> Signs:
    """Return 1 for the high word of each trait, -1 for the low one and 0 for none; values (n_songs, n_traits)."""
    rows = np.asarray(values, dtype=np.float64)
    below, above = (np.array([getattr(trait, side) for trait in TRAITS]) for side in ("below", "above"))
    return ((rows > above).astype(np.int8) - (rows < below)).astype(np.int8)  # NaN is neither


_WORDS = (*((trait.low, trait.high) for trait in TRAITS), ("", VOICE_WORD))


def trait_word(number: int, sign: int) -> str:
    """Return the word of the trait with a number, for a sign; the last number is the voice's, which is 0 or 1."""
    return _WORDS[number][int(sign > 0)]


@dataclass(frozen=True, eq=False)
class SongTraits:
    """The traits of the songs of a library; made by :meth:`measure`.

    Attributes
    ----------
    encoder : SpectralPatternEncoder
    ids : array of int64 and shape (n_songs,)
        Songs that the encoder has analysed, ascending.
    signs : array of int8 and shape (n_songs, n_traits + 1)
        As :func:`trait_signs` returns them, and 1 for songs with the word of the voice.
    voices : GaussianEncoder or None
        Whose vectors tell voices; without it no song has that word.
    """

    encoder: SpectralPatternEncoder
    ids: npt.NDArray[np.int64]
    signs: Signs
    voices: GaussianEncoder | None = None

    @classmethod
    def measure(
        cls,
        encoder: SpectralPatternEncoder,
        blocks: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]],
        songs: npt.NDArray[np.int64],
    ) -> "SongTraits":
        """Compute the traits of a library in one pass over its vectors.

        Parameters
        ----------
        encoder : SpectralPatternEncoder
        blocks : iterable of (ids of shape (m,), vectors of shape (m, n_dimensions))
        songs : array of int
            Ids of the songs to include; others are skipped.
        """
        ids, rows = [np.empty(0, np.int64)], [np.empty((0, len(_WORDS)), np.int8)]
        for numbers, vectors in blocks:
            included = np.isin(numbers, songs)
            if included.any():
                ids.append(numbers[included])
                rows.append(_signs_of(encoder, vectors[included]))
        return cls(encoder, np.concatenate(ids), np.concatenate(rows))

    def with_voices(
        self, encoder: GaussianEncoder, blocks: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]
    ) -> "SongTraits":
        """Return the same with the word of the voice, from one pass over the vectors of another encoder."""
        signs = self.signs.copy()
        for numbers, vectors in blocks:
            rows = np.searchsorted(self.ids, numbers).clip(max=max(0, len(self.ids) - 1))
            known = np.isin(numbers, self.ids)
            signs[rows[known], -1] = has_voice(voice_values(encoder, vectors[known]))
        return replace(self, signs=signs, voices=encoder)

    @cached_property
    def _shares(self) -> FloatArray:
        """How much of the library has the low and the high word of each trait, (2, n_traits + 1)."""
        return np.stack([(self.signs == sign).sum(axis=0) / max(1, len(self.ids)) for sign in (-1, 1)])

    def of_song(self, song: int) -> Signs | None:
        """Return the signs (n_traits + 1,) of a song by its id; None if the encoder has not analysed it."""
        row = int(np.searchsorted(self.ids, song))
        return self.signs[row] if row < len(self.ids) and self.ids[row] == song else None

    def of_vectors(self, vectors: Mapping[str, npt.NDArray[np.floating]]) -> Signs | None:
        """Return the signs (n_traits + 1,) of a song by its vectors, by encoders' keys; None without the pattern."""
        pattern = vectors.get(self.encoder.key)
        if pattern is None:
            return None
        signs = _signs_of(self.encoder, pattern[None]).ravel()
        gaussian = None if self.voices is None else vectors.get(self.voices.key)
        if self.voices is not None and gaussian is not None:
            signs[-1] = has_voice(voice_values(self.voices, gaussian[None]))[0]
        return signs

    def compared(self, first: Signs, second: Signs) -> "TraitPair":
        """Return which words two songs share and which are opposites, those that fewest songs have first."""
        signs: list[tuple[int, int]] = list(zip(first.tolist(), second.tolist(), strict=True))
        by_rarity = sorted(range(len(signs)), key=lambda number: (self._share_of(number, *signs[number]), number))
        shared = [trait_word(number, signs[number][0]) for number in by_rarity if abs(sum(signs[number])) == 2]
        opposed = [
            (trait_word(number, one), trait_word(number, other))
            for number, (one, other) in ((number, signs[number]) for number in by_rarity)
            if one * other < 0
        ]
        return TraitPair(tuple(shared), tuple(opposed))

    def _share_of(self, number: int, first: int, second: int) -> float:
        low, high = self._shares[:, number]
        return float((low if first < 0 else high) * (low if second < 0 else high))


@dataclass(frozen=True)
class TraitPair:
    """What words say of two songs.

    Attributes
    ----------
    shared : tuple of str
        Words of both.
    opposed : tuple of (str, str)
        A word of the first song and its opposite, of the second.
    """

    shared: tuple[str, ...] = ()
    opposed: tuple[tuple[str, str], ...] = ()


def _signs_of(encoder: SpectralPatternEncoder, vectors: npt.NDArray[np.floating]) -> Signs:
    scores = encoder.scores
    patterns = np.asarray(vectors, dtype=np.float64) * scores.scale + scores.mean
    signs = trait_signs(trait_values(patterns, encoder.features.band_centres()))
    return np.hstack([signs, np.zeros((len(signs), 1), np.int8)])
