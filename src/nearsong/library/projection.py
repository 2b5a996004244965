"""Models and songs -> places: which model answers, and that every song has a place under it.

A model becomes active in one transaction, in which the last songs without a place get one; whoever asks meanwhile
gets the old model with all its places, or the new one with all its places.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.library.store import ACTIVE, EAR, OWN_EAR, PENDING, Connection, Store
from nearsong.model import Ear, SimilarityModel, learn_view

PCA_SONGS = 5_000
"""Songs that principal components are fitted on; more of them change nothing one could hear."""

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


def load_ear(store: Store, ear_id: int) -> Ear:
    """Return an ear that is kept."""
    return Ear.from_bytes(store.models.ear(ear_id))


def current_ear(store: Store) -> tuple[int, Ear] | None:
    """Return the ear that scans use, if there is one yet."""
    ear_id = store.models.current_ear
    return None if ear_id is None else (ear_id, load_ear(store, ear_id))


def set_ear(
    store: Store, ear: Ear, *, replace: bool = False, instead_of: int | None = None, own: int | None = None
) -> tuple[int, Ear]:
    """Make an ear the one that scans use, and return the one that they use from now on.

    Parameters
    ----------
    store : Store
    ear : Ear
    replace : bool
        Whether it takes the place of any other; otherwise one that another scan has set meanwhile stays.
    instead_of : int, optional
        The ear whose place it may take.
    own : int, optional
        How many songs of the library it was learned from; None if it comes from elsewhere.
    """
    with store.writing() as connection:
        there = store.models.setting_in(connection, EAR)
        if there is None or replace or there == str(instead_of):
            ear_id = store.models.add_ear(connection, ear.key, ear.to_bytes())
            store.models.set(connection, EAR, ear_id)
            store.models.set(connection, OWN_EAR, own)
            pending = store.models.setting_in(connection, PENDING)
            if pending is not None and store.models.row(int(pending), connection).ear_id != ear_id:
                store.models.set(connection, PENDING, None)  # no scan would ever hear for it
            return ear_id, ear
    return int(there), load_ear(store, int(there))


def native_model(ear: Ear, vectors: npt.NDArray[Any], facts: dict[str, Any]) -> SimilarityModel:
    """Return the model that knows no listeners: square roots of histograms, their principal components."""
    view, _ = learn_view(vectors)
    return SimilarityModel(ear.encoders, [view], ear.features, {"songs": len(vectors), **facts})


def add_native(store: Store, seed: int = 0, progress: Progress = lambda stage, done, total: None) -> int | None:
    """Keep a native model of the library's songs and make it active; None if there are too few songs for one."""
    current = current_ear(store)
    if current is None:
        return None
    ear_id, ear = current
    vectors = sample_vectors(store, ear_id, PCA_SONGS, seed)
    if len(vectors) < 2 or np.ptp(vectors, axis=0).max() == 0:
        return None
    model = native_model(ear, vectors, {"kind": "native"})
    model_id = add_model(store, model, ear_id, "native", {"songs": len(vectors)}, progress=progress)
    for row in store.models.rows():
        if row.kind == "native" and row.id < model_id:
            store.models.drop_places(row.id)  # few will go back to it, and then they are made again
    return model_id


def sample_vectors(store: Store, ear_id: int, n: int, seed: int) -> npt.NDArray[np.float64]:
    """Return the vectors of up to ``n`` songs, in the order of their ids."""
    songs = [song.id for song in store.songs.all() if not song.missing]
    if len(songs) > n:
        chosen = np.random.default_rng([seed, 23]).choice(len(songs), n, replace=False)
        songs = [songs[i] for i in np.sort(chosen)]
    blocks = [vectors for _, vectors in store.songs.vectors(ear_id, songs) if len(vectors)]
    return np.concatenate(blocks).astype(np.float64) if blocks else np.empty((0, 0))


def add_model(
    store: Store,
    model: SimilarityModel,
    ear_id: int,
    kind: str,
    facts: dict[str, Any],
    *,
    activate: bool = True,
    progress: Progress = lambda stage, done, total: None,
) -> int:
    """Keep a model, and make it the one that answers."""
    with store.writing() as connection:
        model_id = store.models.add(connection, kind, ear_id, model.to_bytes(), facts)
    if activate:
        activate_model(store, model_id, model, progress=progress)
    return model_id


def activate_model(
    store: Store,
    model_id: int,
    model: SimilarityModel | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> None:
    """Make a model the one that answers, after every song that its ear has heard has a place under it.

    From then on scans use its ear.
    """
    ear_id = store.models.row(model_id).ear_id
    model = model or SimilarityModel.from_bytes(store.models.data(model_id))
    total, done, last = int(store.songs.counts(ear_id)["heard"]), 0, -1
    while True:
        # A transaction a block, so that scans and imports get their turn; the model does not answer yet. Reading
        # and writing are in the same one: a song that changes gets no place from its old sound.
        with store.writing() as connection:
            store.models.row(model_id, connection)  # it may have been removed meanwhile
            ids, vectors = store.songs.without_place(connection, model_id, ear_id, after=last)
            if not len(ids) and last >= 0:  # what came in behind us
                ids, vectors = store.songs.without_place(connection, model_id, ear_id)
            if not len(ids):
                store.models.set(connection, ACTIVE, model_id)
                store.models.set(connection, PENDING, None)
                if store.models.setting_in(connection, EAR) != str(ear_id):
                    store.models.set(connection, EAR, ear_id)
                    store.models.set(connection, OWN_EAR, None)
                break
            store.songs.put_places(connection, model_id, ids, model.project(vectors).astype(np.float32))
        done, last = done + len(ids), int(ids[-1])
        progress("placing songs", done, max(done, total))
    progress("placing songs", total, total)


def import_model(
    store: Store, model: SimilarityModel, facts: dict[str, Any], progress: Progress = lambda stage, done, total: None
) -> tuple[int, bool]:
    """Keep a model from elsewhere; return its id and whether it answers already.

    A model with the library's own codebook answers at once. One with another codebook has to hear the songs first:
    the next scan does that, and then it answers.
    """
    with store.writing() as connection:
        ear_id = store.models.add_ear(connection, model.ear.key, model.ear.to_bytes())
        model_id = store.models.add(connection, "imported", ear_id, model.to_bytes(), facts)
    return model_id, not use_model(store, model_id, progress)


def use_model(store: Store, model_id: int, progress: Progress = lambda stage, done, total: None) -> int:
    """Let a model answer, at once if all songs were heard with its codebook; return how many were not.

    If there are any it waits: scans hear with its codebook from now on, and when all songs are heard it answers.
    """
    ear_id = store.models.row(model_id).ear_id
    with store.writing() as connection:
        same_ear = str(ear_id) == store.models.setting_in(connection, EAR)
    unheard = 0 if same_ear else store.songs.unheard(ear_id)
    if not unheard:
        activate_model(store, model_id, progress=progress)
        return 0
    with store.writing() as connection:
        store.models.set(connection, EAR, ear_id)
        store.models.set(connection, OWN_EAR, None)
        store.models.set(connection, PENDING, model_id)
    return unheard


def ensure_model(
    store: Store,
    seed: int = 0,
    progress: Progress = lambda stage, done, total: None,
    note: Note = lambda text: None,
) -> None:
    """Let the right model answer after a scan.

    One that waited for its songs to be heard; one for the ear that scans use now; the native one if there is none
    yet, anew when there are twice the songs that it knows.
    """
    ear_id, active, pending = store.models.current_ear, store.models.active, store.models.setting(PENDING)
    if ear_id is None:
        return
    if active is None and pending is None:
        add_native(store, seed, progress)
        return
    row = None if active is None else store.models.row(active)
    if pending is None and row is not None and row.ear_id == ear_id:
        known = int(row.facts.get("songs", PCA_SONGS))
        if row.kind == "native" and known < PCA_SONGS and _songs_for_sample(store, ear_id) >= 2 * known:
            add_native(store, seed, progress)
        return
    unheard = store.songs.unheard(ear_id)
    if unheard:
        note(f"{unheard:,} songs are still to be heard with the new codebook, then it is used: `nearsong scan`.")
        return
    mine = [model.id for model in store.models.rows() if model.ear_id == ear_id]
    if pending is not None or mine:
        activate_model(store, int(pending) if pending is not None else mine[-1], progress=progress)
        note(f"model {store.models.active} has heard all songs and answers from now on.")
    else:
        add_native(store, seed, progress)


def _songs_for_sample(store: Store, ear_id: int) -> float:
    counts = store.songs.counts(ear_id)
    return counts["songs"] - counts["missing"] - store.songs.unheard(ear_id)


class Placer:
    """Gives new songs their place under the model that answers, whichever that is when they are written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, tuple[int, SimilarityModel]] = {}

    def place(self, connection: Connection, song: int, ear_id: int, vector: npt.NDArray[Any]) -> None:
        """Write a song's place, if a model for this ear answers."""
        active = self._store.models.setting_in(connection, ACTIVE)
        if active is None:
            return
        model_id = int(active)
        if model_id not in self._known:
            row = self._store.models.row(model_id, connection)
            model = SimilarityModel.from_bytes(self._store.models.data(model_id, connection))
            self._known = {model_id: (row.ear_id, model)}
        its_ear, model = self._known[model_id]
        if its_ear == ear_id:
            place = model.project(vector[None, :]).astype(np.float32)
            self._store.songs.put_places(connection, model_id, np.array([song]), place)
