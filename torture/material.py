"""Music, listeners and trained libraries that attacks work on; made once a run."""

import csv
import shutil
from pathlib import Path

import numpy as np

import music_library
from torture.attack import Workshop
from torture.warm.victim import Victim

QUICK_TRAINING = {"methods": ["listener_space"], "n_splits": 3}
"""Settings of a training that takes seconds."""


def music(workshop: Workshop, n_artists: int = 12) -> Path:
    """Return a folder of tagged songs in FLAC, Ogg and WAV, two an artist."""
    return workshop.material(f"music-{n_artists}", lambda folder: music_library.make_music(folder, n_artists))


def listens(workshop: Workshop, n_rows: int, n_artists: int = 36) -> Path:
    """Return a listening history: a CSV with one row a listen, listeners who keep to a style."""

    def make(folder: Path) -> None:
        random = np.random.default_rng(0)
        with (folder / "listens.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["user", "artist", "title", "time"])
            for row in range(n_rows):
                user = int(random.integers(150))
                artist = int(3 * random.integers(n_artists // 3) + user % 3)
                if random.random() < 0.1:
                    artist = int(random.integers(n_artists))
                title = f"Song {artist * 10 + int(random.integers(2))}"
                rows.writerow([f"user{user}", music_library.artist_name(artist), title, 1_600_000_000 + 240 * row])

    return workshop.material(f"listens-{n_rows}-{n_artists}", make) / "listens.csv"


def library(workshop: Workshop, *, trained: bool = False) -> Path:
    """Return the file of a library of 72 songs with listeners, perhaps trained; copy it before you change it."""

    def scan(folder: Path) -> None:
        address = str(folder / "library.sqlite")
        encoders = workshop.pick(smoke=["codewords", "gaussian"], full=None)
        Victim({"do": "scan", "library": address, "music": str(music(workshop, 36)), "encoders": encoders}).wait()
        Victim({"do": "import", "library": address, "listens": str(listens(workshop, 3_000))}).wait()

    def train(folder: Path) -> None:
        address = shutil.copy(library(workshop), folder / "library.sqlite")
        Victim({"do": "train", "library": str(address), "settings": QUICK_TRAINING}).wait()

    made = workshop.material("trained", train) if trained else workshop.material("scanned", scan)
    return made / "library.sqlite"
