"""Samples at 22,050 Hz, in blocks -> samples at another rate, the same bytes for any cutting into blocks."""

import numpy as np
import soxr

from nearsong.audio.decode import SAMPLE_RATE, Samples

_TILE_SAMPLES = 1 << 15
"""Samples that are resampled together; tiles of one size, so that rounding does not depend on the blocks."""


class ResampledSamples:
    """The samples of one song at another rate, by libsoxr at high quality.

    Parameters
    ----------
    sample_rate : int
        The rate of the result in Hz.

    Examples
    --------
    >>> import numpy as np
    >>> stream = ResampledSamples(16_000)
    >>> len(stream.add(np.zeros(22_050, np.float32))) + len(stream.finish())
    16000
    """

    def __init__(self, sample_rate: int) -> None:
        self._is_same = sample_rate == SAMPLE_RATE
        self._stream = soxr.ResampleStream(SAMPLE_RATE, sample_rate, 1, dtype="float32", quality="HQ")
        self._pending = np.empty(0, np.float32)

    def add(self, samples: Samples) -> Samples:
        """Take a block of samples (n,) at 22,050 Hz; return those it completes."""
        if self._is_same:
            return samples
        pending = np.concatenate([self._pending, samples])
        n_used = len(pending) // _TILE_SAMPLES * _TILE_SAMPLES
        self._pending = pending[n_used:]
        tiles = pending[:n_used].reshape(-1, _TILE_SAMPLES)
        return np.concatenate([np.empty(0, np.float32), *map(self._stream.resample_chunk, tiles)])

    def finish(self) -> Samples:
        """Return the remaining samples after the last block."""
        if self._is_same:
            return self._pending
        return np.asarray(self._stream.resample_chunk(self._pending, last=True), np.float32)
