"""A learned space -> the same songs by sound alone: their places under the native model of the same ear."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.library.projection import PCA_SONGS, load_ear, native_model, sample_vectors
from nearsong.library.space import Space
from nearsong.library.store import ModelRow, Store
from nearsong.model import Ear, SimilarityModel

IN_MEMORY = 0
"""The model id of a native space whose model is not kept anywhere."""


def native_space(store: Store, space: Space, model: ModelRow, seed: int = 0) -> Space:
    """Return the songs of a space where the native model of the same ear has them.

    That is the newest one that is kept; songs that have no place under it are projected. A library that has only
    models from elsewhere has none, so one is made of a sample of its songs and forgotten with the space.

    Parameters
    ----------
    store : Store
    space : Space
        Of the model that answers.
    model : ModelRow
        That model.
    seed : int, default=0
        Of the sample.

    Returns
    -------
    Space
        The same songs in the same order; one that was removed from the library meanwhile is left out. It is ``space``
        itself if that is the native one, or if there are no two different songs to make a native model of.
    """
    if model.kind == "native":
        return space
    kept = [row.id for row in store.models.rows() if row.kind == "native" and row.ear_id == model.ear_id]
    if kept:
        model_id = kept[-1]
        native = SimilarityModel.from_bytes(store.models.data(model_id))
        ids, found = store.songs.places(model_id)
    else:
        sample = sample_vectors(store, model.ear_id, PCA_SONGS, seed)
        fitted = _native_in_memory(load_ear(store, model.ear_id), sample)
        if fitted is None:
            return space
        model_id, native = IN_MEMORY, fitted
        ids, found = np.empty(0, np.int64), np.empty((0, native.rank), np.float32)
    places = np.zeros((len(space.songs), native.rank), np.float32)
    placed = np.isin(space.ids, ids)
    if placed.any():
        places[placed] = found[np.isin(ids, space.ids)]  # both are by id
    for numbers, vectors in store.songs.vectors(model.ear_id, space.ids[~placed].tolist()):
        if len(numbers):
            rows = np.searchsorted(space.ids, numbers)
            places[rows] = native.project(vectors)
            placed[rows] = True
    songs = [song for song, known in zip(space.songs, placed.tolist(), strict=True) if known]
    return Space(model_id, native, songs, places[placed], store.cache, space.missing)


def _native_in_memory(ear: Ear, vectors: npt.NDArray[Any]) -> SimilarityModel | None:
    """Return a native model of some songs; of an ear with several codebooks, the mean of theirs.

    None if a codebook hears the same in all of them.
    """
    if len(vectors) < 2:
        return None
    ends = np.cumsum([0] + [encoder.histogram.n_codewords for encoder in ear.encoders])
    parts = [vectors[:, start:stop] for start, stop in pairwise(ends.tolist())]
    if any(np.ptp(part, axis=0).max() == 0 for part in parts):
        return None
    models = [
        native_model(Ear([encoder], ear.features), part, {"kind": "native"})
        for encoder, part in zip(ear.encoders, parts, strict=True)
    ]
    return models[0] if len(models) == 1 else SimilarityModel.combined(models)
