"""A file -> its frames: decoding and dynamic MFCCs in one stream, in bounded memory however long the file is."""

import os
from collections.abc import Callable, Iterator

import numpy as np

from nearsong.audio.decode import stream_audio
from nearsong.audio.delta_mfcc import DeltaMFCC, Frames
from nearsong.errors import TooShortAudioError


def stream_frames(
    path: str | os.PathLike[str],
    features: DeltaMFCC | None = None,
    *,
    on_damage: Callable[[str], None] | None = None,
) -> Iterator[Frames]:
    """Read the frames of a file, some seconds of them at a time.

    Parameters
    ----------
    path : path-like
        An audio file.
    features : DeltaMFCC, optional
        What to compute; by default the paper's 39 numbers a frame.
    on_damage : callable, optional
        As in :func:`nearsong.audio.stream_audio`.

    Yields
    ------
    array of shape (n_frames, n_features), float32

    Raises
    ------
    AudioError
        If the file gives no sound, or less than ``features.min_samples`` of it.
    """
    features = features or DeltaMFCC()
    nothing = True
    for frames in features.stream(stream_audio(path, sample_rate=features.sample_rate, on_damage=on_damage)):
        nothing = False
        yield frames
    if nothing:
        least = 1000 * features.min_samples / features.sample_rate
        raise TooShortAudioError(path, f"is shorter than the {least:.0f} ms that a frame's derivatives need.")


def load_frames(
    path: str | os.PathLike[str],
    features: DeltaMFCC | None = None,
    *,
    on_damage: Callable[[str], None] | None = None,
) -> Frames:
    """Return all frames of a file; the parameters are those of :func:`stream_frames`."""
    return np.concatenate(list(stream_frames(path, features, on_damage=on_damage)))
