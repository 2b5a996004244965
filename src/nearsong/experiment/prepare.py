"""A data set -> what all cells of the grid share, computed once and kept in the run's ``cache`` folder.

::

    population.npz          who takes part (see protocol.py), tags, vectors, paths of the sounds
    bag.npy                 frames for the codebooks: five seconds of a random song of each codebook artist
    codebook-V.npz          codewords
    songs-i.npz             songs of chunk i: histograms for every codebook and tau, mixture, semantic multinomial
    mixture-rows-i.npy      cross-entropies of the songs of chunk i with all songs

Every file appears under its name when it is complete, so that a run that was killed goes on with what is there.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.audio import Frames, load_frames
from nearsong.baselines import DiagonalMixture, GaussianMixtureSimilarity, SemanticMultinomial, fit_mixture
from nearsong.encoding import Codebook, TopTauHistogram, codebook_bag, codebook_songs
from nearsong.executor import run_tasks
from nearsong.experiment.dataset import Dataset
from nearsong.experiment.dataset_content import read_frames
from nearsong.experiment.protocol import Population
from nearsong.experiment.settings import Settings

CHUNK = 40
"""Songs a task of preparation encodes."""

FEWEST_SONGS_A_TAG = 5
"""Codebook songs that must carry a tag before a mixture is learned for it."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the cells need: who takes part, and all songs' vectors."""

    folder: Path
    settings: Settings
    population: Population
    content: str
    sounds: tuple[str, ...]
    vectors: npt.NDArray[np.float64] | None
    tags: sp.csr_array | None
    codebook_tags: sp.csr_array | None

    @property
    def n_songs(self) -> int:
        """Songs of the experiment set."""
        return len(self.population.songs)

    @property
    def has_sound(self) -> bool:
        """Whether there are frames."""
        return self.content != "vectors"

    def histograms(self, codebook: int, tau: int) -> npt.NDArray[np.float64]:
        """Return histograms (songs x codewords)."""
        return np.concatenate([part[f"h-{codebook}-{tau}"] for part in self._chunks()])

    def multinomials(self) -> npt.NDArray[np.float64]:
        """Return semantic multinomials (songs x tags)."""
        return np.concatenate([part["smd"] for part in self._chunks()])

    def mixture_distances(self) -> npt.NDArray[np.float32]:
        """Return the cross-entropy of every song's mixture with every song's (songs x songs)."""
        return np.concatenate([np.load(self.folder / f"mixture-rows-{i}.npy") for i in range(self.n_chunks)])

    @property
    def n_chunks(self) -> int:
        """Files that the songs are spread over."""
        return -(-self.n_songs // CHUNK)

    def chunk(self, number: int) -> range:
        """Return the songs of a chunk."""
        return range(number * CHUNK, min((number + 1) * CHUNK, self.n_songs))

    def frames(self, sound: int) -> Frames:
        """Read the frames of a sound of the data set."""
        path = Path(self.sounds[sound])
        return read_frames(path) if self.content == "frames" else load_frames(path)

    def tag_columns(self) -> npt.NDArray[np.int64]:
        """Return the tags that enough codebook songs carry to learn how they sound."""
        if self.codebook_tags is None:
            return np.empty(0, np.int64)
        carriers = np.diff(sp.csc_array(self.codebook_tags).indptr)
        enough = np.flatnonzero(carriers >= FEWEST_SONGS_A_TAG)
        return enough if len(enough) > 1 else enough[:0]  # a share of one tag is always 1

    def wants(self, *methods: str) -> bool:
        """Say whether any of some methods is to be compared."""
        return any(method in self.settings.methods for method in methods)

    def _chunks(self) -> Iterator[Any]:
        for number in range(self.n_chunks):
            with np.load(self.folder / f"songs-{number}.npz") as part:
                yield part


def write_population(folder: Path, data: Dataset, population: Population) -> None:
    """Keep what the workers need of the data set, so that they do not read the listens again."""
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
        "tags": sp.csr_array(tags[population.songs]),
        "codebook_tags": sp.csr_array(tags[population.codebook_songs]),
    }.items():
        arrays |= {f"{name}_indptr": matrix.indptr, f"{name}_indices": matrix.indices, f"{name}_shape": matrix.shape}
    if data.vectors is not None:
        arrays["vectors"] = data.vectors[population.songs]
    sounds = [str((data.folder / name).resolve()) for name in data.sound_files]
    arrays["sounds"] = np.frombuffer(json.dumps([data.content, sounds]).encode(), dtype=np.uint8)
    save_whole(folder / "population.npz", lambda file: np.savez(file, **arrays))


@lru_cache(maxsize=2)
def load_prepared(run: str) -> Prepared:
    """Read what :func:`prepare` keeps; once a process."""
    folder = Path(run) / "cache"
    settings = Settings.from_json(json.loads((Path(run) / "run.json").read_text())["settings"])
    with np.load(folder / "population.npz") as kept:
        content, sounds = json.loads(kept["sounds"].tobytes())
        names = ("songs", "song_artist", "artists", "codebook_songs", "codebook_artists")
        population = Population(plays=_relation(kept, "plays"), **{name: kept[name] for name in names})
        tags, codebook_tags = _relation(kept, "tags"), _relation(kept, "codebook_tags")
        vectors = kept["vectors"] if "vectors" in kept.files else None
    return Prepared(
        folder,
        settings,
        population,
        content,
        tuple(sounds),
        vectors,
        tags if tags.nnz else None,
        codebook_tags if codebook_tags.nnz else None,
    )


def _relation(kept: Any, name: str) -> sp.csr_array:
    indices = kept[f"{name}_indices"]
    return sp.csr_array(
        (np.ones(len(indices), bool), indices, kept[f"{name}_indptr"]), shape=tuple(kept[f"{name}_shape"])
    )


def save_whole(path: Path, write: Callable[[Any], None]) -> None:
    """Write a file that appears under its name only when it is complete."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        write(file)
    part.replace(path)


def prepare(run: Path, *, jobs: int | None, cluster: str | None, progress: Progress) -> None:
    """Compute what is missing in a run's cache."""
    prepared = load_prepared(str(run))
    if not prepared.has_sound:
        return
    if not (prepared.folder / "bag.npy").exists():
        progress("frames for the codebooks", 0, 1)
        _gather_bag(prepared)
        progress("frames for the codebooks", 1, 1)
    stages: list[tuple[str, Callable[[str, int], None], list[int], str]] = [
        ("codebooks", make_codebook, list(prepared.settings.codebooks), "codebook-{}.npz"),
        ("tags' sounds", learn_tags, [0] if len(prepared.tag_columns()) else [], "tag-mixtures.npz"),
        ("songs", encode_chunk, list(range(prepared.n_chunks)), "songs-{}.npz"),
    ]
    if not prepared.wants("smd", "smd_mlr"):
        del stages[1]
    if prepared.wants("gmm"):
        stages.append(("mixtures", compare_mixtures, list(range(prepared.n_chunks)), "mixture-rows-{}.npy"))
    for name, function, tasks, file in stages:
        todo = [task for task in tasks if not (prepared.folder / file.format(task)).exists()]
        progress(name, len(tasks) - len(todo), len(tasks))
        for done, _ in enumerate(run_tasks(partial(function, str(run)), todo, jobs=jobs, cluster=cluster), 1):
            progress(name, len(tasks) - len(todo) + done, len(tasks))


def _gather_bag(prepared: Prepared) -> None:
    chosen = codebook_songs(prepared.population.codebook_artists, prepared.settings.seed)
    songs = (prepared.frames(prepared.population.codebook_songs[i]) for i in chosen)
    bag = codebook_bag(songs, seed=prepared.settings.seed)
    save_whole(prepared.folder / "bag.npy", lambda file: np.save(file, bag))


def make_codebook(run: str, size: int) -> None:
    """Learn the codebook of one size."""
    prepared = load_prepared(run)
    bag = np.load(prepared.folder / "bag.npy")
    codebook = Codebook(size, random_state=prepared.settings.seed).fit(bag)
    arrays: dict[str, Any] = {"mean": codebook.mean_, "scale": codebook.scale_, "codewords": codebook.codewords_}
    save_whole(prepared.folder / f"codebook-{size}.npz", lambda file: np.savez(file, **arrays))


def load_codebook(prepared: Prepared, size: int) -> Codebook:
    """Return a codebook that was learned."""
    with np.load(prepared.folder / f"codebook-{size}.npz") as kept:
        return Codebook.from_arrays(kept["mean"], kept["scale"], kept["codewords"])


def learn_tags(run: str, task: int) -> None:
    """Learn how tags sound, from songs of the codebook set."""
    prepared = load_prepared(run)
    columns = prepared.tag_columns()
    assert prepared.codebook_tags is not None
    carries = sp.csr_array(prepared.codebook_tags[:, columns])
    songs = np.flatnonzero(np.diff(carries.indptr))
    frames = (prepared.frames(prepared.population.codebook_songs[i]) for i in songs)
    tagger = SemanticMultinomial(random_state=prepared.settings.seed).fit_tags(frames, carries[songs])
    arrays = _packed(tagger.mixtures_)
    save_whole(prepared.folder / "tag-mixtures.npz", lambda file: np.savez(file, **arrays))


def encode_chunk(run: str, number: int) -> None:
    """Read the songs of a chunk once and keep all that is made of their frames."""
    prepared = load_prepared(run)
    settings = prepared.settings
    encoders = {size: TopTauHistogram(load_codebook(prepared, size)) for size in settings.codebooks}
    tagger = _load_tagger(prepared)
    kept: dict[str, list[Any]] = {f"h-{size}-{tau}": [] for size in settings.codebooks for tau in settings.taus}
    mixtures: list[DiagonalMixture] = []
    smd: list[Any] = []
    for song in prepared.chunk(number):
        frames = prepared.frames(prepared.population.songs[song])
        for size, encoder in encoders.items():
            for tau, histogram in encoder.histograms(frames, settings.taus).items():
                kept[f"h-{size}-{tau}"].append(histogram)
        if prepared.wants("gmm"):
            mixtures.append(fit_mixture(frames, seed=settings.seed))
        if tagger is not None:
            smd.append(tagger.transform([frames])[0])
    arrays: dict[str, Any] = {name: np.array(rows) for name, rows in kept.items()} | _packed(mixtures)
    if smd:
        arrays["smd"] = np.array(smd)
    save_whole(prepared.folder / f"songs-{number}.npz", lambda file: np.savez(file, **arrays))


def compare_mixtures(run: str, number: int) -> None:
    """Compare the mixtures of a chunk's songs with those of all songs."""
    prepared = load_prepared(run)
    everyone = _all_mixtures(run)
    ranker = GaussianMixtureSimilarity(random_state=prepared.settings.seed, threads=1).fit(everyone)
    rows = ranker.distances([everyone[song] for song in prepared.chunk(number)]).astype(np.float32)
    save_whole(prepared.folder / f"mixture-rows-{number}.npy", lambda file: np.save(file, rows))


@lru_cache(maxsize=1)
def _all_mixtures(run: str) -> list[DiagonalMixture]:
    return [mixture for part in load_prepared(run)._chunks() for mixture in _unpacked(part)]


def _load_tagger(prepared: Prepared) -> SemanticMultinomial | None:
    path = prepared.folder / "tag-mixtures.npz"
    if not path.exists():
        return None
    with np.load(path) as kept:
        return SemanticMultinomial.from_mixtures(_unpacked(kept), threads=1)


def _packed(mixtures: list[DiagonalMixture]) -> dict[str, Any]:
    """Lay mixtures of different sizes end to end."""
    if not mixtures:
        return {}
    return {
        "mixture_sizes": np.array([len(mixture.weights) for mixture in mixtures]),
        "mixture_weights": np.concatenate([mixture.weights for mixture in mixtures]),
        "mixture_means": np.concatenate([mixture.means for mixture in mixtures]),
        "mixture_variances": np.concatenate([mixture.variances for mixture in mixtures]),
    }


def _unpacked(kept: Any) -> list[DiagonalMixture]:
    ends = np.cumsum(kept["mixture_sizes"])[:-1]
    parts = [np.split(kept[f"mixture_{name}"], ends) for name in ("weights", "means", "variances")]
    return [DiagonalMixture(*mixture) for mixture in zip(*parts, strict=True)]
