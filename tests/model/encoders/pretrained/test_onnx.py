"""Networks that a user has as ONNX files: their input, their output, and what is refused."""

import sys

import librosa
import numpy as np
import pytest

from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.model.encoders import read_encoder
from nearsong.model.encoders.pretrained.onnx import OnnxEncoder, install_onnx
from nearsong.model.encoders.pretrained.onnx_input import OnnxInput
from onnx_file import absolute_network, linear_network
from synthesised_song import synthesised_song

KERNEL = np.random.default_rng(0).normal(size=(8, 5))
MEL = """
name = "linear"
model = "linear.onnx"
licence = "CC0"
input = "mel"
sample_rate = 16000
patch = 20
patches = 2
[mel]
n_fft = 1024
hop = 400
bands = 8
level = "dB"
"""


@pytest.fixture
def folder(tmp_path, nothing_installed):
    (tmp_path / "linear.onnx").write_bytes(linear_network(KERNEL, 20))
    (tmp_path / "linear.toml").write_text(MEL)
    return tmp_path


@pytest.fixture
def encoder(folder) -> OnnxEncoder:
    return install_onnx(folder / "linear.toml")


# ---- input


@pytest.mark.parametrize("scale", ["slaney", "htk"])
@pytest.mark.parametrize("norm", ["slaney", "none"])
def test_the_mel_spectrogram_is_that_of_librosa(scale, norm):
    samples = synthesised_song(3.0)
    resampled = librosa.resample(samples, orig_sr=22_050, target_sr=16_000)
    options = {"sr": 16_000, "n_fft": 1024, "hop_length": 400, "n_mels": 40}
    kind = {"htk": scale == "htk", "norm": None if norm == "none" else norm}
    power = librosa.feature.melspectrogram(y=resampled, **options, **kind).T
    levels = {
        "power": power,
        "dB": 10 * np.log10(np.maximum(power, 1e-10)),
        "ln": np.log(np.maximum(power, 1e-10)),
        "log10(10000x+1)": np.log10(10_000 * power + 1),
    }
    for level, expected in levels.items():
        mel = {"n_fft": 1024, "hop": 400, "bands": 40, "scale": scale, "norm": norm, "level": level}
        found = OnnxInput(16_000, mel).transform(samples)
        n = min(len(found), len(expected)) - 2
        assert n > 110
        np.testing.assert_allclose(found[:n], expected[:n], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mel", [None, {"n_fft": 600, "hop": 100, "bands": 12}])
@pytest.mark.parametrize("size", [1, 777, 40_000])
def test_frames_do_not_depend_on_blocks(mel, size):
    samples = synthesised_song(0.2 if size == 1 else 3.0)
    features = OnnxInput(11_025, mel)
    blocks = [samples[start : start + size] for start in range(0, len(samples), size)]
    assert np.concatenate(list(features.stream(blocks))).tobytes() == features.transform(samples).tobytes()


# ---- vectors


def test_the_vector_is_the_pooled_output_of_patches(encoder):
    frames = np.random.default_rng(1).normal(size=(100, 8)).astype(np.float32)
    rows = [frames[start : start + 20].mean(axis=0) @ KERNEL for start in (20, 60)]
    np.testing.assert_allclose(encoder.encode(frames), np.mean(rows, axis=0), atol=1e-5)
    assert encoder.n_dimensions == 5


def test_a_song_that_the_network_fails_on_has_no_vector(encoder):
    vector = encoder.encode(np.full((30, 8), 3e38, np.float32))
    assert vector.shape == (5,)
    assert np.isnan(vector).all()
    np.testing.assert_array_equal(encoder.restore(vector[None]), vector[None])
    with pytest.raises(InvalidInputError, match="NaN"):
        encoder.check([[np.nan, 1, 2, 3, 4]])


def test_the_maximum_and_the_other_axes_can_be_chosen(folder):
    (folder / "linear.onnx").write_bytes(linear_network(np.random.default_rng(0).normal(size=(20, 5)), 8))
    text = MEL.replace("patches = 2", 'patches = 2\npooling = "max"') + 'axes = "band,time"\n'
    (folder / "linear.toml").write_text(text)
    encoder = install_onnx(folder / "linear.toml")
    frames = np.random.default_rng(1).normal(size=(100, 8)).astype(np.float32)
    kernel = np.random.default_rng(0).normal(size=(20, 5))
    rows = [(frames[start : start + 20].T @ kernel).mean(axis=0) for start in (20, 60)]
    np.testing.assert_allclose(encoder.encode(frames), np.max(rows, axis=0), atol=1e-5)


def test_samples_can_be_the_input(folder):
    (folder / "wave.onnx").write_bytes(absolute_network(50))
    description = {"name": "wave", "model": "wave.onnx", "licence": "CC0", "input": "waveform"}
    text = "".join(f'{key} = "{value}"\n' for key, value in description.items())
    (folder / "wave.toml").write_text(text + "sample_rate = 22050\npatch = 50\npatches = 1\n")
    encoder = install_onnx(folder / "wave.toml")
    samples = synthesised_song(0.1)
    vector = encoder.encode(samples)
    assert any(np.allclose(vector, np.abs(samples[at : at + 50])) for at in range(0, len(samples) - 50, 50))
    assert len(vector) == 50


def test_a_stored_encoder_is_the_same_until_the_network_is_gone(encoder, nothing_installed):
    frames = np.ones((30, 8), np.float32)
    restored = read_encoder(encoder.to_bytes())
    assert restored.key == encoder.key == OnnxEncoder.fit([]).key
    assert restored.encode(frames).tobytes() == encoder.encode(frames).tobytes()
    for path in nothing_installed.glob("*.onnx"):
        path.unlink()
    with pytest.raises(EncoderNotInstalledError, match=r"'linear' of the encoder onnx is not installed\. Run: nears"):
        read_encoder(encoder.to_bytes()).start()


def test_without_installation_the_command_is_named(nothing_installed):
    for call in (OnnxEncoder.check_available, OnnxEncoder.default_features):
        with pytest.raises(EncoderNotInstalledError, match=r"nearsong encoders install onnx --from FILE\.toml"):
            call()


def test_without_onnxruntime_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EncoderNotInstalledError, match=r"pip install 'nearsong\[onnx\]'"):
        install_onnx(folder / "linear.toml")


# ---- what is refused


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "linear"', "", "name is missing"),
        ("patch = 20", "patch = 0", "patch=0 must be a whole number of at least 1"),
        ("patch = 20", "patch = 99999999", "must be at most 1,250,000"),
        ("patch = 20", "patch = 20.5", "patch=20.5 must be a whole number"),
        ("patches = 2", "patches = 1000", "patches=1000 must be at most 50"),
        ("patches = 2", 'pooling = "median"', "pooling='median' is unknown; choose one of max, mean"),
        ('"mel"', '"image"', "input='image' is unknown"),
        ('"mel"', '"waveform"', "needed if input is 'mel', and only then"),
        ("hop = 400", "hop = 4000", "mel.hop=4000 must be at most 1,024"),
        ("hop = 400", "stride = 400", "mel.stride is unknown; choose from"),
        ("patches = 2", "patches = [", "Invalid value"),
        ("sample_rate = 16000", "sample_rate = 1", "sample_rate=1 must be a whole number of at least 4000"),
        ("[mel]", "mel = 3", "must be a table"),
    ],
)
def test_a_wrong_description_is_refused_in_one_line(folder, before, after, message):
    text = MEL.replace(before, after) if before != "[mel]" else MEL.split("[mel]")[0] + after
    (folder / "linear.toml").write_text(text)
    with pytest.raises(InvalidInputError) as caught:
        install_onnx(folder / "linear.toml")
    assert message in str(caught.value)
    assert "linear.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no network", "cannot be used"),
        (linear_network(KERNEL, 20)[:-30], "cannot be used"),
        (linear_network(KERNEL, 20, input_kind=11), "cannot be used"),
        (linear_network(KERNEL, 21), "cannot be used"),
        (linear_network(np.full((8, 5), np.inf), 20), "is not finite"),
    ],
    ids=["noise", "truncated", "double precision", "other shape", "infinite"],
)
def test_a_wrong_network_is_refused_in_one_line(folder, content, message):
    (folder / "linear.onnx").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"linear\.onnx") as caught:
        install_onnx(folder / "linear.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_have_other_outputs_are_named(folder):
    with pytest.raises(InvalidInputError, match=r"nothing\.toml: cannot be opened"):
        install_onnx(folder / "nothing.toml")
    (folder / "linear.toml").write_text('output = "logits"\n' + MEL)
    with pytest.raises(InvalidInputError, match="no output 'logits' but embedding"):
        install_onnx(folder / "linear.toml")
    (folder / "linear.onnx").unlink()
    with pytest.raises(InvalidInputError, match=r"linear\.onnx: cannot be opened \(No such file"):
        install_onnx(folder / "linear.toml")
    (folder / "linear.toml").write_bytes(b"\xff" * 10)
    with pytest.raises(InvalidInputError, match="is not the description of an ONNX encoder"):
        install_onnx(folder / "linear.toml")
