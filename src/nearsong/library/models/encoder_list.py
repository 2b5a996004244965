"""The encoders of a library: which are used, how many songs they have, and adding and removing them."""

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, EncoderNotInstalledError, LibraryError
from nearsong.library.files.find import printable
from nearsong.library.models.excerpt import library_excerpt
from nearsong.library.models.fit_encoder import SAMPLE_SONGS, fit_encoders
from nearsong.library.models.fitting_cache import FittingCache
from nearsong.library.models.library_encoders import (
    free_encoders,
    keep_encoders,
    set_encoders,
    stored_encoder,
)
from nearsong.library.models.lifecycle import ensure_model
from nearsong.library.records import Song
from nearsong.library.store import Store
from nearsong.model.encoders import ENCODERS, OPTIONAL_ENCODERS, check_encoder_names, encoder_class
from nearsong.model.encoders.pretrained.vector_table import VectorTable, read_vector_table
from nearsong.model.encoders.pretrained.vectors import VectorsEncoder
from nearsong.types import Progress, no_progress

N_EXAMPLES = 3
"""Keys without a song that a report names."""


@dataclass(frozen=True, kw_only=True)
class EncoderStatus:
    """An encoder and its state in a library.

    Attributes
    ----------
    name : str
    summary : str
        What it describes a song by.
    n_dimensions : int or None
        Length of its vectors; None if the library does not have any.
    cost : float
        CPU seconds per hour of audio.
    licence : str
    is_installed : bool
        Whether songs can be analysed with it on this computer.
    is_used : bool
        Whether scans analyse songs with it.
    songs : int
        Songs that have a vector of it.
    """

    name: str
    summary: str
    n_dimensions: int | None
    cost: float
    licence: str
    is_installed: bool
    is_used: bool
    songs: int


@dataclass(frozen=True, kw_only=True)
class LookedUp:
    """How many songs have a vector in a table, and some of its keys that no song has.

    Attributes
    ----------
    songs, matched : int
        Songs of the library, and those with a vector.
    vectors : int
        Vectors of the table.
    n_dimensions : int
    examples : tuple of str
        Keys without a song.
    """

    songs: int
    matched: int
    vectors: int
    n_dimensions: int
    examples: tuple[str, ...]


def list_encoders(store: Store | None) -> list[EncoderStatus]:
    """Return all registered encoders; without a library none of them is used."""
    rows = [] if store is None else store.models.encoders()
    statuses = []
    for name, encoder in {**ENCODERS, **OPTIONAL_ENCODERS}.items():
        ids = [row.id for row in rows if row.name == name]
        used = [row.id for row in rows if row.name == name and row.scanned]
        latest = (used or ids)[-1:]
        statuses.append(
            EncoderStatus(
                name=name,
                summary=(inspect.getdoc(encoder) or name).split("\n")[0],
                n_dimensions=stored_encoder(store, latest).n_dimensions if store and latest else None,
                cost=encoder.cost,
                licence=encoder.licence,
                is_installed=_is_installed(name),
                is_used=bool(used),
                songs=store.songs.analysed(latest) if store and latest else 0,
            )
        )
    return statuses


def _is_installed(name: str) -> bool:
    try:
        encoder_class(name).check_available()
    except EncoderNotInstalledError:
        return False
    return True


def add_encoder(store: Store, name: str, progress: Progress = no_progress) -> int:
    """Make scans analyse songs with one more encoder; return how many songs the next scan will analyse."""
    check_encoder_names([name])
    encoder_id = store.models.scanned_encoders().get(name)
    if encoder_id is None:
        songs = _present_songs(store)
        with FittingCache(store.cache) as cache:
            fitted = fit_encoders([name], [song.path for song in songs], progress=progress, cache=cache)[name]
            fitted = fitted.with_excerpt(library_excerpt(store))
            (encoder_id,) = set_encoders(store, [fitted], fitted_songs=min(len(songs), SAMPLE_SONGS))
    return store.songs.not_analysed([encoder_id])


def remove_encoder(store: Store, name: str) -> bool:
    """Stop using an encoder and delete its vectors; return False if a model in use still needs them."""
    check_encoder_names([name])
    others = [other for other in store.models.scanned_encoders() if other != name]
    if not any(row.name == name for row in store.models.encoders()):
        raise LibraryError(f"The library does not use the encoder {name}. See: nearsong encoders list")
    if not others:
        raise LibraryError(f"{name} is the library's only encoder. Add another first: nearsong encoders add NAME")
    keep_encoders(store, others)
    active = store.models.active
    if active is not None and store.models.row(active).kind == "native":
        ensure_model(store)  # sound alone, of the other encoders
    free_encoders(store, others)
    return not any(row.name == name and store.songs.analysed([row.id]) for row in store.models.encoders())


# ---- vectors that a user brings


def add_vectors(store: Store, path: str | os.PathLike[str]) -> LookedUp:
    """Look up the vectors of all songs in a file; those of an earlier file are replaced.

    Raises
    ------
    LibraryError
        If no song has a vector in it.
    """
    songs = _present_songs(store)
    table = read_vector_table(path)
    matches = _matches(store, table, songs)
    if not matches:
        examples = ", ".join(repr(key) for key in table.keys[:N_EXAMPLES])
        shown = {"path": printable(songs[0].path), "mbid": songs[0].recording_mbid or "(no MBID)"}
        raise LibraryError(
            f"None of the {len(table.keys):,} vectors belongs to a song: the keys are such as {examples}; songs have "
            f"such as {shown.get(table.kind, 'content keys of nearsong')!r}."
        )
    name = printable(Path(path).name)
    encoder = VectorsEncoder(table.vectors.shape[1], table.digest, name)
    before = store.models.scanned_encoders().get(encoder.name)
    (encoder_id,) = set_encoders(store, [encoder], instead_of=[] if before is None else [before])
    missing = np.full(encoder.n_dimensions, np.nan, np.float32)
    for start in range(0, len(songs), 1000):  # a transaction for each, so that others are not blocked for long
        with store.writing() as connection:
            for song in songs[start : start + 1000]:
                row = matches.get(song.id)
                vector: npt.NDArray[np.float32] = missing if row is None else table.vectors[row]
                store.songs.add_vectors(connection, song.id, {encoder_id: vector})
    if before is not None and before != encoder_id:
        free_encoders(store, list(store.models.scanned_encoders()))
    used = set(matches.values())
    others = [key for row, key in enumerate(table.keys) if row not in used]
    return LookedUp(
        songs=len(songs),
        matched=len(matches),
        vectors=len(table.keys),
        n_dimensions=encoder.n_dimensions,
        examples=tuple(others[:N_EXAMPLES]),
    )


def _matches(store: Store, table: VectorTable, songs: list[Song]) -> dict[int, int]:
    """Return song -> row of the table."""
    rows = {key: row for row, key in enumerate(table.keys)}
    if table.kind == "mbid":
        return {song.id: rows[song.recording_mbid] for song in songs if song.recording_mbid in rows}
    if table.kind == "content":
        known = {song.id for song in songs}
        with store.writing() as connection:
            found = [(same.id, rows[key]) for key in rows for same in store.songs.with_content(key, connection)]
        return {song: row for song, row in found if song in known}
    roots = store.songs.roots()
    found_rows = {song.id: _row_of_path(song.path, roots, rows) for song in songs}
    return {song: row for song, row in found_rows.items() if row is not None}


def _row_of_path(path: str, roots: list[str], rows: Mapping[str, int]) -> int | None:
    """Return the row by which a table names a file: by its absolute path, or relative to a scanned folder."""
    below = [os.path.relpath(path, root) for root in roots if path.startswith(os.path.join(root, ""))]
    return next((rows[name] for name in [path, *below] if name in rows), None)


def _present_songs(store: Store) -> list[Song]:
    songs = [song for song in store.songs.all() if not song.missing]
    if not songs:
        raise EmptyLibraryError("The library has no songs yet. Start with: nearsong scan FOLDER")
    return songs
