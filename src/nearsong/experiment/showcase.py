"""Results of a run -> the songs of one split in the native and the learned space, for maps and example playlists."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nearsong.experiment.dataset import Dataset
from nearsong.experiment.methods import learn_grid, plain_vectors
from nearsong.experiment.prepare import Prepared, save_whole
from nearsong.experiment.protocol import make_split
from nearsong.experiment.results import Row
from nearsong.model.selection import averaged_factor, best_of, compress

N_QUERIES = 200
"""Test songs among which the report looks for examples."""


def write_showcase(run: Path, data: Dataset, prepared: Prepared, rows: Sequence[Row]) -> None:
    """Fit the metric that validation chose for split 0 once more and keep where it puts the songs."""
    method, name = ("ppk_mlr", "ppk_mlr") if prepared.has_sound else ("mlr", "vectors_mlr")
    picks = [row for row in rows if row["kind"] == "pick" and row["method"] == name and row["split"] == 0]
    if not picks:
        return
    chosen = max(picks, key=lambda row: row["validation"]["known"]["auc"])
    split = make_split(prepared.population, 0, prepared.settings)
    vectors = plain_vectors(prepared, split, method, chosen["codebook"], chosen["tau"])
    songs = compress(vectors, split.training.queries, 0.95 if prepared.has_sound else None)
    grid = learn_grid(songs, split.training, split.validation, [chosen["loss"]], prepared.settings)
    factor = averaged_factor(grid, songs, split.training.queries) if len(grid) > 1 else best_of(grid).factor
    shown = np.concatenate([split.training.queries, split.test_known.queries])
    test = len(split.training.queries) + np.arange(len(split.test_known.queries))
    usable = np.flatnonzero(np.diff(split.test_known.relevant.indptr))[:N_QUERIES]
    relevant = np.zeros((len(usable), len(shown)), dtype=bool)
    relevant[:, : len(split.training.queries)] = split.test_known.relevant[usable].toarray()
    places = [prepared.population.songs[song] for song in shown]
    names = {
        "song_id": [data.song_ids[i] for i in places],
        "title": [data.titles[i] for i in places],
        "artist": [data.artist_names[data.song_artist[i]] for i in places],
        "genre": [data.genres[i] if data.genres else "" for i in places],
    }
    arrays: dict[str, Any] = {name: np.array(values, dtype=str) for name, values in names.items()}
    arrays |= {
        "is_test": np.arange(len(shown)) >= len(split.training.queries),
        "native": songs.vectors[shown].astype(np.float32),
        "learned": (songs.vectors[shown] @ factor.T).astype(np.float32),
        "queries": test[usable],
        "relevant": relevant,
    }
    save_whole(run / "showcase.npz", lambda file: np.savez(file, **arrays))
