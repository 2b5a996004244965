"""Two songs -> a way from one to the other, in small steps close to the line between them.

The line is cut into equal slices, and the songs of each slice that are nearest to its middle are on offer. Of all
ways through the slices, a beam search takes one whose squared steps and squared distances from the line add up to
little. Progress along the line never turns back.
"""

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.playlist_rules import Floats, Ints, Playlist, PlaylistRules, Space

ON_OFFER = 64  # songs of a slice that are looked at
AT_LEAST = 16  # songs below which a slice borrows from its neighbours
BEAM, PER_SONG = 128, 4  # ways that are followed, and how many of them may end in the same song


def walk(
    places: npt.ArrayLike,
    artists: npt.ArrayLike,
    start: int,
    end: int,
    rules: PlaylistRules | None = None,
    *,
    allowed: npt.ArrayLike | None = None,
) -> Playlist:
    """Return a way from one song to another, in small steps close to the line between them.

    Parameters
    ----------
    places : array of shape (n_songs, r)
    artists : array of int and shape (n_songs,)
        A number for each artist, -1 where unknown.
    start, end : int
        Rows of ``places``: the first and the last song.
    rules : PlaylistRules, optional
        ``diversity`` leaves out songs by chance, up to half of them, so that another ``seed`` goes another way.
        ``drift`` means nothing here.
    allowed : array of bool and shape (n_songs,), optional
        Which songs may be chosen in between.

    Returns
    -------
    Playlist
        Shorter than asked, with a note that says why, when there are too few songs in between.

    Raises
    ------
    InvalidInputError
        If start and end are one song, the length is below 2, or something has a wrong shape.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.playlist import PlaylistRules, walk
    >>> walk(np.arange(9.0)[:, None], np.arange(9), start=8, end=0, rules=PlaylistRules(length=5)).songs
    [8, 6, 4, 2, 0]
    """
    rules = rules or PlaylistRules()
    space = Space.of(places, artists, allowed)
    start, end = (space.check_row(row, name) for row, name in ((start, "start"), (end, "end")))
    if start == end:
        raise InvalidInputError("start and end are the same song; choose two songs to walk between.")
    if rules.length < 2:
        raise InvalidInputError(f"length={rules.length} leaves no room for a start and an end; choose at least 2.")
    notes = []
    if rules.length <= rules.artist_gap and space.by_one_artist(start, end):
        notes.append("Both ends are by the same artist; they stay as given.")
    songs = _way(space, start, end, rules)
    if len(songs) < rules.length:
        notes.append(
            f"The walk has {len(songs)} of {rules.length} songs: the rules allow no more in between; "
            "ask for fewer songs, or let an artist come again sooner."
        )
    return Playlist(songs, notes)


def _way(space: Space, start: int, end: int, rules: PlaylistRules) -> list[int]:
    """Return the best way through the slices of the line that a beam search finds."""
    line = space.centred[end] - space.centred[start]
    squared_length = float(line @ line)
    if squared_length <= space.same**2:
        return [start, end]
    n_steps = rules.length - 1
    along = (space.centred @ line - space.centred[start] @ line) / squared_length
    from_start, from_end = (space.away(space.centred[row]) for row in (start, end))
    is_open = space.allowed & (along > 0) & (along < 1) & (np.minimum(from_start, from_end) > space.same)
    is_open[[start, end]] = False
    if rules.diversity:
        is_open &= np.random.default_rng(rules.seed).random(len(along)) >= rules.diversity / 2
    rows = np.flatnonzero(is_open)
    rows = rows[np.argsort(along[rows], kind="stable")]
    beam = _Beam(space, along, start, end, space.same / squared_length**0.5)
    for step in range(1, n_steps):
        middle = step / n_steps
        first, last = np.searchsorted(along[rows], [middle - 0.5 / n_steps, middle + 0.5 / n_steps])
        if last - first < AT_LEAST:  # a thin slice borrows from its neighbours
            closest = np.sort(np.argsort(np.abs(along[rows] - middle), kind="stable")[:AT_LEAST])
            slice_rows = rows[closest]
        else:
            slice_rows = rows[first:last]
        off = from_start[slice_rows] ** 2 + squared_length * middle * (middle - 2 * along[slice_rows])
        nearest = np.argsort(off, kind="stable")[:ON_OFFER]
        beam.extend(slice_rows[nearest], off[nearest], rules.artist_gap, n_steps - step)
    return _without_clashes(space, beam.best(), rules.artist_gap)


class _Beam:
    """The best ways so far, all of the same number of songs."""

    def __init__(self, space: Space, along: Floats, start: int, end: int, reach: float) -> None:
        self._space, self._along, self._end = space, along, end
        self._reach = reach  # how far along the line a copy can be
        self.ways = np.array([[start]])
        self.costs = np.zeros(1)

    def extend(self, offer: Ints, off: Floats, artist_gap: int, to_end: int) -> None:
        """Let every way go on with every song on offer; if none can, all stay as they are."""
        space, last = self._space, self.ways[:, -1]
        steps = self._steps(last, offer)
        artists = space.artists[offer]
        may = self._along[offer] > self._along[last][:, None]
        for songs in self.ways.T[::-1]:
            if offer.size == 0 or self._along[songs].max() < self._along[offer].min() - self._reach:
                break
            may &= self._steps(songs, offer) > space.same**2
        recent = space.artists[self.ways[:, max(0, self.ways.shape[1] - artist_gap + 1) :]]
        may &= ~((recent[:, :, None] == artists) & (artists >= 0)).any(axis=1)
        if to_end < artist_gap:
            may &= (artists != space.artists[self._end]) | (artists < 0)
        costs = np.where(may, self.costs[:, None] + steps + off, np.inf)
        order = np.argsort(costs, axis=None, kind="stable")
        way, song = np.divmod(order[: int(may.sum())], len(offer) or 1)
        kept, uses = [], np.zeros(len(offer), int)
        for i, column in enumerate(song):
            uses[column] += 1
            if uses[column] <= PER_SONG:
                kept.append(i)
                if len(kept) == BEAM:
                    break
        if kept:
            way, song = way[kept], song[kept]
            self.costs = costs[way, song]
            self.ways = np.concatenate([self.ways[way], offer[song][:, None]], axis=1)

    def best(self) -> list[int]:
        """Return the cheapest way with its last step to the end."""
        costs = self.costs + self._steps(self.ways[:, -1], np.array([self._end]))[:, 0]
        return [*self.ways[np.argmin(costs)].tolist(), self._end]

    def _steps(self, songs: Ints, offer: Ints) -> npt.NDArray[np.float64]:
        """Return the squared distances from songs to those on offer."""
        one, other = self._space.centred[songs], self._space.centred[offer]
        squares: Floats = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
        return squares.clip(min=0).astype(np.float64)


def _without_clashes(space: Space, songs: list[int], artist_gap: int) -> list[int]:
    """Leave out songs whose artist comes too soon after all, because a slice in between had nothing."""
    kept = songs[:1]
    for song in songs[1:-1]:
        if not any(space.by_one_artist(song, other) for other in kept[max(0, len(kept) - artist_gap + 1) :]):
            kept.append(song)
    while len(kept) > 1 and any(
        space.by_one_artist(songs[-1], other) for other in kept[max(1, len(kept) - artist_gap + 1) :]
    ):
        kept.pop()
    return [*kept, songs[-1]]
