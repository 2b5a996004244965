"""Gaussians of songs -> how much they sound as if women sang in them, learned from songs that listeners tagged.

Ridge regression of the tag "female vocalists" on 90 numbers of a song: the means of 12 MFCCs, all but the first,
which is loudness, and the logarithm of their covariance. The numbers mean the same in every library, since the units
that an encoder learned from the library's own songs are undone: exactly for means, and to first order for the
logarithm, which gets ``2 log(scale)`` on its diagonal. What remains is less than one percent of the spread among
songs, even where an encoder learned from a single genre. `benchmarks/bench_traits.py --table` prints the weights,
docs/results.md says how well they hold.
"""

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC
from nearsong.encoding.log_gaussian import triangle
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.types import FloatArray

VOICE_WORD = "sung by women"

MIN_VOICE, MAX_VOICE = 0.45, 1.25
"""Songs between these values have the word: 1 is what tagged songs have on average, and far above it is no music."""

_N_MFCC = DeltaMFCC().n_mfcc


def voice_numbers(vectors: npt.ArrayLike, scales: npt.ArrayLike) -> FloatArray:
    """Return the numbers (n_songs, 90) of song vectors (n_songs, n_dimensions) of a Gaussian encoder.

    Parameters
    ----------
    vectors : array of shape (n_songs, n_dimensions)
    scales : array of shape (n_features,)
        The units of the encoder: the typical deviation of each feature within a song.
    """
    rows, units = np.asarray(vectors, dtype=np.float64), np.asarray(scales, dtype=np.float64)
    first, second, _ = triangle(len(units))
    logarithms = rows[:, len(units) :] + np.where(first == second, 2 * np.log(units)[first], 0.0)
    inside = (first > 0) & (second < _N_MFCC)
    return np.hstack([rows[:, 1:_N_MFCC] * units[1:_N_MFCC], logarithms[:, inside]])


def voice_values(encoder: GaussianEncoder, vectors: npt.ArrayLike) -> FloatArray:
    """Return how much songs sound as if women sang, (n_songs,): 1 for those that are tagged so, 0 for others.

    NaN if the encoder reads other features than the weights were learned from.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if encoder.features.parameters() != DeltaMFCC().parameters():
        return np.full(len(rows), np.nan)
    return np.asarray(voice_numbers(rows, encoder.gaussian.scales) @ _WEIGHTS + _CONSTANT)


def has_voice(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which values have the word.

    >>> has_voice([0.2, 0.6, 9.0, float("nan")]).tolist()
    [False, True, False, False]
    """
    numbers = np.asarray(values, dtype=np.float64)
    return np.asarray((numbers > MIN_VOICE) & (numbers < MAX_VOICE))


_CONSTANT = 0.2670

_TABLE = """
-0.001385 0.002012 -0.004234 0.0004604 -0.004322 0.00307 -0.0007489 0.005332 0.003498 -0.009118 -0.00211 0.004507
-0.02079 -0.002777 0.02422 0.03363 -0.02038 0.07899 -0.1001 0.02416 0.09508 -0.03941 0.08983 0.0129
0.01031 0.08207 0.07252 -0.008628 -0.04147 -0.03619 -0.01042 -0.02464 0.06167 0.01018 -0.01802 -0.004851
-0.006976 0.01757 -0.006404 0.1105 -0.09332 -0.173 0.1408 0.02618 -0.07094 -0.02851 -0.06731 -0.02451
0.1323 -0.08498 -0.06586 0.06154 0.03204 0.06789 0.1176 -0.05125 -0.006347 -0.05314 0.003651 0.07324
-0.1017 0.1525 -0.05736 -0.08171 0.08367 -0.04557 -0.08989 0.01324 -0.02092 0.05092 -0.02564 -0.06209
0.08964 0.02153 -0.08205 -0.01743 0.006658 -0.06813 -0.04121 0.1099 0.04614 -0.08889 -0.04125 0.04513
-0.01184 0.06471 0.01298 0.005303 0.05796 -0.04041
"""

_WEIGHTS = np.array(_TABLE.split(), dtype=np.float64)
"""What each number counts: 12 means, then the upper triangle of the logarithm, row by row."""
