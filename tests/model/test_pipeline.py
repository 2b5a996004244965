import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import soundfile
from sklearn.decomposition import PCA

from nearsong.audio import DeltaMFCC, load_audio, load_frames
from nearsong.baselines import HumanTags, SemanticMultinomial
from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.errors import (
    AudioError,
    EmptyAudioError,
    InvalidInputError,
    NotAudioError,
    NoUsableQueryError,
    TooShortAudioError,
)
from nearsong.evaluation import ranking_scores
from nearsong.metric import MetricLearningToRank
from nearsong.model import CodewordEncoder, MetricProjector, Projection, Quantizer, SimilarityModel, learn_projection
from nearsong.model.encoders import JoinedEncoder

from .conftest import KIND


def squared_distances(embeddings: np.ndarray) -> np.ndarray:
    return ((embeddings[:, None] - embeddings[None]) ** 2).sum(axis=2)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "song.ogg"
    random = np.random.default_rng(1)
    samples = np.sin(np.cumsum(random.uniform(0, 0.6, size=44_100 * 9))) * 0.3
    with soundfile.SoundFile(path, "w", 44_100, 1, format="OGG", subtype="VORBIS") as file:
        for start in range(0, len(samples), 10_000):
            file.write(samples[start : start + 10_000])
    return path


def test_the_chain_is_histogram_root_pca_metric(model, codebook, songs, relevant):
    histograms = TopTauHistogram(codebook, 2).transform(songs)
    pca = PCA(0.95, svd_solver="full").fit(np.sqrt(histograms))
    learner = MetricLearningToRank(loss="auc", C=1e3).fit(pca.transform(np.sqrt(histograms)), relevant)
    expected = squared_distances(learner.transform(pca.transform(np.sqrt(histograms))))
    np.testing.assert_array_equal(model.encode_all(songs), histograms)
    np.testing.assert_allclose(squared_distances(model.project(histograms)), expected, rtol=1e-8, atol=1e-10)
    # and as the paper writes it: (q - x)' W (q - x)
    W = pca.components_.T @ learner.get_mahalanobis_matrix() @ pca.components_
    difference = np.sqrt(histograms[3]) - np.sqrt(histograms[7])
    assert difference @ W @ difference == pytest.approx(expected[3, 7], rel=1e-6)


def test_what_was_learned_helps_with_unseen_songs(model, songs, relevant, kinds):
    random = np.random.default_rng(9)
    queries = []
    for i in range(15):
        frames = random.normal(size=(80, 39))
        frames[:, 4 * (i % 3) : 4 * (i % 3) + 4] += KIND
        queries.append(frames)
    same_kind = np.equal.outer(np.arange(15) % 3, kinds)
    native = SimilarityModel.learn(model.encoder.quantizer.codebook, songs, tau=2)
    auc = {
        name: ranking_scores(m.project(m.encode_all(queries)), m.project(m.encode_all(songs)), same_kind).auc
        for name, m in {"native": native, "learned": model}.items()
    }
    assert auc["learned"] > auc["native"] + 0.02
    assert auc["learned"] > 0.95


def test_without_relevance_the_metric_is_native(codebook, songs):
    native = SimilarityModel.learn(codebook, songs, explained_variance=0.999999)
    roots = np.sqrt(native.encode_all(songs))
    np.testing.assert_allclose(
        squared_distances(native.project(roots**2)), squared_distances(roots), rtol=1e-3, atol=1e-5
    )


def test_the_product_kernel_is_a_choice(codebook, songs):
    raw = SimilarityModel.learn(codebook, songs, apply_phi=False, explained_variance=0.999999)
    histograms = raw.encode_all(songs)
    np.testing.assert_allclose(
        squared_distances(raw.project(histograms)), squared_distances(histograms), rtol=1e-3, atol=1e-7
    )


def test_histograms_may_come_ready_made(codebook, songs, relevant, model):
    histograms = TopTauHistogram(codebook, 2).transform(songs)
    again = SimilarityModel.learn(codebook, histograms, relevant, tau=2)
    np.testing.assert_array_equal(again.projector.projections[0].factor, model.projector.projections[0].factor)
    assert again.trained_on["fingerprint"] == model.trained_on["fingerprint"]


def test_a_model_knows_what_it_was_trained_on(model, codebook, songs, relevant):
    facts = model.trained_on
    assert (facts["songs"], facts["loss"], facts["C"], facts["artists"], facts["note"]) == (
        30,
        "auc",
        1e3,
        10,
        "kinds",
    )
    assert 0 <= facts["gap"] <= 1e-3
    other = SimilarityModel.learn(codebook, songs, relevant.T[:, ::-1], tau=2)
    assert other.trained_on["fingerprint"] != facts["fingerprint"]


def test_a_file_its_samples_and_its_frames_give_the_same_bytes(model, sound):
    from_file = model.encode(sound)
    assert from_file.sum() == pytest.approx(1)
    for source in (str(sound), load_audio(sound), load_frames(sound), load_frames(sound).astype(np.float64)):
        assert model.encode(source).tobytes() == from_file.tobytes()


def test_one_song_is_projected_like_many(model, songs):
    encoded = model.encode_all(songs)
    embedding = model.project(encoded[4])
    assert embedding.shape == (model.rank,)
    np.testing.assert_allclose(embedding, model.project(encoded)[4], atol=1e-12)


def test_another_process_that_loads_the_model_encodes_the_same_bytes(model, sound, tmp_path):
    model.save(tmp_path / "m.npz")
    code = (
        "import sys, nearsong\n"
        "model = nearsong.SimilarityModel.load(sys.argv[1])\n"
        "encoded = model.encode(sys.argv[2])\n"
        "sys.stdout.write(encoded.tobytes().hex() + ' ' + model.project(encoded).tobytes().hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.npz", sound], capture_output=True, text=True, check=True
    )
    encoded, embedding = done.stdout.split()
    assert bytes.fromhex(encoded) == model.encode(sound).tobytes()
    assert bytes.fromhex(embedding) == model.project(model.encode(sound)).tobytes()


def test_files_are_encoded_in_workers_with_errors_in_their_position(model, sound, tmp_path):
    (tmp_path / "empty.mp3").touch()
    (tmp_path / "text.flac").write_text("no sound " * 99)
    soundfile.write(tmp_path / "short.wav", np.zeros(100), 22_050)
    cut = tmp_path / "cut.flac"
    soundfile.write(cut, np.random.default_rng(0).uniform(-0.5, 0.5, size=22_050 * 8), 22_050)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    paths = [sound, cut, tmp_path / "empty.mp3", tmp_path / "text.flac", tmp_path / "short.wav"]
    found = dict(model.encode_files(paths, workers=2))
    assert found[sound].vector.tobytes() == model.encode(sound).tobytes()
    assert found[sound].seconds == pytest.approx(9, abs=0.05)
    assert found[sound].damage is None
    assert "damaged" in found[cut].damage
    assert found[cut].seconds == pytest.approx(4, abs=0.5)
    errors = [EmptyAudioError, NotAudioError, TooShortAudioError]
    assert [type(found[path]) for path in paths[2:]] == errors


def test_digital_silence_has_an_embedding(model):
    encoded = model.encode(np.zeros(22_050, dtype=np.float32))
    assert np.isfinite(model.project(encoded)).all()


# ---- several projections


def test_a_combined_model_is_the_weighted_sum_of_scaled_distances(codebook, songs, relevant, model):
    other_codebook = Codebook(12, random_state=5).fit(np.concatenate(songs))
    other = SimilarityModel.learn(other_codebook, songs, relevant, tau=1)
    both = SimilarityModel.combined([model, other], weights=np.array([3.0, 1.0]))
    assert both.n_dimensions == 24 + 12
    assert both.rank == model.rank + other.rank
    parts = [squared_distances(m.project(m.encode_all(songs))) for m in (model, other)]
    n = len(songs)
    scaled = [part / (part.sum() / n**2) for part in parts]  # mean over pairs, a song with itself included
    expected = 0.75 * scaled[0] + 0.25 * scaled[1]
    np.testing.assert_allclose(
        squared_distances(both.project(both.encode_all(songs))), expected, rtol=1e-6, atol=1e-9
    )


def test_models_over_different_features_are_combined(model, relevant, tmp_path):
    rate = 16_000
    encoder = CodewordEncoder(model.encoder.quantizer, DeltaMFCC(sample_rate=rate))
    both = SimilarityModel.combined([model, SimilarityModel(encoder, model.projector)])
    soundfile.write(tmp_path / "song.wav", np.random.default_rng(0).normal(size=40_000) / 10, 22_050)
    vector = both.encode(tmp_path / "song.wav")
    expected = [encoder.encode(tmp_path / "song.wav") for encoder in both.encoder.encoders]
    np.testing.assert_array_equal(vector, np.concatenate(expected))
    both.save(tmp_path / "model")
    again = SimilarityModel.load(tmp_path / "model")
    assert again.encoder.key == both.encoder.key
    assert again.project(vector).tobytes() == both.project(vector).tobytes()
    with pytest.raises(InvalidInputError, match="read different frames; give a file or samples"):
        both.encode(np.zeros((50, 39)))


def test_averaging_over_several_C_encodes_a_song_once(codebook, songs, relevant):
    models = [
        SimilarityModel.learn(codebook, songs, relevant, tau=2, learner=MetricLearningToRank(loss="auc", C=C))
        for C in (1e2, 1e4)
    ]
    averaged = SimilarityModel.combined(models)
    assert len(averaged.encoder.encoders) == 1
    assert len(averaged.projector.projections) == 2
    assert averaged.n_dimensions == 24
    again = SimilarityModel.combined([averaged])
    before, after = (squared_distances(m.project(m.encode_all(songs))) for m in (averaged, again))
    np.testing.assert_allclose(after, before / (before.sum() / len(songs) ** 2), rtol=1e-6, atol=1e-9)
    assert [facts["C"] for facts in averaged.trained_on["combined"]] == [1e2, 1e4]


def test_a_codebook_that_goes_on_learning_does_not_change_the_model(songs, relevant, tmp_path):
    codebook = Codebook(24).fit(np.concatenate(songs))
    model = SimilarityModel.learn(codebook, songs, relevant)
    before = model.encode(songs[0])
    codebook.partial_fit(np.random.default_rng(0).normal(5, 3, size=(3_000, 39)))
    model.save(tmp_path / "model")
    assert model.encode(songs[0]).tobytes() == before.tobytes()
    assert SimilarityModel.load(tmp_path / "model").encode(songs[0]).tobytes() == before.tobytes()


def test_relevance_may_be_labels(codebook, songs, relevant, kinds):
    by_labels = SimilarityModel.learn(codebook, songs, [f"kind {kind}" for kind in kinds], tau=np.int64(2))
    by_relation = SimilarityModel.learn(codebook, songs, relevant, tau=2)
    np.testing.assert_allclose(
        by_labels.projector.projections[0].factor, by_relation.projector.projections[0].factor, atol=1e-6
    )


# ---- other vectors: tags, by machine and by people


def test_auto_tags_and_human_tags_are_input_to_the_metric(songs, relevant, kinds):
    carries = np.equal.outer(kinds, np.arange(3))
    smd = SemanticMultinomial(n_components=2).fit_tags(songs, carries).transform(songs)
    noisy = carries | (np.random.default_rng(0).random((len(songs), 3)) < 0.3)
    tags = HumanTags().fit(noisy).transform(noisy).toarray()
    for vectors in (np.sqrt(smd), tags):
        projection, fitted = learn_projection(vectors, relevant)
        assert fitted is not None
        native = ranking_scores(vectors, None, relevant).auc
        assert ranking_scores(projection.project(vectors), None, relevant).auc > max(native - 1e-6, 0.7)


# ---- what cannot work


def test_models_that_do_not_fit_are_not_combined(model, codebook):
    with pytest.raises(InvalidInputError, match="no models given"):
        SimilarityModel.combined([])
    with pytest.raises(InvalidInputError, match="3 weights given for 2 models"):
        SimilarityModel.combined([model, model], weights=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="weight=-1"):
        SimilarityModel.combined([model], weights=[-1])


def test_inputs_of_the_wrong_shape_are_refused(model, codebook, songs, relevant):
    with pytest.raises(InvalidInputError, match="encoded has 23 columns and the model 24 dimensions"):
        model.project(np.zeros((2, 23)))
    with pytest.raises(InvalidInputError, match="vectors has 20 columns and the encoder codewords 24"):
        SimilarityModel.learn(codebook, np.zeros((5, 20)), None)
    with pytest.raises(InvalidInputError, match="not a histogram: shares of at least 0 that sum to 1"):
        SimilarityModel.learn(codebook, 100 * model.encode_all(songs))
    assert model.project(model.encode_all([])).shape == (0, model.rank)
    with pytest.raises(InvalidInputError, match="38"):
        model.encode(np.zeros((50, 38)))
    with pytest.raises(InvalidInputError, match="too few"):
        model.encode(np.zeros(100))
    with pytest.raises(AudioError, match="cannot be opened"):
        model.encode("nowhere.mp3")
    with pytest.raises(InvalidInputError, match="all the same; at least two different songs"):
        SimilarityModel.learn(codebook, np.full((4, 24), 1 / 24))
    with pytest.raises(InvalidInputError, match="all the same"):
        SimilarityModel.learn(codebook, songs[:1])
    with pytest.raises(NoUsableQueryError):
        SimilarityModel.learn(codebook, songs, sp.csr_array((30, 30)))
    with pytest.raises(InvalidInputError, match="explained_variance=2"):
        SimilarityModel.learn(codebook, songs, explained_variance=2)


def test_parts_that_do_not_fit_make_no_model(model, codebook, songs):
    narrow = Codebook(4).fit(np.random.default_rng(0).normal(size=(50, 13)))
    with pytest.raises(InvalidInputError, match="for frames of 13 numbers and the features give 39"):
        CodewordEncoder(Quantizer(narrow))
    with pytest.raises(InvalidInputError, match="at least two encoders"):
        JoinedEncoder([model.encoder])
    with pytest.raises(InvalidInputError, match="at least one projection"):
        SimilarityModel(model.encoder, MetricProjector([]))
    small = Codebook(5).fit(np.concatenate(songs))
    with pytest.raises(InvalidInputError, match="disagree on the length of a song vector"):
        SimilarityModel(CodewordEncoder(Quantizer(small)), model.projector)
    projection, _ = learn_projection(np.random.default_rng(0).dirichlet(np.ones(24), size=9), encoder_index=3)
    with pytest.raises(InvalidInputError, match="reads encoder 3; there are 1"):
        SimilarityModel(model.encoder, MetricProjector([projection]))
    with pytest.raises(InvalidInputError, match=r"basis has the shape \(2, 4\); \(any, 3\) is needed"):
        Projection(
            encoder_index=0, applies_phi=True, mean=np.zeros(3), basis=np.zeros((2, 4)), factor=np.zeros((2, 2))
        )
    basis = np.full((2, 4), np.nan)
    with pytest.raises(InvalidInputError, match="basis has a NaN"):
        Projection(encoder_index=0, applies_phi=True, mean=np.zeros(4), basis=basis, factor=np.zeros((2, 2)))
