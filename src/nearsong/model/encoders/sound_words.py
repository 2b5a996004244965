"""A codebook -> descriptions of its codewords: their spectrum in mel bands, and a few plain words each.

A codeword holds 13 MFCCs with their slopes and curvatures, as z-scores. Undoing the z-score and the cosine
transform gives its smoothed spectrum in dB; the first slope and curvature say whether it gets louder. Words compare a
codeword with the others of its codebook, each weighted by how often it occurred, so that they distinguish codewords.

Limits of the words:

- They are relative: in a library of string quartets, "loud" and "bright" are so for a string quartet.
- Thirteen coefficients keep the outline of a spectrum and lose its pitches: no notes, chords or instruments.
  "tone-like" means that the outline has peaks, as of a flute or a voice; a full chord may read "noise-like".
- A frame sees 23 ms and its slopes 100 ms: a hit or a fast swell, not a crescendo over bars.
- A codeword is the mean of many frames, and a middling one of a mixed bag sounds like none of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.fft

from nearsong.audio import DeltaMFCC
from nearsong.audio.spectrum.mel_power import mel_bands
from nearsong.encoding import Codewords
from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray

# upper frequency, and the word for a sound with more energy in this region than others
_REGIONS = ((160.0, "bass-heavy"), (500.0, "warm"), (2000.0, "mid-range"), (6000.0, "bright"), (np.inf, "airy"))
_SILENCE = -70.0  # dB; quieter in every band is silence
_STEADY = 0.35  # dB per frame, 30 dB per second; slower changes are ignored
_BROAD = 6  # cosines that make up the broad shape of a spectrum: level, tilt, bowl and waves
_BURST = 0.25  # dB per frame squared


@dataclass(frozen=True, eq=False)
class Spectra:
    """Spectra of codewords.

    Attributes
    ----------
    levels : array of shape (n_codewords, n_mels)
        Level of each mel band in dB, full scale as the frames have it.
    average : array of shape (n_mels,)
        The mean over codewords, weighted by how often each occurred.
    centres : array of shape (n_mels,)
        Centre frequencies of the bands, in Hz.
    slope : array of shape (n_codewords,)
        How fast the level rises, in dB per frame.
    curvature : array of shape (n_codewords,)
        How fast that changes, in dB per frame squared: below 0 at the peak of a hit, above 0 between hits.
    shares : array of shape (n_codewords,)
        How often each occurred; sums to 1.
    """

    levels: FloatArray
    average: FloatArray
    centres: FloatArray
    slope: FloatArray
    curvature: FloatArray
    shares: FloatArray


def spectra(codebook: Codewords, features: DeltaMFCC | None = None) -> Spectra:
    """Return the spectra of the codewords of a codebook.

    Parameters
    ----------
    codebook : Codewords
        Fitted on frames of these features.
    features : DeltaMFCC, optional
        What computed the frames.
    """
    features = features or DeltaMFCC()
    words = np.asarray(codebook.codewords_, dtype=np.float64)
    if words.shape[1] != features.n_features:
        raise InvalidInputError(
            f"the codewords have {words.shape[1]} numbers and the features give {features.n_features}; give the "
            "features that the codebook was learned from."
        )
    frames = words * codebook.scale_ + codebook.mean_
    n = features.n_mfcc
    levels = np.asarray(scipy.fft.idct(frames[:, :n], n=features.n_mels, norm="ortho", axis=1), dtype=np.float64)
    counts = codebook.counts_
    occurrences = np.ones(len(words)) if counts is None or counts.sum() == 0 else counts.astype(np.float64)
    shares = occurrences / occurrences.sum()
    to_level = 1 / np.sqrt(features.n_mels)  # the first coefficient is the sum of levels divided by this root
    return Spectra(
        levels=levels,
        average=shares @ levels,
        centres=band_centres(features),
        slope=frames[:, n] * to_level,
        curvature=frames[:, 2 * n] * to_level,
        shares=shares,
    )


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


def describe(codebook: Codewords, features: DeltaMFCC | None = None) -> list[str]:
    """Describe the sound of each codeword, compared with the others.

    Parameters
    ----------
    codebook : Codewords
        Fitted.
    features : DeltaMFCC, optional
        What computed its frames.

    Returns
    -------
    list of str
        One for each codeword, such as "loud, bright, noise-like, short bursts". Codewords that differ little have
        the same words.

    Examples
    --------
    >>> quiet, loud = np.zeros(39), np.zeros(39)
    >>> quiet[0], loud[0] = -150, 150  # the first coefficient is the level
    >>> describe(Codewords.from_arrays(np.zeros(39), np.ones(39), [quiet, loud], [10, 10]))
    ['quiet, full-range, steady', 'loud, full-range, steady']
    """
    spectrum = spectra(codebook, features)
    silent = spectrum.levels.max(axis=1) < _SILENCE
    audible = np.where(silent, 0.0, spectrum.shares)
    if audible.sum() > 0:  # silence must not affect what counts as loud or bright
        shares = audible / audible.sum()
        spectrum = replace(spectrum, shares=shares, average=shares @ spectrum.levels)
    parts = zip(_loudness(spectrum), _regions(spectrum), _textures(spectrum), _changes(spectrum), strict=True)
    return ["silence" if none else ", ".join(filter(None, words)) for none, words in zip(silent, parts, strict=True)]


def _third(values: FloatArray, shares: FloatArray, min_difference: float) -> list[int]:
    """Return the third of all frames of each codeword: -1, 0 or 1; 0 if within ``min_difference`` of the median."""
    distinct, position = np.unique(values, return_inverse=True)
    weights = np.bincount(position, shares)
    until = np.cumsum(weights)
    rank = until - weights / 2
    middle = np.mean(
        [distinct[np.searchsorted(until, 0.5 + side).clip(max=len(until) - 1)] for side in (-1e-9, 1e-9)]
    )
    third = np.where(rank < 1 / 3, -1, np.where(rank > 2 / 3, 1, 0))
    third[np.abs(distinct - middle) < min_difference] = 0
    return [int(number) for number in third[position]]


def _loudness(spectrum: Spectra) -> Iterator[str]:
    names = {-1: "quiet", 0: "", 1: "loud"}
    # the power of all bands, wide ones more, is nearer to loudness than the mean of levels
    widths = np.gradient(spectrum.centres) if len(spectrum.centres) > 1 else np.ones(1)
    power = 10 ** (spectrum.levels.clip(-300, 300) / 10) @ widths
    return (names[third] for third in _third(10 * np.log10(power), spectrum.shares, min_difference=2.0))


def _regions(spectrum: Spectra) -> Iterator[str]:
    """Name the region in which a codeword has more energy than average, or the end at which it has less."""
    shape = spectrum.levels - spectrum.average
    shape = shape - shape.mean(axis=1, keepdims=True)
    names, columns, low = [], [], 0.0
    for high, name in _REGIONS:
        inside = (spectrum.centres >= low) & (spectrum.centres < high)
        low = high
        if inside.any():
            names.append(name)
            columns.append(shape[:, inside].mean(axis=1))
    regions = np.column_stack(columns)
    strength = regions / max(float(np.sqrt(spectrum.shares @ (regions**2).mean(axis=1))), 1e-6)
    for row in strength:
        strongest = int(row.argmax())
        if row[strongest] > 0.6:
            yield names[strongest]
        elif row[-1] < -0.6:
            yield "dark"
        elif row[0] < -0.6:
            yield "thin"
        else:
            yield "full-range"


def _textures(spectrum: Spectra) -> Iterator[str]:
    """Distinguish spectra with peaks from flat ones, after removing the broad shape and the average of all codewords.

    Features of the average, such as the edge at which a lossy format cuts off high frequencies, are not peaks.
    """
    cosines = scipy.fft.dct(spectrum.levels - spectrum.average, norm="ortho", axis=1)[:, _BROAD:]
    peaks = np.sqrt((cosines**2).sum(axis=1) / max(cosines.shape[1], 1))
    names = {-1: "noise-like", 0: "", 1: "tone-like"}
    return (names[third] for third in _third(peaks, spectrum.shares, min_difference=0.2))


def _changes(spectrum: Spectra) -> Iterator[str]:
    slopes, bends = _spread_of(spectrum.slope, spectrum.shares), _spread_of(spectrum.curvature, spectrum.shares)
    for slope, bend in zip(spectrum.slope, spectrum.curvature, strict=True):
        if abs(bend) > max(1.2 * bends, _BURST) and abs(bend) / max(bends, 1e-9) > abs(slope) / max(slopes, 1e-9):
            yield "short bursts" if bend < 0 else "gaps between bursts"
        elif abs(slope) > max(0.4 * slopes, _STEADY):
            yield "rising" if slope > 0 else "fading"
        else:
            yield "steady"


def _spread_of(values: FloatArray, shares: FloatArray) -> float:
    return float(np.sqrt(shares @ values**2))
