"""A sample of the library's own songs -> its ear: the codebook that all its songs are heard with (paper IV-A)."""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nearsong.audio import DeltaMFCC, Frames, map_audio_files, stream_frames
from nearsong.encoding import Codebook
from nearsong.errors import AudioError, InvalidInputError, LibraryError
from nearsong.library.file_tags import read_tags_and_length
from nearsong.library.walk import printable
from nearsong.model import Ear, Encoder

SAMPLE_SONGS = 600
SAMPLE_SECONDS = 10.0
LARGEST = 1024
"""Codewords; the paper's best size."""

FRAMES_A_CODEWORD = 60
"""Frames a codeword needs at least; a small library gets a smaller codebook."""

SMALLEST = 16

Progress = Callable[[str, int, int], None]


def learn_ear(
    paths: Sequence[str],
    *,
    tau: int = 1,
    seed: int = 0,
    workers: int | None = None,
    nice: int = 0,
    timeout: float | None = 600.0,
    progress: Progress = lambda stage, done, total: None,
) -> Ear:
    """Learn a codebook from ten seconds of each of some hundred songs.

    Parameters
    ----------
    paths : sequence of str
        The library's files; the sample is spread over their folders.
    tau : int
        Codewords a frame counts for.
    seed : int
        The same files and seed give the same codebook.
    workers, nice, timeout
        As for :func:`nearsong.audio.map_audio_files`.
    progress : callable
        Told (stage, done, total).

    Raises
    ------
    LibraryError
        If no file gives a sound, or hardly any.
    """
    runs: dict[str, Frames] = {}
    reasons: list[str] = []
    order = spread_order(paths, seed)
    wanted = min(len(order), SAMPLE_SONGS)
    tried = 0
    read = partial(sample_frames, seed=seed)
    while len(runs) < wanted and tried < len(order):  # others stand in for those that cannot be read
        chosen = order[tried : tried + wanted - len(runs)]
        tried += len(chosen)
        for path, result in map_audio_files(read, chosen, workers=workers, nice=nice, timeout=timeout):
            if isinstance(result, AudioError):
                reasons.append(str(result))
            else:
                runs[os.fspath(path)] = result
            progress("learning the codebook", len(runs), wanted)
    if not runs:
        reason = printable(min(reasons)).rstrip(".")
        raise LibraryError(f"none of {len(order)} audio files gives a sound ({reason}); check the folder.")
    bag = np.concatenate([runs[path] for path in sorted(runs)])
    return Ear([Encoder(_fitted(bag, seed), tau)])


def _fitted(bag: Frames, seed: int) -> Codebook:
    size = codebook_size(len(bag))
    try:
        return Codebook(size, random_state=seed).fit(bag)
    except InvalidInputError as error:  # silence, or hardly a moment
        distinct = len(np.unique(bag, axis=0))
        while size > distinct:
            size //= 2
        if size < SMALLEST:
            raise LibraryError("there is too little sound to learn a codebook from; scan more music.") from error
        return Codebook(size, random_state=seed).fit(bag)


def codebook_size(n_frames: int) -> int:
    """Return a power of two: the paper's 1,024, or less if there are too few frames for it.

    >>> [codebook_size(n) for n in (100, 5_000, 40_000, 500_000)]
    [16, 64, 512, 1024]
    """
    size = LARGEST
    while size > SMALLEST and n_frames < size * FRAMES_A_CODEWORD:
        size //= 2
    return size


def spread_order(paths: Sequence[str], seed: int) -> list[str]:
    """Order files by turns of their folders: one of each, then a second of each, and so on."""
    folders: dict[str, list[str]] = {}
    for path in sorted(paths):
        folders.setdefault(os.path.dirname(path), []).append(path)
    random = np.random.default_rng([seed, 17])
    turns: list[tuple[int, float, str]] = []
    for files in folders.values():
        order = random.permutation(len(files))
        turns.extend((turn, random.random(), files[i]) for turn, i in enumerate(order))
    return [path for _, _, path in sorted(turns)]


def sample_frames(path: str | os.PathLike[str], seed: int = 0, seconds: float = SAMPLE_SECONDS) -> Frames:
    """Return some seconds of a file's frames from a place that its name and the seed choose."""
    features = DeltaMFCC()
    wanted = max(1, round(seconds / features.seconds_a_frame))
    _, length = read_tags_and_length(path)
    name = hashlib.sha256(os.fsencode(os.path.basename(path))).digest()
    random = np.random.default_rng([seed, *np.frombuffer(name[:16], np.uint32).tolist()])
    whole = int((length or 0.0) / features.seconds_a_frame)
    start = int(random.integers(max(1, whole - wanted + 1)))
    kept: list[Frames] = []
    n = 0
    for frames in stream_frames(path, features, on_damage=lambda damage: None):
        kept.append(frames)
        n += len(frames)
        # what lies before the run is let go; a file that is shorter than it says gives its end
        while len(kept[0]) <= start and n - len(kept[0]) >= wanted:
            n_before = len(kept.pop(0))
            n, start = n - n_before, start - n_before
        if n >= start + wanted:
            break
    run = np.concatenate(kept)
    start = max(0, min(start, len(run) - wanted))
    return run[start : start + wanted].copy()
