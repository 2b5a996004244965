"""Two songs and a model -> which sounds make them similar and which make them different.

A model embeds a song at ``P (phi(x) - mean)``, with x its vector, phi the encoder's map (the square root for
histograms of codewords) and P the projection's PCA and metric. For the mapped and centred songs a and b, and M = P'P
summed over projections,

    |P(a - b)|^2 = |Pa|^2 + |Pb|^2 - 2 <Pa, Pb>,    <Pa, Pb> = sum over dimensions v of s_v,
    s_v = (a_v (M b)_v + b_v (M a)_v) / 2.

So dimension v makes the songs more similar if s_v > 0 and less similar if s_v < 0. The sum is exact. The attribution
to dimensions is a choice, the symmetric one: M mixes dimensions, and the joint effect of two of them is split evenly.
Dimensions with the same label (codewords that sound alike) are grouped, so that an explanation has a few lines
instead of a thousand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model import MetricProjector, SimilarityModel, SongEncoder
from nearsong.types import FloatArray
from nearsong.validation import check_count

_MIN_SHARE = 0.02  # of the sum of absolute contributions


@dataclass(frozen=True, slots=True)
class SoundCharacter:
    """A sound character: the dimensions of a song vector that share a label.

    Attributes
    ----------
    is_similarity : bool
        Whether it makes the two songs more similar; otherwise it makes them less similar.
    dimension : int
        The dimension with the largest contribution.
    dimensions : tuple of int
        All dimensions of the label, the largest contribution first.
    share : float
        Its share of all positive contributions, or of all negative ones.
    in_query, in_song, in_library : float or None
        Share of the query, of the song and of an average song that sounds like this; None if the encoder does not
        measure shares.
    words : str
        The label.
    songs : tuple of int
        Ids of example songs with much of it; empty until filled in from
        :class:`nearsong.library.answers.why.library_sounds.LibrarySounds`.
    """

    is_similarity: bool
    dimension: int
    dimensions: tuple[int, ...]
    share: float
    in_query: float | None
    in_song: float | None
    in_library: float | None
    words: str
    songs: tuple[int, ...] = ()

    @property
    def is_above_average(self) -> tuple[bool, bool] | None:
        """Whether the query and the song have more of it than average; None if the encoder measures no shares."""
        if self.in_query is None or self.in_song is None or self.in_library is None:
            return None
        return self.in_query > self.in_library, self.in_song > self.in_library

    def reason(self, query: str = "the first", song: str = "the second") -> str:
        """Return how the two songs relate to it, in a few words; ``query`` and ``song`` name them."""
        if self.is_above_average is None:
            return "the songs are similar in this" if self.is_similarity else "the songs differ in this"
        first, second = self.is_above_average
        amount = "more" if first else "less"
        # a metric links sounds: both songs may have more of one than average, yet less than their others predict
        if first == second:
            expected = "most songs" if self.is_similarity else "their other sounds suggest"
            return f"both have {amount} of it than {expected}"
        if self.is_similarity:
            return "it is related to other sounds they share"
        return f"{query if first else song} has more of it than most songs"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two songs are as near as they are.

    Attributes
    ----------
    similarities : tuple of SoundCharacter
        What makes them similar, the largest share first.
    differences : tuple of SoundCharacter
        What makes them different, the largest share first.
    distance : float
        Distance of their embeddings under the model.
    inner : float
        The inner product of their embeddings, measured from the average song; ``distance**2 = query_square +
        song_square - 2 * inner``.
    query_square, song_square : float
        Squared distance of each from the average song: how unusual it is.
    """

    similarities: tuple[SoundCharacter, ...]
    differences: tuple[SoundCharacter, ...]
    distance: float
    inner: float
    query_square: float
    song_square: float


def contributions(
    model: SimilarityModel, query: npt.ArrayLike, song: npt.ArrayLike
) -> tuple[FloatArray, float, float]:
    """Return the contribution of each dimension to the inner product of two embeddings, and their squared norms.

    Parameters
    ----------
    model : SimilarityModel
    query, song : array of shape (n_dimensions,)
        Encoded songs.

    Returns
    -------
    contributions : array of shape (n_dimensions,)
        s_v; they sum to the inner product.
    query_square, song_square : float
        ``|Pa|^2`` and ``|Pb|^2``.
    """
    projector = model.projector
    if not isinstance(projector, MetricProjector):
        raise InvalidInputError(f"a model of kind {projector.kind!r} has no contributions of single dimensions.")
    mapped = projector.mapped(model.encoder, _pair(model, query, song))
    ends = np.cumsum([0] + [encoder.n_dimensions for encoder in model.encoder.encoders]).tolist()
    parts, squares = np.zeros(model.n_dimensions), np.zeros(2)
    for projection, rows in zip(projector.projections, mapped, strict=True):
        centred = rows - projection.mean
        embeddings = np.sqrt(projection.weight) * (centred @ projection.basis.T) @ projection.factor.T
        pulled = np.sqrt(projection.weight) * (embeddings @ projection.factor) @ projection.basis  # (M a)' and (M b)'
        start, stop = ends[projection.encoder_index : projection.encoder_index + 2]
        parts[start:stop] += (centred[0] * pulled[1] + centred[1] * pulled[0]) / 2
        squares += (embeddings**2).sum(axis=1)
    return parts, float(squares[0]), float(squares[1])


def explain(
    model: SimilarityModel,
    query_vector: npt.ArrayLike,
    song_vector: npt.ArrayLike,
    *,
    n: int = 5,
    words: Sequence[str] | None = None,
    average: npt.ArrayLike | None = None,
) -> Explanation:
    """Return which sounds make two songs similar and which make them different.

    Parameters
    ----------
    model : SimilarityModel
    query_vector, song_vector : array of shape (n_dimensions,)
        Encoded songs.
    n : int, default=5
        At most this many sounds of each kind; those with less than 2 % of all contributions are left out.
    words : sequence of str, optional
        The label of each dimension; by default the encoder's, which take some milliseconds to compute
        and are the same for every pair. Dimensions with the same label are grouped. Without labels the explanation
        names no sounds.
    average : array of shape (n_dimensions,), optional
        The library's average song vector, from `measure_library_sounds`; by default the encoder's typical vector.

    Returns
    -------
    Explanation
        Symmetric: swapping the arguments only swaps query and song.
    """
    check_count(n, "n", minimum=0)
    parts, query_square, song_square = contributions(model, query_vector, song_vector)
    inner = float(parts.sum())
    distance = float(np.sqrt(max(query_square + song_square - 2 * inner, 0.0)))
    labels = words if words is not None else model.encoder.labels()
    similarities: tuple[SoundCharacter, ...] = ()
    differences: tuple[SoundCharacter, ...] = ()
    if labels is not None:
        if len(labels) != model.n_dimensions:
            raise InvalidInputError(
                f"{len(labels)} labels given for {model.n_dimensions} dimensions; give one for each."
            )
        pair = _pair(model, query_vector, song_vector)
        similarities, differences = _both_kinds(model.encoder, pair, parts, labels, average, n)
    return Explanation(
        similarities=similarities,
        differences=differences,
        distance=distance,
        inner=inner,
        query_square=query_square,
        song_square=song_square,
    )


def shared_sounds(
    encoder: SongEncoder, pair: npt.NDArray[Any], words: Sequence[str], average: npt.ArrayLike, n: int = 5
) -> tuple[tuple[SoundCharacter, ...], tuple[SoundCharacter, ...]]:
    """Describe what two songs have in common, and how they differ, by an encoder that a model does not compare.

    The contributions are those to the inner product of the mapped vectors, measured from the average song.

    Parameters
    ----------
    encoder : SongEncoder
        Of the vectors, such as one of codewords.
    pair : array of shape (2, n_dimensions)
        Song vectors.
    words : sequence of str
        The label of each dimension.
    average : array of shape (n_dimensions,)
        The library's average song vector.
    n : int, default=5
        At most this many sounds of each kind.
    """
    rows = np.asarray(pair, dtype=np.float64)
    mapped = encoder.phi(np.vstack([rows, np.asarray(average, dtype=np.float64)]))
    parts = (mapped[0] - mapped[2]) * (mapped[1] - mapped[2])
    return _both_kinds(encoder, rows, parts, words, average, n)


def _both_kinds(
    encoder: SongEncoder,
    pair: FloatArray,
    parts: FloatArray,
    labels: Sequence[str],
    average: npt.ArrayLike | None,
    n: int,
) -> tuple[tuple[SoundCharacter, ...], tuple[SoundCharacter, ...]]:
    """Return the sounds that make two songs similar, and those that make them different."""
    groups, member = _groups(tuple(labels))
    shares = _shares(encoder, pair, average, member)
    return _characters(1, parts, groups, member, shares, n), _characters(-1, parts, groups, member, shares, n)


@lru_cache(maxsize=4)  # the labels of an encoder are the same for every pair, and sorting them takes longest
def _groups(labels: tuple[str, ...]) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.int64]]:
    """Return the different labels, and the number of each dimension's label among them."""
    return np.unique(np.array(labels), return_inverse=True)


def _shares(
    encoder: SongEncoder, pair: FloatArray, average: npt.ArrayLike | None, member: npt.NDArray[np.int64]
) -> FloatArray | None:
    """Return the share of each group of dimensions in the query, the song and an average song (3 x groups)."""
    if not encoder.has_shares:
        return None
    typical = np.asarray(encoder.typical_vector() if average is None else average, dtype=np.float64)
    if typical.shape != (encoder.n_dimensions,):
        raise InvalidInputError(
            f"average has shape {typical.shape}; one number for each of {encoder.n_dimensions} dimensions is needed."
        )
    # shares sum to one for each encoder, so a group's share is the mean over the encoders that contain it
    encoders = encoder.encoders
    numbers = np.repeat(np.arange(len(encoders)), [single.n_dimensions for single in encoders])
    in_encoder = np.zeros((member.max() + 1, len(encoders)))
    in_encoder[member, numbers] = 1
    return np.stack([np.bincount(member, vector) / in_encoder.sum(axis=1) for vector in (*pair, typical)])


def _characters(
    sign: int,
    parts: FloatArray,
    groups: npt.NDArray[np.str_],
    member: npt.NDArray[np.int64],
    shares: FloatArray | None,
    n: int,
) -> tuple[SoundCharacter, ...]:
    """Return the groups with positive (sign 1) or negative (sign -1) contributions, the largest first."""
    sums = np.bincount(member, parts, minlength=len(groups))
    weights = sign * sums
    least, total = _MIN_SHARE * np.abs(sums).sum(), weights[weights > 0].sum()
    characters = []
    for group in np.argsort(-weights, kind="stable")[:n]:
        if weights[group] <= least:
            break
        inside = np.flatnonzero(member == group)
        dimensions = tuple(inside[np.argsort(-sign * parts[inside], kind="stable")].tolist())
        in_query, in_song, in_library = (
            (None,) * 3 if shares is None else (float(share) for share in shares[:, group])
        )
        characters.append(
            SoundCharacter(
                is_similarity=sign > 0,
                dimension=dimensions[0],
                dimensions=dimensions,
                share=float(weights[group] / total),
                in_query=in_query,
                in_song=in_song,
                in_library=in_library,
                words=str(groups[group]),
            )
        )
    return tuple(characters)


def in_words(
    explanation: Explanation,
    name_of: Callable[[int], str] | Mapping[int, str] | None = None,
    *,
    query: str = "this song",
    song: str = "the other song",
) -> list[str]:
    """Return an explanation as lines of text, the most important first.

    Parameters
    ----------
    explanation : Explanation
    name_of : callable or mapping, optional
        Song id -> name; without it no examples are named.
    query, song : str
        Names of the two songs.
    """
    look_up = name_of.__getitem__ if isinstance(name_of, Mapping) else name_of
    lines = []
    for title, sounds in (("In common", explanation.similarities), ("Different", explanation.differences)):
        if sounds:  # words of codewords are relative, and labels of whole songs do not bear all of them out
            lines.append(
                f"{title}:" if sounds[0].in_query is None else f"{title}, in words for the library's own sounds:"
            )
        for sound in sounds:
            shares = ""
            if sound.in_query is not None and sound.in_song is not None and sound.in_library is not None:
                shares = (
                    f"{_percent(sound.in_query)} of {query}, {_percent(sound.in_song)} of {song}, "
                    f"{_percent(sound.in_library)} of the library; "
                )
            line = f"  {sound.words}: {shares}{sound.reason(query, song)}"
            if look_up is not None and sound.songs:
                line += f"; examples: {', '.join(look_up(number) for number in sound.songs)}"
            lines.append(line)
    return lines


def _percent(share: float) -> str:
    """Return a share as a rounded percentage.

    Examples
    --------
    >>> _percent(0.124), _percent(0.0123), _percent(0.0), _percent(0.0002)
    ('12 %', '1.2 %', '0 %', 'under 0.1 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"


def _pair(model: SimilarityModel, query: npt.ArrayLike, song: npt.ArrayLike) -> FloatArray:
    """Return the two song vectors as rows."""
    pair = [np.asarray(vector, dtype=np.float64) for vector in (query, song)]
    for vector in pair:
        if vector.shape != (model.n_dimensions,) or not np.isfinite(vector).all():
            raise InvalidInputError(
                f"a song vector has shape {vector.shape}, or a value that is not finite; give "
                f"{model.n_dimensions} numbers, as encoded by this model."
            )
    return np.stack(pair)
