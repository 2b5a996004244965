"""A small world: songs of three kinds, frames of each, a model that learned which go together."""

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.encoding import Codebook
from nearsong.model import SimilarityModel

N_SONGS = 30
KIND = 0.6  # how much the kinds differ, in standard deviations of a frame


@pytest.fixture(scope="session")
def songs() -> list[np.ndarray]:
    """Frames of songs: song i is of kind i % 3, which shows in four of the 39 numbers."""
    random = np.random.default_rng(0)
    made = []
    for i in range(N_SONGS):
        frames = random.normal(size=(random.integers(60, 120), 39))
        frames[:, 4 * (i % 3) : 4 * (i % 3) + 4] += KIND
        made.append(frames.astype(np.float32))
    return made


@pytest.fixture(scope="session")
def kinds() -> np.ndarray:
    return np.arange(N_SONGS) % 3


@pytest.fixture(scope="session")
def relevant(kinds) -> sp.csr_array:
    same = np.equal.outer(kinds, kinds)
    np.fill_diagonal(same, False)
    return sp.csr_array(same)


@pytest.fixture(scope="session")
def codebook(songs) -> Codebook:
    return Codebook(24).fit(np.concatenate(songs))


@pytest.fixture(scope="session")
def model(codebook, songs, relevant) -> SimilarityModel:
    return SimilarityModel.learn(codebook, songs, relevant, tau=2, trained_on={"artists": 10, "note": "kinds"})
