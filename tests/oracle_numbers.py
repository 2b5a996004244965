"""Numbers for the oracles, their sort and their counting, of kinds on which these go different ways."""

import numpy as np

DISTANCES = {
    "spread": lambda rng, shape: rng.random(shape) * 10.0 ** rng.uniform(-2, 2, (shape[0], 1)),
    "tied": lambda rng, shape: rng.integers(0, 4, shape) * rng.choice([0.1, 0.25, 0.5, 1.0], (shape[0], 1)),
    "equal": lambda rng, shape: np.full(shape, rng.choice([0.0, 1.7])),
    "margin apart": lambda rng, shape: 3.3 + 0.5 * rng.integers(0, 3, shape),
    "shifted": lambda rng, shape: 1e5 + rng.random(shape),
    "around zero": lambda rng, shape: 0.3 * rng.standard_normal(shape),
    "tiny": lambda rng, shape: 1e-9 * rng.standard_normal(shape),
    "large": lambda rng, shape: 1e9 * rng.random(shape),
}

KEYS = {
    "uniform": lambda rng, n: rng.random(n),
    "normal": lambda rng, n: 100.0 * rng.standard_normal(n),
    "few values": lambda rng, n: rng.integers(-2, 3, n).astype(float),
    "one value": lambda rng, n: np.full(n, -3.7),
    "both zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "only zeros": lambda rng, n: rng.choice([0.0, -0.0], n),
    "nearly equal": lambda rng, n: 1.0 + 1e-12 * rng.random(n),
    "neighbouring floats": lambda rng, n: 1.0 + np.finfo(float).eps * rng.integers(0, 40, n),
    "one far away": lambda rng, n: np.append(1e12, rng.random(n))[:n],
    "huge range": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n),
    "overflowing spread": lambda rng, n: rng.choice([-1.0, -0.5, 0.1, 0.7, 1.0], n) * 1.7e308,
    "subnormal": lambda rng, n: 5e-324 * rng.integers(0, 9, n),
    "ascending": lambda rng, n: np.sort(rng.random(n)),
    "descending": lambda rng, n: -np.sort(rng.random(n)),
}
