"""A snapshot and a listener -> playlists that nobody saved: "For you", and a radio from what they played last.

Made on first use and cached for some minutes, as players list them often, and show one a moment after its name.
"""

import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from cachetools import TTLCache, cached

from nearsong.library import Heard, Snapshot, Song
from nearsong.names import readable

N_SONGS = 50
"""Songs of each playlist, at most."""

MAX_CACHED_LISTENERS = 100
CACHE_SECONDS = 300.0

FOR_YOU_ID = "for-you"
RADIO_ID = "radio"
MADE_IDS = frozenset((FOR_YOU_ID, RADIO_ID))


@dataclass(frozen=True)
class MadePlaylist:
    """A playlist that was made for a listener; it cannot be changed.

    Attributes
    ----------
    id : str
        One of `MADE_IDS`.
    name, comment : str
    songs : tuple of Song
        At least one.
    """

    id: str
    name: str
    comment: str
    songs: tuple[Song, ...]


class _Cache:
    """The playlists of the latest listeners; refers to no snapshot, or it would never be released."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: TTLCache[str, tuple[MadePlaylist, ...]] = TTLCache(MAX_CACHED_LISTENERS, CACHE_SECONDS)


@cached(WeakKeyDictionary(), key=lambda snapshot: snapshot, lock=threading.Lock())
def _cache_of(_snapshot: Snapshot) -> _Cache:
    return _Cache()


def made_playlists(snapshot: Snapshot, listener: str) -> tuple[MadePlaylist, ...]:
    """Return the playlists for a listener; none for one who has played nothing.

    Parameters
    ----------
    snapshot : Snapshot
    listener : str
    """
    cache = _cache_of(snapshot)
    with cache.lock:
        found = cache.made.get(listener)
    if found is None:
        found = tuple(
            playlist for playlist in (_for_you(snapshot, listener), _radio(snapshot, listener)) if playlist.songs
        )
        with cache.lock:
            cache.made[listener] = found
    return found


def _for_you(snapshot: Snapshot, listener: str) -> MadePlaylist:
    found = snapshot.for_you(listener, N_SONGS).songs
    songs = tuple(one.song for one in found if one.because is not None)  # else it is what everybody plays
    return MadePlaylist(FOR_YOU_ID, "For you", "Songs near what you play that you have not played yet.", songs)


def _radio(snapshot: Snapshot, listener: str) -> MadePlaylist:
    """Return a radio from the song that a listener played last."""
    last = snapshot.histories.last_played(listener)
    played = [song for song in last if song in snapshot.space.row_of]
    if not played:
        return MadePlaylist(RADIO_ID, "Radio", "", ())
    first = snapshot.song(max(played, key=lambda song: (last[song], song)))
    found = snapshot.radio([first], [Heard(song=first, reaction="played")], N_SONGS, listener=listener)
    name = readable(first.title or first.name)
    return MadePlaylist(
        RADIO_ID, f"Radio: {name}", f"From {name}, which you played last.", tuple(one.song for one in found)
    )
