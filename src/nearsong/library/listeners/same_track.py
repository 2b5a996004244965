"""Track names -> which of them mean the same track, whether the library has it or not.

Names that match a song are that song. Other names are the same track if they share a recording MBID, or artist and
title without regard to spelling; they are that of a song if a name that matches it shares one of these.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from nearsong.library.listeners.matches.records import BY_RECORDING
from nearsong.library.listeners.matching import (
    Indices,
    Matched,
    TrackNameColumns,
    normalised_mbid,
    track_name_columns,
)
from nearsong.listens.records import TrackName
from nearsong.names import artist_key, primary_artist, title_key

Names = Sequence[TrackName] | TrackNameColumns


class NamedTracks(NamedTuple):
    """What m track names mean.

    Attributes
    ----------
    track : ndarray of int64 and shape (m,)
        The number of each name's track; names of the same track have the same number.
    vagueness : ndarray of int64 and shape (m,)
        0 if the name matches a song, 1 if it matches an artist, 2 if it matches nothing: of two names of a listen,
        the less vague one counts.
    """

    track: Indices
    vagueness: Indices


def named_tracks(matched: Matched, names: Names | None, compared: npt.NDArray[np.bool_]) -> NamedTracks:
    """Return the tracks of names.

    Parameters
    ----------
    matched : Matched
        Of m names.
    names : sequence of TrackName, or TrackNameColumns, or None
        The m names; without them, every name that matches no song is a track of its own.
    compared : ndarray of bool and shape (m,)
        Which names have to be compared with others; normalising all of millions takes seconds.

    Examples
    --------
    >>> names = [TrackName("Björk", "Jóga"), TrackName("BJORK", "Joga", "4F8B"), TrackName("Bjrk", "Jga", "4f8b")]
    >>> nothing = Matched(np.full(3, -1), np.full(3, -1), np.zeros(3, np.uint8))
    >>> named_tracks(nothing, names, np.ones(3, bool)).track.tolist()
    [0, 0, 0]
    """
    is_matched = matched.song >= 0
    n_songs = int(matched.song.max(initial=-1)) + 1 if matched.same_as is None else len(matched.same_as)
    track = n_songs + np.arange(len(matched))
    songs = matched.song[is_matched]
    track[is_matched] = songs if matched.same_as is None else matched.same_as[songs]
    unmatched = np.flatnonzero(compared & ~is_matched)
    if names is not None and len(unmatched):
        columns = names if isinstance(names, TrackNameColumns) else track_name_columns(names)
        track[unmatched] = _numbers(
            columns, matched, track, unmatched, np.flatnonzero(compared & is_matched), n_songs
        )
    return NamedTracks(track, np.where(is_matched, 0, np.where(matched.artist >= 0, 1, 2)))


def _numbers(
    columns: TrackNameColumns, matched: Matched, track: Indices, unmatched: Indices, others: Indices, n_songs: int
) -> Indices:
    """Return the tracks of unmatched names, which are connected by the keys they share."""
    keys = _Keys(columns)
    by_title = np.fromiter((keys.number(keys.title(row)) for row in unmatched.tolist()), np.int64, len(unmatched))
    by_mbid = np.fromiter(map(keys.number, map(keys.mbid, unmatched.tolist())), np.int64, len(unmatched))
    by_mbid = np.where(by_mbid < 0, by_title, by_mbid)
    n = len(keys.numbers)
    _, group = connected_components(
        sp.coo_array((np.ones(len(unmatched), np.int8), (by_title, by_mbid)), shape=(n, n))
    )
    first = np.empty(n, np.int64)  # by group
    first[group[by_title[::-1]]] = unmatched[::-1]  # the last assignment wins, which is the first name
    nobody = np.iinfo(np.int64).max
    song_of = np.full(n, nobody)
    for row in others.tolist():
        shared = keys.numbers.get(keys.mbid(row))
        if shared is not None:
            song_of[group[shared]] = min(song_of[group[shared]], track[row])
        # a name that matches by artist and title has no other with the same, which would match too
        shared = keys.numbers.get(keys.title(row)) if matched.how[row] == BY_RECORDING else None
        if shared is not None:
            song_of[group[shared]] = min(song_of[group[shared]], track[row])
    number = np.where(song_of < nobody, song_of, n_songs + first)
    return np.asarray(number[group[by_title]], np.int64)


class _Keys:
    """Numbers the keys by which names are compared."""

    def __init__(self, columns: TrackNameColumns) -> None:
        self._columns = columns
        self._artists: dict[str, str] = {}  # histories repeat the same artists
        self.numbers: dict[tuple[str, str] | str, int] = {}

    def number(self, key: tuple[str, str] | str) -> int:
        """Return the number of a key; -1 if it is empty."""
        return self.numbers.setdefault(key, len(self.numbers)) if key else -1

    def title(self, row: int) -> tuple[str, str]:
        """Return artist and title of a name."""
        name = self._columns.artist[row]
        artist = self._artists.get(name)
        if artist is None:
            artist = self._artists[name] = artist_key(primary_artist(name))
        return artist, title_key(self._columns.title[row])

    def mbid(self, row: int) -> str:
        """Return the recording MBID of a name; empty if it has none."""
        return normalised_mbid(self._columns.recording_mbid[row])
