"""Tastes -> frames or vectors: every song is a mixture of the same sounds, with weights that depend on its taste.

There are K sounds ("atoms"), each a Gaussian in the space of 13 MFCCs. A song with taste s has the weights
``softmax(strength * A s + nuisance * B r)``, where r describes the recording, is drawn for each song and is unrelated
to taste. A distance that weights all sounds equally depends on both; a learned one can separate them.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.signal

from nearsong.types import FloatArray

# Typical mean and standard deviation of each MFCC in music.
_MEAN = np.array([-200.0, 65.0, -5.0, 20.0, 0.0, 8.0, -2.0, 5.0, -3.0, 4.0, -3.0, 3.0, -2.0])
_STD = np.array([80.0, 26.0, 19.0, 13.0, 10.5, 9.5, 8.5, 8.0, 7.5, 7.0, 6.5, 6.5, 6.0])
_BETWEEN_STD, _WITHIN_STD = 0.85, 0.5  # relative to _STD: between atoms, and around an atom
_AUTOCORRELATION = 0.8  # of successive frames around their atom
_REPEAT_PROBABILITY = 0.5  # that the next frame has the same atom
_GAIN_STD = 0.1  # relative to that of the first MFCC: differences in loudness between recordings
_RECORDING_DIM = 4
_VECTOR_NOISE_STD = 0.5


@dataclass(frozen=True, eq=False)
class SoundBank:
    """The sounds of all songs; the same for all data sets with the same number of atoms and dimension of taste.

    Attributes
    ----------
    centres : array of shape (n_atoms, 13)
        The atoms.
    of_taste : array of shape (n_atoms, taste_dim)
        A: influence of taste on the weights.
    of_recording : array of shape (n_atoms, 4)
        B: influence of the recording on the weights.
    """

    centres: FloatArray
    of_taste: FloatArray
    of_recording: FloatArray

    @classmethod
    def make(cls, n_atoms: int, taste_dim: int) -> Self:
        """Draw the bank."""
        random = np.random.default_rng([n_atoms, taste_dim])
        return cls(
            _MEAN + _BETWEEN_STD * _STD * random.standard_normal((n_atoms, len(_MEAN))),
            random.standard_normal((n_atoms, taste_dim)) / np.sqrt(taste_dim),
            random.standard_normal((n_atoms, _RECORDING_DIM)) / np.sqrt(_RECORDING_DIM),
        )

    def log_weights(
        self, tastes: FloatArray, sound_of_taste: float, nuisance: float, random: np.random.Generator
    ) -> FloatArray:
        """Return the logarithms of the weights up to a constant, (n_songs, n_atoms)."""
        recordings = random.standard_normal((len(tastes), _RECORDING_DIM))
        signal = sound_of_taste * (tastes @ self.of_taste.T)
        return np.asarray(signal + nuisance * (recordings @ self.of_recording.T))

    def frames(
        self, log_weights: FloatArray, n_frames: int, nuisance: float, random: np.random.Generator
    ) -> npt.NDArray[np.float16]:
        """Draw the MFCCs (n_frames x 13) of a song with these logarithmic weights."""
        weights = np.exp(log_weights - log_weights.max())
        segment = np.cumsum(random.random(n_frames) >= _REPEAT_PROBABILITY)
        atoms = random.choice(len(weights), segment[-1] + 1, p=weights / weights.sum())[segment]
        noise = random.standard_normal((n_frames, len(_MEAN)))
        noise[1:] *= np.sqrt(1 - _AUTOCORRELATION**2)
        deviations = _WITHIN_STD * _STD * scipy.signal.lfilter([1.0], [1.0, -_AUTOCORRELATION], noise, axis=0)
        mfcc = self.centres[atoms] + deviations
        mfcc[:, 0] += nuisance * _GAIN_STD * _STD[0] * random.standard_normal()
        return np.asarray(mfcc, dtype=np.float16)


def vectors_of(log_weights: FloatArray, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return vectors of songs: the logarithmic weights of the atoms with noise."""
    return np.asarray(log_weights + _VECTOR_NOISE_STD * random.standard_normal(log_weights.shape), dtype=np.float32)
