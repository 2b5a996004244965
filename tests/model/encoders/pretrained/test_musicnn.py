"""The encoder of musicnn: the axioms of encoders with random weights, its patches and its tags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.audio import DeltaMFCC
from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.model import SimilarityModel
from nearsong.model.encoders import check_encoder_names, encode_file, joined, read_encoder
from nearsong.model.encoders.pretrained.installed import ENVIRONMENT
from nearsong.model.encoders.pretrained.musicnn import MusicnnEncoder
from nearsong.model.encoders.pretrained.musicnn_mel import MusicnnMel
from nearsong.model.encoders.pretrained.musicnn_network import MusicnnNetwork
from nearsong.model.encoders.pretrained.musicnn_weights import TAG_NAMES, store_weights
from nearsong.model.encoders.pretrained.patches import SpreadPatches
from random_weights import random_weights
from synthesised_song import synthesised_song


def levels_of(seed: int, n: int = 300) -> np.ndarray:
    """Return frames such as those of one of three kinds of music."""
    random = np.random.default_rng(seed)
    return np.abs(random.normal(1 + seed % 3, 0.5, size=(n, 96))).astype(np.float32)


@pytest.fixture
def encoder(installed) -> MusicnnEncoder:
    return MusicnnEncoder.fit([])


# ---- patches


@given(st.integers(1, 3000), st.integers(1, 4), st.lists(st.integers(0, 400), max_size=8))
def test_patches_are_spread_evenly_and_do_not_depend_on_chunks(n, n_wanted, cuts):
    frames = np.arange(n, dtype=np.float32)[:, None]
    patches, again = SpreadPatches(10, n_wanted, 1), SpreadPatches(10, n_wanted, 1)
    patches.add(frames)
    for chunk in np.split(frames, np.minimum(np.cumsum(cuts), n)):
        again.add(chunk)
    found = patches.result()
    assert found.tobytes() == again.result().tobytes()
    assert patches.n_frames == again.n_frames == n
    assert len(found) == max(1, min(n_wanted, n // 10))
    if n < 10:
        np.testing.assert_array_equal(found[0, :, 0], np.arange(10) % n)
        return
    starts = found[:, 0, 0]
    np.testing.assert_array_equal(found[..., 0], starts[:, None] + np.arange(10))
    ideal = (np.arange(len(found)) + 0.5) * n / len(found)  # the middle of each equal share of the song
    assert np.abs(starts + 5 - ideal).max() <= 15 + n / (
        6 * n_wanted
    )  # at most half of what lies between stored patches


def test_memory_is_bounded_whatever_the_length():
    patches = SpreadPatches(10, 3, 1)
    for _ in range(200):
        patches.add(np.zeros((500, 1), np.float32))
    assert len(patches._stored) <= 24


# ---- vectors


def test_the_vector_is_the_mean_over_patches(encoder):
    frames = levels_of(0, 10 * 187)
    patches = np.stack([frames[187 * i : 187 * (i + 1)] for i in (1, 5, 8)])
    expected = MusicnnNetwork(random_weights()).penultimate(patches).mean(axis=0)
    np.testing.assert_allclose(encoder.encode(frames), expected, rtol=1e-12)


@pytest.mark.parametrize("sizes", [[300], [1] * 300, [0, 7, 256, 0, 37], [150, 150]])
def test_the_vector_is_the_same_for_any_chunking(encoder, sizes):
    song = levels_of(3)
    accumulator = encoder.start()
    for chunk in np.split(song, np.cumsum(sizes)[:-1]):
        accumulator.add(chunk)
    assert accumulator.n_frames == len(song)
    assert accumulator.result().tobytes() == encoder.encode(song).tobytes()


@pytest.mark.parametrize(
    "song",
    [
        np.zeros((50, 96)),
        levels_of(0, 1),
        np.where(np.arange(9600).reshape(100, 96) % 2, 1e30, -1e30),
        np.full((400, 96), 1e-30),
        levels_of(4, 20_000),
    ],
    ids=["silence", "one frame", "huge values", "tiny values", "an hour"],
)
def test_every_song_has_a_finite_vector(encoder, song):
    vector = encoder.encode(song)
    assert vector.dtype == np.float64
    assert vector.shape == (200,)
    assert np.isfinite(vector.astype(np.float32)).all()


def test_a_file_its_samples_and_its_frames_have_the_same_vector(encoder, tmp_path):
    import soundfile

    samples = synthesised_song(4.0)
    soundfile.write(tmp_path / "song.wav", samples, 22_050, subtype="FLOAT")
    expected = encoder.encode(MusicnnMel().transform(samples)).tobytes()
    assert encoder.encode(samples).tobytes() == expected
    assert encode_file([encoder], tmp_path / "song.wav").vector.tobytes() == expected


def test_other_frames_are_refused(encoder):
    with pytest.raises(InvalidInputError, match="without frames"):
        encoder.start().result()
    with pytest.raises(InvalidInputError, match="39"):
        encoder.encode(np.zeros((5, 39)))
    with pytest.raises(InvalidInputError, match="NaN"):
        encoder.encode(np.full((5, 96), np.nan))
    with pytest.raises(InvalidInputError, match="delta_mfcc"):
        MusicnnEncoder.fit([], features=DeltaMFCC())


# ---- storing


def test_a_stored_encoder_is_the_same_and_small(encoder):
    data = encoder.to_bytes()
    assert len(data) < 50_000  # the last layer only
    restored = read_encoder(data)
    assert restored.key == encoder.key
    assert restored.to_bytes() == data
    assert restored.encode(levels_of(1)).tobytes() == encoder.encode(levels_of(1)).tobytes()


def test_without_weights_songs_can_be_compared_but_not_analysed(encoder, nothing_installed):
    kinds = np.arange(12) % 3
    vectors = np.random.default_rng(0).normal(kinds[:, None], size=(12, 200))
    model = SimilarityModel.learn(read_encoder(encoder.to_bytes()), vectors, kinds)
    assert SimilarityModel.from_bytes(model.to_bytes()).project(vectors).tobytes() == model.project(vectors).tobytes()
    assert model.encoder.tags(vectors).shape == (12, 50)
    for call in (model.encoder.check_installed, model.encoder.start, MusicnnEncoder.check_available):
        with pytest.raises(EncoderNotInstalledError, match="Run: nearsong encoders install musicnn"):
            call()
    with pytest.raises(EncoderNotInstalledError, match="Run: nearsong encoders install musicnn"):
        MusicnnEncoder.fit([])


def test_a_joined_encoder_and_an_upload_need_its_weights_too(encoder, nothing_installed, tmp_path):
    from nearsong.model.encoders.pretrained.vectors import VectorsEncoder
    from nearsong.web.http.problems import ApiError
    from nearsong.web.media.receiving import Received
    from nearsong.web.media.uploads import Uploads
    from nearsong.web.settings import ServeSettings

    both = joined([VectorsEncoder(3, "digest", "clap.npz"), encoder])
    with pytest.raises(EncoderNotInstalledError, match="Run: nearsong encoders install musicnn"):
        both.check_installed()
    uploads = Uploads(ServeSettings())
    with pytest.raises(ApiError, match="not installed on the server"):
        uploads._analyse(Received(tmp_path / "song.mp3", "song.mp3", ".mp3", 1), both)
    uploads.close()


def test_other_weights_are_another_encoder(encoder, tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    store_weights(random_weights(1))
    other = MusicnnEncoder.fit([])
    assert other.key != encoder.key
    with pytest.raises(EncoderNotInstalledError, match="other weights"):
        encoder.start()


def test_it_is_registered_by_name():
    assert check_encoder_names(["musicnn"]) == ("musicnn",)


# ---- tags


def test_tags_are_the_last_layer_of_the_vector(encoder):
    weights = random_weights()
    vectors = np.random.default_rng(0).normal(size=(5, 200))
    logits = vectors @ weights["dense_1/kernel"] + weights["dense_1/bias"]
    np.testing.assert_allclose(encoder.tags(vectors), 1 / (1 + np.exp(-logits)), rtol=1e-6)
    assert len(set(TAG_NAMES)) == 50
    assert encoder.tag_names == TAG_NAMES
    with np.errstate(all="raise"):
        assert np.isfinite(encoder.tags(np.full((1, 200), 1e6))).all()


def test_every_dimension_is_labelled_by_a_tag(encoder):
    labels = encoder.labels()
    assert len(labels) == 200
    assert set(labels) <= set(TAG_NAMES)
    weights = random_weights()["dense_1/kernel"]
    assert labels[7] == TAG_NAMES[int(weights[7].argmax())]
