"""A bag of frames -> z-score and codewords (paper III-A): online k-means by Hartigan's criterion, in one pass."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.encoding.frames import check_frames, normalize_frames
from nearsong.encoding.nearest import CodewordSearch
from nearsong.encoding.stream import CodebookState
from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import check_count

Frames = npt.NDArray[np.float32]

_MAX_Z_SCORE = 1e15  # standard deviations; larger codewords would overflow float32 when squared
_MIN_SCALE = 1e-300  # its inverse is still finite
_BLOCK_FRAMES = 4096  # frames per block, to bound the memory of a copy


class Codewords:
    """Learns codewords: all of `Codebook` but what makes it an estimator of scikit-learn.

    Scans need codewords, not scikit-learn, which takes a second to load.
    """

    counts_: npt.NDArray[np.int64] | None
    _stream: CodebookState | None

    def __init__(self, n_codewords: int = 1024, *, random_state: int = 0) -> None:
        self.n_codewords = n_codewords
        self.random_state = random_state

    @classmethod
    def from_arrays(
        cls, mean: npt.ArrayLike, scale: npt.ArrayLike, codewords: npt.ArrayLike, counts: npt.ArrayLike | None = None
    ) -> Self:
        """Return a codebook of stored arrays.

        Parameters
        ----------
        mean, scale : array-like of shape (n_features,)
            Mean and standard deviation for z-scores; every scale is above 0.
        codewords : array-like of shape (n_codewords, n_features)
            In units of z-scores.
        counts : array-like of int and shape (n_codewords,), optional
            Frames in each codeword's cluster.

        Returns
        -------
        Codewords or Codebook
            Fitted. :meth:`partial_fit` cannot continue it, because the statistics of its frames are not stored.

        Examples
        --------
        >>> codebook = Codewords.from_arrays(mean=[1.0], scale=[2.0], codewords=[[-0.5], [0.5]])
        >>> codebook.normalize([[0.0], [2.0]])
        array([[-0.5],
               [ 0.5]], dtype=float32)
        """
        words = check_frames(codewords, name="codewords").copy()
        n_codewords, width = words.shape
        if n_codewords == 0 or np.abs(words).max() > _MAX_Z_SCORE:
            raise InvalidInputError(
                "codewords is empty or has a value beyond 1e15 standard deviations; give rows of z-scores."
            )
        codebook = cls(n_codewords)
        codebook.mean_ = _check_row(mean, width, "mean")
        codebook.scale_ = _check_row(scale, width, "scale")
        if codebook.scale_.min() < _MIN_SCALE:
            raise InvalidInputError("scale has a value that is not above 0; a constant coefficient has scale 1.")
        codebook.codewords_ = words
        codebook.counts_ = None if counts is None else _check_counts(counts, n_codewords)
        codebook.n_frames_seen_ = 0 if codebook.counts_ is None else int(codebook.counts_.sum())
        codebook.n_features_in_ = width
        codebook._stream = None
        return codebook

    def fit(self, frames: npt.ArrayLike, y: Any = None) -> Self:
        """Learn codewords from frames, replacing any learned before.

        Parameters
        ----------
        frames : array-like of shape (n_frames, n_features)
            Finite frames, at least ``n_codewords`` of them distinct. Taken as float32.
        y : ignored
            For scikit-learn.
        """
        stream = self._new_stream(_refuse_empty(check_frames(frames)))
        if not stream.started:
            raise InvalidInputError(
                f"frames has {stream.n_distinct} distinct frames among {stream.n_frames}, too few for "
                f"n_codewords={self.n_codewords}; choose n_codewords at most {stream.n_distinct}."
            )
        return self._publish(stream)

    def partial_fit(self, frames: npt.ArrayLike, y: Any = None) -> Self:
        """Continue learning with the next chunk of a stream.

        Each chunk is taken in random order, with the mean and scale of all frames up to its end; so a first chunk
        alone is ``fit``. There are no codewords until ``n_codewords`` distinct frames have been added.

        Parameters
        ----------
        frames, y
            As in :meth:`fit`.
        """
        stream = getattr(self, "_stream", None)
        if stream is None and hasattr(self, "codewords_"):
            raise InvalidInputError(
                "this codebook was made from arrays without the statistics of its frames, so it cannot learn more; "
                "fit a new one."
            )
        if stream is None:
            return self._publish(self._new_stream(check_frames(frames)))
        stream.add(check_frames(frames, self.n_features_in_))
        return self._publish(stream)

    def check_fitted(self) -> None:
        """Raise `NotFittedError` if there are no codewords yet."""
        if not hasattr(self, "codewords_"):
            from nearsong.estimators import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call fit first.")

    def normalize(self, frames: npt.ArrayLike) -> Frames:
        """Return the z-scores of frames, an array of float32 and shape (n_frames, n_features)."""
        self.check_fitted()
        scores: Frames = normalize_frames(check_frames(frames, self.n_features_in_), self.mean_, 1.0 / self.scale_)
        return scores

    def quantization_error(self, frames: npt.ArrayLike) -> float:
        """Return the mean squared distance of the frames, as z-scores, to their nearest codewords."""
        self.check_fitted()
        checked = _refuse_empty(check_frames(frames, self.n_features_in_))
        search = CodewordSearch(self.mean_, self.scale_, self.codewords_)
        total = 0.0
        for start in range(0, len(checked), _BLOCK_FRAMES):
            part = checked[start : start + _BLOCK_FRAMES]
            nearest = self.codewords_[search.find(part, tau=1)[:, 0]]
            difference = normalize_frames(part, self.mean_, search.inverse_scale).astype(np.float64) - nearest
            total += float(np.einsum("ij,ij->", difference, difference))
        return total / len(checked)

    def _new_stream(self, frames: Frames) -> CodebookState:
        stream = CodebookState(
            n_codewords=check_count(self.n_codewords, "n_codewords"),
            seed=check_count(self.random_state, "random_state", minimum=0),
            width=frames.shape[1],
        )
        stream.add(frames)
        return stream

    def _publish(self, stream: CodebookState) -> Self:
        """Set the fitted attributes from a stream."""
        self._stream = stream
        self.n_features_in_ = stream.mean.size
        self.n_frames_seen_ = stream.n_frames
        if stream.started:
            self.mean_ = stream.mean.copy()
            self.scale_ = stream.scale()
            self.codewords_ = ((stream.centres - self.mean_) / self.scale_).astype(np.float32)
            self.counts_ = stream.counts.copy()
        return self


def _refuse_empty(frames: Frames) -> Frames:
    if len(frames) == 0:
        raise InvalidInputError("frames is empty, so there is nothing to learn from; give at least one frame.")
    return frames


def _check_row(values: npt.ArrayLike, width: int, name: str) -> FloatArray:
    """Return ``width`` finite numbers as a float64 copy."""
    row = np.array(values, dtype=np.float64)
    if row.shape != (width,) or not np.isfinite(row).all():
        raise InvalidInputError(
            f"{name} has shape {row.shape} or is not finite; {width} finite numbers, one for each coefficient of "
            "the codewords, are needed."
        )
    return row


def _check_counts(counts: npt.ArrayLike, n_codewords: int) -> npt.NDArray[np.int64]:
    """Return one non-negative integer per codeword."""
    array = np.array(counts)
    if array.shape != (n_codewords,) or array.dtype.kind not in "ui" or array.min() < 0:
        raise InvalidInputError(
            f"counts has shape {array.shape} and holds {array.dtype} values; {n_codewords} whole numbers of at least "
            "0, one per codeword, are needed."
        )
    return array.astype(np.int64)
