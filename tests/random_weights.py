"""Weights for musicnn's network that nobody trained, for tests that need no download."""

import numpy as np

from nearsong.model.encoders.pretrained.musicnn_network import weight_shapes


def random_weights(seed: int = 0) -> dict[str, np.ndarray]:
    """Return random weights of a sensible size; factors of normalisations have both signs."""
    random = np.random.default_rng(seed)
    weights = {}
    for name, shape in weight_shapes().items():
        if name.endswith("moving_variance"):
            array = random.uniform(0.5, 2.0, shape)
        elif name.endswith("kernel"):
            array = random.normal(0, 1 / np.sqrt(np.prod(shape[:-1])), shape)
        else:
            array = random.normal(0, 0.5, shape)
        weights[name] = array.astype(np.float32)
    return weights
