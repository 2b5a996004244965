"""The last fit: the same in blocks, in batches where there are many songs, and from all artists."""

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.library.training import final as final_module
from nearsong.library.training.data import TrainingData, TrainingSettings, choose_training_set
from nearsong.library.training.final import FinalFit, fused_phi
from nearsong.library.training.fit import _unfinished
from nearsong.model import SimilarityModel
from nearsong.model.encoders import VectorPart
from nearsong.model.encoders.pretrained.vectors import VectorsEncoder
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space import ListenerSpace

COMBINED = {
    "penalty": 0.3,
    "centroid_share": 0.5,
    "sound_weight": 0.25,
    "metric_weight": 0.2,
    "loss": "auc",
    "C": 100.0,
}
SETTINGS = TrainingSettings(max_songs=40, max_final_songs=150, max_ranked_songs=90, final_max_rounds=60)


@pytest.fixture(scope="module")
def data() -> TrainingData:
    random = np.random.default_rng(0)
    taste = random.normal(size=(60, 3))
    song_artist = np.repeat(np.arange(60), 3)
    vectors = taste[song_artist] @ random.normal(size=(3, 12)) + random.normal(size=(180, 12))
    people = random.normal(size=(200, 3))
    plays = sp.csr_array(people @ taste.T + random.normal(size=(200, 60)) > 2.5)
    return TrainingData(vectors.astype(np.float32), song_artist, plays)


def fit(data, method="combined", settings=SETTINGS):
    encoder = VectorsEncoder(data.vectors.shape[1], "0" * 16, "test")
    training_set = choose_training_set(data, settings)
    model, facts = FinalFit(encoder, data, training_set, settings).fit(method, COMBINED)
    return model, facts, training_set.final


def test_it_learns_from_all_songs_of_the_last_fit_not_from_the_sample(data):
    model, _, final = fit(data)
    mapped = data.vectors[final.songs].astype(np.float64)
    fusion = Fusion.fit(mapped, model.encoder.parts)
    assert np.allclose(model.projector.fusion.mean, fusion.mean)
    alone = ListenerSpace(penalty=0.3, centroid_share=0.5, sound_weight=0.25)
    alone.fit(fusion.transform(mapped), final.columns, data.artist_plays, parts=fusion.slices.values())
    taste = slice(0, sum(block.n_dimensions for block in alone.maps_.taste))
    expected = alone.transform(fusion.transform(data.vectors.astype(np.float64)))[:, taste]
    assert np.allclose(model.project(data.vectors)[:, taste], expected, atol=1e-4)
    np.testing.assert_array_equal(model.projector.space.artists_, np.unique(final.columns))


@pytest.mark.parametrize("method", ["combined", "mlr"])
def test_small_blocks_give_the_same_model(data, method, monkeypatch):
    expected = fit(data, method)[0].project(data.vectors)
    monkeypatch.setattr(final_module, "BLOCK_NUMBERS", 7 * data.vectors.shape[1])
    monkeypatch.setattr("nearsong.model.listener_space.rows.BLOCK_NUMBERS", 11 * data.vectors.shape[1])
    assert np.allclose(fit(data, method)[0].project(data.vectors), expected, atol=1e-5)


def test_a_fusion_in_blocks_is_that_of_all_songs_also_where_parts_are_missing():
    random = np.random.default_rng(1)
    rows = random.normal(size=(50, 7)) * 3 + 5
    rows[[0, 3, 4, 5, 6, 7, 8, 9], 4:] = np.nan  # a block without the second part
    parts = [VectorPart("first", 4, 0.5), VectorPart("second", 3, 2.0)]
    expected = Fusion.fit(rows, parts)
    by_hand = rows[~np.isnan(rows[:, 4]), 4:]
    assert np.allclose(expected.mean[4:], by_hand.mean(axis=0))
    assert np.allclose(expected.scales[1], np.sqrt(np.square(by_hand - by_hand.mean(axis=0)).sum(axis=1).mean()))
    fusion, phi = fused_phi(lambda: iter([rows[:3], rows[3:10], rows[10:]]), 50, parts)
    assert np.allclose(fusion.mean, expected.mean)
    assert np.allclose(fusion.scales, expected.scales)
    assert np.allclose(phi, expected.transform(rows), atol=1e-6)


def test_many_songs_are_ranked_in_batches_and_the_model_can_be_stored(data, monkeypatch):
    full, facts, _ = fit(data, "mlr")
    assert facts["gap"] <= SETTINGS.final_tol
    monkeypatch.setattr(final_module, "MAX_CERTIFIED_SONGS", 50)
    monkeypatch.setattr(final_module, "BATCH_QUERIES", 30)
    model, facts, _ = fit(data, "mlr")
    assert facts["gap"] is None
    kept = SimilarityModel(model.encoder, model.projector, {key: facts[key] for key in ("gap", "converged")})
    assert SimilarityModel.from_bytes(kept.to_bytes()).trained_on["gap"] is None
    first, second = (
        np.linalg.norm(m.project(data.vectors)[:, None] - m.project(data.vectors), axis=2) for m in (full, model)
    )
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.9


def test_a_fit_that_did_not_finish_says_how_far_it_came():
    assert _unfinished(0.0123, 100) == "Training stopped after 100 rounds, within 1.2 % of the optimum."
    assert _unfinished(None, 100) == "Training stopped after 100 rounds, before the batches of songs agreed."
