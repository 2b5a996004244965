"""The protocol of frame features: samples, in blocks -> frames of fixed length, the input of song encoders.

A file is decoded once; its blocks go to one `FrameStream` of each kind of features that its encoders read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from nearsong.audio.decode import MAX_AMPLITUDE, Samples
from nearsong.errors import InvalidInputError

Frames = npt.NDArray[np.float32]
"""Array of shape (n_frames, n_features)."""


class FrameStream(Protocol):
    """The state of one song while its samples arrive."""

    def add(self, samples: Samples) -> Frames:
        """Take a block of samples, an array of shape (n,); return the frames it completes, possibly none."""

    def finish(self) -> Frames:
        """Return the remaining frames after the last block."""


class FrameFeatures(ABC):
    """Computes frames from mono samples.

    Attributes
    ----------
    name : str
        Its name in stored encoders.
    sample_rate : int
        Sample rate of the input in Hz.
    n_features : int
        Numbers per frame.
    min_samples : int
        The minimum length of the input.
    seconds_a_frame : float
        Time from one frame to the next.
    """

    name: ClassVar[str]
    sample_rate: int
    n_features: int
    min_samples: int
    seconds_a_frame: float

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the parameters, as ``__init__`` takes them; equal parameters give equal frames."""

    @abstractmethod
    def start(self) -> FrameStream:
        """Return a stream for one song; its frames are the same bytes however the samples are cut into blocks."""

    @property
    def key(self) -> str:
        """Name and parameters as text; equal for features with equal frames."""
        return f"{self.name} {sorted(self.parameters().items())}"

    def stream(self, blocks: Iterable[Samples]) -> Iterator[Frames]:
        """Yield the frames of a signal that is passed in blocks: the same as `transform`.

        Parameters
        ----------
        blocks : iterable of arrays of shape (n,), float32
            Consecutive finite samples, as from `stream_audio`.

        Yields
        ------
        array of shape (n_frames, n_features), float32
            Consecutive frames; none if the signal is shorter than ``min_samples``.
        """
        stream = self.start()
        for block in blocks:
            frames = stream.add(block)
            if len(frames):
                yield frames
        frames = stream.finish()
        if len(frames):
            yield frames

    def transform(self, samples: npt.ArrayLike) -> Frames:
        """Return the frames of a signal.

        Parameters
        ----------
        samples : array of shape (n_samples,)
            Mono samples at ``sample_rate``; floats with full scale 1, or integers of 8, 16 or 32 bits.

        Returns
        -------
        array of shape (n_frames, n_features), float32
        """
        signal = check_samples(samples)
        if len(signal) < self.min_samples:
            milliseconds = 1000 * self.min_samples / self.sample_rate
            raise InvalidInputError(
                f"{len(signal)} samples are too few; at least {self.min_samples} are needed ({milliseconds:.0f} ms)."
            )
        return np.concatenate(list(self.stream([signal])))


def check_samples(samples: npt.ArrayLike) -> Samples:
    """Return mono samples (n_samples,) in single precision with full scale 1, or raise."""
    signal = np.asarray(samples)
    if signal.ndim != 1 or signal.dtype.kind not in "fi" or signal.dtype == np.int64:
        raise InvalidInputError(
            f"samples has shape {signal.shape} and dtype {signal.dtype}; mono audio is needed, as floats with "
            "full scale 1 or as 8-, 16- or 32-bit integers."
        )
    if signal.dtype.kind == "i":
        signal = signal / -float(np.iinfo(signal.dtype).min)
    signal = signal.astype(np.float32, copy=False)
    if len(signal) and not (signal.max() <= MAX_AMPLITUDE and signal.min() >= -MAX_AMPLITUDE):  # also for NaN
        raise InvalidInputError(
            "samples has a NaN or a value far above full scale, 1; set such samples to 0 or scale."
        )
    return signal
