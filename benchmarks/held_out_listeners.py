"""A data-set folder -> artists in spaces, and listeners whose plays are held out, to measure "for you" with."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.methods.fused import fused_parts
from nearsong.experiment.run.prepare import prepare
from nearsong.experiment.run.prepared import Prepared, load_prepared, write_population
from nearsong.experiment.run.protocol import choose_population
from nearsong.experiment.run.settings import Settings
from nearsong.model.encoders import VectorPart
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space import ListenerSpace
from nearsong.types import FloatArray, no_progress

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Listeners and what is known and held out of each, (n_listeners, n_artists) of bool."""

    given: Mask
    held_known: Mask
    held_cold: Mask


def prepared_run(folder: Path, run: Path, encoders: tuple[str, ...]) -> Prepared:
    """Analyse a data set once; a second call reads the cache in ``run``."""
    settings = Settings(
        min_listeners=3, n_relevant=5, methods=("all_encoders", "listener_space"), encoders=encoders, codebooks=(256,)
    )
    (run / "cache").mkdir(parents=True, exist_ok=True)
    if not (run / "run.json").exists():
        data = Dataset.open(folder)
        write_population(run / "cache", data, choose_population(data, settings))
        (run / "run.json").write_text(json.dumps({"settings": settings.as_json()}))
    load_prepared.cache_clear()
    prepare(run.resolve(), jobs=1, cluster=None, progress=no_progress)
    return load_prepared(str(run.resolve()))


def split_space(
    data: Prepared, encoders: tuple[str, ...], training: npt.NDArray[np.int64], held_out: npt.NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Return phi of all songs, and their embeddings in a listener space that never saw the held-out artists."""
    phi, parts = fused_parts(data, encoders, training)
    population = data.population
    artists = population.song_artist
    space = ListenerSpace().fit(
        phi[training], artists[training], population.all_plays, held_out=held_out, parts=parts
    )
    return phi, space.transform_database(phi, artists)


def artist_means(rows: npt.ArrayLike, song_artist: npt.NDArray[Any], n_artists: int) -> FloatArray:
    """Return the mean of each artist's songs, (n_artists, d)."""
    songs = np.arange(len(song_artist))
    membership = sp.csr_array((np.ones(len(songs)), (song_artist, songs)), shape=(n_artists, len(songs)))
    return np.asarray(membership @ np.asarray(rows)) / np.bincount(song_artist, minlength=n_artists)[:, None]


def hold_out(plays: sp.csr_array, cold: Mask, n_listeners: int, random: np.random.Generator) -> tuple[Any, HeldOut]:
    """Hold out three in ten plays of known artists, and all plays of cold ones, of some listeners.

    Returns
    -------
    training : csr_array
        What may be learned from: all other listeners, and what is given of these (the last rows); no cold artist.
    held_out : HeldOut
    """
    chosen = np.sort(random.permutation(np.flatnonzero(np.diff(plays.indptr) >= 10))[:n_listeners])
    rows = plays[chosen].toarray().astype(bool)
    held = (random.random(rows.shape) < 0.3) & rows & ~cold
    given = rows & ~held & ~cold
    enough = given.sum(axis=1) >= 3
    chosen, given = chosen[enough], given[enough]
    others = np.setdiff1d(np.arange(plays.shape[0]), chosen)
    warm = plays @ sp.diags_array((~cold).astype(np.float64))
    training = sp.csr_array(sp.vstack([warm[others], sp.csr_array(given.astype(np.float64))]))
    training.eliminate_zeros()
    return training, HeldOut(given, held[enough], rows[enough] & cold)


def vector_phi(vectors: FloatArray, training: Mask) -> FloatArray:
    """Return phi (n_songs, d) of the vectors of a data set, fitted to training songs."""
    scaled = StandardScaler().fit(vectors[training]).transform(vectors)
    fusion = Fusion.fit(scaled[training], [VectorPart("vectors", scaled.shape[1], 1.0)])
    return np.asarray(fusion.transform(scaled))


def balanced_space(phi: FloatArray, song_artist: npt.NDArray[Any], plays: sp.csr_array, cold: Mask) -> FloatArray:
    """Return embeddings (n_songs, rank) as a library stores them: known artists by listeners, cold ones by sound."""
    known = ~cold[song_artist]
    space = ListenerSpace().fit(phi[known], song_artist[known], plays, held_out=cold)
    space.fit_balance(phi[known], song_artist[known], plays, held_out=cold)
    return space.transform_database(phi, song_artist, known_by="balanced")


def interval(values: FloatArray, seed: int = 0) -> list[float]:
    """Return the mean and its 95 % interval over listeners, by 1,000 resamples."""
    usable = values[np.isfinite(values)]
    random = np.random.default_rng(seed)
    means = [usable[random.integers(len(usable), size=len(usable))].mean() for _ in range(1_000)]
    low, high = np.quantile(means, [0.025, 0.975])
    return [round(float(number), 4) for number in (usable.mean(), low, high)]
