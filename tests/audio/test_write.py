import numpy as np
import pytest

from nearsong.audio import load_audio
from nearsong.audio.write import EXTENSIONS, write_audio
from nearsong.errors import InvalidInputError

LOSSLESS = {"wav", "flac"}


def two_tones(rate: int, seconds: float = 1.5) -> np.ndarray:
    """A stereo sound: 440 Hz on the left, 1,000 Hz on the right."""
    time = np.arange(round(rate * seconds)) / rate
    return 0.4 * np.sin(2 * np.pi * np.array([440.0, 1000.0]) * time[:, None])


def level_at(samples: np.ndarray, frequency: float, rate: int) -> float:
    """The amplitude of a frequency in the middle half of a sound."""
    middle = samples[len(samples) // 4 : -len(samples) // 4]
    phase = np.exp(-2j * np.pi * frequency * np.arange(len(middle)) / rate)
    return float(4 * abs(np.mean(np.hanning(len(middle)) * middle * phase)))


@pytest.mark.parametrize("rate", [24_000, 48_000])
@pytest.mark.parametrize("ending", EXTENSIONS)
def test_what_was_written_is_read_back_with_its_length_and_its_tones(tmp_path, ending, rate):
    path = write_audio(tmp_path / f"song.{ending}", two_tones(rate), rate)
    decoded = load_audio(path, sample_rate=rate)
    assert len(decoded) == pytest.approx(1.5 * rate, abs=0 if ending in LOSSLESS else 0.1 * rate)  # codecs pad
    for tone in (440, 1000):  # load_audio takes the mean of the two channels
        assert level_at(decoded, tone, rate) == pytest.approx(0.2, abs=0.015)  # LAME turns some rates down by 5 %
    assert level_at(decoded, 700, rate) < 1e-3


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_mono_and_stereo_of_the_same_sound_are_encoded_alike(tmp_path, ending):
    mono = two_tones(24_000)[:, 0]
    one = load_audio(write_audio(tmp_path / f"one.{ending}", mono, 24_000))
    two = load_audio(write_audio(tmp_path / f"two.{ending}", np.stack([mono, mono], axis=1), 24_000))
    assert len(one) == len(two)
    assert np.abs(one - two).mean() < 0.01


@pytest.mark.parametrize("ending", sorted(LOSSLESS))
def test_lossless_formats_keep_every_sample_to_16_bits(tmp_path, ending):
    sound = np.random.default_rng(0).uniform(-1, 1, 2_000).astype(np.float32)
    decoded = load_audio(write_audio(tmp_path / f"noise.{ending}", sound, 44_100), sample_rate=44_100)
    np.testing.assert_allclose(decoded, sound, atol=1.01 / 32_768)


def test_what_is_too_loud_is_cut_off_and_does_not_wrap_around(tmp_path):
    decoded = load_audio(write_audio(tmp_path / "loud.wav", [0.5, 1.5, -7.0, 0.0] * 50, 22_050))
    np.testing.assert_allclose(decoded, [0.5, 1.0, -1.0, 0.0] * 50, atol=1e-4)


def test_endings_in_upper_case_are_understood_and_a_file_is_replaced(tmp_path):
    path = write_audio(tmp_path / "SONG.FLAC", np.zeros(50_000), 24_000)
    assert write_audio(str(path), two_tones(24_000), 24_000) == path
    assert len(load_audio(path, sample_rate=24_000)) == 36_000


@pytest.mark.parametrize("name", ["song.wma", "song", "song.mp3.txt", ".mp3"])
def test_an_unknown_ending_is_refused(tmp_path, name):
    with pytest.raises(InvalidInputError, match=r"is not in a format .* flac, m4a, mp3, ogg, opus, wav\."):
        write_audio(tmp_path / name, np.zeros(100), 24_000)


@pytest.mark.parametrize("shape", [(), (0,), (0, 2), (10, 3), (10, 0), (2, 2, 2)])
def test_a_wrong_shape_is_refused(tmp_path, shape):
    with pytest.raises(InvalidInputError, match=r"\(n,\) for mono or \(n, 2\) for stereo is needed"):
        write_audio(tmp_path / "song.wav", np.zeros(shape), 24_000)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_refused(tmp_path, value):
    sound = np.zeros((10, 2))
    sound[7, 1] = value
    with pytest.raises(InvalidInputError, match="first at sample 7; replace"):
        write_audio(tmp_path / "song.wav", sound, 24_000)
    with pytest.raises(InvalidInputError, match="cannot be read as an array of numbers"):
        write_audio(tmp_path / "song.wav", ["loud"], 24_000)
    assert not (tmp_path / "song.wav").exists()


@pytest.mark.parametrize("ending", ["mp3", "opus", "m4a"])
def test_a_rate_that_a_codec_lacks_is_refused(tmp_path, ending):
    with pytest.raises(InvalidInputError, match=f"sample_rate=23456 is not supported by {ending}; choose one of"):
        write_audio(tmp_path / f"song.{ending}", np.zeros(100), 23_456)


def test_a_rate_beyond_reason_is_refused(tmp_path):
    for rate in (0, 999, 24_000.0):
        with pytest.raises(InvalidInputError, match=r"sample_rate=.* must be a whole number of at least 1000"):
            write_audio(tmp_path / "song.wav", np.zeros(100), rate)
    with pytest.raises(InvalidInputError, match="sample_rate=1000000 is too high"):
        write_audio(tmp_path / "song.wav", np.zeros(100), 1_000_000)


@pytest.mark.parametrize("ending", ["ogg", "m4a"])
def test_a_missing_folder_is_reported(tmp_path, ending):
    with pytest.raises(InvalidInputError, match=r"cannot be written .* check the folder"):
        write_audio(tmp_path / "nowhere" / f"song.{ending}", np.zeros(100), 24_000)
