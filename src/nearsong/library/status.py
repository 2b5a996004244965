"""The library -> what it holds, what is missing and what to do next."""

from dataclasses import asdict, dataclass
from typing import Any

from nearsong.library.learning import REFUSED, refusal_mark
from nearsong.library.played import FEW
from nearsong.library.store import PENDING, PLAYED, Store
from nearsong.library.training_data import FEWEST_ARTISTS


@dataclass(frozen=True)
class Status:
    """What a library holds.

    Attributes
    ----------
    library : str
        Where it is.
    folders : tuple of str
        That were scanned.
    songs, artists, seconds : int, int, float
        Songs that can be compared, by how many artists, how long in all.
    missing, unreadable, damaged, unheard : int
        Songs whose file is gone; files that give no sound; files that could be used in part; songs that the current
        codebook has not heard yet.
    histories, listens, users : int
        Listening histories, their rows, and the users and playlists in them.
    played : int
        Plays that the page and players have noted; some may not be among the listens yet.
    too_few : bool
        Whether all listens are some of those plays, and too few to learn from.
    refused : bool
        Whether the last training kept nothing of these very listens.
    model : dict or None
        The model that answers: id, kind, created, and its held-out scores.
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
    unheard: int
    histories: int
    listens: int
    users: int
    played: int
    too_few: bool
    refused: bool
    model: dict[str, Any] | None
    next: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON has it."""
        return asdict(self)


def status_of(store: Store) -> Status:
    """Look at a library."""
    ear_id = store.models.current_ear
    counts = store.songs.counts(ear_id)
    sources = store.listens.sources()
    active = store.models.active
    model = None
    if active is not None:
        row = store.models.row(active)
        model = {"id": row.id, "kind": row.kind, "created": row.created, **row.facts}
    found = Status(
        library=store.name,
        folders=tuple(store.songs.roots()),
        songs=int(counts["songs"]),
        artists=int(counts["artists"]),
        seconds=float(counts["seconds"]),
        missing=int(counts["missing"]),
        unreadable=int(counts["unreadable"]),
        damaged=int(counts["damaged"]),
        unheard=0 if ear_id is None else store.songs.unheard(ear_id),
        histories=len(sources),
        listens=sum(source.rows for source in sources),
        users=store.listens.n_users(),
        played=store.plays.count(),
        too_few=bool(sources) and all(source.format == PLAYED and source.rows < FEW for source in sources),
        refused=store.models.setting(REFUSED) == refusal_mark(store),
        model=model,
        next=(),
    )
    return Status(**{**asdict(found), "next": tuple(_advice(found, store))})


def _advice(status: Status, store: Store) -> list[str]:
    if not status.songs:
        return ["Scan a folder of music: nearsong scan FOLDER"]
    advice = []
    if status.unheard:
        advice.append(f"{status.unheard:,} songs have not been heard yet: nearsong scan")
    elif store.models.setting(PENDING) is not None:
        advice.append("A model waits for a scan to answer: nearsong scan")
    if status.missing:
        advice.append(
            f"{status.missing:,} songs' files are gone: bring them back and `nearsong scan`, or forget them with "
            "`nearsong scan --prune`"
        )
    if not status.histories or status.too_few:
        advice.append("Import what was listened to: nearsong listens import FILES")
    elif status.refused:
        advice.append(
            "These listens were too few to learn from, or did not help; more of them, or music by more artists, might"
        )
    elif not any(row.kind == "learned" for row in store.models.rows()):
        advice.append("Learn from the listens: nearsong train")
    if status.artists < FEWEST_ARTISTS:
        artists = "1 artist is" if status.artists == 1 else f"{status.artists} artists are"
        advice.append(f"{artists} few to learn from; music by more of them would help")
    if not advice:
        advice.append('Ask: nearsong similar "ARTIST - TITLE", nearsong playlist, nearsong map')
    return advice
