"""Frames -> histograms: codebooks, top-tau histograms, and the spaces they are compared in (paper III)."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.encoding.codebook import Codebook as Codebook
    from nearsong.encoding.codebook_sample import codebook_bag as codebook_bag
    from nearsong.encoding.codebook_sample import codebook_songs as codebook_songs
    from nearsong.encoding.codebook_sample import random_run as random_run
    from nearsong.encoding.codewords import Codewords as Codewords
    from nearsong.encoding.histogram import HistogramCounter as HistogramCounter
    from nearsong.encoding.histogram import TopTauHistogram as TopTauHistogram
    from nearsong.encoding.product_kernel import ProductKernelMap as ProductKernelMap
    from nearsong.encoding.tfidf import TfIdf as TfIdf

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "codebook": ["Codebook"],
        "codebook_sample": ["codebook_bag", "codebook_songs", "random_run"],
        "codewords": ["Codewords"],
        "histogram": ["HistogramCounter", "TopTauHistogram"],
        "product_kernel": ["ProductKernelMap"],
        "tfidf": ["TfIdf"],
    },
)
