"""A library -> its content, its problems, and what to do next."""

import threading
from dataclasses import asdict, dataclass
from typing import Any

from cachetools import LRUCache, cached

from nearsong.library.listeners.recorded.plays import MIN_PLAYS_TO_TRAIN
from nearsong.library.listeners.row_count import count_rows
from nearsong.library.models.excerpt import library_excerpt
from nearsong.library.store import PENDING, PLAYED, REJECTED, Store
from nearsong.library.training.settings import MIN_ARTISTS


@dataclass(frozen=True)
class Status:
    """What a library holds.

    Attributes
    ----------
    library : str
        Address of the library, without password.
    folders : tuple of str
        Scanned folders.
    songs, artists, seconds : int, int, float
        Songs that can be compared, their artists, and their total duration.
    missing, unreadable, damaged, not_analysed : int
        Songs whose files are missing; unreadable files; damaged files of which the readable part is used; songs not
        analysed with all current encoders.
    excerpt : float
        Seconds from the middle of each song that scans analyse; 0 for complete songs.
    histories, listens, users : int
        Listening histories, their rows (a listen that several of them report counts once), and the users and
        playlists in them.
    played : int
        Plays recorded by the page and by players; some may not be among the listens yet.
    too_few : bool
        Whether all listens are recorded plays, and too few to learn from.
    rejected : bool
        Whether the last training used the same listens and rejected its metric.
    model : dict or None
        The active model: id, kind, created, encoders, and its held-out scores.
    next : tuple of str
        What to do next.
    """

    library: str
    folders: tuple[str, ...]
    songs: int
    artists: int
    seconds: float
    missing: int
    unreadable: int
    damaged: int
    not_analysed: int
    excerpt: float
    histories: int
    listens: int
    users: int
    played: int
    too_few: bool
    rejected: bool
    model: dict[str, Any] | None
    next: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def status_of(store: Store) -> Status:
    """Return the status of a library."""
    counts = store.songs.counts()
    sources = store.listens.histories()
    active = store.models.active
    model = None
    if active is not None:
        row = store.models.row(active)
        facts = {name: value for name, value in row.facts.items() if name != "known"}
        model = {"id": row.id, "kind": row.kind, "created": row.created, "encoders": row.encoders, **facts}
    status = Status(
        library=store.name,
        folders=tuple(store.songs.roots()),
        songs=int(counts["songs"]),
        artists=int(counts["artists"]),
        seconds=float(counts["seconds"]),
        missing=int(counts["missing"]),
        unreadable=int(counts["unreadable"]),
        damaged=int(counts["damaged"]),
        not_analysed=store.songs.not_analysed(store.models.scanned_encoders().values()),
        excerpt=library_excerpt(store),
        histories=len(sources),
        listens=_count_rows(store),
        users=store.listens.n_users(),
        played=store.plays.count(),
        too_few=bool(sources)
        and all(source.format == PLAYED for source in sources)
        and store.plays.count() < MIN_PLAYS_TO_TRAIN,
        rejected=_is_rejected(store),
        model=model,
        next=(),
    )
    return Status(**{**asdict(status), "next": tuple(_advice(status, store))})


@cached(LRUCache(16), key=lambda store: (store.address, store.version_stamp()), lock=threading.Lock())
def _count_rows(store: Store) -> int:
    return count_rows(store)  # the page asks for the status again and again


def _is_rejected(store: Store) -> bool:
    stored = store.models.setting(REJECTED)
    if stored is None:
        return False
    from nearsong.library.training.train import rejection_state  # loads SciPy and numba

    return stored == rejection_state(store)


def _advice(status: Status, store: Store) -> list[str]:
    if not status.songs:
        return ["Scan a folder of music: nearsong scan FOLDER"]
    advice = []
    if status.not_analysed:
        songs = "song is" if status.not_analysed == 1 else "songs are"
        advice.append(f"{status.not_analysed:,} {songs} not analysed yet: nearsong scan")
    elif store.models.setting(PENDING) is not None:
        advice.append("A model is pending until the next scan: nearsong scan")
    if status.missing:
        files = (
            "1 song has lost its file" if status.missing == 1 else f"{status.missing:,} songs have lost their files"
        )
        advice.append(f"{files}: restore and run `nearsong scan`, or remove with `nearsong scan --prune`")
    if not status.histories or status.too_few:
        advice.append("Import listening histories: nearsong listens import FILES")
    elif status.rejected:
        advice.append("Training did not help yet: import more listens, or scan music by more artists")
    elif not any(row.kind == "learned" for row in store.models.rows()):
        advice.append("Learn from the listens: nearsong train")
    if status.artists < MIN_ARTISTS:
        advice.append(f"Scan music by more artists: training needs {MIN_ARTISTS}, the library has {status.artists}")
    if not advice:
        advice.append('Find similar songs: nearsong similar "ARTIST - TITLE", nearsong playlist, nearsong map')
    return advice
