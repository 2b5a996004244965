"""Songs as semantic multinomials over tags whose mixtures were fitted to the codebook set (paper IV-C3)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.baselines import SemanticMultinomial
from nearsong.baselines.mixture import pack_mixtures, unpack_mixtures
from nearsong.encoding import ProductKernelMap
from nearsong.experiment.methods.method import (
    Arrays,
    Group,
    LearnedFeature,
    Need,
    Quantization,
    SongData,
    VectorBaseline,
)
from nearsong.model.held_out import Indices
from nearsong.types import FloatArray

MIN_SONGS_PER_TAG = 5
"""Songs of the codebook set that a tag needs before a mixture is fitted for it."""


class AutoTags(LearnedFeature):
    """Semantic multinomials (songs x tags)."""

    name = "smd"
    learning_stage = "mixtures of tags"

    def is_available(self, data: SongData) -> bool:
        """Return whether at least two tags have enough songs."""
        return len(tag_columns(data)) > 0

    def learn(self, data: SongData) -> Arrays:
        """Fit a mixture for each tag."""
        assert data.codebook_tags is not None
        tags = sp.csr_array(data.codebook_tags[:, tag_columns(data)])
        songs = np.flatnonzero(np.diff(tags.indptr))
        frames = (data.codebook_frames(int(song)) for song in songs)
        tagger = SemanticMultinomial(random_state=data.seed).fit_tags(frames, tags[songs])
        return pack_mixtures(tagger.mixtures_)

    def encoder(self, data: SongData) -> Callable[[npt.NDArray[Any]], Any]:
        """Return the function from frames to a multinomial over the tags."""
        tagger = SemanticMultinomial.from_mixtures(unpack_mixtures(data.learned(self.name)), threads=1)
        return lambda frames: tagger.transform([frames])[0]

    def pack(self, values: Sequence[Any]) -> Arrays:
        """Stack the multinomials."""
        return {"shares": np.array(values)}


def tag_columns(data: SongData) -> npt.NDArray[np.int64]:
    """Return the tags with enough songs in the codebook set."""
    if data.codebook_tags is None:
        return np.empty(0, np.int64)
    songs_per_tag = np.diff(sp.csc_array(data.codebook_tags).indptr)
    columns = np.flatnonzero(songs_per_tag >= MIN_SONGS_PER_TAG)
    return columns if len(columns) > 1 else columns[:0]  # the share of a single tag is always 1


AUTO_TAGS = AutoTags()


def _ppk(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
    return ProductKernelMap().transform(data.stored(AUTO_TAGS.name)["shares"])


SMD = VectorBaseline(
    name="smd",
    label="Auto-tags (SMD)",
    group=Group.SOUND,
    needs=(Need.SOUND, Need.TAGS),
    features=(AUTO_TAGS,),
    vectors=_ppk,
)
