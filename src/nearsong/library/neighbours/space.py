"""A stored library and a model -> its songs with their embeddings, loaded once."""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from cachetools import cachedmethod

from nearsong.caching import cached_property
from nearsong.errors import EmptyLibraryError, LibraryError, NoSuchSongError
from nearsong.library.neighbours.calibration import Calibration
from nearsong.library.neighbours.index import APPROXIMATE_ABOVE, NO_GRAPH, NeighbourIndex
from nearsong.library.neighbours.shared_rows import shared_rows
from nearsong.library.records import Song
from nearsong.types import FloatArray, Progress, no_progress

if TYPE_CHECKING:
    from nearsong.library.neighbours.song_finder import SongFinder
    from nearsong.library.store import Store
    from nearsong.model import SimilarityModel

Mask = npt.NDArray[np.bool_]

AGREEMENT_SONGS = 500
"""Songs whose neighbours are compared to compare two models."""

AGREEMENT_NEIGHBOURS = 10

MAX_TAIL = 20_000
"""Songs that a graph does not have and that every search reads; with more, the graph is extended by them."""


class Space:
    """Songs and their embeddings under one model. Thread-safe.

    Attributes
    ----------
    model_id : int
    model : SimilarityModel
    songs : list of Song
        Songs whose files exist, by id.
    ids : array of int64 and shape (n_songs,)
    embeddings : array of shape (n_songs, rank), float32
    row_of : dict of int to int
        Song id -> row of the arrays.
    artists : array of int64 and shape (n_songs,)
        Numbers of the songs' artists; -1 for none.
    artist_numbers : dict of str to int
        Artist key -> number.
    missing : frozenset of int
        Ids of songs whose files are missing.
    cache : Path
        Folder for files that can be recomputed.
    """

    def __init__(
        self,
        model_id: int,
        model: "SimilarityModel",
        songs: list[Song],
        embeddings: npt.NDArray[np.float32],
        cache: Path,
        missing: frozenset[int] = frozenset(),
    ) -> None:
        self.model_id, self.model, self.songs = model_id, model, songs
        self.embeddings = shared_rows(embeddings, cache) if len(embeddings) > APPROXIMATE_ABOVE else embeddings
        self.missing = missing
        self.cache = cache
        self.ids = np.array([song.id for song in songs], dtype=np.int64)
        self.row_of = {song.id: row for row, song in enumerate(songs)}
        self.artist_numbers: dict[str, int] = {"": -1}
        numbers = self.artist_numbers
        self.artists = np.array(
            [numbers.setdefault(song.artist_key, len(numbers) - 1) for song in songs], dtype=np.int64
        )
        self._columns: dict[object, FloatArray] = {}
        self._categories: dict[object, tuple[list[str], npt.NDArray[np.intp]]] = {}

    @classmethod
    def load(cls, store: "Store", model_id: int | None = None) -> "Space":
        """Read a model and its songs; by default the active model.

        Raises
        ------
        EmptyLibraryError
            If there is no active model yet, or the files of all songs are missing.
        """
        is_default = model_id is None
        model_id = store.models.active if model_id is None else store.models.row(model_id).id
        if model_id is None:
            raise _nothing_to_compare(store, 0)
        from nearsong.model import SimilarityModel

        model = SimilarityModel.from_bytes(store.models.data(model_id))
        ids, embeddings = store.songs.embeddings(model_id)
        stored = store.songs.all()
        songs = {song.id: song for song in stored if not song.missing}
        missing = frozenset(song.id for song in stored if song.missing)
        is_playable = np.array([song in songs for song in ids.tolist()], dtype=bool)
        playable = [songs[song] for song in ids[is_playable].tolist()]
        if not playable and is_default:
            raise _nothing_to_compare(store, len(missing))
        return cls(model_id, model, playable, embeddings[is_playable], store.cache, missing)

    # ---- searching

    @cached_property
    def index(self) -> NeighbourIndex:
        """The index of nearest neighbours: exact, or with a graph of most songs that is in the cache."""
        return self._build_index(only_cached=True)

    def build_graph(self, progress: Progress) -> str | None:
        """Build and store the graph of a library that is large enough to need one, or extend the one that is stored.

        Building takes minutes. Returns what to install if it would, but cannot be built.
        """
        self.index = self._build_index(progress=progress)
        return NO_GRAPH if self.index.lacks_usearch else None

    @property
    def needs_graph(self) -> bool:
        """Whether a graph should be built, or extended by the songs that it does not have; see `GraphBuilder`."""
        if self.index.is_exact:
            return len(self.songs) > APPROXIMATE_ABOVE and not self.index.lacks_usearch
        return self.index.n_outside_graph > MAX_TAIL

    def reopen_graph(self) -> None:
        """Use the graph that is in the cache now."""
        self.index = self._build_index(only_cached=True)

    def _build_index(self, *, only_cached: bool = False, progress: Progress = no_progress) -> NeighbourIndex:
        return NeighbourIndex.build(
            self.embeddings,
            self.ids,
            approximate_above=APPROXIMATE_ABOVE,
            cache=self.cache,
            only_cached=only_cached,
            progress=progress,
        )

    @cached_property
    def calibration(self) -> Calibration:
        """Turns distances of this space into similarities."""
        return Calibration.fit(self.embeddings)

    @cached_property
    def finder(self) -> "SongFinder":
        """Finds songs by their names."""
        from nearsong.library.neighbours.song_finder import SongFinder

        return SongFinder(self.songs)

    @cached_property
    def by_path(self) -> dict[str, Song]:
        """Absolute path -> song."""
        return {song.path: song for song in self.songs}

    def embedding_of(self, song: Song) -> npt.NDArray[np.float32]:
        """Return the embedding of a song."""
        row = self.row_of.get(song.id)
        if row is None:
            raise NoSuchSongError(f"{song.name} (id {song.id}) is not analysed yet; run `nearsong scan`.")
        embedding: npt.NDArray[np.float32] = self.embeddings[row]
        return embedding

    def closeness_to(self, first: Song, songs: Sequence[Song]) -> list[float]:
        """Return the closeness of songs to one of them."""
        embeddings = np.stack([self.embedding_of(song) for song in songs]).astype(np.float64)
        distances = np.linalg.norm(embeddings - self.embedding_of(first).astype(np.float64), axis=1)
        closeness: list[float] = self.calibration.closeness(self.calibration.similarity(distances)).tolist()
        return closeness

    def rows(self, ids: npt.NDArray[np.int64]) -> list[int]:
        """Return the rows of songs by their ids."""
        row_of = self.row_of
        return [row_of[song] for song in ids.tolist()]

    def song_at(self, path: str | os.PathLike[str]) -> Song | None:
        """Return the song of a file, if it is in the library."""
        absolute = os.path.abspath(os.path.expanduser(os.fspath(path)))
        return self.by_path.get(absolute) or self.by_path.get(os.path.realpath(absolute))

    # ---- the fields of all songs, for filters

    def all_but(self, ids: Iterable[int]) -> Mask:
        """Return a mask of all songs except some, (n_songs,); unknown ids are ignored."""
        mask = np.ones(len(self.songs), dtype=bool)
        mask[[self.row_of[song] for song in ids if song in self.row_of]] = False
        return mask

    def by_artists(self, keys: Collection[str]) -> Mask:
        """Return a mask of the songs by some artists, (n_songs,)."""
        numbers = [self.artist_numbers[key] for key in keys if key in self.artist_numbers]
        mask: Mask = self.artists == numbers[0] if len(numbers) == 1 else np.isin(self.artists, numbers)
        return mask

    def containing(self, field: str, texts: Iterable[str]) -> Mask:
        """Return a mask of the songs in which a field contains one of some texts, ignoring case, (n_songs,)."""
        wanted = [text.casefold() for text in texts]
        values, codes = self._category(field)
        mask: Mask = np.array([any(text in value for text in wanted) for value in values], dtype=bool)[codes]
        return mask

    @cachedmethod(lambda self: self._columns)
    def numbers(self, field: str) -> FloatArray:
        """Return a numeric field of all songs, (n_songs,); NaN, which fails every comparison, where it is not set."""
        values = (getattr(song, field) for song in self.songs)
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    @cachedmethod(lambda self: self._categories)
    def _category(self, field: str) -> tuple[list[str], npt.NDArray[np.intp]]:
        """Return the distinct values of a text field, case-folded, and the index of each song's value, (n_songs,)."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(getattr(song, field), len(numbers)) for song in self.songs]
        return [value.casefold() for value in numbers], np.array(codes, dtype=np.intp)


def _nothing_to_compare(store: "Store", missing: int) -> EmptyLibraryError:
    if missing and not store.songs.roots():
        return EmptyLibraryError(
            f"all folders of the library {store.name} were removed; to bring one back: `nearsong scan FOLDER`."
        )
    if missing:
        what = f"the files of all {missing:,} songs in the library {store.name} are missing"
        return EmptyLibraryError(f"{what}; restore them and run `nearsong scan`.")
    return EmptyLibraryError(f"the library {store.name} has no songs yet; start with `nearsong scan FOLDER`.")


def agreement(first: Space, second: Space) -> float:
    """Return the share of the ten nearest songs that two models have in common, over a sample of songs."""
    common = sorted(set(first.row_of) & set(second.row_of))
    if len(common) < 2:
        raise LibraryError(
            f"models {first.model_id} and {second.model_id} share no songs; activate each of them once, then compare."
        )
    chosen = np.random.default_rng(0).permutation(common)[:AGREEMENT_SONGS]
    k = min(1 + AGREEMENT_NEIGHBOURS, len(common))
    nearest = [
        space.index.nearest(space.embeddings[[space.row_of[int(song)] for song in chosen]], k)[0]
        for space in (first, second)
    ]
    shared = [
        len((set(by_first.tolist()) & set(by_second.tolist())) - {int(song)}) / (k - 1)
        for song, by_first, by_second in zip(chosen, *nearest, strict=True)
    ]
    return float(np.mean(shared))
