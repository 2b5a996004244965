"""The cache of a run -> its missing files, computed in parallel: codebooks, histograms, features of the methods."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nearsong.atomic_write import atomic_write
from nearsong.audio import DeltaMFCC
from nearsong.encoding import Codebook, TopTauHistogram, codebook_bag, codebook_songs
from nearsong.executor import run_tasks
from nearsong.experiment.methods.method import ComparedFeature, LearnedFeature
from nearsong.experiment.run.prepared import Prepared, load_prepared
from nearsong.types import Progress


def prepare(run: Path, *, jobs: int | None, cluster: str | None, progress: Progress) -> None:
    """Compute the missing files in the cache of a run."""
    prepared = load_prepared(str(run))
    if not prepared.has_sound:
        return
    if prepared.codebooks and not (prepared.folder / "bag.npy").exists():
        progress("frames for the codebooks", 0, 1)
        _sample_codebook_frames(prepared)
        progress("frames for the codebooks", 1, 1)
    chunks = list(range(prepared.n_chunks))
    stages: list[tuple[str, Callable[[str, int], None], list[int], str]] = [
        ("codebooks", make_codebook, list(prepared.codebooks), "codebook-{}.npz"),
        *(
            (feature.learning_stage, partial(learn_feature, name), [0], f"{name}-learned.npz")
            for name, feature in _learned_features(prepared).items()
        ),
        ("songs", encode_chunk, chunks, "songs-{}.npz"),
        *(
            (f"distances ({name})", partial(compare_chunk, name), chunks, f"{name}-distances-{{}}.npy")
            for name in _compared_features(prepared)
        ),
    ]
    for name, function, tasks, file in stages:
        pending = [task for task in tasks if not (prepared.folder / file.format(task)).exists()]
        n_existing = len(tasks) - len(pending)
        progress(name, n_existing, len(tasks))
        for n, _ in enumerate(run_tasks(partial(function, str(run)), pending, jobs=jobs, cluster=cluster), 1):
            progress(name, n_existing + n, len(tasks))


def _sample_codebook_frames(prepared: Prepared) -> None:
    chosen = codebook_songs(prepared.population.codebook_artists, prepared.seed)
    bag = codebook_bag((prepared.codebook_frames(song) for song in chosen), seed=prepared.seed)
    with atomic_write(prepared.folder / "bag.npy") as file:
        np.save(file, bag)


def make_codebook(run: str, size: int) -> None:
    """Learn the codebook of one size."""
    prepared = load_prepared(run)
    bag = np.load(prepared.folder / "bag.npy")
    codebook = Codebook(size, random_state=prepared.seed).fit(bag)
    with atomic_write(prepared.folder / f"codebook-{size}.npz") as file:
        np.savez(file, mean=codebook.mean_, scale=codebook.scale_, codewords=codebook.codewords_)


def load_codebook(prepared: Prepared, size: int) -> Codebook:
    """Read a codebook."""
    with np.load(prepared.folder / f"codebook-{size}.npz") as stored:
        return Codebook.from_arrays(stored["mean"], stored["scale"], stored["codewords"])


def _learned_features(prepared: Prepared) -> dict[str, LearnedFeature]:
    return {feature.name: feature for feature in prepared.features if isinstance(feature, LearnedFeature)}


def _compared_features(prepared: Prepared) -> dict[str, ComparedFeature]:
    return {feature.name: feature for feature in prepared.features if isinstance(feature, ComparedFeature)}


def learn_feature(name: str, run: str, task: int) -> None:
    """Learn the parameters of a feature from the codebook set."""
    prepared = load_prepared(run)
    arrays: Any = _learned_features(prepared)[name].learn(prepared)
    with atomic_write(prepared.folder / f"{name}-learned.npz") as file:
        np.savez(file, **arrays)


def encode_chunk(run: str, number: int) -> None:
    """Read the frames of the songs of a chunk and store their histograms and features."""
    prepared = load_prepared(run)
    settings = prepared.settings
    encoders = {size: TopTauHistogram(load_codebook(prepared, size)) for size in prepared.codebooks}
    features = [(feature, feature.encoder(prepared)) for feature in prepared.features]
    kinds = {kind.key: kind for kind in (DeltaMFCC(), *(feature.frame_features for feature, _ in features))}
    mfcc = DeltaMFCC().key
    histograms: dict[str, list[Any]] = {f"h-{size}-{tau}": [] for size in prepared.codebooks for tau in settings.taus}
    values: dict[str, list[Any]] = {feature.name: [] for feature, _ in features}
    for song in prepared.chunk(number):
        frames = dict(zip(kinds, prepared.frames(song, list(kinds.values())), strict=True))
        for size, encoder in encoders.items():
            for tau, histogram in encoder.histograms(frames[mfcc], settings.taus).items():
                histograms[f"h-{size}-{tau}"].append(histogram)
        for feature, encode in features:
            values[feature.name].append(encode(frames[feature.frame_features.key]))
    arrays: dict[str, Any] = {name: np.array(rows) for name, rows in histograms.items()}
    for feature, _ in features:
        packed = feature.pack(values[feature.name])
        arrays |= {f"{feature.name}/{name}": array for name, array in packed.items()}
    with atomic_write(prepared.folder / f"songs-{number}.npz") as file:
        np.savez(file, **arrays)


def compare_chunk(name: str, run: str, number: int) -> None:
    """Store the distances of the songs of a chunk to all songs by a feature."""
    prepared = load_prepared(run)
    rows = _compared_features(prepared)[name].distances(prepared, prepared.chunk(number)).astype(np.float32)
    with atomic_write(prepared.folder / f"{name}-distances-{number}.npy") as file:
        np.save(file, rows)
