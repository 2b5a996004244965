"""A style and the habits of an artist -> a synthesised song, in one of eight styles with their own instruments.

Styles are points in a space of three tastes: calm or driven, acoustic or electronic, dark or bright. Neighbouring
styles sound similar and are liked by the same listeners.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.demo import synth
from nearsong.demo.piece import Piece
from nearsong.demo.synth import Mix, Sound
from nearsong.types import FloatArray


class _Notes:
    """Caches the notes of an instrument, since bars repeat."""

    def __init__(self, synthesise: Callable[[float, float], Sound]) -> None:
        self._synthesise = synthesise
        self._cache: dict[tuple[float, float], Sound] = {}

    def __call__(self, frequency: float, seconds: float) -> Sound:
        key = (round(frequency, 2), round(seconds, 3))
        if key not in self._cache:
            self._cache[key] = self._synthesise(frequency, seconds)
        return self._cache[key]


def _drums(piece: Piece, mix: Mix, pattern: str, level: float) -> None:
    """Play a pattern of sixteenths in every bar: k bass drum, s snare, h closed and o open hi-hat, c clap, . rest."""
    random = piece.random
    wires, pitch = piece.between(0, 0.25, 0.7), piece.between(1, 150, 230)
    kit = {
        "k": (synth.kick(random, pitch=piece.between(2, 42, 62), seconds=piece.between(3, 0.18, 0.4)), 1.0, 0.0),
        "s": (synth.snare(random, pitch=pitch, wires=wires), 0.7, 0.05),
        "h": (synth.burst(random, low=5_500, high=11_000, seconds=0.06), 0.35, 0.25),
        "o": (synth.burst(random, low=5_000, high=11_000, seconds=0.25), 0.3, 0.25),
        "c": (synth.burst(random, low=800, high=4_000, seconds=0.18, attack=0.004), 0.55, -0.1),
    }
    tracks = pattern.split()
    for _, step, time in piece.steps(4):
        for track in tracks:
            if (name := track[step % len(track)]) != ".":
                sound, gain, pan = kit[name]
                mix.add(sound, time, level * gain * random.uniform(0.85, 1.0), pan)


def _play_ambient(piece: Piece, mix: Mix) -> None:
    """Slow synthesizer chords over a low drone, with distant bells."""
    random = piece.random
    warmth, detune = piece.between(0, 350, 900), piece.between(1, 0.002, 0.007)
    chord = _Notes(lambda f, s: synth.pad(f, s, random, warmth=warmth, detune=detune))
    drone = _Notes(lambda f, s: synth.pad(f, s, random, warmth=200, detune=0.001))
    half = max(4 * piece.beat, 3.0)
    for number, time in enumerate(np.arange(0.0, piece.seconds, half)):
        for third, pan in ((0, -0.6), (2, 0.5), (4, -0.2), (8, 0.7)):
            mix.add(chord(piece.pitch(piece.degree(number) + third), 2 * half), float(time), 0.5, pan)
        mix.add(drone(piece.pitch(0, -1), 2 * half), float(time), 0.8)
    n = synth.n_samples(2.5)
    for _, _, time in piece.steps(1):
        if random.random() < 0.12 + 0.25 * piece.light:
            frequency = piece.pitch(int(random.choice((0, 2, 4, 6))), 2)
            mix.add(
                synth.oscillator("sine", frequency, n) * synth.decay(n, 2.2), time, 0.2, random.uniform(-0.9, 0.9)
            )


def _play_techno(piece: Piece, mix: Mix) -> None:
    """Four-on-the-floor drums, an off-beat bass and chord stabs."""
    random = piece.random
    hats = "h.o.h.o.h.o.h.o." if piece.habits[4] < 0.5 else "h.oh..o.h.oh..oh"
    _drums(piece, mix, f"k...k...k...k... {hats} ....c.......c...", 0.55 + 0.35 * piece.drive)
    bite = piece.between(5, 300, 900)
    bass = _Notes(lambda frequency, seconds: synth.synth_bass(frequency, seconds, bite=bite))
    stab = _Notes(
        lambda f, s: (
            synth.oscillator("saw", f, synth.n_samples(s), 0.0, 4 * bite) * synth.decay(synth.n_samples(s), s)
        )
    )
    rhythm = random.choice(("..x...x...x..x..", "..xx..xx..xx..xx", "x..x..x...x..x.."))
    stabs = random.choice(("...x......x.....", "..x.....x..x....", "......x.......x."))
    for bar, step, time in piece.steps(4):
        degree = piece.degree(bar // 2)
        if rhythm[step] == "x":
            mix.add(bass(piece.pitch(degree, -1), piece.beat / 3), time, 0.55)
        if stabs[step] == "x":
            for voice, third in enumerate((0, 2, 4)):
                mix.add(stab(piece.pitch(degree + third, 1), 0.3), time, 0.12, 0.5 * (voice - 1))


def _play_fingers(piece: Piece, mix: Mix) -> None:
    """Steel-string guitar: alternating bass and arpeggios."""
    random = piece.random
    softness, position, ring = piece.between(0, 0.12, 0.4), piece.between(1, 0.08, 0.3), piece.between(2, 1.5, 3.5)
    string = _Notes(lambda f, s: synth.pluck(f, s, random, ring=ring, softness=softness, position=position))
    pattern = ((0, 4, 2, 7, 0, 9, 2, 4), (0, 2, 4, 7, 2, 4, 7, 9), (0, 7, 4, 2, 0, 7, 9, 4))[
        int(piece.habits[4] * 2.99)
    ]
    for bar, step, time in piece.steps(2):
        degree = piece.degree(bar)
        if step % 2 == 0:
            mix.add(string(piece.pitch(degree + (0, 4)[step // 2 % 2], -1), 1.6), time, 0.5, -0.15)
        if random.random() < 0.6 + 0.4 * piece.drive:
            slip = 0.006 * random.random()
            mix.add(string(piece.pitch(degree + pattern[step], 0), 1.6), time + slip, random.uniform(0.3, 0.45), 0.15)
        if step % 4 == 0 and random.random() < 0.5:
            mix.add(string(piece.pitch(degree + int(random.choice((7, 9, 11))), 0), 1.6), time, 0.4, 0.25)


def _play_chip(piece: Piece, mix: Mix) -> None:
    """Two pulse waves, a triangle wave and noise, as in early game consoles."""
    random = piece.random
    wave = "pulse" if piece.habits[0] < 0.5 else "square"

    def tone(shape: str, ring: float) -> _Notes:
        return _Notes(
            lambda f, s: synth.oscillator(shape, f, synth.n_samples(s)) * synth.decay(synth.n_samples(s), ring)
        )

    arpeggio, lead, low = tone(wave, 0.3), tone("square", 1.5), tone("triangle", 1.0)
    crunch = synth.burst(random, low=1_000, high=9_000, seconds=0.09)
    tick = synth.burst(random, low=4_000, high=11_000, seconds=0.03)
    thump = synth.oscillator("triangle", 70.0, 2_000) * synth.decay(2_000, 0.09)
    note, until = 7, 0.0
    for bar, step, time in piece.steps(4):
        degree = piece.degree(bar)
        mix.add(arpeggio(piece.pitch(degree + (0, 2, 4, 7)[step % 4], 1), piece.beat / 4), time, 0.16, -0.3)
        if step % 2 == 0:
            mix.add(low(piece.pitch(degree + (0, 7)[step // 2 % 2], -1), piece.beat / 2), time, 0.45)
            mix.add(tick if step % 8 else thump, time, 0.3 * (0.4 + piece.drive))
        if step % 8 == 4:
            mix.add(crunch, time, 0.35 * (0.4 + piece.drive), 0.1)
        if time >= until - 1e-6 and random.random() < 0.75:
            length = piece.beat * float(random.choice((0.25, 0.5, 0.5, 1.0)))
            note = int(np.clip(note + random.integers(-2, 3), 4, 12))
            mix.add(lead(piece.pitch(note, 1), length), time, 0.2, 0.3)
            until = time + length


def _play_piano(piece: Piece, mix: Mix) -> None:
    """Broken chords and a sparse melody, with the pedal down."""
    random = piece.random
    hardness, ring = piece.between(0, 0.4, 0.62), piece.between(1, 3.0, 5.0)
    key = _Notes(lambda f, s: synth.hammered(f, s, random, hardness=hardness, ring=ring))
    note = 7
    for bar, step, time in piece.steps(2):
        degree = piece.degree(bar)
        if step in (0, 2, 3, 5):
            third = {0: 0, 2: 4, 3: 7, 5: 9}[step]
            mix.add(key(piece.pitch(degree + third, -1), 2.5), time, 0.42 if step == 0 else 0.3, -0.3)
        if step % 2 == 0 and random.random() < 0.45 + 0.3 * piece.drive:
            note = int(np.clip(note + random.choice((-2, -1, 1, 2)), 4, 13))
            near = min(
                (degree + third + octave for third in (0, 2, 4) for octave in (0, 7)), key=lambda d: abs(d - note)
            )
            mix.add(key(piece.pitch(near, 1), 2.5), time + 0.01 * random.random(), random.uniform(0.25, 0.4), 0.3)


def _play_heavy(piece: Piece, mix: Mix) -> None:
    """Distorted riffs with drums and bass on the same accents."""
    random = piece.random
    drive = piece.between(5, 4.0, 12.0)
    riff = str(random.choice(("X.xxX.xxX.xxX.X.", "X.x.x.X.x.x.X.x.", "Xxx.xxx.Xxx.X.X.", "X...x.xxX...x.x.")))
    chug = _Notes(lambda f, s: synth.power_chord(f, s, random, drive=drive, muted=True))
    open_ = _Notes(lambda f, s: synth.power_chord(f, s, random, drive=drive, muted=False))
    kicks = "".join(
        "k" if mark in "Xx" and (step % 4 == 0 or piece.habits[4] > 0.5) else "." for step, mark in enumerate(riff)
    )
    _drums(piece, mix, f"{kicks} ....s.......s... o...o...o...o...", 0.5 + 0.3 * piece.drive)
    for bar, step, time in piece.steps(4):
        degree = piece.degree(bar // 2) if step < 12 else piece.degree(bar // 2) + int(piece.habits[6] * 2.9)
        frequency = piece.pitch(degree, -1)
        if riff[step] != ".":
            notes, length = (open_, 2 * piece.beat / 2) if riff[step] == "X" else (chug, piece.beat / 4)
            for pan in (-0.7, 0.7):  # two guitars
                mix.add(notes(frequency * (1 + 0.001 * pan), length), time + 0.006 * (pan > 0), 0.3, pan)
        if riff[step] == "X":
            mix.add(synth.synth_bass(frequency / 2, piece.beat / 2, bite=700), time, 0.4)


def _play_bossa(piece: Piece, mix: Mix) -> None:
    """Syncopated nylon strings, a walking bass, shaker and rim, and a flute."""
    random = piece.random
    softness, ring = piece.between(0, 0.35, 0.5), piece.between(1, 0.9, 1.8)
    string = _Notes(lambda f, s: synth.pluck(f, s, random, ring=ring, softness=softness, position=0.4))
    bass = _Notes(
        lambda f, s: synth.filtered(synth.pluck(f, s, random, ring=1.2, softness=0.5, position=0.5), "lowpass", 500)
    )
    breath = _Notes(lambda f, s: synth.flute(f, s, random))
    shaker = synth.burst(random, low=4_000, high=10_000, seconds=0.07, attack=0.02)
    rim = synth.burst(random, low=1_200, high=2_600, seconds=0.04)
    chords = ("x..x..x...x..x..", "x..x...x..x..x..", "..x..x..x..x..x.")[int(piece.habits[4] * 2.99)]
    note, until = 8, 0.0
    for bar, step, time in piece.steps(4):
        degree = piece.degree(bar)
        if chords[step] == "x":
            for voice, third in enumerate((2, 4, 6, 8)):
                mix.add(string(piece.pitch(degree + third, 0), 0.9), time + 0.008 * voice, 0.22, 0.15 * (voice - 1))
        if step in (0, 6, 8, 14):
            mix.add(bass(piece.pitch(degree + (0 if step < 8 else 4), -1), 0.7), time, 0.6)
        mix.add(shaker, time, (0.16 if step % 4 == 2 else 0.08) * (0.5 + piece.drive), 0.4)
        if "x..x..x...x..x.."[step] == "x":
            mix.add(rim, time, 0.25 * (0.5 + piece.drive), -0.3)
        if time >= until - 1e-6 and step % 2 == 0 and random.random() < 0.3 + 0.3 * piece.light:
            length = piece.beat * float(random.choice((0.5, 1.0, 1.5)))
            note = int(np.clip(note + random.integers(-2, 3), 5, 12))
            mix.add(breath(piece.pitch(note, 1), length), time, 0.22, -0.1)
            until = time + length


def _play_chamber(piece: Piece, mix: Mix) -> None:
    """Four bowed strings: three hold the chord, the first violin plays the melody."""
    random = piece.random
    warmth, vibrato = piece.between(0, 900, 2_200), piece.between(1, 0.4, 1.2)

    def play(degree: int, octave: int, seconds: float) -> Sound:
        return synth.bowed(piece.pitch(degree, octave), seconds, random, warmth=warmth, vibrato=vibrato)

    bar_length = 4 * piece.beat
    for bar, time in enumerate(np.arange(0.0, piece.seconds, bar_length)):
        degree = piece.degree(bar)
        for (third, octave), pan in zip(((0, -1), (4, -1), (2, 0)), (0.6, 0.2, -0.3), strict=True):
            mix.add(play(degree + third, octave, bar_length + 0.12), float(time), 0.26, pan)
        offset, note = 0.0, 7
        while offset < bar_length - 0.05:
            length = min(
                piece.beat * float(random.choice((1.0, 1.0, 2.0, 0.5 if piece.drive > 0.5 else 1.5))),
                bar_length - offset,
            )
            note = int(np.clip(note + random.choice((-2, -1, 1, 2)), 4, 11))
            mix.add(play(note, 1, length + 0.1), float(time) + offset, 0.24, -0.6)
            offset += length


@dataclass(frozen=True)
class Style:
    """A style of music.

    Attributes
    ----------
    name : str
        Name, used as the genre of the files.
    taste : (float, float, float)
        Calm (-) or driven (+), acoustic or electronic, dark or bright; about -1.5 to 1.5.
    tempo : (float, float)
        Slowest and fastest, in beats per minute.
    play : callable
        Adds the notes of a piece to a mix.
    """

    name: str
    taste: tuple[float, float, float]
    tempo: tuple[float, float]
    play: Callable[[Piece, Mix], None]


STYLES = (
    Style("Ambient", (-1.3, 0.9, -0.3), (50, 70), _play_ambient),
    Style("Techno", (1.0, 1.3, -0.4), (118, 136), _play_techno),
    Style("Fingerstyle", (-0.4, -1.0, 0.4), (80, 120), _play_fingers),
    Style("Chiptune", (0.9, 1.0, 1.2), (120, 160), _play_chip),
    Style("Slow Piano", (-1.2, -0.5, -0.5), (56, 84), _play_piano),
    Style("Heavy", (1.4, -0.2, -1.1), (100, 170), _play_heavy),
    Style("Bossa", (0.1, -0.8, 1.2), (110, 140), _play_bossa),
    Style("Chamber", (-0.8, -1.1, -0.6), (60, 96), _play_chamber),
)
"""The eight styles, in no particular order."""

_SECOND_STYLE_DISTANCE = 1.2  # an artist this much closer to their own style than to any other plays only that
_MAX_SECOND_GAIN, _MIN_SECOND_GAIN = 0.8, 0.1


def perform(
    style: int, taste: FloatArray, habits: FloatArray, seconds: float, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Synthesise a song.

    Artists between two styles mix both: the second style is the louder, the nearer the artist is to it.

    Parameters
    ----------
    style : int
        Index in `STYLES`.
    taste : array of shape (3,)
        Taste of the artist, near that of the style.
    habits : array of shape (8,)
        Habits of the artist, 0 to 1 each.
    seconds : float
        Length.
    random : Generator
        Draws the song: key, tempo, mode, notes.

    Returns
    -------
    array of float32 and shape (2, n)
        Left and right channel; both styles have variance 1 before they are mixed.

    Examples
    --------
    >>> perform(4, np.array(STYLES[4].taste), np.full(8, 0.5), 1.0, np.random.default_rng(0)).shape
    (2, 24000)
    """
    drive, _, light = 1 / (1 + np.exp(-1.5 * taste))
    slowest, fastest = STYLES[style].tempo
    speed = np.clip(0.5 + taste[0] - STYLES[style].taste[0] + 0.1 * random.normal(), 0, 1)
    piece = Piece(
        seconds=seconds,
        tempo=float(slowest + (fastest - slowest) * speed),
        root=45 + int(12 * habits[6] + random.integers(12)) % 12,
        minor=bool(random.random() > light),
        drive=float(drive),
        light=float(light),
        habits=habits,
        random=random,
    )
    song = _layer(STYLES[style], piece)
    distances = np.linalg.norm(taste - np.array([other.taste for other in STYLES]), axis=1)
    own, distances[style] = distances[style], np.inf
    second = int(np.argmin(distances))
    gain = _MAX_SECOND_GAIN * float(np.clip(1 - (distances[second] - own) / _SECOND_STYLE_DISTANCE, 0, 1))
    if gain > _MIN_SECOND_GAIN:
        song += np.float32(gain) * _layer(STYLES[second], piece)
    return song


def _layer(style: Style, piece: Piece) -> npt.NDArray[np.float32]:
    mix = Mix(piece.seconds)
    style.play(piece, mix)
    return mix.sound / np.float32(np.std(mix.sound) + 1e-9)
