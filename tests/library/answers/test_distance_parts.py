"""The parts of a distance add up to it: for random pairs, in every kind of fused model."""

import numpy as np
import pytest

from fused_songs import fused_space
from nearsong.errors import InvalidInputError
from nearsong.library.answers.seeds import seed_of_song
from nearsong.library.answers.why.distance_parts import artists_of_both, blocks_of, distance_parts, listener_space_of
from nearsong.library.answers.why.fused_reasons import FusedExplainer
from nearsong.model import MetricProjector, Projection, SimilarityModel


@pytest.fixture(scope="module", params=["listeners", "metric", "sound"])
def space(request):
    return fused_space(request.param)


def random_pairs(space, n=40):
    return np.random.default_rng(3).integers(len(space.songs), size=(n, 2))


def test_blocks_aspects_and_artists_add_up_to_the_squared_distance_of_stored_embeddings(space):
    for first, second in random_pairs(space):
        pair = space.embeddings[first], space.embeddings[second]
        parts = distance_parts(space.model, *pair)
        expected = float(((pair[0].astype(float) - pair[1].astype(float)) ** 2).sum())
        assert sum(block.squared for block in parts.blocks) == pytest.approx(expected, abs=1e-9)
        assert parts.squared == pytest.approx(expected, abs=1e-9)
        assert sum(aspect.squared for aspect in parts.aspects) == pytest.approx(parts.of_kind("sound"), abs=1e-9)
        assert parts.artists.sum() == pytest.approx(parts.of_kind("taste"), abs=1e-9)
        assert min(aspect.squared for aspect in parts.aspects) >= 0


def test_aspects_of_sound_are_those_of_phi_itself_where_no_dimension_is_lost():
    space = fused_space("sound")
    projector = space.model.projector
    basis = projector.space.basis
    for first, second in random_pairs(space, 5):
        difference = space.embeddings[first].astype(float) - space.embeddings[second]
        in_phi = (basis @ difference) ** 2
        parts = {
            part.name: part.squared
            for part in distance_parts(space.model, *space.embeddings[[first, second]]).aspects
        }
        slices = projector.fusion.slices
        assert parts["texture"] == pytest.approx(in_phi[slices["texture"]].sum())
        assert parts["variety of sounds"] == pytest.approx(in_phi[slices["fisher_variances"]].sum())


def test_reasons_add_up(space):
    explainer = FusedExplainer(space, None)
    for first, second in random_pairs(space, 10):
        if first == second:
            continue
        seeds = [seed_of_song(space, space.songs[row]) for row in (first, second)]
        reasons = explainer.reasons(*seeds)
        squared = ((space.embeddings[first].astype(float) - space.embeddings[second]) ** 2).sum()
        assert sum(kind.squared for kind in reasons.kinds) == pytest.approx(squared, abs=1e-9)
        assert sum(kind.share for kind in reasons.kinds) == pytest.approx(1)
        assert (reasons.n_listeners == 300) == (listener_space_of(space.model) is not None)
        assert reasons.nearest.startswith(("nearest in ", "farther apart"))
        assert reasons.sentences()[0].startswith("What sets them apart: ")


def test_artists_that_listeners_of_both_play_are_named_but_not_the_songs_own():
    space = fused_space()
    explainer = FusedExplainer(space, None)
    query, other = (seed_of_song(space, space.songs[row]) for row in (0, 4))
    played = explainer.reasons(query, other).played
    assert played
    assert not {"Artist 0", "Artist 1"} & set(played)
    learned = listener_space_of(space.model)
    mean = space.embeddings.mean(axis=0, dtype=float)
    sums = artists_of_both(learned, (query.embedding, other.embedding), mean)
    brute = np.zeros(len(sums))
    for block, columns in learned.maps_.taste_slices():
        for row, anchor in enumerate(block.anchors):
            values = [float(block.basis[row] @ (seed.embedding - mean)[columns]) for seed in (query, other)]
            brute[anchor] += values[0] * values[1] if min(values) > 0 else 0.0
    np.testing.assert_allclose(sums, brute, atol=1e-9)
    ranked = [f"Artist {column}" for column in np.argsort(-brute, kind="stable")]
    assert list(played) == [name for name in ranked if name not in ("Artist 0", "Artist 1")][:3]


def test_a_model_without_names_of_artists_names_none():
    space = fused_space()
    nameless = SimilarityModel(space.model.encoder, space.model.projector, {"listeners": 300})
    space.model = nameless
    seeds = [seed_of_song(space, space.songs[row]) for row in (0, 4)]
    assert FusedExplainer(space, None).reasons(*seeds).played == ()


def test_other_models_have_no_blocks():
    encoder = fused_space("sound").model.encoder.encoders[1]
    size = encoder.n_dimensions
    projection = Projection(
        encoder_index=0, applies_phi=False, mean=np.zeros(size), basis=np.eye(2, size), factor=np.eye(2), weight=1.0
    )
    model = SimilarityModel(encoder, MetricProjector([projection]))
    assert blocks_of(model) == ()
    with pytest.raises(InvalidInputError, match="has no blocks"):
        distance_parts(model, np.zeros(2), np.zeros(2))
