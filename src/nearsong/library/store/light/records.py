"""Rows of a library that are read without its tables: encoders, models, histories; and names of settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from nearsong.errors import NoSuchHistoryError

PLAYED = "played"
"""Format of the history that is built from the library's own table of plays."""

ACTIVE = "active_model"
"""Setting: the model that ranks songs now."""

REJECTED = "training_rejected"
"""Setting: the state of the library when a training was last rejected."""

CHANGES = "changes"
"""Setting: how often songs or embeddings changed."""

PENDING = "pending_model"
"""Setting: the model that becomes active once all songs are analysed with its encoders."""


@dataclass(frozen=True)
class EncoderRow:
    """A stored encoder.

    Attributes
    ----------
    id : int
    name : str
        In the registry of encoders.
    scanned : bool
        Whether scans compute its vectors; true for at most one encoder of each name.
    fitted_songs : int or None
        Number of files of this library it was fitted on; None if it was imported.
    """

    id: int
    name: str
    scanned: bool
    fitted_songs: int | None


@dataclass(frozen=True)
class ModelRow:
    """A stored model.

    Attributes
    ----------
    id : int
    created : float
        Seconds since 1970.
    kind : str
        native, learned or imported.
    encoder_ids : tuple of int
        The encoders whose vectors, one after the other, are its song vectors.
    encoders : tuple of str
        Their names.
    uses_artists : bool
        Whether the embedding of a song depends on its artist's other songs.
    facts : dict
        Report of its training, calibration.
    """

    id: int
    created: float
    kind: str
    encoder_ids: tuple[int, ...]
    encoders: tuple[str, ...]
    uses_artists: bool
    facts: dict[str, Any]

    @property
    def is_learned(self) -> bool:
        """Whether it was learned from listeners, here or where it was imported from."""
        return self.kind == "learned" or (self.kind == "imported" and self.facts.get("origin") != "native")

    @property
    def label(self) -> str:
        """Its kind in words: native or learned, and whether it was imported."""
        words = "learned" if self.is_learned else "native"
        return f"{words}, imported" if self.kind == "imported" else words


@dataclass(frozen=True)
class History:
    """An imported listening history."""

    id: int
    name: str
    fingerprint: str
    format: str
    kind: str
    rows: int
    imported: float


def digest_of(histories: Iterable[History]) -> str:
    """Return a hash that changes when a history is added, replaced or removed."""
    facts = [(history.id, history.rows, history.imported) for history in histories]
    return blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def check_histories(ids: Iterable[int], known: Iterable[History]) -> None:
    """Raise a `NoSuchHistoryError` if an id is not that of a history."""
    if unknown := sorted(set(ids) - {history.id for history in known}):
        raise NoSuchHistoryError(f"listening history not found: {unknown[0]}; see `nearsong listens list`.")
