"""Models and songs -> embeddings; keeps track of the active model and embeds every song under it.

A model becomes active in one transaction that finds no song without an embedding; concurrent queries use either the
old model or the new one, always with all its embeddings.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.library.models.embedding import BlockEmbedder
from nearsong.library.models.library_encoders import add_encoders, default_encoders, stored_encoder
from nearsong.library.store import ACTIVE, PENDING, ModelRow, Store
from nearsong.model import (
    CodewordEncoder,
    FusedProjector,
    MetricProjector,
    SimilarityModel,
    SongEncoder,
    SoundSpace,
    learn_projection,
)
from nearsong.model.fusion import Fusion
from nearsong.types import Note, Progress, no_note, no_progress

MAX_PCA_SONGS = 5_000
"""Songs that principal components are fitted on; more do not change the results audibly."""

MAX_FUSED_SONGS = 2_000
"""The same for several encoders, whose vectors are longer: principal components take seconds."""

# ---- native models


def native_model(encoder: SongEncoder, vectors: npt.NDArray[Any], facts: dict[str, Any]) -> SimilarityModel:
    """Return the unlearned model: sound alone, reduced to principal components.

    Codewords are compared by PPK as in the paper, codewords of several codebooks by the mean of their squared
    distances. Other encoders are joined: their parts centred, weighted and scaled.

    Parameters
    ----------
    encoder : SongEncoder
    vectors : array of shape (n_songs, n_dimensions)
        Song vectors of a sample.
    facts : dict
        Stored with the model.
    """
    trained_on = {"songs": len(vectors), **facts}
    if not _has_only_codewords(encoder):
        mapped = encoder.phi(np.asarray(vectors, dtype=np.float64))
        fusion = Fusion.fit(mapped, encoder.parts)
        space = SoundSpace.fit(fusion.transform(mapped))
        return SimilarityModel(encoder, FusedProjector(fusion, space), trained_on)
    models = []
    for member, block in zip(encoder.encoders, encoder.blocks(vectors), strict=True):
        projection, _ = learn_projection(block, encoder=member)
        models.append(SimilarityModel(member, MetricProjector([projection]), trained_on))
    return models[0] if len(models) == 1 else SimilarityModel.combined(models)


def _has_only_codewords(encoder: SongEncoder) -> bool:
    return all(isinstance(member, CodewordEncoder) for member in encoder.encoders)


def max_native_songs(encoder: SongEncoder) -> int:
    """Return how many songs a native model is fitted on at most."""
    return MAX_PCA_SONGS if _has_only_codewords(encoder) else min(MAX_PCA_SONGS, MAX_FUSED_SONGS)


def add_native(store: Store, seed: int = 0, progress: Progress = no_progress) -> int | None:
    """Store a native model of the library's songs and make it active; None if there are too few songs for one."""
    encoder_ids = _default_ids(store)
    if not encoder_ids:
        return None
    encoder = stored_encoder(store, encoder_ids)
    vectors = sample_vectors(store, encoder_ids, max_native_songs(encoder), seed)
    if not differ(vectors):
        return None
    model = native_model(encoder, vectors, {"kind": "native"})
    model_id = add_model(store, model, encoder_ids, "native", {"songs": len(vectors)}, progress=progress)
    _drop_earlier_natives(store, model_id)
    return model_id


def _drop_earlier_natives(store: Store, model_id: int) -> None:
    """Drop the embeddings of native models before one; they are rarely needed again, and recomputed if so."""
    for row in store.models.rows():
        if row.kind == "native" and row.id < model_id:
            store.models.drop_embeddings(row.id)


def _continue_native(store: Store, progress: Progress) -> None:
    """Make a native model active whose activation was interrupted, unless other encoders are the default now."""
    pending = _row_of(store, PENDING)
    if pending is None or pending.kind != "native":
        return
    if pending.encoder_ids == _default_ids(store):
        activate_model(store, pending.id, progress=progress)
        _drop_earlier_natives(store, pending.id)
        return
    with store.writing() as connection:
        if store.models.setting_in(connection, PENDING) == str(pending.id):
            store.models.set(connection, PENDING, None)


def sample_vectors(store: Store, encoder_ids: Sequence[int], n: int, seed: int) -> npt.NDArray[np.float32]:
    """Return the vectors of up to ``n`` songs, in the order of their paths: ids depend on which worker was faster."""
    songs = [song.id for song in sorted(store.songs.all(), key=lambda song: song.path) if not song.missing]
    if len(songs) > n:
        chosen = np.random.default_rng([seed, 23]).choice(len(songs), n, replace=False)
        songs = [songs[i] for i in np.sort(chosen)]
    vector_of: dict[int, npt.NDArray[np.float32]] = {}
    for ids, vectors in store.songs.vectors(encoder_ids, songs):
        vector_of |= dict(zip(ids.tolist(), vectors, strict=True))
    found = [vector_of[song] for song in songs if song in vector_of]
    return np.stack(found) if found else np.empty((0, 0), np.float32)


def differ(vectors: npt.NDArray[Any]) -> bool:
    """Return whether there are two songs (n_songs, n_dimensions) that differ."""
    if len(vectors) < 2:
        return False
    present = ~np.isnan(vectors).any(axis=0)
    return bool(present.any()) and float(np.ptp(vectors[:, present], axis=0).max()) > 0


def _default_ids(store: Store) -> tuple[int, ...]:
    """Return the encoders that models are made for by default; none if nothing was scanned."""
    scanned = store.models.scanned_encoders()
    return tuple(scanned[name] for name in default_encoders(scanned))


# ---- models


def add_model(
    store: Store,
    model: SimilarityModel,
    encoder_ids: Sequence[int],
    kind: str,
    facts: dict[str, Any],
    *,
    activate: bool = True,
    progress: Progress = no_progress,
) -> int:
    """Store a model and, by default, make it active; return its id.

    It is pending meanwhile, so that the next scan continues if this process is killed.
    """
    uses_artists = model.projector.uses_artists
    with store.writing() as connection:
        model_id = store.models.add(connection, kind, encoder_ids, model.to_bytes(), facts, uses_artists=uses_artists)
        if activate:
            store.models.set(connection, PENDING, model_id)
    if activate:
        activate_model(store, model_id, model, progress=progress)
    return model_id


def activate_model(
    store: Store, model_id: int, model: SimilarityModel | None = None, progress: Progress = no_progress
) -> None:
    """Make a model active, after every song with vectors of its encoders has an embedding under it.

    From then on scans use its encoders.
    """
    row = store.models.row(model_id)
    embedder = BlockEmbedder(store, row, model)
    total, n_done = store.songs.analysed(row.encoder_ids), 0
    while True:
        # one transaction per block, so that scans and imports are not blocked; the model is not active yet
        with store.writing() as connection:
            store.models.row(model_id, connection)  # raises if it was removed since
            n_embedded = embedder.embed_next(connection)
            if n_embedded is None:
                store.models.set(connection, ACTIVE, model_id)
                store.models.set(connection, PENDING, None)
                for encoder_id in row.encoder_ids:
                    store.models.scan_with(connection, encoder_id)
                break
        n_done += n_embedded
        progress("embedding songs", n_done, max(n_done, total))
    progress("embedding songs", total, total)


def import_model(
    store: Store, model: SimilarityModel, facts: dict[str, Any], progress: Progress = no_progress
) -> tuple[int, bool]:
    """Store a model from a file; return its id and whether it is active already.

    A model with encoders of this library becomes active at once. With other encoders it is pending: the next scan
    analyses the songs with them and then activates the model.

    Raises
    ------
    EncoderNotInstalledError
        If one of its encoders needs something that is not installed.
    """
    for member in model.encoder.encoders:
        member.check_installed()
    uses_artists = model.projector.uses_artists
    with store.writing() as connection:
        encoder_ids = add_encoders(store, connection, model.encoder)
        model_id = store.models.add(
            connection, "imported", encoder_ids, model.to_bytes(), facts, uses_artists=uses_artists
        )
    return model_id, not use_model(store, model_id, progress)


def use_model(store: Store, model_id: int, progress: Progress = no_progress) -> int:
    """Make a model active if all songs are analysed with its encoders; return how many are not.

    If some are not, it is pending: scans use its encoders from now on and activate it once all songs are analysed.
    """
    encoder_ids = store.models.row(model_id).encoder_ids
    active = store.models.active
    in_use = set() if active is None else set(store.models.row(active).encoder_ids)
    not_analysed = 0 if set(encoder_ids) <= in_use else store.songs.not_analysed(encoder_ids)
    if not not_analysed:
        activate_model(store, model_id, progress=progress)
        return 0
    with store.writing() as connection:
        for encoder_id in encoder_ids:
            store.models.scan_with(connection, encoder_id)
        store.models.set(connection, PENDING, model_id)
    return not_analysed


def ensure_model(store: Store, seed: int = 0, progress: Progress = no_progress, note: Note = no_note) -> None:
    """Make the right model active after a scan.

    That is the pending model, once all songs are analysed for it; else the active one as long as scans use its
    encoders; else the newest of the others whose encoders they use; else the native model. A native model is fitted
    again when the library has twice as many songs as it was fitted on, or other encoders.
    """
    scanned = set(store.models.scanned_encoders().values())
    if not scanned:
        return
    _continue_native(store, progress)
    pending, row = _row_of(store, PENDING), _row_of(store, ACTIVE)
    if pending is None and (row is None or _has_outgrown(store, row)):
        add_native(store, seed, progress)
        return
    if pending is None and row is not None and set(row.encoder_ids) <= scanned and not _is_superseded(store, row):
        return
    chosen = pending or _successor(store, row, scanned)
    not_analysed = store.songs.not_analysed(_default_ids(store) if chosen is None else chosen.encoder_ids)
    if not_analysed:
        songs = "song is" if not_analysed == 1 else "songs are"
        note(f"{not_analysed:,} {songs} not analysed with the new encoder yet; run `nearsong scan` again.")
        return
    if chosen is None:
        add_native(store, seed, progress)
    else:
        activate_model(store, chosen.id, progress=progress)
    if pending is not None:
        note(f"All songs are analysed: model {pending.id} is active now.")
    else:
        _note_switch(store, row, note)


def _row_of(store: Store, setting: str) -> ModelRow | None:
    model_id = store.models.setting(setting)
    return None if model_id is None else store.models.row(int(model_id))


def _is_superseded(store: Store, row: ModelRow) -> bool:
    """Return whether the active model is native and there is none yet for the encoders that are the default now.

    If there is one, the other was chosen.
    """
    default = _default_ids(store)
    natives = [other.encoder_ids for other in store.models.rows() if other.kind == "native"]
    return row.kind == "native" and row.encoder_ids != default and default not in natives


def _successor(store: Store, row: ModelRow | None, scanned: set[int]) -> ModelRow | None:
    """Return the model that replaces one that is not to be used; None for a new native one."""
    if row is not None and set(row.encoder_ids) <= scanned:
        return None  # it is native, and superseded
    default = _default_ids(store)
    candidates = [
        other
        for other in store.models.rows()
        if set(other.encoder_ids) <= scanned and (other.kind != "native" or other.encoder_ids == default)
    ]
    return candidates[-1] if candidates else None


def _note_switch(store: Store, previous: ModelRow | None, note: Note) -> None:
    """Say which model is active now that scans no longer use the previous one's encoder, and how to go back.

    A native model whose encoder was replaced by a later one of the same name is not mentioned: the new native model
    is its successor.
    """
    active = store.models.active
    if active is None or previous is None or active == previous.id:
        return
    scanned = store.models.scanned_encoders()
    lost = [name for name in previous.encoders if name not in scanned]
    name, is_replaced = " and ".join(lost), not lost
    if previous.kind == "native" and is_replaced:
        return
    reason = f"Model {active} ({store.models.row(active).kind}) is now active instead of model {previous.id}"
    if previous.kind == "native":  # deleted with its encoder's vectors
        names = ",".join(previous.encoders)
        note(f"{reason}, which was removed with its encoder, {name}. To go back: nearsong scan --encoders {names}")
    elif is_replaced:
        note(f"{reason}, whose encoder was replaced. To go back: nearsong models use {previous.id}")
    else:
        note(
            f"{reason} ({previous.kind}), whose encoder, {name}, is no longer used. To go back: nearsong models use "
            f"{previous.id}, then nearsong scan"
        )


def _has_outgrown(store: Store, model: ModelRow) -> bool:
    """Return whether a native model was fitted on at most half of the songs that are analysed now."""
    n_fitted = int(model.facts.get("songs", MAX_PCA_SONGS))
    if model.kind != "native" or model.encoder_ids != _default_ids(store):
        return False
    if n_fitted >= max_native_songs(stored_encoder(store, model.encoder_ids)):
        return False
    counts = store.songs.counts()
    n_analysed = counts["songs"] - counts["missing"] - store.songs.not_analysed(model.encoder_ids)
    return n_analysed >= 2 * n_fitted
