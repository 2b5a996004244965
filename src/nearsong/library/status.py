"""A library -> its content, its problems, and what to do next."""

import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache, cached

from nearsong.library.models.excerpt import library_excerpt
from nearsong.library.store.light.records import PENDING, PLAYED, REJECTED
from nearsong.library.store.light.store import LightStore
from nearsong.library.training.coverage.minimum_data import MIN_ARTISTS, MIN_PLAYS_TO_TRAIN
from nearsong.library.training.retraining.rejection import rejection_state

if TYPE_CHECKING:
    from nearsong.library.store import Store


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
    missing, unreadable, set_aside, damaged, not_analysed : int
        Songs whose files are missing; unreadable files; files without music, which are not songs; damaged files of
        which the readable part is used; songs not analysed with all current encoders.
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
    set_aside: int
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


def status_of(store: "LightStore | Store") -> Status:
    """Return the status of a library."""
    counts = store.songs.counts()
    sources = store.listens.histories()
    active = store.models.active
    model = None
    if active is not None:
        row = store.models.row(active)
        facts = {name: value for name, value in row.facts.items() if name != "known"}
        model = {
            "id": row.id,
            "kind": row.kind,
            "label": row.label,
            "created": row.created,
            "encoders": row.encoders,
            **facts,
        }
    status = Status(
        library=store.name,
        folders=tuple(store.songs.roots()),
        songs=int(counts["songs"]),
        artists=int(counts["artists"]),
        seconds=float(counts["seconds"]),
        missing=int(counts["missing"]),
        unreadable=int(counts["unreadable"]),
        set_aside=int(counts["set_aside"]),
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


def _count_rows(store: "LightStore | Store") -> int:
    histories = store.listens.histories()
    if sum(history.kind == "events" for history in histories) < 2:  # nothing can be reported twice
        return sum(history.rows for history in histories)
    return _count_distinct_rows(store.complete())


@cached(LRUCache(16), key=lambda store: (store.address, store.version_stamp()), lock=threading.Lock())
def _count_distinct_rows(store: "Store") -> int:
    from nearsong.library.listeners.row_count import count_rows

    return count_rows(store)  # the page asks for the status again and again


def _is_rejected(store: "LightStore | Store") -> bool:
    stored = store.models.setting(REJECTED)
    if stored is None:
        return False
    return stored == rejection_state(store)


def _is_unfinished(status: Status) -> bool:
    """Return whether no scan has ended yet: at its end there is a model, unless no file is a song."""
    is_without_songs = not status.songs and status.unreadable + status.set_aside > 0
    return status.model is None and bool(status.folders) and not is_without_songs


def _advice(status: Status, store: "LightStore | Store") -> list[str]:
    if _is_unfinished(status):
        return [
            f"No songs from {', '.join(status.folders)} yet; add music, or finish an interrupted scan: nearsong scan"
        ]
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
