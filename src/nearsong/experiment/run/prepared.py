"""The cache folder of a run <-> the songs of the experiment set and everything computed for them.

::

    population.npz          the songs of the experiment set (see protocol.py), tags, vectors, paths of the sound files
    bag.npy                 frames for the codebooks: five seconds of a random song of each codebook artist
    codebook-V.npz          codewords
    F-learned.npz           parameters of feature F, learned from the codebook set
    songs-i.npz             songs of chunk i: histograms for every codebook and tau, and the features
    F-distances-i.npy       distances of the songs of chunk i to all songs by feature F

Files are written atomically, so that a killed run can be continued.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.atomic_write import atomic_write
from nearsong.audio import DeltaMFCC, FrameFeatures, Frames
from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.dataset.sounds import SoundFiles
from nearsong.experiment.methods.encoders import EncoderFeature
from nearsong.experiment.methods.method import Arrays, Method, SongFeature
from nearsong.experiment.methods.registry import methods_named
from nearsong.experiment.run.protocol import Population
from nearsong.experiment.run.settings import Settings

CACHE_FORMAT = 3
"""Version of the files in the cache; a run with another version cannot be continued."""

CHUNK_SONGS = 40
"""Songs encoded by one task of the preparation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """The data that all tasks of a run share; see :class:`nearsong.experiment.methods.method.SongData`."""

    folder: Path
    settings: Settings
    population: Population
    sounds: SoundFiles
    vectors: npt.NDArray[np.float64] | None
    tags: sp.csr_array | None
    codebook_tags: sp.csr_array | None

    @property
    def n_songs(self) -> int:
        """Number of songs in the experiment set."""
        return len(self.population.songs)

    @property
    def has_sound(self) -> bool:
        """Whether the data set has sound, not vectors."""
        return self.sounds.content != "vectors"

    @property
    def listening_data(self) -> Population:
        """Songs, artists and listeners."""
        return self.population

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return self.settings.seed

    @property
    def n_relevant(self) -> int:
        """Number of relevant artists per artist."""
        return self.settings.n_relevant

    @property
    def methods(self) -> list[Method]:
        """The methods of the settings that are available for the data set."""
        return [method for method in methods_named(self.settings.methods) if method.is_available(self)]

    @property
    def encoders(self) -> tuple[str, ...]:
        """The encoders of the run."""
        return self.settings.encoders

    @property
    def features(self) -> list[SongFeature]:
        """The features that these methods need, with those of the encoders that the data set has no vectors of."""
        own = [feature for method in self.methods for feature in method.features]
        names = [name for method in self.methods for name in method.encoders_for(self)]
        return list(dict.fromkeys([*own, *(EncoderFeature(n) for n in names if n not in self.sounds.vectors)]))

    @property
    def codebooks(self) -> tuple[int, ...]:
        """The codebook sizes, if any of these methods needs histograms."""
        return self.settings.codebooks if any(method.needs_histograms for method in self.methods) else ()

    @property
    def n_chunks(self) -> int:
        """Number of chunks that the songs are divided into."""
        return -(-self.n_songs // CHUNK_SONGS)

    def chunk(self, number: int) -> range:
        """Return the songs of a chunk."""
        return range(number * CHUNK_SONGS, min((number + 1) * CHUNK_SONGS, self.n_songs))

    @property
    def n_codebook_songs(self) -> int:
        """Songs of the codebook set."""
        return len(self.population.codebook_songs)

    def frames(self, song: int, kinds: Sequence[FrameFeatures]) -> list[Frames]:
        """Read the frames of a song of the experiment set for several kinds of features."""
        return self.sounds.frames_of(int(self.population.songs[song]), kinds)

    def codebook_frames(self, song: int, features: FrameFeatures | None = None) -> Frames:
        """Read the frames of a song of the codebook set, by default MFCCs."""
        return self.sounds.frames_of(int(self.population.codebook_songs[song]), [features or DeltaMFCC()])[0]

    def histograms(self, codebook: int, tau: int) -> npt.NDArray[np.float64]:
        """Return codeword histograms (songs x codewords)."""
        return np.concatenate([part[f"h-{codebook}-{tau}"] for part in self._chunks()])

    def given_vectors(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
        """Return vectors that are a file of the data set: of all songs, and of the codebook set; None if not."""
        if name not in self.sounds.vectors:
            return None
        vectors = self.sounds.vectors_of(name)
        return vectors[self.population.songs], vectors[self.population.codebook_songs]

    def learned(self, feature: str) -> Arrays:
        """Return what a feature learned from the codebook set."""
        with np.load(self.folder / f"{feature}-learned.npz") as arrays:
            return dict(arrays)

    def stored(self, feature: str) -> Arrays:
        """Return a feature of all songs, as packed."""
        prefix = f"{feature}/"
        parts: dict[str, list[npt.NDArray[Any]]] = {}
        for chunk in self._chunks():
            for name in chunk.files:
                if name.startswith(prefix):
                    parts.setdefault(name.removeprefix(prefix), []).append(chunk[name])
        return {name: np.concatenate(arrays) for name, arrays in parts.items()}

    def distance_table(self, feature: str) -> npt.NDArray[np.float32]:
        """Return the distances of a feature (songs x songs)."""
        return np.concatenate(
            [np.load(self.folder / f"{feature}-distances-{number}.npy") for number in range(self.n_chunks)]
        )

    def _chunks(self) -> Iterator[Any]:
        for number in range(self.n_chunks):
            with np.load(self.folder / f"songs-{number}.npz") as part:
                yield part


def write_population(folder: Path, data: Dataset, population: Population) -> None:
    """Store what tasks need of the data set, so that they do not read the listens again."""
    tags = sp.csr_array((data.n_songs, 0), dtype=bool) if data.tags is None else data.tags
    arrays: dict[str, Any] = {
        "songs": population.songs,
        "song_artist": population.song_artist,
        "artists": population.artists,
        "codebook_songs": population.codebook_songs,
        "codebook_artists": population.codebook_artists,
    }
    for name, matrix in {
        "plays": population.plays,
        "all_plays": population.all_plays,
        "tags": sp.csr_array(tags[population.songs]),
        "codebook_tags": sp.csr_array(tags[population.codebook_songs]),
    }.items():
        arrays |= {f"{name}_indptr": matrix.indptr, f"{name}_indices": matrix.indices, f"{name}_shape": matrix.shape}
    if data.vectors is not None:
        arrays["vectors"] = data.vectors[population.songs]
    arrays["sounds"] = np.frombuffer(json.dumps(data.sounds.as_json()).encode(), dtype=np.uint8)
    with atomic_write(folder / "population.npz") as file:
        np.savez(file, **arrays)


@lru_cache(maxsize=2)
def load_prepared(run: str) -> Prepared:
    """Read the cache of a run; the result is cached in the process."""
    folder = Path(run) / "cache"
    settings = Settings.from_json(json.loads((Path(run) / "run.json").read_text())["settings"])
    with np.load(folder / "population.npz") as stored:
        sounds = SoundFiles.from_json(json.loads(stored["sounds"].tobytes()))
        names = ("songs", "song_artist", "artists", "codebook_songs", "codebook_artists")
        relations: dict[str, Any] = {name: _relation(stored, name) for name in ("plays", "all_plays")}
        population = Population(**relations, **{name: stored[name] for name in names})
        tags, codebook_tags = _relation(stored, "tags"), _relation(stored, "codebook_tags")
        vectors = stored["vectors"] if "vectors" in stored.files else None
    return Prepared(
        folder=folder,
        settings=settings,
        population=population,
        sounds=sounds,
        vectors=vectors,
        tags=tags if tags.nnz else None,
        codebook_tags=codebook_tags if codebook_tags.nnz else None,
    )


def _relation(stored: Any, name: str) -> sp.csr_array:
    indices = stored[f"{name}_indices"]
    return sp.csr_array(
        (np.ones(len(indices), bool), indices, stored[f"{name}_indptr"]), shape=tuple(stored[f"{name}_shape"])
    )
