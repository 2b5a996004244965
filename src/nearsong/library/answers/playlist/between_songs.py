"""Two songs -> a path from one to the other, in small steps close to the line between them.

The line is divided into equal slices; the candidates of a slice are the songs nearest to its midpoint. A beam search
over the slices minimises the sum of the squared steps and the squared distances to the midpoints. Projections onto
the line increase strictly along a path.
"""

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.library.answers.playlist.rules import Floats, Ints, Playlist, PlaylistRules, PlaylistSpace

MAX_CANDIDATES = 64  # songs of a slice
MIN_SLICE_SONGS = 16  # a smaller slice is filled up with the closest songs of other slices
BEAM_WIDTH = 128  # paths kept after each slice
MAX_PATHS_PER_SONG = 4  # paths of the beam that may end in the same song


def walk(space: PlaylistSpace, start: int, end: int, rules: PlaylistRules) -> Playlist:
    """Return a path from one song to another, in small steps close to the line between them.

    Parameters
    ----------
    space : PlaylistSpace
        Songs to choose from. The ends need not be among the allowed ones.
    start, end : int
        Rows of the space: the first and the last song.
    rules : PlaylistRules
        ``diversity`` drops up to half of the songs at random, so that another ``seed`` gives another path. ``drift``
        is ignored.

    Returns
    -------
    Playlist
        Shorter than requested, with a note that gives the reason, if there are too few songs in between.

    Raises
    ------
    InvalidInputError
        If start and end are the same song, or the length is below 2.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.answers.playlist.rules import PlaylistRules, PlaylistSpace
    >>> space = PlaylistSpace.of(np.arange(9.0)[:, None], np.arange(9))
    >>> walk(space, start=8, end=0, rules=PlaylistRules(length=5)).songs
    [8, 6, 4, 2, 0]
    """
    start, end = (space.check_row(row, name) for row, name in ((start, "start"), (end, "end")))
    if start == end:
        raise InvalidInputError("start and end are the same song; choose two different songs.")
    if rules.length < 2:
        raise InvalidInputError(f"length={rules.length} is too short for a start and an end; choose at least 2.")
    notes = []
    if rules.length <= rules.artist_gap and space.is_same_artist(start, end):
        notes.append("Both ends are by the same artist; they are kept as given.")
    songs = _path(space, start, end, rules)
    if len(songs) < rules.length:
        notes.append(
            f"The playlist has {len(songs)} of {rules.length} songs: the rules allow no others in between; "
            "ask for fewer songs, or use a smaller artist gap."
        )
    return Playlist(songs, notes)


def _path(space: PlaylistSpace, start: int, end: int, rules: PlaylistRules) -> list[int]:
    """Return the best path through the slices that the beam search finds."""
    line = space.centred[end] - space.centred[start]
    squared_length = float(line @ line)
    if squared_length <= max(space.same_square, 0.0):
        return [start, end]
    n_steps = rules.length - 1
    along = (space.centred @ line - space.centred[start] @ line) / squared_length
    from_start, from_end = (space.distances(space.centred[row]) for row in (start, end))
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
        if last - first < MIN_SLICE_SONGS:  # too few songs: use the closest ones of other slices too
            closest = np.sort(np.argsort(np.abs(along[rows] - middle), kind="stable")[:MIN_SLICE_SONGS])
            slice_rows = rows[closest]
        else:
            slice_rows = rows[first:last]
        off = from_start[slice_rows] ** 2 + squared_length * middle * (middle - 2 * along[slice_rows])
        nearest = np.argsort(off, kind="stable")[:MAX_CANDIDATES]
        beam.extend(slice_rows[nearest], off[nearest], rules.artist_gap, n_steps - step)
    return _without_clashes(space, beam.best(), rules.artist_gap)


class _Beam:
    """The best partial paths so far, all with the same number of songs."""

    def __init__(self, space: PlaylistSpace, along: Floats, start: int, end: int, reach: float) -> None:
        self._space, self._along, self._end = space, along, end
        self._reach = reach  # near-duplicates are no farther apart along the line
        self.paths = np.array([[start]])
        self.costs = np.zeros(1)

    def extend(self, candidates: Ints, off: Floats, artist_gap: int, to_end: int) -> None:
        """Extend every path with every allowed candidate; if none is allowed, leave the paths unchanged."""
        space, last = self._space, self.paths[:, -1]
        steps = space.squared_distances(space.centred[last], candidates)
        artists = space.artists[candidates]
        is_allowed = self._along[candidates] > self._along[last][:, None]
        for songs in self.paths.T[::-1]:
            if candidates.size == 0 or self._along[songs].max() < self._along[candidates].min() - self._reach:
                break
            is_allowed &= space.squared_distances(space.centred[songs], candidates) > space.same_square
        recent = space.artists[self.paths[:, max(0, self.paths.shape[1] - artist_gap + 1) :]]
        is_allowed &= ~((recent[:, :, None] == artists) & (artists >= 0)).any(axis=1)
        if to_end < artist_gap:
            is_allowed &= (artists != space.artists[self._end]) | (artists < 0)
        costs = np.where(is_allowed, self.costs[:, None] + steps + off, np.inf)
        order = np.argsort(costs, axis=None, kind="stable")
        path, song = np.divmod(order[: int(is_allowed.sum())], len(candidates) or 1)
        chosen, uses = [], np.zeros(len(candidates), int)
        for i, column in enumerate(song):
            uses[column] += 1
            if uses[column] <= MAX_PATHS_PER_SONG:
                chosen.append(i)
                if len(chosen) == BEAM_WIDTH:
                    break
        if chosen:
            path, song = path[chosen], song[chosen]
            self.costs = costs[path, song]
            self.paths = np.concatenate([self.paths[path], candidates[song][:, None]], axis=1)

    def best(self) -> list[int]:
        """Return the cheapest path, including its step to the end."""
        last = self._space.centred[self.paths[:, -1]]
        costs = self.costs + self._space.squared_distances(last, np.array([self._end]))[:, 0]
        return [*self.paths[np.argmin(costs)].tolist(), self._end]


def _without_clashes(space: PlaylistSpace, songs: list[int], artist_gap: int) -> list[int]:
    """Drop songs that violate ``artist_gap`` because a slice between them had no candidates."""
    chosen = songs[:1]
    for song in songs[1:-1]:
        if not any(space.is_same_artist(song, other) for other in chosen[max(0, len(chosen) - artist_gap + 1) :]):
            chosen.append(song)
    while len(chosen) > 1 and any(
        space.is_same_artist(songs[-1], other) for other in chosen[max(1, len(chosen) - artist_gap + 1) :]
    ):
        chosen.pop()
    return [*chosen, songs[-1]]
