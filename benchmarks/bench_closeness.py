"""What similarity and closeness tell about the songs of a list: how many rows look the same, and their words.

One JSON line a collection, over the lists of each song's ten nearest: ``same_percent`` is the share of rows whose
similarity, rounded down to a percent, another row of the list has too, and ``same_closeness`` the same for closeness
in a hundred steps; spans are medians of the first row minus the last.

Collections are arrays of vectors with a row a song (``--vectors``), compared by Euclidean distance after scaling each
column, or libraries (``--library``), under the active model and by sound alone. By default, random ones.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nearsong.library import Library
from nearsong.library.neighbours.calibration import Calibration
from nearsong.library.neighbours.closeness import closeness_word
from nearsong.library.neighbours.exact import squared_distances
from nearsong.types import FloatArray

PROFILES = {"smoke": 300, "full": 4_000}
"""Profile -> songs of a collection, at most: a random sample of a larger one."""
N_NEAREST = 10


def measured(name: str, vectors: FloatArray, most: int) -> dict[str, Any]:
    if len(vectors) > most:
        vectors = vectors[np.random.default_rng(0).choice(len(vectors), most, replace=False)]
    calibration = Calibration.fit(vectors)
    nearest = []
    for row, vector in enumerate(vectors):
        distances = np.sqrt(squared_distances(vectors, vector))
        distances[row] = np.inf
        nearest.append(np.sort(distances)[: min(N_NEAREST, len(vectors) - 1)])
    similarity = calibration.similarity(np.array(nearest))
    closeness = calibration.closeness(similarity)
    words = [[closeness_word(value) for value in row] for row in closeness.tolist()]
    counts = Counter(word for row in words for word in row)
    return {
        "case": name,
        "songs": len(vectors),
        "at_least_99": _rounded((similarity >= 0.99).mean()),
        "same_percent": _rounded(_alike(np.floor(100 * similarity))),
        "same_closeness": _rounded(_alike(np.round(100 * closeness))),
        "span_similarity": _rounded(np.median(similarity[:, 0] - similarity[:, -1])),
        "span_closeness": _rounded(np.median(closeness[:, 0] - closeness[:, -1])),
        "words": {word: _rounded(count / closeness.size) for word, count in counts.items()},
        "lists_with_several_words": _rounded(np.mean([len(set(row)) > 1 for row in words])),
    }


def _alike(table: FloatArray) -> float:
    """Return the share of cells that have an equal one in their row."""
    return float(np.mean([sum(n for n in Counter(row).values() if n > 1) / len(row) for row in table.tolist()]))


def _rounded(value: Any) -> float:
    return round(float(value), 3)


def collections(options: argparse.Namespace) -> Iterator[tuple[str, FloatArray]]:
    for path in options.vectors:
        rows = np.load(path).astype(np.float64)
        scale = rows.std(axis=0)
        yield path.stem, (rows - rows.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    for address in options.library:
        with Library.open(address) as library:
            snapshot = library.snapshot()
            yield f"{snapshot.model.kind} model", snapshot.space.embeddings.astype(np.float64)
            yield "sound alone", snapshot.native.embeddings.astype(np.float64)
    if not options.vectors and not options.library:
        rng = np.random.default_rng(0)
        for n_songs in (10, 300):
            yield "random", rng.standard_normal((n_songs, 8)) * rng.lognormal(size=(n_songs, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--vectors", type=Path, nargs="*", default=[], help="files .npy with a row a song")
    parser.add_argument("--library", nargs="*", default=[], help="addresses of libraries")
    options = parser.parse_args()
    for name, vectors in collections(options):
        print(json.dumps(measured(name, vectors, PROFILES[options.profile])), flush=True)


if __name__ == "__main__":
    main()
