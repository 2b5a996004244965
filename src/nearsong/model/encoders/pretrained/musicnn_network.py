"""Patches of a mel spectrogram -> what MSD_musicnn makes of them: 200 numbers and the logits of 50 tags.

The network of J. Pons and X. Serra, "musicnn: pre-trained convolutional neural networks for music audio tagging"
(2019), as the package ``musicnn`` 0.1.0 defines it: two kernels over frequency (7 frames x 38 or 67 of 96 bands) and
three over time (128, 64 and 32 frames), each followed by ReLU, batch normalisation and the maximum over frequency;
three layers over 7 frames, two of them residual; maximum and mean over time; a dense layer of 200 units, whose
normalised output is the embedding, and a dense layer of 50 tags.

Batch normalisation comes before the maximum. Where its factor is negative it turns the maximum into a minimum; there
the sign of the kernel is flipped.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model.encoders.pretrained.fast_correlation import LANES, MaxCorrelation, correlate, pack_kernels

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

PATCH_FRAMES = 187
"""Frames of a patch: three seconds."""

N_BANDS = 96
"""Mel bands of a frame."""

N_UNITS = 200
"""Numbers of the penultimate layer."""

N_TAGS = 50
"""Tags of the last layer."""

_FRONT = ((7, 38), (7, 67), (128, 1), (64, 1), (32, 1))  # frames x bands of the kernels
_FRONT_CHANNELS = (204, 204, 51, 51, 51)
_MIDDLE_FRAMES, _MIDDLE_CHANNELS = 7, 64
_EPSILON = 1e-3  # of batch normalisation


def weight_shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of weights, by the name it has in the checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i, ((n_frames, n_bands), n_channels) in enumerate(zip(_FRONT, _FRONT_CHANNELS, strict=True)):
        shapes[f"{_layer('conv2d', i)}/kernel"] = (n_frames, n_bands, 1, n_channels)
    for i, n_inputs in enumerate((sum(_FRONT_CHANNELS), _MIDDLE_CHANNELS, _MIDDLE_CHANNELS), start=len(_FRONT)):
        shapes[f"conv2d_{i}/kernel"] = (_MIDDLE_FRAMES, n_inputs, 1, _MIDDLE_CHANNELS)
    n_pooled = 2 * (sum(_FRONT_CHANNELS) + 3 * _MIDDLE_CHANNELS)
    shapes |= {"dense/kernel": (n_pooled, N_UNITS), "dense_1/kernel": (N_UNITS, N_TAGS)}
    shapes |= {name.replace("kernel", "bias"): shape[-1:] for name, shape in shapes.items()}
    normalised = (1, *_FRONT_CHANNELS, *[_MIDDLE_CHANNELS] * 3, n_pooled, N_UNITS)
    for i, size in enumerate(normalised):
        for part in ("beta", "gamma", "moving_mean", "moving_variance"):
            shapes[f"{_layer('batch_normalization', i)}/{part}"] = (size,)
    return shapes


class MusicnnNetwork:
    """The forward pass of MSD_musicnn.

    Parameters
    ----------
    weights : mapping of str to array
        As in the checkpoint; see :func:`weight_shapes`.

    Examples
    --------
    >>> import numpy as np
    >>> weights = {name: np.full(shape, 0.01, np.float32) for name, shape in weight_shapes().items()}
    >>> MusicnnNetwork(weights).penultimate(np.zeros((2, 187, 96), np.float32)).shape
    (2, 200)
    """

    def __init__(self, weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
        check_weights(weights)
        self._weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}
        self._input_scale, self._input_shift = self._normalisation(0)
        self._front = [self._front_layer(i) for i in range(len(_FRONT))]
        self._middle = [self._middle_layer(i) for i in range(len(_FRONT), len(_FRONT) + 3)]
        scale, shift = self._normalisation(9)
        kernel, bias = self._weights["dense/kernel"], self._weights["dense/bias"]
        self._dense, self._dense_bias = scale[:, None] * kernel, bias + shift @ kernel
        self._dense_scale, self._dense_shift = self._normalisation(10)
        del self._weights

    def penultimate(self, patches: npt.ArrayLike) -> Doubles:
        """Return the penultimate layer (n_patches, 200) of patches (n_patches, 187, 96)."""
        stack = np.asarray(patches, dtype=np.float32)
        if stack.ndim != 3 or stack.shape[1:] != (PATCH_FRAMES, N_BANDS):
            raise InvalidInputError(
                f"patches has shape {stack.shape}; (n_patches, {PATCH_FRAMES}, {N_BANDS}) is needed."
            )
        return np.array([self._penultimate(patch) for patch in stack]).reshape(len(stack), N_UNITS)

    def _penultimate(self, patch: Floats) -> Doubles:
        signal = (patch * self._input_scale + self._input_shift).astype(np.float32)
        layers = [layer(signal) for layer in self._front]
        front = np.concatenate(layers, axis=1)
        first = self._middle[0](front)
        second = self._middle[1](first) + first
        third = self._middle[2](second) + second
        features = np.concatenate([front, first, second, third], axis=1)
        pooled = np.stack([features.max(axis=0), features.mean(axis=0, dtype=np.float64)], axis=1).ravel()
        # einsum and not a BLAS: its sums have the same order for any number of threads
        dense = np.einsum("i,ij->j", pooled, self._dense) + self._dense_bias
        return np.asarray(np.maximum(dense, 0) * self._dense_scale + self._dense_shift)

    def _normalisation(self, i: int) -> tuple[Doubles, Doubles]:
        """Return factor and summand (n_channels,) of a batch normalisation."""
        name = _layer("batch_normalization", i)
        gamma, beta, mean, variance = (
            self._weights[f"{name}/{part}"] for part in ("gamma", "beta", "moving_mean", "moving_variance")
        )
        scale = gamma / np.sqrt(variance + _EPSILON)
        return scale, beta - mean * scale

    def _front_layer(self, i: int) -> "_FrontLayer":
        name = _layer("conv2d", i)
        return _FrontLayer(
            self._weights[f"{name}/kernel"][:, :, 0], self._weights[f"{name}/bias"], *self._normalisation(i + 1)
        )

    def _middle_layer(self, i: int) -> "_MiddleLayer":
        kernel, bias = self._weights[f"conv2d_{i}/kernel"], self._weights[f"conv2d_{i}/bias"]
        return _MiddleLayer(kernel[:, :, 0], bias, *self._normalisation(i + 1))


class _FrontLayer:
    """Kernels (n_frames, n_bands, n_channels), ReLU, normalisation, and the maximum over frequency."""

    def __init__(self, kernels: Doubles, bias: Doubles, scale: Doubles, shift: Doubles) -> None:
        n_frames, n_bands, _ = kernels.shape
        self._signs = np.where(scale < 0, -1.0, 1.0).astype(np.float32)
        self._bias, self._scale, self._shift = (a.astype(np.float32) for a in (bias, scale, shift))
        self._padding = ((n_frames - 1) // 2, n_frames // 2)
        signed = (kernels * self._signs).astype(np.float32)
        self._is_over_time = n_bands == 1
        n_positions = N_BANDS - n_bands + 1
        self._correlation = (
            MaxCorrelation(signed.transpose(1, 0, 2), n_positions, PATCH_FRAMES, over_inner=False)
            if self._is_over_time  # the long axis of the kernel is the inner one
            else MaxCorrelation(signed, PATCH_FRAMES, n_positions, over_inner=True)
        )

    def __call__(self, signal: Floats) -> Floats:
        padded = np.pad(signal, (self._padding, (0, 0)))
        extreme = self._correlation(padded.T if self._is_over_time else padded) * self._signs
        return np.asarray(np.maximum(extreme + self._bias, 0) * self._scale + self._shift)


class _MiddleLayer:
    """Kernels over 7 frames and all channels (7, n_inputs, n_channels), ReLU and normalisation."""

    def __init__(self, kernels: Doubles, bias: Doubles, scale: Doubles, shift: Doubles) -> None:
        self._n_inputs = kernels.shape[1]
        self._packed = pack_kernels(kernels.reshape(-1, kernels.shape[2]))
        self._bias, self._scale, self._shift = (a.astype(np.float32) for a in (bias, scale, shift))

    def __call__(self, features: Floats) -> Floats:
        half = _MIDDLE_FRAMES // 2
        padded = np.pad(features, ((half, half), (0, 0))).ravel()
        out = np.empty((len(features), len(self._packed) * LANES), np.float32)
        correlate(padded, self._n_inputs, len(features), self._packed, out)
        return np.asarray(np.maximum(out[:, : len(self._bias)] + self._bias, 0) * self._scale + self._shift)


def check_weights(weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Raise unless these are the weights of this network."""
    for name, shape in weight_shapes().items():
        array = weights.get(name)
        if array is None or array.shape != shape or not np.isfinite(array).all():
            came = "missing" if array is None else f"of shape {array.shape}, or not finite"
            raise InvalidInputError(f"weights {name} are {came}; {shape} is needed. Install musicnn again.")


def _layer(kind: str, i: int) -> str:
    """Return the name of the i-th layer of a kind; TensorFlow numbers them from the second on."""
    return f"{kind}_{i}" if i else kind
