"""From audio files and listeners to the songs that are near one nobody has played.

Makes twenty-four short songs by eight artists (real files in four formats), and listeners who keep to one of two
styles. Learns a model, saves it, and asks the loaded copy about a file it has never heard.
"""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import soundfile

from nearsong import Codebook, SimilarityModel, jaccard_neighbors, relevant_songs
from nearsong.audio import load_frames
from nearsong.encoding import codebook_bag

RATE = 44_100
FORMATS = ["wav", "flac", "ogg", "mp3"]
STYLES = {"bright bells": (1_500, 6), "low drones": (90, 1)}  # base pitch in Hz, notes a second


def sing(style: str, seed: int, seconds: float = 8.0) -> np.ndarray:
    """Return a melody of decaying tones in a style, with some noise."""
    random = np.random.default_rng(seed)
    base, tempo = STYLES[style]
    time = np.arange(RATE // tempo) / RATE
    notes = [
        np.sin(2 * np.pi * base * 2 ** (random.integers(12) / 12) * time) * np.exp(-3 * tempo * time / 2)
        for _ in range(int(seconds * tempo))
    ]
    melody = np.concatenate(notes)
    return 0.4 * melody + random.uniform(0.001, 0.02) * random.normal(size=len(melody))


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    styles = [list(STYLES)[artist % 2] for artist in range(8)]
    files, song_artist = [], []
    for song in range(24):
        artist = song % 8
        path = folder / f"artist {artist} - song {song}.{FORMATS[song % 4]}"
        soundfile.write(path, sing(styles[artist], seed=song), RATE)
        files.append(path)
        song_artist.append(artist)

    # sound -> frames -> codebook: a random five seconds of each song
    codebook = Codebook(n_codewords=64).fit(codebook_bag(map(load_frames, files)))

    # listeners -> who is relevant: they play artists of one style
    random = np.random.default_rng(0)
    taste = random.integers(2, size=200)
    likes = np.equal.outer(taste, np.arange(8) % 2)
    plays = sp.csr_array(random.poisson(np.where(likes, 15, 2)))
    neighbours, _ = jaccard_neighbors(plays, k=3)
    relevant, ignored = relevant_songs(neighbours, np.array(song_artist))

    # frames + relevant -> model, in one file
    model = SimilarityModel.learn(codebook, [load_frames(path) for path in files], relevant, ignored, tau=4)
    model.save(folder / "model.npz")

    # a file nobody has heard; the library is read in worker processes, where a bad file harms nobody
    model = SimilarityModel.load(folder / "model.npz")
    (folder / "broken.mp3").write_bytes(b"this is no music")
    library, places = [], []
    for path, result in model.encode_files([*files, folder / "broken.mp3"]):
        if isinstance(result, Exception):
            print(f"left out {Path(path).name}: {type(result).__name__}")
        else:
            library.append(Path(path).name)
            places.append(model.project(result.vector))
    soundfile.write(folder / "new release.ogg", sing("bright bells", seed=1_000), RATE)
    new = model.project(model.encode(folder / "new release.ogg"))
    distances = np.linalg.norm(np.array(places) - new, axis=1)
    print("nearest to a new song of bright bells:")
    for i in np.argsort(distances, kind="stable")[:5]:
        print(f"  {distances[i]:7.4f}  {library[i]}  ({styles[int(library[i].split()[1])]})")


if __name__ == "__main__":
    main()
