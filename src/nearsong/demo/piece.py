"""Key, tempo and the habits of an artist -> the pitches and times of a song."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearsong.demo.synth import hertz
from nearsong.types import FloatArray

_MAJOR = (0, 2, 4, 5, 7, 9, 11)
_MINOR = (0, 2, 3, 5, 7, 8, 10)
_MAJOR_CHORDS = ((0, 4, 5, 3), (0, 5, 3, 4), (0, 3, 1, 4), (0, 2, 3, 4), (3, 0, 4, 5))
_MINOR_CHORDS = ((0, 5, 2, 6), (0, 3, 5, 4), (0, 6, 5, 6), (0, 3, 6, 2), (0, 5, 3, 4))


@dataclass(frozen=True, eq=False)
class Piece:
    """The parameters of a song.

    Attributes
    ----------
    seconds : float
        Length.
    tempo : float
        Beats per minute.
    root : int
        MIDI pitch of the key, in the octave below middle C.
    minor : bool
        The mode.
    drive, light : float
        Taste of the artist, 0 to 1: calm to driven, dark to bright.
    habits : array of shape (8,)
        0 to 1 each: how the artist differs from others of the style, the same in all songs of the artist.
    random : Generator
        Draws what differs between the songs of an artist.
    """

    seconds: float
    tempo: float
    root: int
    minor: bool
    drive: float
    light: float
    habits: FloatArray
    random: np.random.Generator

    @property
    def beat(self) -> float:
        """Length of a beat in seconds."""
        return 60.0 / self.tempo

    @cached_property
    def chords(self) -> tuple[int, ...]:
        """Degrees of the scale that the chords are built on, repeated."""
        choices = _MINOR_CHORDS if self.minor else _MAJOR_CHORDS
        return choices[int(self.habits[7] * 0.999 * len(choices))]

    def degree(self, bar: int) -> int:
        """Return the degree of the chord of a bar."""
        return self.chords[bar % len(self.chords)]

    def pitch(self, degree: int, octave: int = 0) -> float:
        """Return the frequency of a degree of the scale; chords are the degrees d, d + 2, d + 4."""
        scale = _MINOR if self.minor else _MAJOR
        return hertz(self.root + scale[degree % 7] + 12 * (degree // 7 + octave))

    def steps(self, per_beat: int) -> list[tuple[int, int, float]]:
        """Return (bar, step in the bar, time) for all steps of the piece, with ``per_beat`` steps per beat."""
        length = self.beat / per_beat
        return [(*divmod(step, 4 * per_beat), step * length) for step in range(int(self.seconds / length))]

    def between(self, habit: int, low: float, high: float) -> float:
        """Map a habit of the artist to the range low to high."""
        return low + (high - low) * float(self.habits[habit])
