"""Songs as the vectors of several encoders, each part weighted and together of length 1: ranked by cosine."""

from dataclasses import replace

import numpy as np

from nearsong.experiment.methods.encoders import encoded_songs
from nearsong.experiment.methods.method import Group, Need, Quantization, SongData, VectorBaseline
from nearsong.model.fusion import Fusion
from nearsong.model.held_out import Indices
from nearsong.types import FloatArray

GAUSSIAN_FISHER_ENCODERS = ("gaussian", "fisher")
"""Encoders of the methods that use the statistics of MFCCs only."""


def fused_songs(data: SongData, encoders: tuple[str, ...], training: Indices) -> FloatArray:
    """Return phi of all songs, an array of shape (n_songs, n_dimensions); it is fitted on training songs."""
    return fused_parts(data, encoders, training)[0]


def fused_parts(data: SongData, encoders: tuple[str, ...], training: Indices) -> tuple[FloatArray, tuple[slice, ...]]:
    """Return phi of all songs, and the columns of its parts."""
    encoded = [encoded_songs(data, name, training) for name in encoders]
    vectors = np.hstack([songs.vectors for songs in encoded])
    total = sum(part.weight for songs in encoded if not songs.has_ratio for part in songs.parts) or 1.0
    parts = [
        replace(part, weight=part.weight * total) if songs.has_ratio else part
        for songs in encoded
        for part in songs.parts
    ]
    fusion = Fusion.fit(vectors[training], parts)
    return fusion.transform(vectors), tuple(fusion.slices.values())


def _gaussian_fisher(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
    return fused_songs(data, GAUSSIAN_FISHER_ENCODERS, training)


def _all_encoders(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
    return fused_songs(data, data.encoders, training)


GAUSSIAN_FISHER = VectorBaseline(
    name="gaussian_fisher",
    label="Gaussian and Fisher vectors",
    short_label="Gaussian + Fisher",
    group=Group.SOUND,
    needs=(Need.SOUND,),
    encoders=GAUSSIAN_FISHER_ENCODERS,
    vectors=_gaussian_fisher,
)
ALL_ENCODERS = VectorBaseline(
    name="all_encoders",
    label="All encoders",
    group=Group.SOUND,
    uses_all_encoders=True,
    vectors=_all_encoders,
)
