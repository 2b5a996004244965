"""A learned space -> the same songs embedded by the unlearned (native) model of the same encoders."""

import numpy as np

from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.models.lifecycle import differ, max_native_songs, native_model, sample_vectors
from nearsong.library.neighbours.space import Space
from nearsong.library.store import ModelRow, Store
from nearsong.model import SimilarityModel

IN_MEMORY_MODEL_ID = 0
"""The model id of a native space whose model is not stored."""


def native_space(store: Store, space: Space, model: ModelRow) -> Space:
    """Return the songs of a space as the native model of the same encoders embeds them.

    The newest stored native model is used; songs without an embedding under it are projected. A library with only
    imported models has none, so one is fitted on a sample of its songs and not stored.

    Parameters
    ----------
    store : Store
    space : Space
        Space of the active model.
    model : ModelRow
        The active model.

    Returns
    -------
    Space
        The same songs in the same order, without those removed from the library since. ``space`` itself if its model
        is native, or if there are no two different songs to fit a native model on.
    """
    if model.kind == "native":
        return space
    stored = [row.id for row in store.models.rows() if row.kind == "native" and row.encoder_ids == model.encoder_ids]
    if stored:
        model_id = stored[-1]
        native = SimilarityModel.from_bytes(store.models.data(model_id))
        ids, known = store.songs.embeddings(model_id)
    else:
        encoder = stored_encoder(store, model.encoder_ids)
        sample = sample_vectors(store, model.encoder_ids, max_native_songs(encoder), seed=0)
        if not differ(sample):
            return space
        model_id = IN_MEMORY_MODEL_ID
        native = native_model(encoder, sample, {"kind": "native"})
        ids, known = np.empty(0, np.int64), np.empty((0, native.rank), np.float32)
    embeddings = np.zeros((len(space.songs), native.rank), np.float32)
    is_embedded = np.isin(space.ids, ids)
    if is_embedded.any():
        embeddings[is_embedded] = known[np.isin(ids, space.ids)]  # both are sorted by id
    for numbers, vectors in store.songs.vectors(model.encoder_ids, space.ids[~is_embedded].tolist()):
        rows = np.searchsorted(space.ids, numbers)
        embeddings[rows] = native.project(vectors)
        is_embedded[rows] = True
    songs = [song for song, has_embedding in zip(space.songs, is_embedded.tolist(), strict=True) if has_embedding]
    return Space(
        model_id=model_id,
        model=native,
        songs=songs,
        embeddings=embeddings[is_embedded],
        cache=store.cache,
        missing=space.missing,
    )
