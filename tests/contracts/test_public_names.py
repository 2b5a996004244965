"""What users may import, and that looking does not cost them a compiler."""

import inspect
import subprocess
import sys

import pytest

import nearsong

PUBLIC = {
    "Codebook",
    "DeltaMFCC",
    "GaussianMixtureSimilarity",
    "Library",
    "ListenerSpace",
    "MetricLearningToRank",
    "ProductKernelMap",
    "SemanticMultinomial",
    "SimilarityModel",
    "TopTauHistogram",
    "jaccard_neighbors",
    "load_audio",
    "ranking_scorer",
    "ranking_scores",
    "relevant_songs",
}


def test_the_public_names_are_these():
    assert set(nearsong.__all__) == PUBLIC
    assert len(nearsong.__all__) <= 20


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_resolves_and_is_documented_with_an_example(name):
    thing = getattr(nearsong, name)
    assert ">>>" in (inspect.getdoc(thing) or "")
    assert name in dir(nearsong)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'loud'"):
        nearsong.loud  # noqa: B018


def test_importing_nearsong_does_not_import_the_numerics():
    code = "import sys, nearsong; print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
