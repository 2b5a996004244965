"""Songs, plays and two spaces -> how much of what was never played comes up beside what is played."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.library.records import Song
from nearsong.library.space import Space
from nearsong.validation import check_count

EXAMPLES = 12
"""Never-played songs that are named."""

BLOCK = 256
"""Seeds asked for at once."""


@dataclass(frozen=True, eq=False)
class ColdStart:
    """How much of the never-played library comes up.

    Attributes
    ----------
    songs : int
        Songs that can be recommended.
    never_played : int
        Those that no listening history has.
    seeds : int
        Played songs whose nearest songs were looked at, the most played first.
    sampled : bool
        Whether there are more played songs than were looked at.
    n : int
        How many of the nearest songs of each were looked at.
    recommended : int
        Never-played songs that come up at least once, under the model that answers.
    recommended_native : int
        The same by sound alone.
    examples : tuple of Song
        Never-played songs that come up most often under the model that answers, most often first, equals by id.
    """

    songs: int
    never_played: int
    seeds: int
    sampled: bool
    n: int
    recommended: int
    recommended_native: int
    examples: tuple[Song, ...]


def cold_start(space: Space, native: Space, plays: Mapping[int, float], n: int = 10, most: int = 2_000) -> ColdStart:
    """Count the never-played songs among the nearest of the played ones.

    Parameters
    ----------
    space, native : Space
        The songs under the model that answers, and by sound alone.
    plays : mapping of int to float
        How often songs were played, by id.
    n : int, default=10
        Look at so many nearest songs of each played song, itself not among them.
    most : int, default=2000
        Look at so many played songs at most: those played most, equals by the lower id.

    Returns
    -------
    ColdStart
        Without any plays all songs are never played, and nothing comes up.
    """
    n, most = check_count(n, "n"), check_count(most, "most")
    played = [song.id for song in space.songs if plays.get(song.id, 0.0) > 0]
    seeds = sorted(played, key=lambda song: (-plays[song], song))[:most]
    times = _comes_up(space, seeds, n)
    times[np.isin(space.ids, played)] = 0
    by_sound = times
    if native is not space:
        by_sound = _comes_up(native, seeds, n)
        by_sound[np.isin(native.ids, played)] = 0
    often = np.lexsort((space.ids, -times))[:EXAMPLES]
    return ColdStart(
        songs=len(space.songs),
        never_played=len(space.songs) - len(played),
        seeds=len(seeds),
        sampled=len(seeds) < len(played),
        n=n,
        recommended=int((times > 0).sum()),
        recommended_native=int((by_sound > 0).sum()),
        examples=tuple(space.songs[row] for row in often.tolist() if times[row]),
    )


def _comes_up(space: Space, seeds: list[int], n: int) -> npt.NDArray[np.int64]:
    """Return how often each song is among the nearest of some others."""
    times = np.zeros(len(space.songs), np.int64)
    rows = [space.row_of[song] for song in seeds if song in space.row_of]
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        ids, _ = space.index.nearest(space.places[block], n + 1)
        # a song is among its own nearest, unless as many copies of it have lower ids
        others = ids != space.ids[block][:, None]
        others &= np.cumsum(others, axis=1) <= n
        np.add.at(times, np.searchsorted(space.ids, ids[others]), 1)
    return times
