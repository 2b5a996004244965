"""Codeword histograms, native, in PPK space or weighted by TF-IDF (paper IV-C2), or the vectors of the data set."""

from collections.abc import Callable
from typing import Any

from nearsong.encoding import ProductKernelMap, TfIdf
from nearsong.experiment.methods.method import (
    Group,
    Need,
    Quantization,
    SongData,
    VectorBaseline,
    standardised,
    unit_rows,
)
from nearsong.model.held_out import Indices
from nearsong.types import FloatArray


def _histograms(data: SongData, quantization: Quantization) -> FloatArray:
    assert quantization.codebook is not None
    assert quantization.tau is not None
    return data.histograms(quantization.codebook, quantization.tau)


def _native(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
    if data.has_sound:
        return _histograms(data, quantization)
    assert data.vectors is not None
    return standardised(data.vectors, data.vectors[training])


def _ppk(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
    return ProductKernelMap().transform(_histograms(data, quantization))


def _tfidf(data: SongData, training: Indices, quantization: Quantization) -> FloatArray:
    histograms = _histograms(data, quantization)
    return unit_rows(TfIdf().fit(histograms[training]).transform(histograms))


def _histogram_baseline(
    name: str, label: str, vectors: Callable[[SongData, Indices, Quantization], FloatArray], **fields: Any
) -> VectorBaseline:
    """Return a baseline that is computed for every codebook size and tau."""
    return VectorBaseline(
        name=name, label=label, group=Group.SOUND, task="plain", uses_codebook=True, vectors=vectors, **fields
    )


NATIVE = _histogram_baseline(
    "native",
    "Native histograms",
    _native,
    grid_panel=True,
    paper_auc=(0.680, 0.006),
    on_vectors=VectorBaseline(name="native_vectors", label="Native vectors", group=Group.SOUND, vectors=_native),
)
NATIVE_PPK = _histogram_baseline("native_ppk", "Native PPK", _ppk, needs=(Need.SOUND,))
TFIDF = _histogram_baseline("tfidf", "TF-IDF", _tfidf, needs=(Need.SOUND,), grid_panel=True)
