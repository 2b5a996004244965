"""Results of a run -> song embeddings of one split, native and learned, for maps and example playlists."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nearsong.atomic_write import atomic_write
from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.methods.method import Quantization
from nearsong.experiment.methods.registry import main_method
from nearsong.experiment.run.learning import learn_grid, vectors_to_learn_on
from nearsong.experiment.run.prepared import Prepared
from nearsong.experiment.run.protocol import make_split
from nearsong.experiment.run.results import Row
from nearsong.model.selection import averaged_factor, best_of

N_QUERIES = 200
"""Test songs from which the report chooses its examples."""


def write_showcase(run: Path, data: Dataset, prepared: Prepared, rows: Sequence[Row]) -> None:
    """Fit again the metric that validation chose for split 0 and store the embeddings of its songs."""
    method = main_method(prepared)
    name = method.reported_name(prepared)
    picks = [row for row in rows if row["kind"] == "pick" and row["method"] == name and row["split"] == 0]
    if not picks:
        return
    chosen = max(picks, key=lambda row: row["validation"]["known"]["auc"])
    split = make_split(prepared.population, 0, prepared.settings)
    songs = vectors_to_learn_on(method, prepared, split, Quantization(chosen["codebook"], chosen["tau"]))
    grid = learn_grid(songs, split.training, split.validation, [chosen["loss"]], prepared.settings)
    factor = averaged_factor(grid, songs, split.training.queries) if len(grid) > 1 else best_of(grid).factor
    shown = np.concatenate([split.training.queries, split.test_known.queries])
    test = len(split.training.queries) + np.arange(len(split.test_known.queries))
    usable = np.flatnonzero(np.diff(split.test_known.relevant.indptr))[:N_QUERIES]
    relevant = np.zeros((len(usable), len(shown)), dtype=bool)
    relevant[:, : len(split.training.queries)] = split.test_known.relevant[usable].toarray()
    rows_in_data = [prepared.population.songs[song] for song in shown]
    names = {
        "song_id": [data.song_ids[i] for i in rows_in_data],
        "title": [data.titles[i] for i in rows_in_data],
        "artist": [data.artist_names[data.song_artist[i]] for i in rows_in_data],
        "genre": [data.genres[i] if data.genres else "" for i in rows_in_data],
    }
    arrays: dict[str, Any] = {name: np.array(values, dtype=str) for name, values in names.items()}
    arrays |= {
        "is_test": np.arange(len(shown)) >= len(split.training.queries),
        "native": songs.vectors[shown].astype(np.float32),
        "learned": (songs.vectors[shown] @ factor.T).astype(np.float32),
        "queries": test[usable],
        "relevant": relevant,
    }
    with atomic_write(run / "showcase.npz") as file:
        np.savez(file, **arrays)
