"""A library's songs and listening histories -> a trained model that becomes active, or an evaluation."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.executor import ClusterCalls, calls_on
from nearsong.library.listeners.histories import Histories, ListenerChoice
from nearsong.library.listeners.known_listens import KnownListens
from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.listeners.thresholds import Listening
from nearsong.library.models.library_encoders import chosen_encoders, default_encoders, stored_encoder
from nearsong.library.models.lifecycle import add_model, add_native
from nearsong.library.store import PENDING, REJECTED, Store
from nearsong.library.training.coverage.songs import songs_to_read
from nearsong.library.training.data import MIN_LISTENERS
from nearsong.library.training.fit import (
    GRIDS,
    ActiveModel,
    TrainingData,
    TrainingReport,
    TrainingSettings,
    evaluate,
    fit_model,
)
from nearsong.library.training.fused import codeword_member
from nearsong.library.training.retraining.last_training import last_training, store_last_training, training_digest
from nearsong.library.training.retraining.rejection import rejection_state
from nearsong.model import CodewordEncoder, SimilarityModel, SongEncoder
from nearsong.temporary import remove_leftovers
from nearsong.types import Progress, no_progress

REJECTED_REPORT = "training_rejected_report"
"""Setting: the report of that training, as JSON."""

KNOWN = "known"
"""Fact of a model: the songs and listens that it could know, so that it can be learned again without some artists."""


def train_library(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    *,
    even_if_unchanged: bool = False,
    cluster: str | None = None,
    progress: Progress = no_progress,
) -> tuple[int | None, TrainingReport]:
    """Learn from the library's listens; the new model becomes active if it is better than sound and the active one.

    Parameters
    ----------
    store : Store
    settings : TrainingSettings
    choice : ListenerChoice
        Who counts as a listener.
    even_if_unchanged : bool
        Learn also from what the last training learned from.
    cluster : str, optional
        Address of the Dask scheduler whose workers learn in the splits.
    progress : callable

    Returns
    -------
    model_id : int or None
        The new model; None if none was added.
    report : TrainingReport
        With the reason "same_data" if nothing has changed since the last training, unless ``even_if_unchanged``.
    """
    with calls_on(cluster) as calls:  # before anything that takes long, because there may be none
        return _train(store, settings, choice, even_if_unchanged, calls, progress)


def _train(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    even_if_unchanged: bool,
    cluster: ClusterCalls | None,
    progress: Progress,
) -> tuple[int | None, TrainingReport]:
    remove_leftovers(store.cache)
    encoder_ids = _complete_encoders(store, settings)
    PlayLog(store).update_history()
    digest = training_digest(store, encoder_ids, settings, choice)
    last = last_training(store)
    if not even_if_unchanged and last and (last.digest, last.model) == (digest, store.models.active):
        return None, TrainingReport(decision="active", reason="same_data")
    data, listening = training_data(store, encoder_ids, choice, settings, progress)
    encoder = stored_encoder(store, encoder_ids)
    active = _active_model(store, encoder_ids, data, listening, choice)
    trained = fit_model(encoder, data, settings, active=active, cluster=cluster, progress=progress)
    report = replace(trained.report, notes=(*trained.report.notes, f"Listeners: {listening.how}."))
    if not set(encoder_ids) <= set(store.models.scanned_encoders().values()):
        raise LibraryError("The encoder was changed during training, so the new model does not fit it. Train again.")
    if trained.model is not None:
        needed = _ids_for(store, trained.model, encoder_ids)
        facts = {
            "report": report.as_json(),
            KNOWN: listening.known | {"newest_song": int(np.max(np.asarray(data.song_ids)))},
        }
        model_id = add_model(store, trained.model, needed, "learned", facts, progress=progress)
        _store_result(store, digest, report)
        return model_id, report
    if store.models.active is None:
        add_native(store, settings.seed, progress)
    _store_result(store, digest, report)
    return None, report


def evaluate_library(
    store: Store,
    settings: TrainingSettings,
    choice: ListenerChoice,
    *,
    cluster: str | None = None,
    progress: Progress = no_progress,
) -> TrainingReport:
    """Score the method and parameters of the active model on held-out artists, with the current songs and listens.

    Where the active model is of sound alone, that is the listener space.
    """
    encoder_ids = _complete_encoders(store, settings)
    encoder = stored_encoder(store, encoder_ids)
    active = store.models.active
    row = None if active is None else store.models.row(active)
    facts: dict[str, Any] = {}
    imported, seen = None, False
    if row is not None and row.kind != "native":
        model = SimilarityModel.from_bytes(store.models.data(row.id))
        facts = dict(model.trained_on)
        if row.kind == "imported" and set(row.encoder_ids) <= set(encoder_ids):
            imported, seen = model, _was_trained_here(store, facts)
    data, _ = training_data(store, encoder_ids, choice, settings, progress)
    method, parameters = _method_of(facts, encoder)
    with calls_on(cluster) as calls:
        return evaluate(
            encoder,
            data,
            settings,
            method=method,
            choice=parameters,
            model=imported,
            seen=seen,
            cluster=calls,
            progress=progress,
        )


def _method_of(facts: dict[str, Any], encoder: SongEncoder) -> tuple[str, dict[str, Any]]:
    """Return the method and parameters of a learned model; models from before there were methods are the paper's."""
    method = facts.get("method", "paper" if "loss" in facts else "listener_space")
    if method == "paper" and codeword_member(encoder) is None:
        method = "mlr"
    return method, {name: facts[name] for name in GRIDS if name in facts}


def _complete_encoders(store: Store, settings: TrainingSettings) -> tuple[int, ...]:
    """Return the chosen encoders, by default those of models and codewords; raise if songs are not analysed yet."""
    names = settings.encoders
    scanned = store.models.scanned_encoders()
    if names is None and CodewordEncoder.name in scanned:  # what the others are compared with
        names = tuple(dict.fromkeys([*default_encoders(scanned), CodewordEncoder.name]))
    encoder_ids = chosen_encoders(store, names)
    n_pending = store.songs.not_analysed(encoder_ids)
    if store.models.setting(PENDING) is not None and n_pending:
        raise LibraryError(
            f"{n_pending:,} songs are not analysed with the new encoder yet. Run `nearsong scan` first."
        )
    return encoder_ids


def _ids_for(store: Store, model: SimilarityModel, encoder_ids: Sequence[int]) -> tuple[int, ...]:
    """Return the ids of a model's encoders, which are some of those that it was trained with."""
    id_of_key = {
        member.key: encoder_id
        for encoder_id in encoder_ids
        for member in stored_encoder(store, [encoder_id]).encoders
    }
    return tuple(dict.fromkeys(id_of_key[member.key] for member in model.encoder.encoders))


def _was_trained_here(store: Store, facts: dict[str, Any]) -> bool:
    """Return whether an imported model was trained in this library, so that its artists are not unseen."""
    learned = [row.id for row in store.models.rows() if row.kind == "learned"]
    return any(dict(SimilarityModel.from_bytes(store.models.data(model)).trained_on) == facts for model in learned)


def _active_model(
    store: Store, encoder_ids: Sequence[int], data: TrainingData, listening: "_AllListening", choice: ListenerChoice
) -> ActiveModel | None:
    """Return the active model with what it could know; None if it is of sound alone, or of other encoders."""
    active = store.models.active
    row = None if active is None else store.models.row(active)
    if row is None or row.kind == "native" or not set(row.encoder_ids) <= set(encoder_ids):
        return None
    model = SimilarityModel.from_bytes(store.models.data(row.id))
    if row.kind == "imported" or KNOWN not in row.facts:
        return ActiveModel(model)
    method, parameters = _method_of(dict(model.trained_on), stored_encoder(store, encoder_ids))
    known = row.facts[KNOWN]
    past = listening.histories.listening_to_all(choice, KnownListens.from_json(known))
    return ActiveModel(
        model=model,
        method=method,
        parameters=parameters,
        known=replace(
            data,
            artist_plays=past.artist_plays,
            song_plays=past.song_plays[:, listening.rows],
            all_plays=past.all_plays,
            artist_names=(),
        ),
        is_known_song=np.asarray(data.song_ids) <= known["newest_song"],
    )


# ---- training data


class _AllListening(NamedTuple):
    """Where training data came from: histories, the rows of its songs in them, and the listeners in words."""

    histories: Histories
    rows: npt.NDArray[np.int64]
    how: str

    @property
    def known(self) -> dict[str, Any]:
        """What a model that learns from it will have known, as JSON."""
        return self.histories.known_listens().as_json()


def training_data(
    store: Store, encoder_ids: Sequence[int], choice: ListenerChoice, settings: TrainingSettings, progress: Progress
) -> tuple[TrainingData, _AllListening]:
    """Read songs and listeners, and say where they came from."""
    progress("reading listens", 0, 0)
    histories = Histories(store)
    if not histories.histories:
        raise LibraryError(
            "no listening history has been imported yet; "
            "`nearsong listens import FILE` takes Last.fm, ListenBrainz, Spotify, CSV and playlists."
        )
    progress("matching track names", 0, 0)
    listening = histories.listening_to_all(choice)
    progress("reading songs", 0, 0)
    chosen = _rows_to_read(histories, listening, settings)
    found, vectors = _read_vectors(store, encoder_ids, [histories.songs[row].id for row in chosen])
    rows = chosen[found]
    song_artist = histories.catalogue.song_artist
    data = TrainingData(
        vectors=vectors,
        song_artist=song_artist[rows],
        artist_plays=listening.artist_plays,
        song_plays=listening.song_plays[:, rows],
        listeners=listening.listeners,
        song_ids=np.array([histories.songs[row].id for row in rows], dtype=np.int64),
        all_plays=listening.all_plays,
        artist_names=histories.artist_names(listening),
        songs_of_artist=np.bincount(song_artist[song_artist >= 0], minlength=listening.artist_plays.shape[1]),
        n_unknown_songs=int((song_artist < 0).sum()),
    )
    return data, _AllListening(histories, rows, listening.how)


def _rows_to_read(histories: Histories, listening: Listening, settings: TrainingSettings) -> npt.NDArray[np.int64]:
    """Choose songs to read vectors of: of all artists with enough listeners, more than a training uses of each."""
    return songs_to_read(
        np.asarray(histories.catalogue.song_artist, dtype=np.int64),
        np.asarray((listening.artist_plays > 0).sum(axis=0), dtype=np.int64).ravel(),
        np.asarray(listening.song_plays.sum(axis=0)).ravel() > 0,
        min_listeners=settings.min_listeners or min(MIN_LISTENERS, settings.final_min_listeners),
        n_songs=settings.max_final_songs,
        songs_an_artist=2 * settings.songs_an_artist,
        seed=settings.seed,
    )


def _read_vectors(
    store: Store, encoder_ids: Sequence[int], ids: list[int]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
    """Return which songs have vectors (n_songs,), and their vectors in the order of the ids, held once in memory."""
    position = {song: at for at, song in enumerate(ids)}
    found, vectors = np.zeros(len(ids), bool), np.empty((0, 0), np.float32)
    for songs, block in store.songs.vectors(encoder_ids, ids):
        if not vectors.size:
            vectors = np.empty((len(ids), block.shape[1]), np.float32)
        at = [position[song] for song in songs.tolist()]
        vectors[at], found[at] = block, True
    if not found.any():
        raise LibraryError(
            "no song of the library is by an artist in the listening histories; `nearsong listens list` shows what "
            "was not found: check the songs' tags."
        )
    return found, vectors if found.all() else vectors[found]


# ---- rejected trainings


def rejected_report(store: Store) -> TrainingReport | None:
    """Return the report of the last training if its metric was rejected."""
    stored = store.models.setting(REJECTED_REPORT)
    try:
        return None if stored is None else TrainingReport.from_json(json.loads(stored))
    except InvalidInputError:  # written by a later version
        return None


def _store_result(store: Store, digest: str, report: TrainingReport) -> None:
    """Store what came of a training; a model that was no better than sound alone is also advice what to do."""
    is_learned = report.decision == "learned"
    state = rejection_state(store) if report.decision == "native" else None
    with store.writing() as connection:
        store.models.set(connection, REJECTED, state)
        store.models.set(connection, REJECTED_REPORT, None if is_learned else json.dumps(report.as_json()))
        store_last_training(store, connection, digest, report)
