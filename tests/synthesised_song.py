"""A song by a formula: decaying tones, a beat of noise and a bass, the same on every machine."""

import numpy as np


def synthesised_song(seconds: float = 10.0, sample_rate: int = 22_050, seed: int = 0) -> np.ndarray:
    """Return mono samples (n_samples,), float32, with a peak of about a half."""
    random = np.random.default_rng(seed)
    n = round(seconds * sample_rate)
    time = np.arange(n) / sample_rate
    song = 0.1 * np.sin(2 * np.pi * 55 * time) * (1 + np.sin(2 * np.pi * 0.5 * time))
    for note in range(int(4 * seconds)):
        start = note * sample_rate // 4
        since = time[: n - start]
        pitch = 220 * 2 ** ((7 * note % 12 + 12 * (note % 3)) / 12)
        tone = sum(np.sin(2 * np.pi * pitch * k * since) / k**1.5 for k in range(1, 8))
        song[start:] += 0.12 * np.exp(-6 * since) * tone
        if note % 2:
            song[start:] += 0.15 * np.exp(-25 * since) * random.normal(size=len(since))
    return (0.5 * song).astype(np.float32)
