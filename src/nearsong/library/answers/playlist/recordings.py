"""Songs -> which of them are the same recording, by their names and durations.

Where all songs of an artist have the same embedding, or nearly so, distances do not tell copies of a recording from
other songs of the artist.
"""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from nearsong.library.answers.similar import MAX_COPY_SECONDS
from nearsong.library.records import Song
from nearsong.names import title_key


def recording_numbers(songs: Sequence[Song]) -> npt.NDArray[np.int64]:
    """Return a number for each song's recording, (n_songs,): the row of its first copy.

    Copies have the same artist and title, and about the same duration; a song without a title has none.

    Examples
    --------
    >>> same = {"artist": "Can", "artist_key": "can", "title": "Halleluwah"}
    >>> songs = [Song(id=1, path="a.flac", seconds=100, **same), Song(id=2, path="b.mp3", seconds=101, **same),
    ...          Song(id=3, path="live.mp3", seconds=300, **same)]
    >>> recording_numbers(songs).tolist()
    [0, 0, 2]
    """
    numbers = np.arange(len(songs), dtype=np.int64)
    by_name: dict[tuple[str, str], list[int]] = {}
    for row, song in enumerate(songs):
        if not song.title:
            continue
        earlier = by_name.setdefault((song.artist_key, title_key(song.title)), [])
        copies = (first for first in earlier if abs(songs[first].seconds - song.seconds) <= MAX_COPY_SECONDS)
        numbers[row] = next(copies, row)
        if numbers[row] == row:
            earlier.append(row)
    return numbers


def without_copies(numbers: npt.NDArray[np.int64], seeds: Collection[int]) -> npt.NDArray[np.bool_]:
    """Return a mask (n_songs,) of one song of each recording, and none of those of the seeds, given as rows."""
    mask: npt.NDArray[np.bool_] = numbers == np.arange(len(numbers))
    return mask & ~np.isin(numbers, numbers[list(seeds)])
