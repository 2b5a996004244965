"""A style and a seed -> an album cover for the demo, with shapes and colours of the style."""

from collections.abc import Callable, Mapping
from io import BytesIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from nearsong.errors import InvalidInputError

SIDE_PIXELS = 300
"""Width and height of a cover."""

Field = npt.NDArray[np.floating]
Random = np.random.Generator

_OVERSAMPLING = 2  # for smooth edges
_PALETTES: Mapping[str, tuple[str, ...]] = {
    "Ambient": ("#0b1f3a", "#1d4e6f", "#4f9da6", "#a8d5ba", "#f3e9d2"),
    "Techno": ("#0a0a12", "#2b1055", "#7a1cac", "#f72585", "#38e1ff"),
    "Fingerstyle": ("#3b2a1a", "#7a4f2a", "#c08552", "#e6b980", "#f7ead3"),
    "Chiptune": ("#0f0f3d", "#2d3bd9", "#00c49a", "#ffcf33", "#ff4d6d"),
    "Slow Piano": ("#15171c", "#343a46", "#707a8c", "#b9c0cc", "#f2f0ea"),
    "Heavy": ("#0c0c0c", "#2a0f10", "#6d1313", "#c1121f", "#efe6dd"),
    "Bossa": ("#0b3d3a", "#137a63", "#f2c14e", "#f78154", "#fbf3e4"),
    "Chamber": ("#1f1a2e", "#4a3b5c", "#8c5e6b", "#cfa384", "#efe1c6"),
}


def cover(style: str, seed: tuple[int, ...]) -> bytes:
    """Return a cover as JPEG; the same style and seed give the same picture.

    Parameters
    ----------
    style : str
        Name of a style.
    seed : tuple of int

    Raises
    ------
    InvalidInputError
        If the style is unknown.
    """
    if style not in _PALETTES:
        raise InvalidInputError(f"style {style!r} is unknown; choose one of {', '.join(_PALETTES)}.")
    random = np.random.default_rng(seed)
    n = SIDE_PIXELS * _OVERSAMPLING
    x, y = np.meshgrid(*2 * [np.linspace(0, 1, n, dtype=np.float32)])
    if random.random() < 0.5:
        x = 1 - x
    shades = _SHAPES[style](x, y, random)
    # mostly in the order of the palette, from dark to light
    colours = np.array([[int(code[i : i + 2], 16) for i in (1, 3, 5)] for code in _PALETTES[style]])
    if random.random() < 0.35:
        colours = colours[::-1]
    stops = np.linspace(0, 1, len(colours))
    gradient = np.column_stack([np.interp(np.linspace(0, 1, 1024), stops, channel) for channel in colours.T])
    painted = gradient.astype(np.float32)[(np.clip(shades, 0, 1) * 1023).astype(np.int16)]
    small = painted.reshape(SIDE_PIXELS, _OVERSAMPLING, SIDE_PIXELS, _OVERSAMPLING, 3).mean(axis=(1, 3))
    squared = np.linspace(-0.5, 0.5, SIDE_PIXELS) ** 2
    small *= 1 - 0.22 * (squared[:, None] + squared)[..., None]  # vignette
    small += random.normal(scale=2.5, size=(SIDE_PIXELS, SIDE_PIXELS, 1))  # paper grain
    buffer = BytesIO()
    Image.fromarray(np.clip(small, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=82, optimize=True)
    return buffer.getvalue()


# ---- shapes: coordinates (x, y) -> shade, 0 to 1 along the palette


def _haze(x: Field, y: Field, random: Random) -> Field:
    """Layers of soft light."""
    shade = 0.15 + 0.55 * (1 - y)
    for _ in range(5):
        cx, cy, wide = random.uniform(0, 1), random.uniform(0.1, 0.9), random.uniform(0.1, 0.35)
        shade = shade + random.uniform(-0.3, 0.4) * np.exp(-((x - cx) ** 2 + 3 * (y - cy) ** 2) / wide**2)
    shade += 0.03 * np.sin(40 * y + 6 * np.sin(3 * x))
    return shade


def _pulse(x: Field, y: Field, random: Random) -> Field:
    """Interfering rings."""
    total = np.zeros_like(x)
    for _ in range(2):
        cx, cy = random.uniform(0.15, 0.85, 2)
        total += np.sin(random.uniform(45, 80) * np.hypot(x - cx, y - cy))
    return np.where(total > 0.6, 1.0, np.where(total > -0.2, 0.62, 0.1 + 0.3 * y))


def _strings(x: Field, y: Field, random: Random) -> Field:
    """Vibrating strings."""
    shade = 0.9 - 0.25 * y
    n, along = int(random.integers(4, 9)), y if random.random() < 0.5 else x
    across = x if along is y else y
    for k in range(n):
        size, at, bends = random.uniform(0.01, 0.6 / n), random.uniform(0.2, 0.8), random.integers(1, 5)
        line = (k + 1) / (n + 1) + size * np.sin(np.pi * across * bends) * np.exp(-5 * (across - at) ** 2)
        shade = np.where(np.abs(along - line) < 0.004 + 0.0025 * k, 0.05 * k, shade - 0.5 / n * (along > line))
    return shade


def _blocks(x: Field, y: Field, random: Random) -> Field:
    """Blocks in the shape of a symmetric creature."""
    cells = random.random((12, 6)) < 0.48
    both = np.hstack([cells, cells[:, ::-1]])
    tint = 0.5 + 0.25 * random.integers(0, 3, (12, 1)) * np.ones((1, 12))
    column, row = np.clip((14 * x - 1).astype(int), 0, 11), np.clip((14 * y - 1).astype(int), 0, 11)
    inside = (x > 1 / 14) & (x < 13 / 14) & (y > 1 / 14) & (y < 13 / 14)
    return np.where(inside & both[row, column], tint[row, column], 0.06 + 0.14 * y)


def _keys(x: Field, y: Field, random: Random) -> Field:
    """Broad planes and a moon."""
    turn = random.uniform(-0.35, 0.35)
    shade = np.full_like(x, 0.85)
    for level, edge in enumerate(np.sort(random.uniform(0.35, 1.0, 4))):
        shade = np.where(y + turn * (x - 0.5) > edge, 0.6 - 0.15 * level, shade)
    cx, cy, r = random.uniform(0.3, 0.7), random.uniform(0.2, 0.4), random.uniform(0.09, 0.16)
    return np.where(np.hypot(x - cx, y - cy) < r, 1.0 if random.random() < 0.5 else 0.05, shade)


def _shards(x: Field, y: Field, random: Random) -> Field:
    """Splinters around one point."""
    cx, cy = random.uniform(0.3, 0.7, 2)
    angle = (np.arctan2(y - cy, x - cx) / (2 * np.pi)) % 1
    edges = np.sort(random.random(26))
    tones = random.choice([0.0, 0.25, 0.5, 0.75, 1.0], 27, p=[0.3, 0.25, 0.2, 0.17, 0.08])
    shade: Field = tones[np.searchsorted(edges, angle)] * np.clip(2.6 * np.hypot(x - cx, y - cy), 0.2, 1)
    return shade


def _waves(x: Field, y: Field, random: Random) -> Field:
    """Waves under a sun."""
    cx, cy, r = random.uniform(0.25, 0.75), random.uniform(0.2, 0.4), random.uniform(0.12, 0.2)
    shade = np.where(np.hypot(x - cx, y - cy) < r, 0.75, 1.0)
    tall, phase = random.uniform(0.02, 0.06), random.uniform(0, 2 * np.pi, 6)
    for k in range(6):
        edge = 0.45 + 0.095 * k + tall * np.sin(2 * np.pi * (1.5 + 0.3 * k) * x + phase[k])
        shade = np.where(y > edge, (0.5, 0.3, 0.1, 0.25, 0.05, 0.0)[k], shade)
    return shade


def _arches(x: Field, y: Field, random: Random) -> Field:
    """Nested arches."""
    columns = int(random.integers(1, 4))
    across = (columns * x) % 1 - 0.5
    foot = random.uniform(0.45, 0.65)
    far = np.where(y > foot, np.abs(across), np.hypot(across, (foot - y) * columns))
    rings = np.floor(far * random.integers(9, 14)) / 6
    return np.where(far < 0.5, 0.12 + 0.88 * rings, 0.1 + 0.2 * y)


_SHAPES: Mapping[str, Callable[[Field, Field, Random], Field]] = {
    "Ambient": _haze,
    "Techno": _pulse,
    "Fingerstyle": _strings,
    "Chiptune": _blocks,
    "Slow Piano": _keys,
    "Heavy": _shards,
    "Bossa": _waves,
    "Chamber": _arches,
}
