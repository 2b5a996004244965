"""What holds for every encoder in the registry; a new one is tested by being listed there."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from nearsong.audio import FrameFeatures, load_audio
from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.library.answers.why.explain import contributions, explain
from nearsong.library.models.lifecycle import native_model
from nearsong.metric import MetricLearningToRank
from nearsong.model import SimilarityModel
from nearsong.model.encoders import (
    DEFAULT_ENCODERS,
    ENCODERS,
    OPTIONAL_ENCODERS,
    check_encoder_names,
    encode_file,
    joined,
    read_encoder,
)
from nearsong.model.encoders.names import ENCODER_NAMES, OPTIONAL_ENCODER_NAMES

N_SONGS = 24
KINDS = np.arange(N_SONGS) % 3


def frames_of(seed: int, n: int = 300, width: int = 39) -> np.ndarray:
    """Return frames of one of three kinds of music: they differ in mean, in what varies together and in swelling."""
    random = np.random.default_rng([seed, 7])
    mixing = np.eye(width) + 0.4 * np.random.default_rng(seed % 3).normal(size=(width, width)) / np.sqrt(width)
    swell = 1 + 0.3 * (seed % 3) * np.sin(np.arange(n) / 15)[:, None]
    return (swell * random.normal(0.3 * (seed % 3), 2.0, size=(n, width)) @ mixing).astype(np.float32)


@pytest.fixture(scope="module", params=sorted(ENCODERS))
def encoder(request):
    return fitted(request.param)


def fitted(name: str, seed: int = 0, features: FrameFeatures | None = None):
    width = ENCODERS[name].default_features().n_features
    return ENCODERS[name].fit([frames_of(i, width=width) for i in range(9)], features=features, seed=seed)


@pytest.fixture(scope="module")
def songs(encoder) -> list[np.ndarray]:
    return [frames_of(i, width=encoder.features.n_features) for i in range(N_SONGS)]


@pytest.fixture(scope="module")
def vectors(encoder, songs) -> np.ndarray:
    return encoder.encode_all(songs)


# ---- vectors


@pytest.mark.parametrize("sizes", [[300], [1] * 300, [0, 7, 256, 0, 37], [255, 45], [150, 150], [299, 1]])
def test_the_vector_is_the_same_for_any_chunking(encoder, songs, sizes):
    song = songs[3]
    accumulator = encoder.start()
    for chunk in np.split(song, np.cumsum(sizes)[:-1]):
        accumulator.add(chunk)
    assert accumulator.n_frames == len(song)
    assert accumulator.result().tobytes() == encoder.encode(song).tobytes()


def test_encoders_are_deterministic(encoder, songs):
    again = fitted(encoder.name)
    assert again.key == encoder.key
    assert again.encode(songs[5]).tobytes() == encoder.encode(songs[5]).tobytes()


def test_threads_of_the_blas_do_not_change_a_byte(encoder, songs):
    results = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.add(encoder.encode(np.concatenate(songs)).tobytes())
    assert len(results) == 1


def test_reading_a_result_does_not_change_it(encoder, songs):
    accumulator = encoder.start()
    accumulator.add(songs[1][:100])
    accumulator.result()
    accumulator.add(songs[1][100:])
    assert accumulator.result().tobytes() == encoder.encode(songs[1]).tobytes()


def test_the_callers_frames_are_not_changed_or_stored(encoder, songs):
    frames = songs[2]
    accumulator = encoder.start()
    buffer = frames[:40].copy()
    for start in range(0, 280, 40):
        buffer[:] = frames[start : start + 40]
        accumulator.add(buffer)
        np.testing.assert_array_equal(buffer, frames[start : start + 40])
    assert accumulator.result().tobytes() == encoder.encode(frames[:280]).tobytes()


UNUSUAL_SONGS = {  # by the numbers a frame
    "one frame": lambda width: frames_of(0, 1, width),
    "two frames": lambda width: frames_of(0, 2, width),
    "a constant": lambda width: np.full((50, width), 3.0, np.float32),
    "huge values": lambda width: np.where(np.indices((100, width)).sum(axis=0) % 2, 1e30, -1e30).astype(np.float32),
    "tiny values": lambda width: 1e-30 * np.arange(50, dtype=np.float32)[:, None] * np.ones(width, np.float32),
    "four minutes": lambda width: frames_of(4, 20_000, width),
}

SOUNDS = {  # samples at 22,050 Hz
    "silence": np.zeros(66_150),
    "one second": np.sin(np.arange(22_050) / 8),
    "as loud as can be": np.sign(np.random.default_rng(0).normal(size=66_150)),
    "a click in silence": np.eye(1, 66_150, 30_000)[0],
}


def assert_is_a_vector(encoder, vector: np.ndarray) -> None:
    assert vector.dtype == np.float64
    assert vector.shape == (encoder.n_dimensions,)
    assert np.isfinite(vector.astype(np.float32)).all()
    assert np.isfinite(encoder.phi(vector[None])).all()


@pytest.mark.parametrize("song", UNUSUAL_SONGS.values(), ids=list(UNUSUAL_SONGS))
def test_every_song_has_a_finite_vector_of_the_same_length(encoder, song):
    assert_is_a_vector(encoder, encoder.encode(song(encoder.features.n_features)))


@pytest.mark.parametrize("sound", SOUNDS.values(), ids=list(SOUNDS))
def test_every_sound_has_a_finite_vector_of_the_same_length(encoder, sound):
    assert_is_a_vector(encoder, encoder.encode(sound.astype(np.float32)))


def test_a_song_without_frames_or_with_others_is_refused(encoder):
    with pytest.raises(InvalidInputError, match="frame"):
        encoder.start().result()
    width = encoder.features.n_features
    with pytest.raises(InvalidInputError, match=str(width - 1)):
        encoder.encode(np.zeros((5, width - 1)))
    for number in (np.nan, np.inf):
        frames = np.zeros((5, width))
        frames[3, -1] = number
        with pytest.raises(InvalidInputError, match="NaN"):
            encoder.encode(frames)


def test_songs_that_differ_have_different_vectors(vectors):
    assert len(np.unique(vectors, axis=0)) == len(vectors)


# ---- storing


def test_a_stored_encoder_is_the_same_encoder(encoder, songs, vectors):
    restored = read_encoder(encoder.to_bytes())
    assert type(restored) is type(encoder)
    assert restored.key == encoder.key
    assert restored.to_bytes() == encoder.to_bytes()
    assert restored.encode(songs[0]).tobytes() == vectors[0].tobytes()


def test_the_key_changes_with_all_that_decides_the_vectors(encoder, songs, monkeypatch):
    other = fitted(encoder.name, seed=1)
    differ = other.encode(songs[0]).tobytes() != encoder.encode(songs[0]).tobytes()
    assert (other.key != encoder.key) == differ
    assert fitted(encoder.name, features=type(encoder.features)(sample_rate=24_000)).key != encoder.key
    key, data = encoder.key, encoder.to_bytes()
    monkeypatch.setattr(type(encoder), "version", encoder.version + 1)
    assert encoder.key != key
    with pytest.raises(EncoderNotInstalledError, match=rf"needs version \d+ of the encoder '{encoder.name}'"):
        read_encoder(data)


def test_what_is_stored_in_single_precision_can_be_used_again(encoder, vectors):
    stored = vectors.astype(np.float32)
    restored = encoder.restore(stored)
    assert restored.dtype == np.float64
    np.testing.assert_allclose(restored, vectors, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(encoder.restore(stored), restored)
    with pytest.raises(InvalidInputError, match="columns"):
        encoder.check(vectors[:, 1:])


def test_every_encoder_has_a_name_a_version_and_a_cost(encoder):
    assert ENCODERS[encoder.name] is type(encoder)
    assert encoder.version >= 1
    assert encoder.cost > 0
    assert check_encoder_names([encoder.name, encoder.name]) == (encoder.name,)


def test_the_names_that_are_known_without_the_encoders_are_those_of_the_registry():
    assert tuple(ENCODERS) == ENCODER_NAMES
    assert tuple(OPTIONAL_ENCODERS) == OPTIONAL_ENCODER_NAMES


@pytest.mark.parametrize("names", [["nonesuch"], []])
def test_other_names_are_refused_with_those_there_are(names):
    with pytest.raises(InvalidInputError, match=f"Unknown encoder: .*Choose from .*{DEFAULT_ENCODERS[0]}"):
        check_encoder_names(names)


# ---- comparing and explaining


def test_parts_make_up_the_encoder(encoder, vectors):
    assert sum(part.n_dimensions for part in encoder.parts) == encoder.n_dimensions
    assert all(part.weight > 0 for part in encoder.parts)
    assert len({part.name for part in encoder.parts}) == len(encoder.parts)
    assert encoder.encoders == (encoder,)
    np.testing.assert_array_equal(np.hstack(encoder.blocks(vectors)), vectors)


def test_scales_are_positive_whatever_the_songs(encoder, vectors):
    for rows in (vectors, vectors[:1], np.repeat(vectors[:1], 4, axis=0)):
        scales = encoder.scales(encoder.phi(rows))
        assert scales.shape == (encoder.n_dimensions,)
        assert (scales > 0).all()
        assert np.isfinite(scales).all()


def test_parts_vary_by_their_weights(encoder, vectors):
    mapped = encoder.phi(vectors)
    variances = (mapped / encoder.scales(mapped)).var(axis=0)
    ends = np.cumsum([part.n_dimensions for part in encoder.parts])
    if len(encoder.parts) > 1:
        shares = [part.sum() for part in np.split(variances, ends[:-1])]
        np.testing.assert_allclose(shares, [part.weight for part in encoder.parts])


def test_a_native_and_a_learned_model_work_over_it(encoder, tmp_path):
    # fourteen seconds: texture compares windows, of which three seconds have few
    vectors = encoder.encode_all([frames_of(i, 1200, encoder.features.n_features) for i in range(N_SONGS)])
    native = native_model(encoder, vectors, {})
    learner = MetricLearningToRank(loss="auc", C=10.0)  # histograms of so few songs leave the metric zero at C=1
    learned = SimilarityModel.learn(encoder, vectors, KINDS, learner=learner)
    for model in (native, learned):
        embeddings = model.project(vectors)
        nearest = np.linalg.norm(embeddings[:, None] - embeddings[None], axis=2)
        np.fill_diagonal(nearest, np.inf)
        assert (KINDS[nearest.argmin(axis=1)] == KINDS).mean() > 0.8
    learned.save(tmp_path / "model")
    again = SimilarityModel.load(tmp_path / "model")
    assert again.encoder.key == encoder.key
    assert again.project(vectors).tobytes() == learned.project(vectors).tobytes()


def test_scaling_is_part_of_the_projection(encoder, vectors):
    mapped = encoder.phi(vectors)
    scaled = mapped / encoder.scales(mapped)
    embeddings = SimilarityModel.learn(encoder, vectors, explained_variance=0.999999).project(vectors)
    expected = np.linalg.norm(scaled[:, None] - scaled[None], axis=2)
    np.testing.assert_allclose(
        np.linalg.norm(embeddings[:, None] - embeddings[None], axis=2), expected, rtol=1e-2, atol=1e-6
    )


def test_a_distance_is_explained_exactly_or_not_at_all(encoder, vectors):
    labels = encoder.labels()
    assert labels is None or (len(labels) == encoder.n_dimensions and all(labels))
    model = SimilarityModel.learn(encoder, vectors)
    embeddings = model.project(vectors)
    for i, j in ((0, 3), (0, 1), (5, 5), (7, 20)):
        explanation = explain(model, vectors[i], vectors[j])
        assert explanation.distance == pytest.approx(np.linalg.norm(embeddings[i] - embeddings[j]), abs=1e-6)
        assert contributions(model, vectors[i], vectors[j])[0].sum() == pytest.approx(explanation.inner)
        for sound in (*explanation.similarities, *explanation.differences):
            assert sound.reason()
            assert (sound.in_library is not None) == encoder.has_shares


@pytest.mark.parametrize("song", UNUSUAL_SONGS.values(), ids=list(UNUSUAL_SONGS))
def test_explaining_never_fails(encoder, vectors, song):
    model = SimilarityModel.learn(encoder, vectors)
    explanation = explain(model, encoder.encode(song(encoder.features.n_features)), vectors[0])
    assert np.isfinite(explanation.distance)


# ---- excerpts


def test_an_encoder_for_excerpts_is_another_one_and_is_stored_as_such(encoder, songs):
    part = encoder.with_excerpt(60)
    assert part.key not in {encoder.key, encoder.with_excerpt(61).key}
    assert (part.excerpt, encoder.excerpt, part.with_excerpt(0).key) == (60.0, 0.0, encoder.key)
    assert read_encoder(part.to_bytes()).key == part.key
    assert read_encoder(encoder.to_bytes()).key == encoder.key
    both = joined([encoder, encoder]).with_excerpt(60)
    assert read_encoder(both.to_bytes()).key == both.key == joined([part, part]).key
    assert part.encode(songs[0]).tobytes() == encoder.encode(songs[0]).tobytes()  # frames are used as they are


def test_encoders_for_different_excerpts_read_a_file_each_in_its_way(tmp_path):
    import soundfile

    soundfile.write(tmp_path / "song.wav", np.random.default_rng(0).normal(size=15 * 22_050) / 10, 22_050)
    samples = load_audio(tmp_path / "song.wav")
    encoders = [fitted("gaussian"), fitted("texture").with_excerpt(10), fitted("fisher")]
    encoded = encode_file(encoders, tmp_path / "song.wav")
    assert encoded.seconds == 15
    for encoder, vector in zip(encoders, encoded.vectors, strict=True):
        middle = samples[55_125 : 55_125 + 220_500] if encoder.excerpt else samples
        assert vector.tobytes() == encoder.encode(middle).tobytes()


# ---- several at once


def test_all_encoders_share_one_pass_over_a_file(monkeypatch, tmp_path):
    import soundfile

    from nearsong.model.encoders import base

    soundfile.write(tmp_path / "song.wav", np.random.default_rng(0).normal(size=40_000) / 10, 22_050)
    passes = []
    stream_audio = base.stream_audio
    monkeypatch.setattr(base, "stream_audio", lambda *args, **named: passes.append(1) or stream_audio(*args, **named))
    encoders = [fitted(name) for name in sorted(ENCODERS)]
    encoded = encode_file(encoders, tmp_path / "song.wav")
    assert len(passes) == 1
    assert encoded.seconds == pytest.approx(40_000 / 22_050)
    (together,) = encode_file([joined(encoders)], tmp_path / "song.wav").vectors
    assert len(passes) == 2
    assert together.tobytes() == np.concatenate(encoded.vectors).tobytes()
    for encoder, vector in zip(encoders, encoded.vectors, strict=True):
        assert vector.tobytes() == encoder.encode(tmp_path / "song.wav").tobytes()
        assert vector.tobytes() == encoder.encode(load_audio(tmp_path / "song.wav")).tobytes()


def test_joined_encoders_do_what_each_of_them_does():
    encoders = [fitted(name) for name in sorted(ENCODERS)]
    both = joined(encoders)
    assert joined(encoders[:1]) is encoders[0]
    assert joined([both]).key == both.key
    songs = [np.random.default_rng(i).normal(size=30_000).astype(np.float32) / 10 for i in range(4)]
    each = [encoder.encode_all(songs) for encoder in encoders]
    rows = both.encode_all(songs)
    np.testing.assert_array_equal(rows, np.hstack(each))
    np.testing.assert_array_equal(both.phi(rows), np.hstack([e.phi(v) for e, v in zip(encoders, each, strict=True)]))
    assert both.parts == tuple(part for encoder in encoders for part in encoder.parts)
    restored = read_encoder(both.to_bytes())
    assert restored.key == both.key
    np.testing.assert_array_equal(restored.encode_all(songs[:1]), rows[:1])
