"""A sample of the library's own songs -> an encoder fitted to it, such as a codebook (paper IV-A)."""

import hashlib
import os
from collections.abc import Sequence
from functools import partial

import numpy as np

from nearsong.audio import FrameFeatures, Frames, map_audio_files, stream_audio
from nearsong.audio.decode import Samples
from nearsong.audio.tags import read_tags_and_length
from nearsong.errors import AudioError, InvalidInputError, LibraryError, TooShortAudioError
from nearsong.library.files.find import printable
from nearsong.model import SongEncoder
from nearsong.model.encoders import encoder_class
from nearsong.types import Progress, no_progress

SAMPLE_SONGS = 600
SAMPLE_SECONDS = 10.0


def fit_encoders(
    names: Sequence[str],
    paths: Sequence[str],
    *,
    seed: int = 0,
    workers: int | None = None,
    nice: int = 0,
    timeout: float | None = 600.0,
    progress: Progress = no_progress,
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

    Raises
    ------
    LibraryError
        If no file can be read, the sample is too short, or an optional encoder is not installed.
    """
    features = {name: _available_encoder(name).default_features() for name in names}
    needed = {features[name].key: features[name] for name in names if encoder_class(name).needs_sample}
    samples: dict[str, dict[str, Frames]] = {}
    reasons: list[str] = []
    order = spread_order(paths, seed)
    n_wanted = min(len(order), SAMPLE_SONGS) if needed else 0
    n_tried = 0
    read = partial(sample_frames, features=tuple(needed.values()), seed=seed)
    while len(samples) < n_wanted and n_tried < len(order):  # more files replace those that cannot be read
        chosen = order[n_tried : n_tried + n_wanted - len(samples)]
        n_tried += len(chosen)
        for path, result in map_audio_files(read, chosen, workers=workers, nice=nice, timeout=timeout):
            if isinstance(result, AudioError):
                reasons.append(str(result))
            else:
                samples[os.fspath(path)] = result
            progress("fitting the encoder", len(samples), n_wanted)
    if needed and not samples:
        reason = printable(min(reasons)).rstrip(".")
        raise LibraryError(f"None of the {len(order)} audio files can be read ({reason}). Check the folder.")
    fitted = {}
    for name in names:
        key = features[name].key
        songs = [samples[path][key] for path in sorted(samples)] if key in needed else []
        try:
            fitted[name] = encoder_class(name).fit(songs, features=features[name], seed=seed)
        except InvalidInputError as error:
            raise LibraryError(str(error)) from error
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
    samples = {rate: sample_sound(path, rate, seed, seconds) for rate in {kind.sample_rate for kind in features}}
    try:
        return {kind.key: kind.transform(samples[kind.sample_rate]) for kind in features}
    except InvalidInputError as error:
        raise TooShortAudioError(path, "is too short to analyse.") from error


def sample_sound(path: str | os.PathLike[str], sample_rate: int, seed: int, seconds: float) -> Samples:
    """Return some seconds of a file's samples, from a random position that depends on its name and the seed."""
    n_wanted = max(1, round(seconds * sample_rate))
    _, length = read_tags_and_length(path)
    name = hashlib.sha256(os.fsencode(os.path.basename(path))).digest()
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
