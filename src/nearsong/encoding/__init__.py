"""Frames -> histograms: codebooks, top-tau histograms, and the spaces they are compared in (paper III)."""

from nearsong.encoding.codebook import Codebook
from nearsong.encoding.codebook_sample import codebook_bag, codebook_songs, random_run
from nearsong.encoding.histogram import HistogramCounter, TopTauHistogram
from nearsong.encoding.product_kernel import ProductKernelMap
from nearsong.encoding.tfidf import TfIdf

__all__ = [
    "Codebook",
    "HistogramCounter",
    "ProductKernelMap",
    "TfIdf",
    "TopTauHistogram",
    "codebook_bag",
    "codebook_songs",
    "random_run",
]
