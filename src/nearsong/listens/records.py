"""The output of all readers of listening histories: blocks of columns, and track names."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DEFAULT_USER = "me"
"""The listener of histories that name none."""


class Action(IntEnum):
    """What a row of a history tells; the numbers are stored."""

    LISTEN = 0
    SKIP = 1
    """Left before 30 seconds, or as the source defines it."""
    HEART = 2
    """Liked, loved or starred."""
    RATING = 3
    """Rated; ``plays`` has the number of stars, from 0.5 to 5."""


class TrackName(NamedTuple):
    """A track as named in a listening history; unknown fields are empty."""

    artist: str
    title: str = ""
    recording_mbid: str = ""
    artist_mbid: str = ""


@dataclass(frozen=True, eq=False)
class ListenBlock:
    """Some rows of a listening history, in columns.

    Attributes
    ----------
    users : sequence of str
        The listeners of this block, each once; for playlists, the playlists. Blocks of one file may share this list
        and that of tracks: more are added to its end, also while a block is used.
    tracks : sequence of TrackName
        What was played in this block, each once.
    user, item : arrays of int32 and shape (n,)
        Index into ``users`` and into ``tracks``.
    plays : array of float32 and shape (n,)
        How often; 1 for a single listen.
    time : array of int64 and shape (n,)
        When, in seconds since 1970 (UTC); 0 where it is not known.
    action : array of int8 and shape (n,), or None
        What each row tells, as an `Action`; None if all are listens.
    """

    users: Sequence[str]
    tracks: Sequence[TrackName]
    user: npt.NDArray[np.int32]
    item: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]
    action: npt.NDArray[np.int8] | None = None

    def __len__(self) -> int:
        return len(self.user)
