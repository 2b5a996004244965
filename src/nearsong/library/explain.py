"""Two songs and a model -> which sounds bring them together and which part them.

A model places a song at ``P (m(h) - mean)``, with h its histogram, m the square root (PPK) or nothing, and P the
view's PCA and metric. For the mapped and centred songs a and b, and M = P'P summed over views,

    |P(a - b)|^2 = |Pa|^2 + |Pb|^2 - 2 <Pa, Pb>,    <Pa, Pb> = sum over codewords v of s_v,
    s_v = (a_v (M b)_v + b_v (M a)_v) / 2.

So codeword v brings the songs together by s_v > 0 and parts them by s_v < 0. The sum is exact. Which codeword gets
what is a choice, the symmetric one: M mixes codewords, and what two of them do jointly goes half to each. Codewords
that sound alike (the same words) are taken together, so that a person reads a few lines and not a thousand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nearsong.encoding import ProductKernelMap
from nearsong.errors import InvalidInputError
from nearsong.library.sound_words import describe_model
from nearsong.model import SimilarityModel
from nearsong.validation import check_count

FloatArray = npt.NDArray[np.float64]

_WORTH_A_NAME = 0.02  # of all that brings together or parts


@dataclass(frozen=True, slots=True)
class SoundCharacter:
    """A way to sound: codewords that are described by the same words.

    Attributes
    ----------
    together : bool
        Whether it brings the two together; if not, it parts them.
    codeword : int
        The one that matters most here, as a column of an encoded song.
    codewords : tuple of int
        All of them, what matters most first.
    share : float
        Its part in what brings the two together, or in what parts them.
    in_query, in_song : float
        Which part of the query and of the song sounds like this.
    usual : float
        Which part of an average song does.
    words : str
        How it sounds, beside the others.
    songs : tuple of int
        Ids of songs that are full of it; empty until somebody fills in what
        :class:`nearsong.library.fullest.LibrarySounds` has.
    """

    together: bool
    codeword: int
    codewords: tuple[int, ...]
    share: float
    in_query: float
    in_song: float
    usual: float
    words: str
    songs: tuple[int, ...] = ()

    def reason(self, query: str = "the first", song: str = "the second") -> str:
        """Return what the two have to do with it, in a few words; ``query`` and ``song`` are what they are called."""
        first, second = (part > self.usual for part in (self.in_query, self.in_song))
        amount = "more" if first else "less"
        if first == second:  # a metric links sounds, so it may expect less of one from the others that are there
            return f"both have {amount} of it than {'most' if self.together else 'their other sounds suggest'}"
        if self.together:
            return "it goes with other sounds they share"
        return f"{query if first else song} has more of it than most"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two songs are as near as they are.

    Attributes
    ----------
    together : tuple of SoundCharacter
        What brings them together, most first.
    apart : tuple of SoundCharacter
        What parts them, most first.
    distance : float
        How far they are, as the model has it.
    inner : float
        The inner product of their places, measured from the average song; ``distance**2 = query_square +
        song_square - 2 * inner``.
    query_square, song_square : float
        How far each is from the average song, squared: how unusual it is.
    """

    together: tuple[SoundCharacter, ...]
    apart: tuple[SoundCharacter, ...]
    distance: float
    inner: float
    query_square: float
    song_square: float

    @property
    def likeness(self) -> float:
        """Cosine of the two seen from the average song: 1 is unusual in the same way, 0 in unrelated ways."""
        size = np.sqrt(self.query_square * self.song_square)
        return float(np.clip(self.inner / size, -1, 1)) if size > 0 else 0.0


def contributions(
    model: SimilarityModel, query: npt.ArrayLike, song: npt.ArrayLike
) -> tuple[FloatArray, float, float]:
    """Return what each codeword brings to the inner product of two places, and the places' squares.

    Parameters
    ----------
    model : SimilarityModel
    query, song : array of shape (n_codewords,)
        Encoded songs.

    Returns
    -------
    contributions : array of shape (n_codewords,)
        s_v; they sum to the inner product.
    query_square, song_square : float
        ``|Pa|^2`` and ``|Pb|^2``.
    """
    pair = _checked(model, query, song)
    ends = np.cumsum([0] + [encoder.histogram.n_codewords for encoder in model.encoders])
    spans = [slice(int(start), int(stop)) for start, stop in pairwise(ends)]
    parts, squares = np.zeros(model.n_codewords), np.zeros(2)
    for view in model.views:
        span = spans[view.encoder]
        histograms = pair[:, span]
        mapped = ProductKernelMap().transform(histograms) if view.product_kernel else histograms
        centred = mapped - view.mean
        places = np.sqrt(view.weight) * (centred @ view.basis.T) @ view.factor.T
        pulled = np.sqrt(view.weight) * (places @ view.factor) @ view.basis  # (M a)' and (M b)'
        parts[span] += (centred[0] * pulled[1] + centred[1] * pulled[0]) / 2
        squares += (places**2).sum(axis=1)
    return parts, float(squares[0]), float(squares[1])


def explain(
    model: SimilarityModel,
    query_vector: npt.ArrayLike,
    song_vector: npt.ArrayLike,
    *,
    n: int = 5,
    words: Sequence[str] | None = None,
    usual: npt.ArrayLike | None = None,
) -> Explanation:
    """Say which sounds bring two songs together and which part them.

    Parameters
    ----------
    model : SimilarityModel
    query_vector, song_vector : array of shape (n_codewords,)
        Encoded songs.
    n : int, default=5
        How many sounds to name of each kind, at most; what has less than a fiftieth of all the say is not worth a
        name.
    words : sequence of str, optional
        What each codeword sounds like; :func:`nearsong.library.sound_words.describe_model` by default, which takes
        some milliseconds and is the same for every pair. Codewords with the same words are taken together.
    usual : array of shape (n_codewords,), optional
        The library's average encoded song, as :func:`nearsong.library.fullest.hear_library` finds it. By default
        what the model knows of it.

    Returns
    -------
    Explanation
        The other way round it is the same, with query and song exchanged.
    """
    check_count(n, "n", minimum=0)
    parts, query_square, song_square = contributions(model, query_vector, song_vector)
    query, song = _checked(model, query_vector, song_vector)
    names = list(words) if words is not None else describe_model(model)
    if len(names) != model.n_codewords:
        raise InvalidInputError(f"{len(names)} words came for {model.n_codewords} codewords; give one for each.")
    average = _usual(model) if usual is None else np.asarray(usual, dtype=np.float64)
    if average.shape != query.shape:
        raise InvalidInputError(f"usual has shape {average.shape}; one number for each of {len(query)} codewords.")
    groups, member = np.unique(names, return_inverse=True)
    sums = np.bincount(member, parts, minlength=len(groups))
    # a song's shares sum to one for every encoder: a group's is the mean over the encoders that know it
    encoder = np.repeat(np.arange(len(model.encoders)), [e.histogram.n_codewords for e in model.encoders])
    known = np.zeros((len(groups), len(model.encoders)))
    known[member, encoder] = 1
    shares = [np.bincount(member, vector) / known.sum(axis=1) for vector in (query, song, average)]

    def characters(sign: int) -> tuple[SoundCharacter, ...]:
        say = sign * sums
        found = []
        for group in np.argsort(-say, kind="stable")[:n]:
            if say[group] <= _WORTH_A_NAME * np.abs(sums).sum():
                break
            inside = np.flatnonzero(member == group)
            codewords = tuple(int(v) for v in inside[np.argsort(-sign * parts[inside], kind="stable")])
            share, (mine, theirs, most) = float(say[group] / say[say > 0].sum()), (float(p[group]) for p in shares)
            name = str(groups[group])
            found.append(SoundCharacter(sign > 0, codewords[0], codewords, share, mine, theirs, most, name))
        return tuple(found)

    inner = float(parts.sum())
    distance = float(np.sqrt(max(query_square + song_square - 2 * inner, 0.0)))
    return Explanation(characters(1), characters(-1), distance, inner, query_square, song_square)


def in_words(
    explanation: Explanation,
    name_of: Callable[[int], str] | Mapping[int, str] | None = None,
    *,
    query: str = "this song",
    song: str = "the other",
) -> list[str]:
    """Return an explanation as lines for a person, the most important first.

    Parameters
    ----------
    explanation : Explanation
    name_of : callable or mapping, optional
        What songs are called, by id; without it no examples are named.
    query, song : str
        What the two are called.
    """
    look_up = name_of.__getitem__ if isinstance(name_of, Mapping) else name_of
    lines = []
    for title, sounds in (("Together:", explanation.together), ("Apart:", explanation.apart)):
        if sounds:
            lines.append(title)
        for sound in sounds:
            line = (
                f"  {sound.words}: {_percent(sound.in_query)} of {query}, {_percent(sound.in_song)} of {song}, "
                f"{_percent(sound.usual)} of the library; {sound.reason(query, song)}"
            )
            if look_up is not None and sound.songs:
                line += f"; full of it: {', '.join(look_up(number) for number in sound.songs)}"
            lines.append(line)
    return lines


def _percent(share: float) -> str:
    """Return a share as people write it.

    Examples
    --------
    >>> _percent(0.124), _percent(0.0123), _percent(0.0), _percent(0.0002)
    ('12 %', '1.2 %', '0 %', 'under 0.1 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"


def _usual(model: SimilarityModel) -> FloatArray:
    """Return what the model knows of an average song: how often its codebooks heard each codeword."""
    parts = []
    for encoder in model.encoders:
        counts, size = encoder.codebook.counts_, encoder.histogram.n_codewords
        heard = np.ones(size) if counts is None or counts.sum() == 0 else counts.astype(np.float64)
        parts.append(heard / heard.sum())
    return np.concatenate(parts)


def _checked(model: SimilarityModel, query: npt.ArrayLike, song: npt.ArrayLike) -> FloatArray:
    """Return the two encoded songs as rows."""
    pair = [np.asarray(vector, dtype=np.float64) for vector in (query, song)]
    for vector in pair:
        if vector.shape != (model.n_codewords,) or not np.isfinite(vector).all() or vector.min() < 0:
            raise InvalidInputError(
                f"an encoded song has shape {vector.shape}, or a value that is negative or not finite; "
                f"{model.n_codewords} shares are needed, as this model's encode gives them."
            )
    return np.stack(pair)
