"""Random songs, written straight into a store -> a library of any size in seconds, without analysing audio.

Benchmarks and the attacks of `torture` measure on it.
"""

import os
from contextlib import closing
from pathlib import Path
from time import perf_counter

import numpy as np
import sqlalchemy as sa

from nearsong.encoding import Codebook
from nearsong.library import Library
from nearsong.library.models.library_encoders import set_encoders
from nearsong.library.models.lifecycle import add_model, native_model
from nearsong.library.store import Store, schema
from nearsong.library.store.text import path_key, path_to_text
from nearsong.model import CodewordEncoder, Quantizer

BLOCK = 5_000
N_ARTISTS = 997
"""Song i is by ``artist {i % N_ARTISTS}``."""


def make_files(folder: Path, n: int) -> list[str]:
    """Write empty files, and return their paths."""
    paths = []
    for i in range(n):
        album = folder / f"artist {i % N_ARTISTS}" / f"album {i % 3}"
        if i < 3 * N_ARTISTS:
            album.mkdir(parents=True, exist_ok=True)
        path = album / f"{i:06d} a song of some length.mp3"
        path.write_bytes(b"")
        paths.append(str(path))
    return paths


def make_histograms(n: int, codewords: int, seed: int) -> np.ndarray:
    """Return histograms that lie near a space of 100 dimensions, as those of music do."""
    kinds = np.random.default_rng(0).dirichlet(np.full(codewords, 0.1), size=100)
    shares = np.random.default_rng([1, seed]).dirichlet(np.full(100, 0.2), size=n)
    return (shares @ kinds).astype(np.float32)


def fill(store: Store, paths: list[str], codewords: int, encoder_id: int) -> None:
    """Write rows as a scan would have written them, all at once."""
    tags = dict.fromkeys(("album", "genre", "recording_mbid", "artist_mbid", "problem", "damage"), "")
    for start in range(0, len(paths), BLOCK):
        rows = []
        for i, path in enumerate(paths[start : start + BLOCK], start):
            facts = os.stat(path)
            artist = f"artist {i % N_ARTISTS}"
            row = {"id": i + 1, "path_key": path_key(path), "path": path_to_text(path), "size": facts.st_size}
            row |= {"modified": facts.st_mtime_ns, "content": f"{i:032x}", "missing": False, "seconds": 200.0}
            rows.append({**row, **tags, "artist": artist, "artist_key": artist, "title": f"song {i}", "year": 2000})
        vectors = make_histograms(len(rows), codewords, start)
        song_vectors = [
            {"encoder_id": encoder_id, "song_id": row["id"], "vector": vector.tobytes()}
            for row, vector in zip(rows, vectors, strict=True)
        ]
        with store.writing() as connection:
            connection.execute(schema.songs.insert(), rows)
            connection.execute(schema.song_vectors.insert(), song_vectors)
            if connection.dialect.name == "postgresql":  # new songs get ids after these
                connection.execute(
                    sa.text("SELECT setval(pg_get_serial_sequence('songs', 'id'), MAX(id)) FROM songs")
                )


def make_library(folder: Path, n_songs: int, codewords: int) -> None:
    """Write ``library.sqlite`` with random songs, whose files are empty, and a native model."""
    make_library_of(folder / "library.sqlite", make_files(folder / "music", n_songs), codewords)


def make_library_of(file: Path | str, paths: list[str], codewords: int) -> None:
    """Write a library of files as if they had been scanned, with random song vectors and a native model.

    It may be one in PostgreSQL.
    """
    frames = np.random.default_rng(0).standard_normal((4 * codewords, 39))
    encoder = CodewordEncoder(Quantizer(Codebook(codewords, random_state=0).fit(frames)))
    with closing(Store(file)) as store:
        (encoder_id,) = set_encoders(store, [encoder])
        fill(store, paths, codewords, encoder_id)
        vectors = make_histograms(max(min(len(paths), 3_000), 200), codewords, 10**9).astype(np.float64)
        add_model(store, native_model(encoder, vectors, {}), [encoder_id], "native", {})


def bare_index(library_file: Path, n: int = 200) -> tuple[float, float]:
    """Return the median seconds of one index query for ten songs, and of each in a block of 32."""
    with Library.open(library_file, create=False) as library:
        space = library.space
        rows = np.random.default_rng(1).integers(len(space.songs), size=n)
        space.index.nearest(space.embeddings[0], 11)
        alone, together = [], []
        for row in rows:
            start = perf_counter()
            space.index.nearest(space.embeddings[row], 11)
            alone.append(perf_counter() - start)
        for first in range(0, n - 31, 32):
            start = perf_counter()
            space.index.nearest(space.embeddings[rows[first : first + 32]], 11)
            together.append((perf_counter() - start) / 32)
    return float(np.median(alone)), float(np.median(together))
