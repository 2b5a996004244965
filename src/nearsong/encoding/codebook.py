"""A bag of frames -> z-score and codewords (paper III-A), as an estimator of scikit-learn."""

from nearsong.encoding.codewords import Codewords
from nearsong.estimators import BaseEstimator


class Codebook(Codewords, BaseEstimator):
    """Learn codewords: z-score the frames, then cluster them in one pass.

    The first ``n_codewords`` distinct frames, in random order, become centres. Every further frame x goes to the
    centre c, of n_c frames, where it raises the k-means cost least, by ``n_c / (n_c + 1) * |x - c|^2`` (equals:
    the lower index), and moves that centre to the mean of its frames.

    Parameters
    ----------
    n_codewords : int, default=1024
        Codewords to learn.
    random_state : int, default=0
        Seed of the order in which frames are taken. The same seed gives the same bytes.

    Attributes
    ----------
    mean_, scale_ : ndarray of float64 and shape (n_features,)
        Mean and standard deviation of all frames seen; a constant coefficient has scale 1.
    codewords_ : ndarray of float32 and shape (n_codewords, n_features)
        In units of z-scores.
    counts_ : ndarray of int64 and shape (n_codewords,), or None
        Frames in each codeword's cluster; None for a codebook made from arrays without them.
    n_frames_seen_ : int
        Frames learned from.
    n_features_in_ : int
        Coefficients per frame.

    Examples
    --------
    >>> import numpy as np
    >>> frames = np.random.default_rng(0).normal([5.0, -300.0], [1.0, 40.0], (500, 2))
    >>> codebook = Codebook(n_codewords=8).fit(frames)
    >>> codebook.mean_.round()
    array([   5., -300.])
    >>> codebook.codewords_.shape, int(codebook.counts_.sum())
    ((8, 2), 500)
    >>> round(codebook.quantization_error(frames), 2)
    0.46
    """
