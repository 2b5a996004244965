"""A codebook -> what its codewords sound like: their spectrum in mel bands, and a few plain words each.

A codeword holds 13 MFCCs with their slopes and curvatures, as z-scores. Undoing the z-score and the cosine
transform gives its smoothed spectrum in dB; the first slope and curvature say whether it gets louder. Words compare a
codeword with the others of its codebook, each weighted by how often it was heard, so that they tell codewords apart.

What words cannot say:

- They are relative: in a library of string quartets, "loud" and "bright" are so for a string quartet.
- Thirteen coefficients keep the outline of a spectrum and lose its pitches: no notes, chords or instruments.
  "tone-like" means that the outline has peaks, as of a flute or a voice; a full chord may read "noise-like".
- A frame sees 23 ms and its slopes 100 ms: a hit or a fast swell, not a crescendo over bars.
- A codeword is the mean of many frames, and a middling one of a mixed bag sounds like none of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.fft

from nearsong.audio import DeltaMFCC
from nearsong.audio.mel_power import mel_bands
from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.model import SimilarityModel

FloatArray = npt.NDArray[np.float64]

# up to which frequency, and what a sound is called that has more there than others do
_REGIONS = ((160.0, "bass-heavy"), (500.0, "warm"), (2000.0, "mid-range"), (6000.0, "bright"), (np.inf, "airy"))
_SILENCE = -70.0  # dB: with every band below this there is nothing to describe
_STEADY = 0.35  # dB a frame, 30 dB a second: a slower change is none
_BROAD = 6  # cosines that make up the broad shape of a spectrum: level, tilt, bowl and waves
_BURST = 0.25  # dB a frame per frame


@dataclass(frozen=True, eq=False)
class Spectra:
    """What codewords sound like, in numbers.

    Attributes
    ----------
    levels : array of shape (n_codewords, n_mels)
        Level of each mel band in dB, full scale as the frames have it.
    average : array of shape (n_mels,)
        The mean over codewords, each as often as it was heard.
    centres : array of shape (n_mels,)
        Where the bands are, in Hz.
    slope : array of shape (n_codewords,)
        How fast the level rises, in dB a frame.
    curvature : array of shape (n_codewords,)
        How fast that changes, in dB a frame per frame: below 0 at the peak of a hit, above 0 between hits.
    shares : array of shape (n_codewords,)
        How often each was heard; sums to 1.
    """

    levels: FloatArray
    average: FloatArray
    centres: FloatArray
    slope: FloatArray
    curvature: FloatArray
    shares: FloatArray


def spectra(codebook: Codebook, features: DeltaMFCC | None = None) -> Spectra:
    """Return what the codewords of a codebook sound like, in numbers.

    Parameters
    ----------
    codebook : Codebook
        Fitted on frames of these features.
    features : DeltaMFCC, optional
        What made the frames.

    Returns
    -------
    Spectra
    """
    heard = features or DeltaMFCC()
    words = np.asarray(codebook.codewords_, dtype=np.float64)
    if words.shape[1] != heard.n_features:
        raise InvalidInputError(
            f"the codewords have {words.shape[1]} numbers and the features give {heard.n_features}; give the "
            "features that the codebook was learned from."
        )
    frames = words * codebook.scale_ + codebook.mean_
    n = heard.n_mfcc
    levels = np.asarray(scipy.fft.idct(frames[:, :n], n=heard.n_mels, norm="ortho", axis=1), dtype=np.float64)
    counts = codebook.counts_
    heard_often = np.ones(len(words)) if counts is None or counts.sum() == 0 else counts.astype(np.float64)
    shares = heard_often / heard_often.sum()
    to_level = 1 / np.sqrt(heard.n_mels)  # the first coefficient is the sum of levels divided by this root
    return Spectra(
        levels, shares @ levels, band_centres(heard), frames[:, n] * to_level, frames[:, 2 * n] * to_level, shares
    )


def mel_levels(codebook: Codebook, features: DeltaMFCC | None = None) -> FloatArray:
    """Return how much louder than the average each codeword is in each mel band (n_codewords x n_mels), in dB.

    The bands are at :func:`band_centres`.
    """
    found = spectra(codebook, features)
    return found.levels - found.average


def band_centres(features: DeltaMFCC) -> FloatArray:
    """Return the frequencies in Hz (n_mels,) that the mel bands of some features are sensitive to on average.

    Examples
    --------
    >>> band_centres(DeltaMFCC())[[0, 20, 39]].round(-1)
    array([   80.,  2070., 10160.])
    """
    bands = mel_bands(features.sample_rate, features.n_mels).astype(np.float64)
    weights, bins = bands.sum(axis=1), np.linspace(0, features.sample_rate / 2, bands.shape[1])
    filled = np.flatnonzero(weights)  # a very narrow band may lie between two bins
    centres = np.interp(np.arange(len(bands)), filled, (bands[filled] @ bins) / weights[filled])
    return np.asarray(centres, dtype=np.float64)


def describe(codebook: Codebook, features: DeltaMFCC | None = None) -> list[str]:
    """Say what each codeword sounds like, beside the others.

    Parameters
    ----------
    codebook : Codebook
        Fitted.
    features : DeltaMFCC, optional
        What made its frames.

    Returns
    -------
    list of str
        One for each codeword, such as "loud, bright, noise-like, short bursts". Codewords that differ little have
        the same words.

    Examples
    --------
    >>> quiet, loud = np.zeros(39), np.zeros(39)
    >>> quiet[0], loud[0] = -150, 150  # the first coefficient is the level
    >>> describe(Codebook.from_arrays(np.zeros(39), np.ones(39), [quiet, loud], [10, 10]))
    ['quiet, full-range, steady', 'loud, full-range, steady']
    """
    found = spectra(codebook, features)
    silent = found.levels.max(axis=1) < _SILENCE
    heard = np.where(silent, 0.0, found.shares)
    if heard.sum() > 0:  # what is silent is no measure of what is loud or bright
        shares = heard / heard.sum()
        found = replace(found, shares=shares, average=shares @ found.levels)
    parts = zip(_loudness(found), _regions(found), _textures(found), _changes(found), strict=True)
    return ["silence" if none else ", ".join(filter(None, words)) for none, words in zip(silent, parts, strict=True)]


def describe_model(model: SimilarityModel) -> list[str]:
    """Say what each codeword of a model sounds like, in the order of its histograms' columns."""
    return [words for encoder in model.encoders for words in describe(encoder.codebook, model.features)]


def _third(values: FloatArray, shares: FloatArray, least: float) -> list[int]:
    """Say which third of what is heard each codeword is in, as -1, 0 or 1; 0 within ``least`` of the middle."""
    distinct, place = np.unique(values, return_inverse=True)
    heard = np.bincount(place, shares)
    until = np.cumsum(heard)
    rank = until - heard / 2
    middle = np.mean(
        [distinct[np.searchsorted(until, 0.5 + side).clip(max=len(until) - 1)] for side in (-1e-9, 1e-9)]
    )
    third = np.where(rank < 1 / 3, -1, np.where(rank > 2 / 3, 1, 0))
    third[np.abs(distinct - middle) < least] = 0
    return [int(number) for number in third[place]]


def _loudness(found: Spectra) -> Iterator[str]:
    names = {-1: "quiet", 0: "", 1: "loud"}
    # what is heard: the power of all bands, wide ones more, and not the mean of levels
    widths = np.gradient(found.centres) if len(found.centres) > 1 else np.ones(1)
    power = 10 ** (found.levels.clip(-300, 300) / 10) @ widths
    return (names[third] for third in _third(10 * np.log10(power), found.shares, least=2.0))


def _regions(found: Spectra) -> Iterator[str]:
    """Name the region where a codeword has more, or the end where it lacks more, than is usual at its loudness."""
    shape = found.levels - found.average
    shape = shape - shape.mean(axis=1, keepdims=True)
    names, columns, low = [], [], 0.0
    for high, name in _REGIONS:
        inside = (found.centres >= low) & (found.centres < high)
        low = high
        if inside.any():
            names.append(name)
            columns.append(shape[:, inside].mean(axis=1))
    regions = np.column_stack(columns)
    strength = regions / max(float(np.sqrt(found.shares @ (regions**2).mean(axis=1))), 1e-6)
    for row in strength:
        place = int(row.argmax())
        if row[place] > 0.6:
            yield names[place]
        elif row[-1] < -0.6:
            yield "dark"
        elif row[0] < -0.6:
            yield "thin"
        else:
            yield "full-range"


def _textures(found: Spectra) -> Iterator[str]:
    """Tell a spectrum with peaks from a plain: what is left of it without its broad shape and what all have.

    What all have is no peak of anybody's: the edge where a lossy format cuts off the top, say.
    """
    cosines = scipy.fft.dct(found.levels - found.average, norm="ortho", axis=1)[:, _BROAD:]
    peaks = np.sqrt((cosines**2).sum(axis=1) / max(cosines.shape[1], 1))
    names = {-1: "noise-like", 0: "", 1: "tone-like"}
    return (names[third] for third in _third(peaks, found.shares, least=0.2))


def _changes(found: Spectra) -> Iterator[str]:
    slopes, bends = _spread_of(found.slope, found.shares), _spread_of(found.curvature, found.shares)
    for slope, bend in zip(found.slope, found.curvature, strict=True):
        if abs(bend) > max(1.2 * bends, _BURST) and abs(bend) / max(bends, 1e-9) > abs(slope) / max(slopes, 1e-9):
            yield "short bursts" if bend < 0 else "gaps between bursts"
        elif abs(slope) > max(0.4 * slopes, _STEADY):
            yield "rising" if slope > 0 else "fading"
        else:
            yield "steady"


def _spread_of(values: FloatArray, shares: FloatArray) -> float:
    return float(np.sqrt(shares @ values**2))
