"""
A song nobody has played
========================

Audio files and listeners go in; the songs similar to a file that nobody has played come out.

Twenty-four short songs by eight artists are synthesised as real files in four formats. Listeners prefer one of
two styles. A model is learned, saved, loaded again, and asked about a new file.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
import soundfile

from nearsong import Codebook, SimilarityModel, jaccard_neighbors, relevant_songs
from nearsong.audio import load_frames
from nearsong.encoding import codebook_bag

RATE = 44_100
FORMATS = ["wav", "flac", "ogg", "mp3"]
STYLES = {"bright bells": (1_500, 6), "low drones": (90, 1)}  # base pitch in Hz, notes a second


def melody(style: str, seed: int, seconds: float = 8.0) -> np.ndarray:
    """Return decaying tones in a style, with some noise."""
    random = np.random.default_rng(seed)
    base, tempo = STYLES[style]
    time = np.arange(RATE // tempo) / RATE
    notes = [
        np.sin(2 * np.pi * base * 2 ** (random.integers(12) / 12) * time) * np.exp(-3 * tempo * time / 2)
        for _ in range(int(seconds * tempo))
    ]
    samples = np.concatenate(notes)
    return 0.4 * samples + random.uniform(0.001, 0.02) * random.normal(size=len(samples))


# %%
# A folder of music
# -----------------

folder = Path(tempfile.mkdtemp())
artist_style = [list(STYLES)[artist % 2] for artist in range(8)]
song_artist = np.arange(24) % 8
files = []
for song, artist in enumerate(song_artist):
    path = folder / f"artist {artist} - song {song}.{FORMATS[song % 4]}"
    soundfile.write(path, melody(artist_style[artist], seed=song), RATE)
    files.append(path)
print(f"{len(files)} songs, such as {files[0].name}")

# %%
# From sound to vectors
# ---------------------
# Each song becomes frames (23 ms, 39 numbers). A codebook of typical frames is learned from a random five
# seconds of each song; a song's vector says how large a share of it each codeword has.

frames = [load_frames(path) for path in files]
codebook = Codebook(n_codewords=64).fit(codebook_bag(iter(frames)))

# %%
# From listeners to a metric
# --------------------------

random = np.random.default_rng(0)
taste = random.integers(2, size=200)
plays = sp.csr_array(random.poisson(np.where(np.equal.outer(taste, np.arange(8) % 2), 15, 2)))
neighbours, _ = jaccard_neighbors(plays, k=3)
relevant, ignored = relevant_songs(neighbours, song_artist)

model = SimilarityModel.learn(codebook, frames, relevant, ignored, tau=4)
model.save(folder / "model.npz")

# %%
# A new release
# -------------
# The model is one file. Whoever has it can find songs similar to any audio file.

model = SimilarityModel.load(folder / "model.npz")
soundfile.write(folder / "new release.ogg", melody("bright bells", seed=1_000), RATE)
new = model.project(model.encode(folder / "new release.ogg"))
embeddings = model.project(model.encode_all(files))
distances = np.linalg.norm(embeddings - new, axis=1)
nearest = np.argsort(distances, kind="stable")
print("similar to a new song of bright bells:")
for row in nearest[:5]:
    print(f"  {distances[row]:7.4f}  {files[row].name}  ({artist_style[song_artist[row]]})")

# %%
# All songs by their distance from the new one:

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
colours = ["#4757c7" if artist_style[song_artist[row]] == "bright bells" else "#b8c0cc" for row in nearest]
ax.barh(range(len(nearest)), distances[nearest], color=colours)
ax.set_yticks(range(len(nearest)), [files[row].stem for row in nearest], size=7)
ax.invert_yaxis()
ax.set(xlabel="learned distance from the new song", title="Bright bells (blue) and low drones (grey)")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
