"""The library as it answers: the active model, its songs and their places, loaded once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, LibraryError, NoSuchSongError
from nearsong.library.calibration import Calibration
from nearsong.library.index import PlaceIndex
from nearsong.library.made_once import made_once
from nearsong.library.records import Song
from nearsong.library.search import SongFinder
from nearsong.library.store import Store
from nearsong.model import SimilarityModel

Progress = Callable[[str, int, int], None]


class Genres(NamedTuple):
    """What songs are: the names of genres, without upper case, and which of them each song has."""

    names: list[str]
    codes: npt.NDArray[np.intp]


class Space:
    """Songs in the space of one model.

    Attributes
    ----------
    model_id : int
    model : SimilarityModel
    songs : list of Song
        Those that can be played, by id.
    places : array of shape (n_songs, rank), float32
        Row i is where song i is.
    artists : array of int64 and shape (n_songs,)
        Numbers of the songs' artists; -1 where there is none.
    artist_numbers : dict of str to int
        What each artist is compared by, and its number.
    missing : frozenset of int
        Ids of songs whose files are gone.
    cache : Path
        Where things are kept that can be made again.
    """

    def __init__(
        self,
        model_id: int,
        model: SimilarityModel,
        songs: list[Song],
        places: npt.NDArray[np.float32],
        cache: Path,
        missing: frozenset[int] = frozenset(),
    ) -> None:
        self.model_id, self.model, self.songs, self.places = model_id, model, songs, places
        self.missing = missing
        self.cache = cache
        self.ids = np.array([song.id for song in songs], dtype=np.int64)
        self.row_of = {song.id: row for row, song in enumerate(songs)}
        self.artist_numbers: dict[str, int] = {"": -1}
        numbers = self.artist_numbers
        self.artists = np.array(
            [numbers.setdefault(song.artist_key, len(numbers) - 1) for song in songs], dtype=np.int64
        )

    @classmethod
    def load(cls, store: Store, model_id: int | None = None) -> "Space":
        """Read a model and its songs; by default the one that answers.

        Raises
        ------
        EmptyLibraryError
            If no model answers yet, or no song can be played.
        """
        asked, model_id = model_id, store.models.active if model_id is None else store.models.row(model_id).id
        if model_id is None:
            raise _nothing_to_compare(store, 0)
        model = SimilarityModel.from_bytes(store.models.data(model_id))
        ids, places = store.songs.places(model_id)
        everything = store.songs.all()
        songs = {song.id: song for song in everything if not song.missing}
        missing = frozenset(song.id for song in everything if song.missing)
        rows = np.array([song in songs for song in ids.tolist()], dtype=bool)
        kept = [songs[song] for song in ids[rows].tolist()]
        if not kept and asked is None:
            raise _nothing_to_compare(store, len(missing))
        return cls(model_id, model, kept, places[rows], store.cache, missing)

    @made_once
    def index(self) -> PlaceIndex:
        """Return what finds the nearest: exactly, or with the graph that :meth:`build_graph` has left."""
        return PlaceIndex.build(self.places, self.ids, cache=self.cache, only_cached=True)

    @made_once
    def years(self) -> npt.NDArray[np.float64]:
        """Return the years of the songs; NaN where there is none."""
        return np.array([np.nan if song.year is None else song.year for song in self.songs], dtype=np.float64)

    @made_once
    def genres(self) -> Genres:
        """Return the genres of the songs."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(song.genre, len(numbers)) for song in self.songs]
        return Genres([name.casefold() for name in numbers], np.array(codes, dtype=np.intp))

    def build_graph(self, progress: Progress) -> None:
        """Make and keep the graph of a library that is large enough to need one; it takes minutes."""
        self.index = PlaceIndex.build(self.places, self.ids, cache=self.cache, progress=progress)

    @made_once
    def calibration(self) -> Calibration:
        """Return what a distance means in this library."""
        return Calibration.fit(self.places)

    @made_once
    def finder(self) -> SongFinder:
        """Return what finds songs by their names."""
        return SongFinder(self.songs)

    @made_once
    def by_path(self) -> dict[str, Song]:
        """Return songs by their absolute paths."""
        return {song.path: song for song in self.songs}

    def place_of(self, song: Song) -> npt.NDArray[np.float32]:
        """Return where a song is."""
        row = self.row_of.get(song.id)
        if row is None:
            raise NoSuchSongError(f"{song.name} (id {song.id}) has no place yet; run `nearsong scan`.")
        place: npt.NDArray[np.float32] = self.places[row]
        return place

    def song_at(self, path: str | os.PathLike[str]) -> Song | None:
        """Return the song of a file, if it is in the library."""
        whole = os.path.abspath(os.path.expanduser(os.fspath(path)))
        return self.by_path.get(whole) or self.by_path.get(os.path.realpath(whole))


def _nothing_to_compare(store: Store, missing: int) -> EmptyLibraryError:
    if missing:
        what = f"the files of all {missing:,} songs of the library {store.name} are gone"
        return EmptyLibraryError(f"{what}; bring them back and run `nearsong scan`.")
    return EmptyLibraryError(
        f"the library {store.name} holds no songs to compare; begin with `nearsong scan FOLDER`."
    )


def agreement(first: Space, second: Space, *, n: int, sample: int, seed: int) -> float:
    """Return how many of the ``n`` nearest songs two models have in common, as a share, over a sample of songs."""
    common = sorted(set(first.row_of) & set(second.row_of))
    if len(common) < 2:
        raise LibraryError(
            f"models {first.model_id} and {second.model_id} have no songs in common; use each once, then compare."
        )
    chosen = np.random.default_rng(seed).permutation(common)[:sample]
    k = min(n + 1, len(common))
    nearest = [
        space.index.nearest(space.places[[space.row_of[int(song)] for song in chosen]], k)[0]
        for space in (first, second)
    ]
    shared = [
        len((set(mine.tolist()) & set(theirs.tolist())) - {int(song)}) / (k - 1)
        for song, mine, theirs in zip(chosen, *nearest, strict=True)
    ]
    return float(np.mean(shared))
