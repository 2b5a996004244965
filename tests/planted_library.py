"""A library of songs in planted styles, written straight into a store: no audio, but a real native model."""

from contextlib import closing
from pathlib import Path

import numpy as np

from nearsong.audio.tags import Tags
from nearsong.encoding import Codebook
from nearsong.library import Library
from nearsong.library.models.library_encoders import set_encoders
from nearsong.library.models.lifecycle import add_model, native_model
from nearsong.library.store import ScannedFile, Store, schema
from nearsong.model import CodewordEncoder, Quantizer

STYLES = ("jazz", "metal", "techno", "folk")
ARTISTS_EACH, SONGS_EACH, CODEWORDS = 5, 4, 32


def song_name(style: int, artist: int, song: int) -> str:
    """Return the name of a song of an artist in a style."""
    return f"{STYLES[style].title()} Band {artist} - Tune {song}"


def planted_vectors(style: int, n: int, seed: int) -> np.ndarray:
    """Return histograms whose mass is mostly on the codewords of a style."""
    shares = np.full(CODEWORDS, 0.2)
    shares[style * 8 : style * 8 + 8] = 4.0
    return np.random.default_rng([7, style, seed]).dirichlet(shares, size=n)


def write_library(file: Path) -> Path:
    """Write a library of 80 songs by 20 artists in four styles; song ids follow style, artist and song."""
    frames = np.random.default_rng(0).standard_normal((4 * CODEWORDS, 39))
    encoder = CodewordEncoder(Quantizer(Codebook(CODEWORDS, random_state=0).fit(frames)))
    with closing(Store(file)) as store:
        (encoder_id,) = set_encoders(store, [encoder])
        everything = []
        with store.writing() as connection:
            for style, name in enumerate(STYLES):
                for artist in range(ARTISTS_EACH):
                    vectors = planted_vectors(style, SONGS_EACH, artist)
                    everything.append(vectors)
                    for number, vector in enumerate(vectors):
                        full = song_name(style, artist, number)
                        artist_name, title = full.split(" - ")
                        tags = Tags(artist_name, title, f"Album {artist}", name, 1990 + artist)
                        found = ScannedFile(f"/{full}.mp3", 10, 20, full, tags, seconds=200.0 + number)
                        song = store.songs.put(connection, found)
                        row = {"encoder_id": encoder_id, "song_id": song}
                        row["vector"] = vector.astype(np.float32).tobytes()
                        connection.execute(schema.song_vectors.insert(), [row])
        add_model(store, native_model(encoder, np.vstack(everything), {}), [encoder_id], "native", {})
    return file


def open_library(file: Path) -> Library:
    """Open a library that `write_library` wrote."""
    return Library.open(file, create=False)


def style_of(song) -> str:
    """Return the style of a song of the library."""
    return song.genre
