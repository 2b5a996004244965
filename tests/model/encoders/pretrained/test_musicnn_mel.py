"""The mel spectrogram of musicnn, against librosa."""

import librosa
import numpy as np
import pytest
import soxr

from nearsong.model.encoders.pretrained.musicnn_mel import MusicnnMel
from nearsong.model.encoders.pretrained.resampled import ResampledSamples
from synthesised_song import synthesised_song


@pytest.mark.parametrize("seconds", [0.1, 1.0, 4.1, 9.7])
def test_it_is_that_of_librosa_at_16_000_hertz(seconds):
    samples = synthesised_song(seconds)
    resampled = librosa.resample(samples, orig_sr=22_050, target_sr=16_000)
    power = librosa.feature.melspectrogram(y=resampled, sr=16_000, n_fft=512, hop_length=256, n_mels=96).T
    levels = MusicnnMel().transform(samples)
    assert abs(len(levels) - len(power)) <= 1
    n = min(len(levels), len(power)) - 1  # the last frame depends on how the end is rounded
    np.testing.assert_allclose(levels[:n], np.log10(10_000 * power + 1)[:n], rtol=0, atol=1e-5)


@pytest.mark.parametrize("size", [1, 333, 65_536])
def test_frames_do_not_depend_on_blocks(size):
    samples = synthesised_song(0.5 if size == 1 else 5.0)
    features = MusicnnMel()
    blocks = [samples[start : start + size] for start in range(0, len(samples), size)]
    assert np.concatenate(list(features.stream(blocks))).tobytes() == features.transform(samples).tobytes()


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 48_000])
def test_resampling_in_blocks_is_resampling_at_once(rate):
    samples = synthesised_song(5.0)
    stream = ResampledSamples(rate)
    blocks = [stream.add(samples[start : start + 10_001]) for start in range(0, len(samples), 10_001)]
    found = np.concatenate([*blocks, stream.finish()])
    expected = soxr.resample(samples, 22_050, rate, quality="HQ")
    assert abs(len(found) - len(expected)) <= 1
    n = min(len(found), len(expected))
    np.testing.assert_allclose(found[:n], expected[:n], rtol=0, atol=1e-6)
