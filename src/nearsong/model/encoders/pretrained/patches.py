"""Frames of a song, in chunks -> a few patches of equal length, spread evenly over the song.

The length of the song is not known in advance. Every s-th patch is stored; when there are too many, every second one
is dropped and s doubles. So memory is bounded, and the patches do not depend on the chunks.
"""

import numpy as np
import numpy.typing as npt

from nearsong.audio.features import Frames

_STORED_PER_WANTED = 8
"""Patches that are stored at most for each one that is wanted: the more, the more even they are spread."""


class SpreadPatches:
    """Collects patches of one song.

    Parameters
    ----------
    n_frames : int
        Length of a patch.
    n_wanted : int
        Number of patches at the end; fewer if the song is short.
    n_features : int
        Numbers per frame.

    Examples
    --------
    >>> import numpy as np
    >>> patches = SpreadPatches(n_frames=10, n_wanted=3, n_features=1)
    >>> patches.add(np.arange(1000.0, dtype=np.float32)[:, None])
    >>> patches.result()[:, 0, 0].tolist()
    [160.0, 480.0, 800.0]
    """

    def __init__(self, n_frames: int, n_wanted: int, n_features: int) -> None:
        self._length, self._n_wanted, self._n_features = n_frames, n_wanted, n_features
        self._stored: list[Frames] = []
        self._stride = 1
        self._n_patches = 0
        self._pending: Frames = np.empty((0, n_features), np.float32)
        self.n_frames = 0

    def add(self, frames: Frames) -> None:
        """Take a chunk of frames (n, n_features)."""
        self.n_frames += len(frames)
        pending = np.concatenate([self._pending, frames])
        n_complete = len(pending) // self._length
        for start in range(0, n_complete * self._length, self._length):
            if self._n_patches % self._stride == 0:
                self._stored.append(pending[start : start + self._length].copy())
            self._n_patches += 1
            if len(self._stored) > _STORED_PER_WANTED * self._n_wanted:
                self._stored = self._stored[::2]
                self._stride *= 2
        self._pending = pending[n_complete * self._length :].copy()

    def result(self) -> npt.NDArray[np.float32]:
        """Return the patches (n, n_frames, n_features); frames of a song shorter than one patch are repeated."""
        if not self._stored:
            rows = np.arange(self._length) % max(1, len(self._pending))
            return self._pending[rows][None]
        n = min(self._n_wanted, len(self._stored))
        middles = (2 * np.arange(n) + 1) * self._n_patches // (2 * n)  # of equal shares of the song
        nearest = np.minimum((middles + self._stride // 2) // self._stride, len(self._stored) - 1)
        return np.stack([self._stored[i] for i in nearest])
