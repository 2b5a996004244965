"""Two audio files -> where each has five seconds that sound most alike, to be heard one after the other.

Each file becomes windows of five seconds, one every half second: the mean of each MFCC but the first, which is
loudness, and the spread of all of them, so that neither level nor order matters. The answer is the nearest pair of
windows, of those that are not much quieter than the rest of their song: a fade-out is like every other one.
"""

import errno
import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, map_audio_files, stream_frames
from nearsong.errors import AudioError, ChangedAudioError, UnreadableAudioError
from nearsong.guarded_file import FileIdentity, open_regular
from nearsong.types import FloatArray

MOMENT_SECONDS = 5.0
"""Length of an excerpt."""

HOP_SECONDS = 0.5
"""From the start of one window to the next."""

MAX_SONG_SECONDS = 900.0
"""Only this much of a longer file is looked at."""

MAX_QUIETER_DB = 8.0
"""A window may be this much quieter than the median of its song."""

_MIN_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class MomentWindows:
    """The windows of one song.

    Attributes
    ----------
    starts : array of shape (n_windows,)
        In seconds.
    rows : array of shape (n_windows, n_numbers)
        What they sound like.
    levels : array of shape (n_windows,)
        Level in dB that two fifths of a window exceed: the gaps of a beat do not make it quiet, nor the last hit
        before a fade-out loud.
    """

    starts: npt.NDArray[np.float64]
    rows: npt.NDArray[np.float64]
    levels: npt.NDArray[np.float64]


@dataclass(frozen=True)
class SharedMoment:
    """Where two songs sound most alike; or why that is not known.

    Attributes
    ----------
    query_start, other_start : float or None
        Seconds from the start of each song; None if a file could not be read.
    seconds : float
        Length of the excerpts.
    reason : str
        Why there are none; empty if there are.
    """

    query_start: float | None = None
    other_start: float | None = None
    seconds: float = MOMENT_SECONDS
    reason: str = ""


def moment_windows(path: str | os.PathLike[str], identity: FileIdentity | None = None) -> MomentWindows:
    """Compute the windows of a file; runs in a worker process with limits.

    Parameters
    ----------
    path : path-like
    identity : FileIdentity, optional
        Of the file when the caller opened it; a file that has replaced it since is an error.

    Raises
    ------
    AudioError
        If the file cannot be read, or is not the one with the identity.
    """
    _check_identity(path, identity)
    features = DeltaMFCC()
    per_second = 1 / features.seconds_a_frame
    chunks, n_frames = [], 0
    for chunk in stream_frames(path, features, on_damage=lambda _: None):  # what can be read is looked at
        chunks.append(chunk[:, : features.n_mfcc].astype(np.float64))
        n_frames += len(chunk)
        if n_frames >= MAX_SONG_SECONDS * per_second:
            break
    _check_identity(path, identity)
    return windows_of_frames(np.concatenate(chunks), per_second, features.n_mels)


def windows_of_frames(mfccs: FloatArray, per_second: float, n_mels: int) -> MomentWindows:
    """Return the windows of MFCCs (n_frames, n_mfcc) with ``per_second`` frames a second."""
    length = max(1, min(len(mfccs), round(MOMENT_SECONDS * per_second)))
    starts = np.arange(0, len(mfccs) - length + 1, max(1, round(HOP_SECONDS * per_second)))
    centred = mfccs - mfccs.mean(axis=0)  # sums of squares of large numbers lose digits
    sums = np.cumsum(np.vstack([np.zeros((1, 2 * mfccs.shape[1])), np.hstack([centred, centred**2])]), axis=0)
    means, squares = np.split((sums[starts + length] - sums[starts]) / length, 2, axis=1)
    spreads = np.log(np.sqrt(np.maximum(squares - means**2, 0.0)) + _MIN_SPREAD)
    means = means + mfccs.mean(axis=0)
    frame_levels = mfccs[:, 0] / np.sqrt(n_mels)  # the first coefficient is this root times the mean level
    levels = np.percentile(np.lib.stride_tricks.sliding_window_view(frame_levels, length)[starts], 60, axis=1)
    return MomentWindows(starts / per_second, np.hstack([means[:, 1:], spreads]), levels)


def nearest_windows(query: MomentWindows, other: MomentWindows) -> SharedMoment:
    """Return the nearest pair of windows of two songs; the first of equals."""
    loud = [windows.levels >= np.median(windows.levels) - MAX_QUIETER_DB for windows in (query, other)]
    first, second = query.rows[loud[0]], other.rows[loud[1]]
    both = np.vstack([first, second])
    scale = np.maximum(both.std(axis=0), _MIN_SPREAD)
    first, second = ((rows - both.mean(axis=0)) / scale for rows in (first, second))
    squared = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    row, column = np.unravel_index(int(squared.argmin()), squared.shape)
    return SharedMoment(float(query.starts[loud[0]][row]), float(other.starts[loud[1]][column]))


def find_shared_moment(query: str, other: str) -> SharedMoment:
    """Return where two files sound most alike; both are read in worker processes with limits."""
    found: dict[str, MomentWindows] = {}
    for path, result in map_audio_files(moment_windows, dict.fromkeys([query, other]), workers=1):
        if isinstance(result, AudioError):
            return SharedMoment(reason=str(result))
        found[os.fspath(path)] = result
    return nearest_windows(found[query], found[other])


def _check_identity(path: str | os.PathLike[str], identity: FileIdentity | None) -> None:
    if identity is None:
        return
    try:
        open_regular(path, identity).close()
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise ChangedAudioError(path, "was replaced or changed; try again.") from error
        raise UnreadableAudioError(path, f"cannot be opened ({error.strerror}).") from error
