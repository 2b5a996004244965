"""The queries of a library: similar songs, recommendations, playlists, reasons, maps; each from one snapshot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nearsong.library.records import Neighbour, Song, VersionStamp
from nearsong.library.snapshot_cache import SnapshotCache
from nearsong.library.store import Store
from nearsong.types import Progress, no_progress
from nearsong.validation import check_count

if TYPE_CHECKING:
    from nearsong.library.answers.filters import Filters
    from nearsong.library.answers.playlist.rules import PlaylistRules
    from nearsong.library.answers.recommending.records import ForYou, Heard, Recommendation
    from nearsong.library.answers.seeds import SeedLike
    from nearsong.library.answers.why.reasons import Why
    from nearsong.library.neighbours.space import Space
    from nearsong.library.snapshot import Snapshot


class LibraryQueries:
    """The part of `Library` that answers queries."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._snapshots = SnapshotCache(store)

    def snapshot(self, *, now: bool = False) -> Snapshot:
        """Return a snapshot of the library, for queries from many threads; the same one until the library changes.

        Songs added by another process may be missing for some seconds, unless ``now`` is set. Raises an
        `EmptyLibraryError` if there are no songs to compare yet.
        """
        return self._snapshots.get(now=now)

    def version_stamp(self) -> VersionStamp:
        """Return a record that changes with the active model, the songs and the listening histories."""
        return self._store.version_stamp()

    @property
    def space(self) -> Space:
        """The songs and their embeddings under the active model."""
        return self.snapshot().space

    def songs(self) -> list[Song]:
        """Return all songs that can be compared, by id."""
        return list(self.space.songs)

    def find(self, text: str | int) -> Song:
        """Return the song with an id or a name.

        Raises an `UnclearSongError` if several songs match, or none; its ``suggestions`` name the likely ones.
        """
        return self.space.finder.find(str(text))

    def similar(
        self,
        *seeds: SeedLike,
        n: int = 10,
        filters: Filters | None = None,
        adventurousness: float = 0.0,
        without: Sequence[SeedLike] = (),
    ) -> list[Neighbour]:
        """Return the songs nearest to one or more seeds.

        Parameters
        ----------
        *seeds : Song, int, str or path-like
            With several, the distance of a song is that to the nearest of them.
        n : int, default=10
        filters : Filters, optional
        adventurousness : float from -1, what many people play, to 1, what few play
        without : sequence of Song, int, str or path-like
            Minus seeds: songs that are nearer to one of them than to the seeds come later.

        Returns
        -------
        list of Neighbour
            Song, distance, and similarity in 0..1.
        """
        return self.snapshot().similar(seeds, n, filters, adventurousness=adventurousness, without=without)

    def neighbours(self, *seeds: SeedLike, n: int = 10) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the ids and distances of the songs nearest to one or more seeds, both (n,)."""
        near = self.similar(*seeds, n=n)
        return np.array([one.song.id for one in near], np.int64), np.array([one.distance for one in near], np.float64)

    def playlist(
        self,
        *seeds: SeedLike,
        rules: PlaylistRules | None = None,
        filters: Filters | None = None,
        to: SeedLike | None = None,
    ) -> tuple[list[Song], list[str]]:
        """Return a playlist around seeds, or a path from a single seed ``to`` another.

        Returns
        -------
        songs : list of Song
        notes : list of str
            Rules that could not be met.
        """
        return self.snapshot().playlist(seeds, rules, filters, to)

    def for_you(
        self,
        listener: str,
        n: int = 50,
        filters: Filters | None = None,
        *,
        include_played: bool = False,
        at: float | None = None,
    ) -> ForYou:
        """Return songs for a listener: near what they play and like, away from what they skip.

        Parameters
        ----------
        listener : str
            Plays that were recorded and histories that were imported under this name count, the latest most.
        n : int, default=50
        filters : Filters, optional
        include_played : bool, default=False
            Whether songs that the listener knows may be among them.
        at : float, optional
            Now, in seconds since 1970.

        Returns
        -------
        ForYou
            Songs with the listener's own song that each is nearest to, and notes: such as that nothing is known of
            the listener, and the songs that everybody plays most are shown instead.
        """
        return self.snapshot().for_you(listener, n, filters, include_played=include_played, at=at)

    def radio(
        self,
        *seeds: SeedLike,
        heard: Sequence[Heard] = (),
        n: int = 1,
        filters: Filters | None = None,
        listener: str | None = None,
        surprise: float = 0.0,
        seed: int = 0,
    ) -> list[Recommendation]:
        """Return the next songs of a radio that never ends.

        Parameters
        ----------
        *seeds : Song, int, str or path-like
            What it starts from.
        heard : sequence of Heard
            What it played so far, the latest last, and what the listener did. It is not repeated until all songs
            were played.
        n : int, default=1
            Number of songs; later ones are chosen as if those before were played.
        filters : Filters, optional
        listener : str, optional
            Whose taste counts too.
        surprise : float from 0, the nearest songs, to 1, far ones that the listener does not know
        seed : int, default=0
            Another seed gives another radio.
        """
        return self.snapshot().radio(seeds, heard, n, filters, listener=listener, surprise=surprise, seed=seed)

    def why(self, query: SeedLike, *others: SeedLike) -> list[Why]:
        """Explain why songs are near a query, or far from it: by sound and by shared listeners."""
        return self.snapshot().why([query], others)

    def open_file(self, song: Song) -> FileIO:
        """Open the file of a song; raise a `NoSuchSongError` if it is not the file that was scanned."""
        from nearsong.library.files.open_song import open_song_file

        return open_song_file(self._store, song)

    def map(self, path: str | os.PathLike[str], *, seed: int = 0, progress: Progress = no_progress) -> Path:
        """Write an HTML page with a map of all songs under the active model; return its path."""
        from nearsong.library.maps.export import export_map

        return export_map(path, self.snapshot, seed=seed, progress=progress)

    def compare_models(self, first: int, second: int) -> float:
        """Return the share of the ten nearest songs that two models have in common, over a sample of songs."""
        from nearsong.library.neighbours.space import Space, agreement

        return agreement(*(Space.load(self._store, check_count(model, "model")) for model in (first, second)))
