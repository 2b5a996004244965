"""Silence, beeps, hums and spoken seconds are set aside: rows with a reason that answer nothing."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from nearsong.audio.decode import load_audio
from nearsong.library import Library
from nearsong.library.scanning.set_aside import SoundOutline
from synthesised_song import synthesised_song

RATE = 22_050
REAL_MUSIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "real-music"
random = np.random.default_rng(3)
time = np.arange(8 * RATE) / RATE


def spoken(seconds: float, sample_rate: int = RATE) -> np.ndarray:
    """Return babble: syllables of a gliding voice through two formants, in words with pauses between them."""
    random = np.random.default_rng(1)
    sound = np.zeros(int(seconds * sample_rate))
    at = 0.0
    while at < seconds:
        for _ in range(random.integers(2, 5)):
            length = random.uniform(0.1, 0.2)
            since = np.arange(int(length * sample_rate)) / sample_rate
            pitch = random.uniform(100, 160) * (1 + random.uniform(-1.5, 1.5) * since)
            phase = 2 * np.pi * np.cumsum(pitch) / sample_rate
            formants = random.uniform(300, 800), random.uniform(1000, 2200)
            strength = [sum(np.exp(-(((k * 130 - f) / 200) ** 2)) for f in formants) + 0.02 for k in range(1, 25)]
            vowel = sum(a * np.sin(k * phase) for k, a in enumerate(strength, 1)) * np.hanning(len(since))
            start = int(at * sample_rate)
            part = vowel[: len(sound) - start]
            sound[start : start + len(part)] += 0.2 * part
            at += length * 1.05
        at += random.uniform(0.15, 0.3)
    return sound


def drums(tempo: float) -> np.ndarray:
    """Return a bass drum, a snare drum and a hi-hat without anything else."""
    sound = np.zeros(8 * RATE)
    for beat in range(int(8 * tempo / 30)):
        start = int(beat * 30 / tempo * RATE)
        since = time[: min(RATE // 2, len(sound) - start)]
        hit = 0.1 * random.normal(size=len(since)) * np.exp(-60 * since)
        if beat % 4 == 0:
            hit += np.sin(2 * np.pi * (50 + 80 * np.exp(-30 * since)) * since) * np.exp(-8 * since)
        if beat % 4 == 2:
            hit += 0.5 * random.normal(size=len(since)) * np.exp(-15 * since)
        sound[start : start + len(since)] += 0.4 * hit
    return sound


def plucked(tempo: float) -> np.ndarray:
    """Return single plucked notes with silence between them."""
    sound = np.zeros(8 * RATE)
    for beat in range(int(8 * tempo / 60)):
        start = int(beat * 60 / tempo * RATE)
        since = time[: min(RATE // 2, len(sound) - start)]
        pitch = 220 * 2 ** (random.integers(12) / 12)
        notes = sum(np.sin(2 * np.pi * pitch * k * since) / k for k in range(1, 6))
        sound[start : start + len(since)] += 0.2 * notes * np.exp(-12 * since)
    return sound


def reason(sound: np.ndarray) -> str:
    """Return why a sound, read in blocks of odd length, would be set aside."""
    samples = sound.astype(np.float32)
    outline = SoundOutline(iter([samples[at : at + 30_001] for at in range(0, len(samples), 30_001)]), RATE)
    assert np.array_equal(np.concatenate(list(outline)), samples)
    return outline.reason(len(sound) / RATE)


NO_MUSIC = {
    "silence": (np.zeros(8 * RATE), "silent"),
    "dither": (2e-5 * random.normal(size=8 * RATE), "silent"),
    "beep": (0.3 * np.sin(2 * np.pi * 880 * time[:RATE]), "1.0 seconds of sound"),
    "click in silence": (np.where(np.arange(8 * RATE) == RATE, 0.9, 0.0), "0.0 seconds of sound"),
    "test tone": (0.1 * np.sin(2 * np.pi * 440 * time), "steady"),
    "hum": (0.1 * np.sin(2 * np.pi * 50 * time) + 0.03 * np.sin(2 * np.pi * 150 * time), "steady"),
    "white noise": (0.1 * random.normal(size=8 * RATE), "steady"),
    "speech": (spoken(6.0), "speech of 6 seconds"),
}


@pytest.mark.parametrize("name", NO_MUSIC)
def test_sounds_without_music_are_set_aside(name):
    sound, expected = NO_MUSIC[name]
    assert expected in reason(sound)


@pytest.mark.parametrize(
    "sound",
    [
        synthesised_song(8.0),
        synthesised_song(2.0),
        *(drums(tempo) for tempo in (75, 120, 160)),
        *(plucked(tempo) for tempo in (75, 120, 160)),
        spoken(30.0),  # an audio book is nobody's mistake
        np.concatenate([np.zeros(60 * RATE), synthesised_song(4.0)]),  # a hidden track
    ],
    ids=["song", "two seconds", *(f"{kind}{n}" for kind in ("drums", "plucked") for n in range(3)), "book", "hidden"],
)
def test_short_sparse_and_quiet_music_is_not(sound):
    assert reason(sound) == ""


def test_no_real_song_is():
    files = sorted(path for path in REAL_MUSIC.glob("*/*") if path.suffix in (".mp3", ".ogg"))
    if not files:
        pytest.skip("no folder of real music beside the repository")
    found = {path.name: reason(load_audio(path)) for path in files[::3]}
    assert {name: why for name, why in found.items() if why} == {}


def test_they_are_rows_with_a_reason_that_answer_nothing_until_all_is_kept(tmp_path):
    music = tmp_path / "music"
    music.mkdir()
    for number in range(3):
        soundfile.write(music / f"song {number}.wav", synthesised_song(3.0, seed=number) * (0.5 + number / 5), RATE)
    soundfile.write(music / "interlude.wav", spoken(6.0), RATE)
    soundfile.write(music / "silence.wav", np.zeros(2 * RATE), RATE)
    with Library.open(tmp_path / "l.sqlite") as library:
        report = library.scan(music, encoders=("codewords",), workers=1)
        assert (report.found, report.added, len(report.set_aside)) == (5, 3, 2)
        names = {path.rpartition("/")[2]: reason for path, reason in library.set_aside()}
        assert names == {"interlude.wav": "is speech of 6 seconds.", "silence.wav": "is silent."}
        status = library.status()
        assert (status.songs, status.set_aside, status.unreadable, status.not_analysed) == (3, 2, 0, 0)
        assert len(library.songs()) == 3
        assert len(library.similar(library.songs()[0], n=10)) == 2
        again = library.scan(workers=1)
        assert (again.unchanged, again.known_set_aside, again.set_aside) == (3, 2, [])
        kept = library.scan(workers=1, keep_all=True)
        assert (kept.added, library.set_aside(), len(library.songs())) == (2, [], 5)
        assert library.scan(workers=1).unchanged == 5  # and they stay
