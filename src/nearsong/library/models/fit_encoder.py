"""A sample of the library's own songs -> an encoder fitted to it, such as a codebook (paper IV-A)."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from nearsong.audio import FrameFeatures, Frames, map_audio_files, stream_audio
from nearsong.audio.decode import Samples
from nearsong.audio.tags import read_tags_and_length
from nearsong.errors import AudioError, InvalidInputError, LibraryError, TooShortAudioError
from nearsong.library.files.find import printable
from nearsong.library.files.storage import at_hand
from nearsong.library.models.fitting_cache import FittingCache, Sample
from nearsong.model import SongEncoder
from nearsong.model.encoders import encoder_class
from nearsong.types import Progress, no_progress

SAMPLE_SONGS = 600
SAMPLE_SECONDS = 10.0

Fetched = Callable[[Sequence[str]], Iterator[str]]
"""Files -> those of them that can be read now."""


def fit_encoders(
    names: Sequence[str],
    paths: Sequence[str],
    *,
    seed: int = 0,
    workers: int | None = None,
    nice: int = 0,
    timeout: float | None = 600.0,
    progress: Progress = no_progress,
    cache: FittingCache | None = None,
    fetched: Fetched = iter,
    drop: Callable[[str], None] = lambda path: None,
    map_files: Callable[..., Any] | None = None,
) -> dict[str, SongEncoder]:
    """Fit encoders to a library, on the same ten seconds of each of up to 600 songs; some encoders need no sample.

    Parameters
    ----------
    names : sequence of str
        Registered names of the encoders.
    paths : sequence of str
        The library's files; the sample is spread over their folders.
    seed : int
        The same files and seed give the same encoders.
    workers, nice, timeout
        As for :func:`nearsong.audio.map_audio_files`.
    progress : callable
        Called with (stage, done, total).
    cache : FittingCache, optional
        Keeps each sample and each encoder as soon as there is one, for the next call if this one is killed; to be
        cleared once the encoders are stored.
    fetched : callable
        Files -> those that are there to be read, one after the other, where they have to be fetched first.
    drop : callable
        Called with each file that is not needed any more.
    map_files : callable, optional
        Reads samples instead of :func:`nearsong.audio.map_audio_files`, in the same way, on a cluster.

    Raises
    ------
    LibraryError
        If no file can be read, the sample is too short, or an optional encoder is not installed.
    """
    features = {name: _available_encoder(name).default_features() for name in names}
    needed = {features[name].key: features[name] for name in names if encoder_class(name).needs_sample}
    sampling = _Sampling(features=tuple(needed.values()), seed=seed, cache=cache)
    order = spread_order(paths, seed)
    n_wanted = min(len(order), SAMPLE_SONGS) if needed else 0
    n_tried = 0
    while len(sampling.samples) < n_wanted and n_tried < len(order):  # more files replace those that cannot be read
        chosen = order[n_tried : n_tried + n_wanted - len(sampling.samples)]
        n_tried += len(chosen)
        new = sampling.take_known(chosen)
        read = partial(sample_frames, features=sampling.features, seed=seed)
        here = fetched(new)
        reading = map_files or map_audio_files
        for path, result in reading(read, here, workers=workers, nice=nice, timeout=timeout) if new else ():
            sampling.take(os.fspath(path), result)
            drop(os.fspath(path))
            progress("reading samples", len(sampling.samples), n_wanted)
    if needed and not sampling.samples:
        reason = printable(min(sampling.reasons, default="none could be fetched")).rstrip(".")
        raise LibraryError(f"None of the {len(order)} audio files can be read ({reason}). Check the folder.")
    fitted = {}
    for done, name in enumerate(names):
        progress("fitting encoders", done, len(names))
        try:
            fitted[name] = sampling.fitted(name, features[name])
        except InvalidInputError as error:
            raise LibraryError(str(error)) from error
    progress("fitting encoders", len(names), len(names))
    return fitted


@dataclass
class _Sampling:
    """The samples of one fit, and the encoders fitted on them."""

    features: tuple[FrameFeatures, ...]
    seed: int
    cache: FittingCache | None
    samples: dict[str, Sample] = field(default_factory=dict)
    keys: dict[str, str | None] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def take_known(self, paths: list[str]) -> list[str]:
        """Take the samples that are in the cache; return the other files."""
        cache = self.cache
        if cache is None:
            return paths
        unknown = []
        for path in paths:
            key = cache.sample_key(path, self.features, seed=self.seed, seconds=SAMPLE_SECONDS)
            known = None if key is None else cache.sample(key, path, self.features)
            self.keys[path] = key
            if known is None:
                unknown.append(path)
            else:
                self._add(path, known)
        return unknown

    def take(self, path: str, result: Sample | AudioError) -> None:
        """Take a sample that was read, or why there is none, and keep it in the cache."""
        key = self.keys.get(path)
        if self.cache is not None and key is not None:
            self.cache.put_sample(key, result)
        self._add(path, result)

    def _add(self, path: str, result: Sample | AudioError) -> None:
        if isinstance(result, AudioError):
            self.reasons.append(str(result))
        else:
            self.samples[path] = result

    def fitted(self, name: str, features: FrameFeatures) -> SongEncoder:
        """Return an encoder fitted on the samples, from the cache if it was fitted before."""
        encoder = encoder_class(name)
        if not encoder.needs_sample:
            return encoder.fit([], features=features, seed=self.seed)
        paths, key = sorted(self.samples), None
        if self.cache is not None:
            key = self.cache.encoder_key(name, features, [self.keys[path] for path in paths], seed=self.seed)
            known = None if key is None else self.cache.encoder(key, name)
            if known is not None:
                return known
        fitted = encoder.fit([self.samples[path][features.key] for path in paths], features=features, seed=self.seed)
        if self.cache is not None and key is not None:
            self.cache.put_encoder(key, fitted)
        return fitted


def _available_encoder(name: str) -> type[SongEncoder]:
    """Return an encoder's class; raise if something is not installed, before hundreds of files are read."""
    encoder = encoder_class(name)
    encoder.check_available()
    return encoder


def spread_order(paths: Sequence[str], seed: int) -> list[str]:
    """Order files round-robin over their folders: one of each folder, then a second of each, and so on."""
    folders: dict[str, list[str]] = {}
    for path in sorted(paths):
        folders.setdefault(os.path.dirname(path), []).append(path)
    random = np.random.default_rng([seed, 17])
    turns: list[tuple[int, float, str]] = []
    for files in folders.values():
        order = random.permutation(len(files))
        turns.extend((turn, random.random(), files[i]) for turn, i in enumerate(order))
    return [path for _, _, path in sorted(turns)]


def sample_frames(
    path: str | os.PathLike[str],
    features: Sequence[FrameFeatures],
    seed: int = 0,
    seconds: float = SAMPLE_SECONDS,
) -> dict[str, Frames]:
    """Return the frames of some seconds of a file for each kind of features, by their keys."""
    name = os.fspath(path)
    rates = {kind.sample_rate for kind in features}
    with at_hand(name) as file:
        samples = {rate: sample_sound(file, rate, seed, seconds, name) for rate in rates}
    try:
        return {kind.key: kind.transform(samples[kind.sample_rate]) for kind in features}
    except InvalidInputError as error:
        raise TooShortAudioError(path, "is too short to analyse.") from error


def sample_sound(
    path: str | os.PathLike[str], sample_rate: int, seed: int, seconds: float, named: str | None = None
) -> Samples:
    """Return some seconds of a file's samples, from a random position that depends on its name and the seed.

    ``named`` is the path that names it, where the file is a copy under another one.
    """
    n_wanted = max(1, round(seconds * sample_rate))
    _, length = read_tags_and_length(path)
    name = hashlib.sha256(os.fsencode(os.path.basename(path if named is None else named))).digest()
    random = np.random.default_rng([seed, *np.frombuffer(name[:16], np.uint32).tolist()])
    n_samples = int((length or 0.0) * sample_rate)
    start = int(random.integers(max(1, n_samples - n_wanted + 1)))
    blocks: list[Samples] = []
    n = 0
    for block in stream_audio(path, sample_rate=sample_rate, on_damage=lambda damage: None):
        blocks.append(block)
        n += len(block)
        # drop blocks before the sample; of a file shorter than its tags state, the end is used
        while len(blocks[0]) <= start and n - len(blocks[0]) >= n_wanted:
            n_before = len(blocks.pop(0))
            n, start = n - n_before, start - n_before
        if n >= start + n_wanted:
            break
    sample = np.concatenate(blocks)
    start = max(0, min(start, len(sample) - n_wanted))
    return sample[start : start + n_wanted].copy()
