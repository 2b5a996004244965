"""Track names that match nothing in the library -> numbers for their artists, who still relate other artists."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearsong.library.listeners.matching import Indices, Matched, TrackNameColumns, track_name_columns
from nearsong.listens.records import TrackName
from nearsong.names import artist_key, primary_artist


class OutsideArtists(NamedTuple):
    """Artists that the library does not have.

    Attributes
    ----------
    numbers : array of int64 and shape (m,)
        The number of each track name's artist, from 0 in order of appearance: spellings of a name are one artist. -1
        for names whose artist the library has, and for names without an artist.
    names : list of str
        The first spelling of each artist.
    """

    numbers: Indices
    names: list[str]


def outside_artists(matched: Matched, tracks: Sequence[TrackName] | TrackNameColumns) -> OutsideArtists:
    """Return the artists that the library does not have.

    Parameters
    ----------
    matched : Matched
        Of the names.
    tracks : sequence of TrackName, or TrackNameColumns
        m names.

    Examples
    --------
    >>> from nearsong.library.listeners.matching import SongCatalogue, match
    >>> from nearsong.library.records import Song
    >>> from nearsong.listens.records import TrackName
    >>> catalogue = SongCatalogue.of([Song(id=7, path="a.mp3", artist="Can", title="Halleluwah", artist_key="can")])
    >>> tracks = [TrackName("Björk", "Joga"), TrackName("Can"), TrackName("BJORK"), TrackName("Neu!")]
    >>> outside = outside_artists(match(catalogue, tracks), tracks)
    >>> outside.numbers.tolist(), outside.names
    ([0, -1, 0, 1], ['Björk', 'Neu!'])
    """
    columns = tracks if isinstance(tracks, TrackNameColumns) else track_name_columns(tracks)
    numbers = np.full(len(matched), -1, np.int64)
    names: list[str] = []
    of_key: dict[str, int] = {}
    of_spelling: dict[str, int] = {}  # histories repeat the same artists
    for row in np.flatnonzero(matched.artist < 0).tolist():
        name = columns.artist[row]
        number = of_spelling.get(name)
        if number is None:
            key = artist_key(primary_artist(name))
            number = of_spelling[name] = of_key.setdefault(key, len(of_key)) if key else -1
            if number == len(names):
                names.append(primary_artist(name))
        numbers[row] = number
    return OutsideArtists(numbers, names)
