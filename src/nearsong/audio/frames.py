"""A file -> its frames: decoding and dynamic MFCCs in one stream, in bounded memory."""

import os
from collections.abc import Callable, Iterator

import numpy as np

from nearsong.audio.decode import AudioDamage, stream_audio
from nearsong.audio.delta_mfcc import DeltaMFCC
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.errors import TooShortAudioError


def stream_frames(
    path: str | os.PathLike[str],
    features: FrameFeatures | None = None,
    *,
    on_damage: Callable[[AudioDamage], None] | None = None,
) -> Iterator[Frames]:
    """Compute the frames of a file, a few seconds at a time.

    Parameters
    ----------
    path : path-like
        An audio file.
    features : FrameFeatures, optional
        The features; by default the paper's 39 numbers per frame.
    on_damage : callable, optional
        As in `stream_audio`.

    Yields
    ------
    array of shape (n_frames, n_features), float32

    Raises
    ------
    AudioError
        If the file cannot be read or is shorter than ``features.min_samples``.
    """
    features = features or DeltaMFCC()
    is_empty = True
    for frames in features.stream(stream_audio(path, sample_rate=features.sample_rate, on_damage=on_damage)):
        is_empty = False
        yield frames
    if is_empty:
        min_ms = 1000 * features.min_samples / features.sample_rate
        raise TooShortAudioError(path, f"is shorter than {min_ms:.0f} ms, too short to analyse.")


def load_frames(
    path: str | os.PathLike[str],
    features: FrameFeatures | None = None,
    *,
    on_damage: Callable[[AudioDamage], None] | None = None,
) -> Frames:
    """Return all frames of a file, an array of shape (n_frames, n_features); parameters as in `stream_frames`."""
    return np.concatenate(list(stream_frames(path, features, on_damage=on_damage)))
