"""What is played through the page and players -> a listening history like any other.

Each play is written down at once. All of them together become one history when somebody needs it: a training, or the
service from time to time. Everything that reads histories is then right without knowing where this one comes from.
"""

import hashlib
import time
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.importing import ME
from nearsong.library.records import Heard, ListenBlock
from nearsong.library.store import PLAYED, Play, Source, Store

NAME = "played with nearsong"
"""What the history is called."""

APART = 30
"""Seconds within which the same song by the same listener is the same play, told twice."""

AHEAD = 600
"""Seconds that the clock of a player may be ahead."""

YEAR_2000 = 946_684_800

FEW = 100
"""With fewer plays than this, and no other listens, there is nothing to learn from yet."""

MOST_AT_ONCE = 1_000
MOST_LETTERS = 200
BLOCK_ROWS = 250_000

_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, halves of letters, what turns text round


class Played:
    """What was played through the service.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, song_id: int, listener: str = ME, at: float | None = None) -> bool:
        """Note that a song was played.

        Parameters
        ----------
        song_id : int
        listener : str
            By whom.
        at : float, optional
            When it began, in seconds since 1970; by default now.

        Returns
        -------
        bool
            Whether it is new: the same song by the same listener within `APART` seconds is one play.

        Raises
        ------
        InvalidInputError
            If the time cannot be right, or the listener has no name.
        NoSuchSongError
            If the song is not in the library.
        """
        return self.note_all([(song_id, at)], listener) == 1

    def note_all(self, played: Sequence[tuple[int, float | None]], listener: str = ME) -> int:
        """Note several songs and when each began; return how many plays are new.

        What cannot be noted is told as by :meth:`note`, after all others were: one song that is gone by now does not
        cost a player that was offline the others, and when it tells all of them again they are still one play each.
        """
        who = _shown_name(listener)
        if not 0 < len(who) <= MOST_LETTERS:
            raise InvalidInputError(
                f"a listener of {len(who)} letters cannot be told from others; give a name of 1 to {MOST_LETTERS}."
            )
        if len(played) > MOST_AT_ONCE:
            raise InvalidInputError(f"{len(played):,} plays came at once; send no more than {MOST_AT_ONCE:,}.")
        now = time.time()
        noted: list[tuple[int, int]] = []
        wrong: InvalidInputError | None = None
        for song, at in played:
            try:
                noted.append((song, _checked(at, now)))
            except InvalidInputError as error:
                wrong = wrong or error
        added = self._store.plays.add(who, noted, APART)
        if wrong is not None:
            raise wrong
        return added

    def count(self) -> int:
        """Return how many plays were noted."""
        return self._store.plays.count()

    def waiting(self) -> int:
        """Return how many plays are not in the history yet."""
        return self.count() - sum(source.rows for source in self._sources())

    def gather(self) -> bool:
        """Make one listening history of all plays, in place of the former one; say whether anything has changed."""
        plays, listens = self._store.plays, self._store.listens
        listens.sweep()
        while True:
            first = plays.first()
            blocks = list(_blocks(plays.all()))
            fingerprint = _fingerprint(blocks)
            if not blocks or [source.fingerprint for source in self._sources()] == [fingerprint]:
                return False
            writer = listens.begin(NAME, fingerprint, PLAYED, "events")
            try:
                if plays.first() != first:  # from here on the history goes with the plays
                    raise LibraryError("all plays were forgotten meanwhile; gather again.")
                for block in blocks:
                    writer.add(block)
                return writer.finish(alone=True)
            except BaseException as error:  # Ctrl-C too: what was begun is taken back
                listens.abandon(writer)
                if not isinstance(error, LibraryError) or plays.first() == first:
                    raise  # else they were forgotten, and there may be new ones by now

    def forget(self) -> None:
        """Forget all that was played, in the history too."""
        self._store.listens.remove((), played=True)

    def _sources(self) -> list[Source]:
        return [source for source in self._store.listens.sources() if source.format == PLAYED]


def _shown_name(text: str) -> str:
    r"""Return a name as people see it: one form of each letter, and nothing that is not seen.

    >>> _shown_name(" Zoe\u0301 \x1b[31m\u202e ") == "Zo\u00e9 [31m"
    True
    """
    seen = "".join(
        " " if unicodedata.category(letter) in _UNSEEN else letter for letter in unicodedata.normalize("NFC", text)
    )
    return " ".join(seen.split())


def _checked(at: float | None, now: float) -> int:
    """Return when a play began, or say why it cannot have."""
    when = now if at is None else at
    if not YEAR_2000 <= when <= now + AHEAD:
        which = "in the future" if when > now else "before the year 2000"
        raise InvalidInputError(f"a song that was played at {when:.15g} s since 1970, {which}; check the clock.")
    return int(when)


def _blocks(plays: Iterator[Play]) -> Iterator[ListenBlock]:
    while True:
        users: dict[str, int] = {}
        heard: dict[Heard, int] = {}
        columns = array("i"), array("i"), array("q")
        for play in islice(plays, BLOCK_ROWS):  # a play is forgotten as soon as it is in the columns
            columns[0].append(users.setdefault(play.listener, len(users)))
            columns[1].append(heard.setdefault(play.heard, len(heard)))
            columns[2].append(play.time)
        if not users:
            return
        user, item, when = (np.array(column) for column in columns)
        once = np.ones(len(user), np.float32)
        yield ListenBlock(list(users), list(heard), user.astype(np.int32), item.astype(np.int32), once, when)


def _fingerprint(blocks: Sequence[ListenBlock]) -> str:
    digest = hashlib.sha256(f"{PLAYED}|".encode())
    for block in blocks:
        digest.update(repr((block.users, block.heard)).encode())
        for column in (block.user, block.item, block.time):
            digest.update(column.tobytes())
    return digest.hexdigest()
