"""Key, tempo and an artist's habits -> the pitches and times a song of the demo is played from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nearsong.library.demo_synth import hertz

FloatArray = npt.NDArray[np.float64]

_MAJOR = (0, 2, 4, 5, 7, 9, 11)
_MINOR = (0, 2, 3, 5, 7, 8, 10)
_MAJOR_CHORDS = ((0, 4, 5, 3), (0, 5, 3, 4), (0, 3, 1, 4), (0, 2, 3, 4), (3, 0, 4, 5))
_MINOR_CHORDS = ((0, 5, 2, 6), (0, 3, 5, 4), (0, 6, 5, 6), (0, 3, 6, 2), (0, 5, 3, 4))


@dataclass(frozen=True, eq=False)
class Piece:
    """What a song is played from.

    Attributes
    ----------
    seconds : float
        Its length.
    tempo : float
        Beats a minute.
    root : int
        MIDI pitch of the key, in the octave below middle C.
    minor : bool
        The mode.
    drive, light : float
        Tastes, 0 to 1: calm to driven, dark to bright.
    habits : array of shape (8,)
        0 to 1 each: how this artist differs from others of the style, the same in all of an artist's songs.
    random : Generator
        Draws what differs between an artist's songs.
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
        """Seconds of a beat."""
        return 60.0 / self.tempo

    @cached_property
    def chords(self) -> tuple[int, ...]:
        """Degrees of the scale that the chords stand on, over and over."""
        choices = _MINOR_CHORDS if self.minor else _MAJOR_CHORDS
        return choices[int(self.habits[7] * 0.999 * len(choices))]

    def degree(self, bar: int) -> int:
        """Return the degree of the chord of a bar."""
        return self.chords[bar % len(self.chords)]

    def pitch(self, degree: int, octave: int = 0) -> float:
        """Return the frequency of a degree of the scale; chords are the degrees d, d + 2, d + 4."""
        scale = _MINOR if self.minor else _MAJOR
        return hertz(self.root + scale[degree % 7] + 12 * (degree // 7 + octave))

    def steps(self, a_beat: int, beats: int = 4) -> list[tuple[int, int, float]]:
        """Return (bar, step in the bar, time) for all steps of the piece, so many a beat."""
        length = self.beat / a_beat
        total = int(self.seconds / length)
        return [(step // (a_beat * beats), step % (a_beat * beats), step * length) for step in range(total)]

    def between(self, habit: int, low: float, high: float) -> float:
        """Return a number of this artist's own."""
        return low + (high - low) * float(self.habits[habit])
