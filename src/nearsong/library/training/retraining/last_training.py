"""The last training of a library: when, from what, and what came of it; light, as the service reads it often."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from nearsong.clock import now
from nearsong.library.store import Connection, Store

if TYPE_CHECKING:
    from nearsong.library.listeners.histories import ListenerChoice
    from nearsong.library.training.report import TrainingReport
    from nearsong.library.training.settings import TrainingSettings

LAST_TRAINING = "last_training"
"""Setting: the record of the last training, as JSON."""

DIGEST_VERSION = 1
"""To be raised when training itself changes, so that it runs again on the same data."""


@dataclass(frozen=True)
class LastTraining:
    """What the last training used and decided.

    Attributes
    ----------
    time : float
        When it ended, in seconds since 1970.
    digest : str
        Of the songs, vectors, histories and settings that it used.
    listens, songs : int
        Rows of all histories, and songs, at that time.
    decision, reason : str
        Of its report.
    model : int or None
        The model that was active afterwards.
    score, was : float or None
        Held-out AUC of what was learned, and of what it was compared with.
    """

    time: float
    digest: str
    listens: int
    songs: int
    decision: str
    reason: str
    model: int | None = None
    score: float | None = None
    was: float | None = None


@dataclass(frozen=True)
class Growth:
    """What has come to a library since its last training, or ever.

    Attributes
    ----------
    listens, songs : int
        How many more there are; 0 if there are fewer.
    all_listens : int
        Rows of all histories, and recorded plays that are not in one yet.
    """

    listens: int
    songs: int
    all_listens: int


def last_training(store: Store) -> LastTraining | None:
    """Return the record of the last training; None if there was none."""
    stored = store.models.setting(LAST_TRAINING)
    try:
        return None if stored is None else LastTraining(**json.loads(stored))
    except (TypeError, ValueError):  # written by a later version
        return None


def store_last_training(store: Store, connection: Connection, digest: str, report: "TrainingReport") -> None:
    """Write the record of a training that has just ended."""
    listens, songs = _extent(store)
    active = store.models.setting_in(connection, "active_model")
    other = "active" if report.score("active") is not None else "native"
    record = LastTraining(
        time=now(),
        digest=digest,
        listens=listens,
        songs=songs,
        decision=report.decision,
        reason=report.reason,
        model=None if active is None else int(active),
        score=report.score("learned"),
        was=report.score(other),
    )
    store.models.set(connection, LAST_TRAINING, json.dumps(asdict(record)))


def growth(store: Store, last: LastTraining | None, n_pending: int) -> Growth:
    """Return what is new since the last training; ``n_pending`` plays are recorded and in no history yet."""
    listens, songs = _extent(store)
    listens += max(0, n_pending)
    if last is None:
        return Growth(listens, songs, listens)
    return Growth(max(0, listens - last.listens), max(0, songs - last.songs), listens)


def _extent(store: Store) -> tuple[int, int]:
    counts = store.songs.counts()
    return sum(history.rows for history in store.listens.histories()), int(counts["songs"] - counts["missing"])


def training_digest(
    store: Store, encoder_ids: Sequence[int], settings: "TrainingSettings", choice: "ListenerChoice"
) -> str:
    """Return a hash of all that a training depends on; the same hash means that it would learn the same again."""
    data = (store.listens.digest(), tuple(encoder_ids), store.songs.digest(encoder_ids))
    facts = [DIGEST_VERSION, settings, choice, *data]
    return blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
