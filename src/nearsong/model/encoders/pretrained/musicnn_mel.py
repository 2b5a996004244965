"""Samples -> the mel spectrogram that musicnn reads: 96 bands of 32 ms at 16,000 Hz, log10(10,000 x + 1).

The same as librosa's ``melspectrogram(sr=16_000, n_fft=512, hop_length=256, n_mels=96)``. The original rounds the
power to half precision before the logarithm, which changes the embedding by about 1e-4; here it is not rounded.
"""

from typing import ClassVar

import numpy as np

from nearsong.audio.decode import SAMPLE_RATE, Samples
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.audio.spectrum.mel_power import FRAME_LENGTH, HOP_LENGTH, band_edges, hann_window, mel_bands, mel_power
from nearsong.model.encoders.pretrained.musicnn_network import N_BANDS
from nearsong.model.encoders.pretrained.resampled import ResampledSamples

MUSICNN_SAMPLE_RATE = 16_000
"""Sample rate in Hz that musicnn was trained with."""

_GAIN = np.float32(10_000)
_TILE_FRAMES = 256
_TILE_STEP_SAMPLES = _TILE_FRAMES * HOP_LENGTH
_TILE_SAMPLES = FRAME_LENGTH + (_TILE_FRAMES - 1) * HOP_LENGTH


class MusicnnMel(FrameFeatures):
    """The logarithm of the power in 96 mel bands, 62.5 times a second.

    Frame i has 512 samples at 16,000 Hz, centred at sample ``256 * i``, with zero padding at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> MusicnnMel().transform(np.zeros(3 * 22_050, np.float32)).shape
    (188, 96)
    """

    name: ClassVar[str] = "musicnn_mel"

    def __init__(self) -> None:
        self.sample_rate = SAMPLE_RATE
        self.n_features = N_BANDS
        self.min_samples = FRAME_LENGTH
        self.seconds_a_frame = HOP_LENGTH / MUSICNN_SAMPLE_RATE
        self._window = hann_window(FRAME_LENGTH).astype(np.float32)
        self._bands = mel_bands(MUSICNN_SAMPLE_RATE, N_BANDS)
        self._edges = band_edges(self._bands)

    def parameters(self) -> dict[str, int]:
        """Return the parameters: none."""
        return {}

    def start(self) -> "_MelStream":
        """Return a stream for one song."""
        return _MelStream(self)

    def tile(self, samples: Samples) -> Frames:
        """Return the frames (256, 96) of one tile of samples at 16,000 Hz."""
        power, _ = mel_power(samples, _TILE_FRAMES, self._window, self._bands, self._edges)
        power *= _GAIN
        return np.asarray(np.log10(power + np.float32(1)), dtype=np.float32)


class _MelStream:
    """Cuts the resampled signal of one song into overlapping tiles; the last one is zero-padded and trimmed."""

    def __init__(self, features: MusicnnMel) -> None:
        self._features = features
        self._resampled = ResampledSamples(MUSICNN_SAMPLE_RATE)
        self._pending = np.zeros(FRAME_LENGTH // 2, np.float32)

    def add(self, samples: Samples) -> Frames:
        return self._complete(self._resampled.add(samples))

    def _complete(self, samples: Samples) -> Frames:
        pending = np.concatenate([self._pending, samples])
        n_tiles = max(0, (len(pending) - _TILE_SAMPLES) // _TILE_STEP_SAMPLES + 1)
        starts = [i * _TILE_STEP_SAMPLES for i in range(n_tiles)]
        self._pending = pending[n_tiles * _TILE_STEP_SAMPLES :]
        return self._joined([self._features.tile(pending[start : start + _TILE_SAMPLES]) for start in starts])

    def finish(self) -> Frames:
        frames = self._complete(self._resampled.finish())
        n_frames = (len(self._pending) + FRAME_LENGTH // 2 - FRAME_LENGTH) // HOP_LENGTH + 1
        padded = np.concatenate([self._pending, np.zeros(2 * _TILE_SAMPLES, np.float32)])
        tiles = [
            self._features.tile(padded[i * HOP_LENGTH : i * HOP_LENGTH + _TILE_SAMPLES])[: n_frames - i]
            for i in range(0, n_frames, _TILE_FRAMES)
        ]
        return self._joined([frames, *tiles])

    def _joined(self, pieces: list[Frames]) -> Frames:
        return np.concatenate([np.empty((0, N_BANDS), np.float32), *pieces])
