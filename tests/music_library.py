"""A small library for tests: real audio files in three styles, tagged, and listeners who keep to their style."""

import csv
from pathlib import Path

import numpy as np
import scipy.signal
import soundfile

from nearsong.audio.tags import Tags, write_tags

STYLES = ("low hum", "mid hiss", "high pulses")
N_ARTISTS, SONGS_EACH, SECONDS, RATE = 36, 2, 2.0, 22_050


def sound(style: int, seed: int, seconds: float = SECONDS) -> np.ndarray:
    """Noise in the style's band among louder noise, different each time, which sound alone cannot tell apart."""
    random = np.random.default_rng([style, seed])
    n = int(seconds * RATE)
    low, high = [(80, 500), (900, 2500), (4000, 9000)][style]
    bands = scipy.signal.butter(2, [low, high], "bandpass", fs=RATE, output="sos")
    music = scipy.signal.sosfilt(bands, random.standard_normal(n))
    if style == 2:
        music *= scipy.signal.square(2 * np.pi * (4 + 3 * random.random()) * np.arange(n) / RATE) > 0
    tilt = scipy.signal.butter(1, 300 + 6000 * random.random(), "lowpass", fs=RATE, output="sos")
    mixed = music + 0.9 * scipy.signal.sosfilt(tilt, random.standard_normal(n))
    if seconds > SECONDS:  # minutes of the same noise would be no music
        mixed *= 1 + 0.5 * np.sin(np.arange(n) / RATE)
    return (0.1 + 0.6 * random.random()) * mixed / np.abs(mixed).max()


def artist_name(artist: int) -> str:
    return f"Band {chr(ord('A') + artist // 10)}{artist % 10}"


def make_music(folder: Path, n_artists: int = N_ARTISTS) -> Path:
    """Write the songs; artist i is of style i % 3."""
    for artist in range(n_artists):
        name, style = artist_name(artist), artist % 3
        album = folder / name / "First"
        album.mkdir(parents=True)
        for song in range(SONGS_EACH):
            ending = ("flac", "ogg", "wav")[(artist + song) % 3]
            path = album / f"{song + 1:02} Song {artist * 10 + song}.{ending}"
            soundfile.write(path, sound(style, 100 * artist + song), RATE)
            title, year = f"Song {artist * 10 + song}", 1980 + artist
            write_tags(path, Tags(name, title, "First", STYLES[style], year))
    return folder


def write_listens(path: Path, n_users: int = 150, n_artists: int = N_ARTISTS, seed: int = 0) -> Path:
    """Write listeners who play seven artists of a style and one of any."""
    random = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "artist", "title", "plays"])
        for user in range(n_users):
            style = user % 3
            own = random.choice(np.arange(style, n_artists, 3), 7, replace=False)
            for artist in {*own.tolist(), int(random.integers(n_artists))}:
                title = f"Song {artist * 10 + int(random.integers(SONGS_EACH))}"
                rows.writerow([f"user{user}", artist_name(artist), title, int(random.integers(10, 60))])
        rows.writerow(["user0", "Nobody's Own Band", "Nowhere", 99])
    return path
