"""The output of all readers of listening histories: blocks of columns, and track names."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class TrackName:
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
        The listeners of this block, each once; for playlists, the playlists.
    tracks : sequence of TrackName
        What was played in this block, each once.
    user, item : arrays of int32 and shape (n,)
        Index into ``users`` and into ``tracks``.
    plays : array of float32 and shape (n,)
        How often; 1 for a single listen.
    time : array of int64 and shape (n,)
        When, in seconds since 1970 (UTC); 0 where it is not known.
    """

    users: Sequence[str]
    tracks: Sequence[TrackName]
    user: npt.NDArray[np.int32]
    item: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.user)
