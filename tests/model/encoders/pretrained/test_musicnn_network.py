"""The forward pass of musicnn: against a literal one with random weights, and against numbers of the original."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import signal as scipy_signal
from threadpoolctl import threadpool_limits

from nearsong.errors import InvalidInputError
from nearsong.model.encoders.pretrained.fast_correlation import MaxCorrelation, correlate, pack_kernels
from nearsong.model.encoders.pretrained.musicnn_network import MusicnnNetwork, check_weights, weight_shapes
from random_weights import random_weights

PATCHES = np.random.default_rng(3).uniform(0, 4, size=(2, 187, 96)).astype(np.float32)


@pytest.fixture(scope="module")
def network() -> MusicnnNetwork:
    return MusicnnNetwork(random_weights())


def valid(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return the correlation wherever the kernel fits into x."""
    return scipy_signal.correlate(x, kernel, "valid", method="fft" if kernel.size > 20 else "direct")


# ---- correlations


@pytest.mark.parametrize(
    ("outer_taps", "inner_taps", "n_outer", "n_inner", "n_kernels"),
    [
        (7, 38, 20, 59, 20),
        (7, 67, 9, 30, 3),
        (1, 128, 6, 50, 17),
        (3, 1, 7, 5, 1),
        (2, 5, 3, 13, 33),
        (1, 4, 2, 12, 16),
    ],
)
@pytest.mark.parametrize("over_inner", [True, False])
def test_the_largest_correlation_is_that_of_scipy(outer_taps, inner_taps, n_outer, n_inner, n_kernels, over_inner):
    random = np.random.default_rng(outer_taps + inner_taps)
    kernels = random.normal(size=(outer_taps, inner_taps, n_kernels)).astype(np.float32)
    signal = random.normal(size=(n_outer + outer_taps - 1, n_inner + inner_taps - 1)).astype(np.float32)
    found = MaxCorrelation(kernels, n_outer, n_inner, over_inner)(signal)
    each = [valid(signal.astype(float), kernels[..., i].astype(float)) for i in range(n_kernels)]
    expected = np.stack(each, axis=2).max(axis=1 if over_inner else 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.sqrt(outer_taps * inner_taps))


@pytest.mark.parametrize(
    ("n_rows", "stride", "n_taps", "n_kernels"), [(6, 1, 5, 3), (20, 7, 21, 40), (187, 64, 448, 64)]
)
def test_products_of_rows_are_those_of_numpy(n_rows, stride, n_taps, n_kernels):
    random = np.random.default_rng(n_rows)
    signal = random.normal(size=stride * (n_rows - 1) + n_taps).astype(np.float32)
    kernels = random.normal(size=(n_taps, n_kernels))
    packed = pack_kernels(kernels)
    out = np.empty((n_rows, len(packed) * 16), np.float32)
    correlate(signal, stride, n_rows, packed, out)
    rows = np.stack([signal[stride * i : stride * i + n_taps] for i in range(n_rows)])
    np.testing.assert_allclose(out[:, :n_kernels], rows @ kernels, rtol=0, atol=1e-4)


# ---- the network


def literal(weights: dict[str, np.ndarray], patch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return penultimate layer and logits, layer by layer as the package defines them, in double precision."""
    weights = {name: array.astype(float) for name, array in weights.items()}

    def normalised(x: np.ndarray, i: int) -> np.ndarray:
        name = f"batch_normalization_{i}" if i else "batch_normalization"
        gamma, beta = weights[f"{name}/gamma"], weights[f"{name}/beta"]
        mean, variance = weights[f"{name}/moving_mean"], weights[f"{name}/moving_variance"]
        return gamma * (x - mean) / np.sqrt(variance + 0.001) + beta

    def convolved(x: np.ndarray, i: int, before: int, after: int) -> np.ndarray:
        name = f"conv2d_{i}" if i else "conv2d"
        padded = np.pad(x, ((before, after), (0, 0)))
        kernels = weights[f"{name}/kernel"][:, :, 0]
        maps = [valid(padded, kernels[..., c]) for c in range(kernels.shape[-1])]
        return np.maximum(np.stack(maps, axis=-1) + weights[f"{name}/bias"], 0)

    x = normalised(patch.astype(float)[..., None], 0)[..., 0]
    paddings = [(3, 3), (3, 3), (63, 64), (31, 32), (15, 16)]
    front = [normalised(convolved(x, i, *padding), i + 1).max(axis=1) for i, padding in enumerate(paddings)]
    features = np.concatenate(front, axis=1)
    first = normalised(convolved(features, 5, 3, 3)[:, 0], 6)
    second = normalised(convolved(first, 6, 3, 3)[:, 0], 7) + first
    third = normalised(convolved(second, 7, 3, 3)[:, 0], 8) + second
    everything = np.concatenate([features, first, second, third], axis=1)
    pooled = np.stack([everything.max(axis=0), everything.mean(axis=0)], axis=1).ravel()
    dense = np.maximum(normalised(pooled, 9) @ weights["dense/kernel"] + weights["dense/bias"], 0)
    penultimate = normalised(dense, 10)
    return penultimate, penultimate @ weights["dense_1/kernel"] + weights["dense_1/bias"]


def test_it_is_the_network_layer_by_layer(network):
    expected, _ = literal(random_weights(), PATCHES[0])
    np.testing.assert_allclose(network.penultimate(PATCHES[:1])[0], expected, rtol=0, atol=1e-5)


def test_a_patch_does_not_depend_on_the_others_or_on_threads(network):
    together = network.penultimate(PATCHES)
    assert together[1].tobytes() == network.penultimate(PATCHES[1:])[0].tobytes()
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            assert network.penultimate(PATCHES).tobytes() == together.tobytes()


def test_other_patches_and_weights_are_refused(network):
    with pytest.raises(InvalidInputError, match=r"\(1, 186, 96\)"):
        network.penultimate(PATCHES[:1, 1:])
    weights = random_weights()
    with pytest.raises(InvalidInputError, match=r"dense/kernel are of shape \(2, 2\)"):
        check_weights({**weights, "dense/kernel": np.zeros((2, 2), np.float32)})
    with pytest.raises(InvalidInputError, match="dense/bias are missing"):
        check_weights({name: array for name, array in weights.items() if name != "dense/bias"})
    with pytest.raises(InvalidInputError, match="not finite"):
        check_weights({**weights, "dense/bias": np.full(200, np.nan, np.float32)})


def test_it_has_the_numbers_of_the_package():
    assert sum(int(np.prod(shape)) for shape in weight_shapes().values()) == 792_079


# ---- the original


def test_it_equals_the_original_under_tensorflow(musicnn_weights):
    """Recorded once with TensorFlow 2.15 and the code of musicnn 0.1.0, from a synthesised song."""
    from nearsong.model.encoders.pretrained.musicnn_mel import MusicnnMel
    from synthesised_song import synthesised_song

    recorded = json.loads((Path(__file__).parent / "musicnn_numbers.json").read_text())
    levels = MusicnnMel().transform(synthesised_song())
    patches = np.stack([levels[i : i + 187] for i in (0, 187, 374)])
    penultimate = MusicnnNetwork(musicnn_weights).penultimate(patches)
    assert np.abs(penultimate - np.array(recorded["penultimate"])).max() < 1e-4
    logits = penultimate @ musicnn_weights["dense_1/kernel"] + musicnn_weights["dense_1/bias"]
    assert np.abs(logits - np.array(recorded["logits"])).max() < 1e-4
    # the extractor itself rounds the mel spectrogram to half precision first
    assert np.abs(1 / (1 + np.exp(-logits)) - np.array(recorded["taggram"])).max() < 1e-4
