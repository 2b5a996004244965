"""Tastes -> sound: every song is a mixture of the same sounds, and its taste shows in how much there is of each.

There are K sounds ("atoms"), each a Gaussian among the 13 MFCCs. A song with taste s has the weights
``softmax(strength * A s + nuisance * B r)``: r stands for how it was recorded, is drawn for each song anew and says
nothing about taste. A distance that treats all sounds alike hears both; a learned one can tell them apart.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.signal

FloatArray = npt.NDArray[np.float64]

# What music looks like on average: mean and standard deviation of each MFCC.
_MEAN = np.array([-200.0, 65.0, -5.0, 20.0, 0.0, 8.0, -2.0, 5.0, -3.0, 4.0, -3.0, 3.0, -2.0])
_SPREAD = np.array([80.0, 26.0, 19.0, 13.0, 10.5, 9.5, 8.5, 8.0, 7.5, 7.0, 6.5, 6.5, 6.0])
_BETWEEN, _WITHIN = 0.85, 0.5  # of that spread: between the atoms, and around an atom
_MEMORY = 0.8  # correlation of a frame with the next one around their atom
_STAY = 0.5  # probability that the next frame has the same atom
_GAIN = 0.1  # of the spread of the first MFCC: how much louder one recording is than another
_RECORDING_DIM = 4
_EAR = 0.5  # noise of a vector's entries


@dataclass(frozen=True, eq=False)
class SoundBank:
    """The sounds all songs are made of; the same for every data set with the same two numbers.

    Attributes
    ----------
    centres : array of shape (n_atoms, 13)
        The atoms.
    of_taste : array of shape (n_atoms, taste_dim)
        A: how a taste shows.
    of_recording : array of shape (n_atoms, 4)
        B: how a recording shows.
    """

    centres: FloatArray
    of_taste: FloatArray
    of_recording: FloatArray

    @classmethod
    def make(cls, n_atoms: int, taste_dim: int) -> Self:
        """Draw the bank."""
        random = np.random.default_rng([n_atoms, taste_dim])
        return cls(
            _MEAN + _BETWEEN * _SPREAD * random.standard_normal((n_atoms, len(_MEAN))),
            random.standard_normal((n_atoms, taste_dim)) / np.sqrt(taste_dim),
            random.standard_normal((n_atoms, _RECORDING_DIM)) / np.sqrt(_RECORDING_DIM),
        )

    def amounts(
        self, tastes: FloatArray, sound_of_taste: float, nuisance: float, random: np.random.Generator
    ) -> FloatArray:
        """Return the logarithms, up to a constant, of how much of each atom (columns) is in each song (rows)."""
        recordings = random.standard_normal((len(tastes), _RECORDING_DIM))
        shown = sound_of_taste * (tastes @ self.of_taste.T)
        return np.asarray(shown + nuisance * (recordings @ self.of_recording.T))

    def frames(
        self, amounts: FloatArray, n_frames: int, nuisance: float, random: np.random.Generator
    ) -> npt.NDArray[np.float16]:
        """Draw the MFCCs (n_frames x 13) of a song with these amounts of each atom."""
        weights = np.exp(amounts - amounts.max())
        part = np.cumsum(random.random(n_frames) >= _STAY)
        atoms = random.choice(len(weights), part[-1] + 1, p=weights / weights.sum())[part]
        noise = random.standard_normal((n_frames, len(_MEAN)))
        noise[1:] *= np.sqrt(1 - _MEMORY**2)
        around = _WITHIN * _SPREAD * scipy.signal.lfilter([1.0], [1.0, -_MEMORY], noise, axis=0)
        mfcc = self.centres[atoms] + around
        mfcc[:, 0] += nuisance * _GAIN * _SPREAD[0] * random.standard_normal()
        return np.asarray(mfcc, dtype=np.float16)


def vectors_of(amounts: FloatArray, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return what an ear that knows the atoms notes of each song: how much there is of each, with some noise."""
    return np.asarray(amounts + _EAR * random.standard_normal(amounts.shape), dtype=np.float32)
