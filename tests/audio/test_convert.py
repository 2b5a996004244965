"""Files of any format as FLAC and MP3: the same sound, to the last bit where 16 bits hold it, and no other file."""

import os
import shutil
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from ffmpeg_files import write_ffmpeg
from nearsong.audio import load_audio
from nearsong.audio.conversion.convert import ConversionResult, convert_file
from nearsong.audio.conversion.forms import BIT_RATES, HEAD_BYTES, AudioFormat, expected_mp3_bytes, mp3_format
from nearsong.audio.downmix import default_channels, downmix, weights
from nearsong.errors import (
    AudioError,
    ChangedAudioError,
    EmptyAudioError,
    InvalidInputError,
    TooLargeAudioError,
    TooLongAudioError,
    UnreadableAudioError,
)
from nearsong.guarded_file import identity_of

from .conftest import tone

FLAC = AudioFormat()
RANDOM = np.random.default_rng(5)


def noise(n: int = 30_000, channels: int = 2) -> np.ndarray:
    """Integers of 16 bits, the extremes among them."""
    samples = RANDOM.integers(-32_768, 32_768, (n, channels), dtype=np.int16)
    samples[0], samples[1] = 32_767, -32_768
    return samples


def converted(path, form=FLAC, longest=600.0, most=10**9) -> tuple[ConversionResult, str]:
    """Convert a file as the service does; return what was reported and where the result is."""
    target = f"{path}.converted"
    with open(path, "rb", buffering=0) as file:
        facts = identity_of(file)
    return convert_file(str(path), facts, target, form, longest, most), target


def many_channels(path, samples: np.ndarray, rate: int, layout: str):
    return write_ffmpeg(path, samples.reshape(1, -1).astype(np.float32), rate, "pcm_f32le", "matroska", "flt", layout)


# ---- FLAC


@pytest.mark.parametrize(
    ("container", "ending"), [("AIFF", "aiff"), ("AU", "au"), ("CAF", "caf"), ("W64", "w64"), ("WAV", "wav")]
)
@pytest.mark.parametrize("channels", [1, 2])
def test_sixteen_bits_come_out_as_they_went_in(tmp_path, container, ending, channels):
    samples = noise(channels=channels)
    path = tmp_path / f"song.{ending}"
    soundfile.write(path, samples, 44_100, format=container, subtype="PCM_16")
    done, target = converted(path)
    found, rate = soundfile.read(target, dtype="int16", always_2d=True)
    assert rate == 44_100
    np.testing.assert_array_equal(found, samples)
    info = soundfile.info(target)
    assert (info.format, info.subtype, info.channels, info.frames) == ("FLAC", "PCM_16", channels, len(samples))
    assert done == ConversionResult(len(samples) / 44_100)


@pytest.mark.parametrize(("codec", "container"), [("alac", "ipod"), ("wavpack", "wv"), ("tta", "tta")])
def test_lossless_codecs_come_out_as_they_went_in(tmp_path, codec, container):
    samples = noise()
    values, form = (samples.reshape(1, -1), "s16") if codec == "tta" else (samples.T, "s16p")
    path = tmp_path / "song"
    write_ffmpeg(path, values, 44_100, codec, container, form, "stereo", is_stored_so=True)
    found, _ = soundfile.read(converted(path)[1], dtype="int16")
    np.testing.assert_array_equal(found[: len(samples)], samples)


@pytest.mark.parametrize(("subtype", "full"), [("PCM_24", 2**23), ("PCM_32", 2**31), ("FLOAT", 1.0)])
def test_what_has_more_bits_is_rounded_to_the_nearest_of_sixteen(tmp_path, subtype, full):
    exact = RANDOM.uniform(-0.99, 0.99, (20_000, 2))
    path = tmp_path / "song.aiff"
    soundfile.write(path, exact, 96_000, format="AIFF", subtype=subtype)
    stored = soundfile.read(path, dtype="float64")[0]
    found, rate = soundfile.read(converted(path)[1], dtype="int16")
    assert rate == 96_000
    assert np.abs(found - stored * 32_768).max() <= 0.51


@pytest.mark.parametrize("rate", [8_000, 22_050, 37_800, 48_000, 192_000])
def test_the_rate_is_the_files_own(tmp_path, rate):
    path = tmp_path / "song.aiff"
    soundfile.write(path, tone(rate, 0.5), rate)
    assert soundfile.info(converted(path)[1]).samplerate == rate


def test_a_rate_of_dsd_becomes_a_usual_one_and_the_sound_stays(tmp_path):
    path = tmp_path / "song.aiff"
    soundfile.write(path, tone(352_800, 1.0), 352_800)
    done, target = converted(path)
    found, rate = soundfile.read(target)
    assert rate == 88_200
    assert done.seconds == pytest.approx(1.0, abs=1e-3)
    middle = slice(10_000, 70_000)
    assert np.abs(found[middle] - tone(88_200, 1.0)[middle]).max() < 0.01


def test_what_is_louder_than_full_scale_or_no_number_is_cut_and_silent(tmp_path):
    path = tmp_path / "song.aiff"
    loud = np.array([[3.0, -3.0], [np.nan, np.inf], [-np.inf, 0.5]] * 1000, dtype=np.float32)
    soundfile.write(path, loud, 44_100, format="AIFF", subtype="FLOAT")
    found, _ = soundfile.read(converted(path)[1], dtype="int16")
    np.testing.assert_array_equal(found[:3], [[32_767, -32_768], [0, 32_767], [-32_768, 16_384]])


# ---- channels


def test_six_channels_become_two_without_being_cut(tmp_path):
    samples = RANDOM.uniform(-1, 1, (20_000, 6)).astype(np.float32)
    samples[0] = 1.0
    samples[1] = [1, 0, 0, 1, 0, 0]
    path = many_channels(tmp_path / "song.mka", samples, 48_000, "5.1")
    found, _ = soundfile.read(converted(path)[1], dtype="float64")
    front_left, front_right, centre, _rumble, left, right = samples.T.astype(float)
    wanted = np.stack([front_left + (centre + left) / 2**0.5, front_right + (centre + right) / 2**0.5], axis=1)
    wanted /= 1 + 2 / 2**0.5
    assert np.abs(found - wanted).max() <= 2 / 32_768
    assert np.abs(found[0]).min() > 0.999


@given(st.integers(1, 12), st.integers(1, 2), st.booleans(), st.integers(0, 2**32))
def test_whatever_the_channels_are_nothing_gets_louder_and_no_side_is_silent(n, n_out, named, seed):
    channels = default_channels(n) if named else tuple(f"USR{i}" for i in range(n))
    planes = np.random.default_rng(seed).uniform(-1, 1, (n, 50)).astype(np.float32)
    table = weights(channels, n_out)
    assert table.shape == (n_out, n)
    assert (table >= 0).all()
    assert (table.sum(axis=1) <= 1 + 1e-6).all()
    assert table.any(axis=1).all()
    np.testing.assert_allclose(downmix(planes, channels, n_out), table @ planes, atol=1e-6)


# ---- MP3


@pytest.mark.parametrize(("kbit", "rate"), [(64, 44_100), (128, 22_050), (320, 48_000), (320, 96_000), (32, 11_025)])
def test_mp3_has_the_sound_and_no_more_bits_than_asked_for(tmp_path, kbit, rate):
    path = tmp_path / "song.aiff"
    sound = tone(rate, 4.0)
    soundfile.write(path, np.stack([sound, sound / 2], axis=1), rate)
    done, target = converted(path, AudioFormat(kbit))
    assert done.seconds == pytest.approx(4.0, abs=0.01)
    assert os.path.getsize(target) * 8 / 4.0 / 1000 < 1.08 * kbit + 4
    found = load_audio(target)[20_000:60_000]
    spectrum = np.abs(np.fft.rfft(found * np.hanning(len(found))))
    assert np.argmax(spectrum) * 22_050 / len(found) == pytest.approx(440, abs=1)
    assert np.sqrt(np.mean(found**2)) == pytest.approx(
        0.75 * 0.4 / 2**0.5, rel=0.06
    )  # LAME is a little quieter at low rates


def test_a_limit_means_the_best_mp3_below_it():
    assert [mp3_format(kbit).kbit for kbit in (1, 32, 100, 320, 500)] == [32, 32, 96, 320, 320]
    assert all(mp3_format(kbit) == AudioFormat(kbit) for kbit in BIT_RATES)


def test_mp3_has_certain_bit_rates(tmp_path, make_sound):
    with pytest.raises(InvalidInputError, match="MP3 has no bit rate of 100 kbit/s; choose one of"):
        converted(make_sound("song.aiff"), AudioFormat(100))


# ---- files that are not as they should be


def test_the_same_file_gives_the_same_bytes(make_sound):
    path = make_sound("song.wma")
    for form in (FLAC, AudioFormat(128)):
        first = Path(converted(path, form)[1]).read_bytes()
        assert Path(converted(path, form)[1]).read_bytes() == first


def test_a_cut_off_file_is_converted_as_far_as_it_goes(make_sound, tmp_path):
    complete = make_sound("song.aiff", seconds=4.0).read_bytes()
    path = tmp_path / "cut.aiff"
    path.write_bytes(complete[: len(complete) // 2])
    done, target = converted(path)
    assert done.seconds == pytest.approx(2.0, abs=0.05)
    assert soundfile.info(target).frames == round(done.seconds * 44_100)


def test_a_file_with_a_hole_is_converted_without_it_and_the_damage_is_reported(make_sound, tmp_path):
    data = bytearray(make_sound("alac.m4a", seconds=6.0).read_bytes())
    middle = len(data) // 2
    data[middle : middle + 8_000] = b"\xff" * 8_000
    path = tmp_path / "hole.m4a"
    path.write_bytes(data)
    done, _ = converted(path)
    assert 2.5 < done.seconds < 6.0
    assert "packets could not be decoded" in done.damage


@pytest.mark.parametrize(
    "content", [b"FORM\x00\x00\x00\x10AIFFsomething else", b"root:x:0:0\n" * 100, b"\x00" * 4000]
)
def test_what_is_no_sound_is_an_error_of_the_file(tmp_path, content):
    path = tmp_path / "song.aiff"
    path.write_bytes(content)
    with pytest.raises(AudioError):
        converted(path)


def test_a_file_without_samples_is_reported_as_empty(tmp_path):
    path = tmp_path / "song.aiff"
    soundfile.write(path, np.empty((0, 2)), 44_100)
    with pytest.raises((EmptyAudioError, UnreadableAudioError), match=r"no samples|not a readable audio file"):
        converted(path)


@pytest.mark.parametrize("rate", [1, 999, 1_000_001, 2**31 - 1])
@pytest.mark.parametrize("form", [FLAC, AudioFormat(128)])
def test_a_rate_that_no_sound_has_is_refused(tmp_path, rate, form):
    path = tmp_path / "song.au"
    soundfile.write(path, noise(5_000), rate)
    with pytest.raises(UnreadableAudioError, match=f"sample rate of {rate} Hz"):
        converted(path, form)


@pytest.mark.parametrize("form", [FLAC, AudioFormat(128)])
def test_what_is_too_little_to_become_anything_is_empty(tmp_path, form):
    path = tmp_path / "song.au"
    soundfile.write(path, np.full((3, 2), 0.1), 1_000_000)
    with pytest.raises(EmptyAudioError, match="has no samples; check that it plays"):
        converted(path, form)


@pytest.mark.parametrize("n", [9, 32, 255])
def test_any_number_of_channels_becomes_two(tmp_path, n):
    path = tmp_path / "song.aiff"
    soundfile.write(path, noise(5_000, n), 44_100)
    sound, _ = soundfile.read(converted(path)[1], dtype="float32")
    read, _ = soundfile.read(path, dtype="float32")
    np.testing.assert_allclose(sound, np.repeat(read.mean(axis=1)[:, None], 2, axis=1), atol=1e-4)


def test_a_playlist_does_not_make_it_read_other_files(tmp_path, make_sound):
    other = make_sound("song.aiff")
    path = tmp_path / "list.aiff"
    path.write_text(f"#EXTM3U\n#EXTINF:2,\n{other}\nfile:{other}\n")
    with pytest.raises(UnreadableAudioError, match="is not a readable audio file"):
        converted(path)


def test_a_sound_that_is_too_long_or_too_large_is_refused(make_sound):
    path = make_sound("song.aiff", seconds=4.0)
    with pytest.raises(TooLongAudioError, match="is longer than 3 seconds, the limit of a conversion"):
        converted(path, longest=3.0)
    with pytest.raises(TooLargeAudioError, match="too long to convert: the result would exceed the space limit"):
        converted(path, most=20_000)


def test_another_file_that_has_the_name_by_now_is_not_touched(make_sound, tmp_path):
    path = make_sound("song.aiff")
    with open(path, "rb", buffering=0) as file:
        facts = identity_of(file)
        secret = tmp_path / "secret.aiff"
        shutil.copy2(path, secret)  # same size, same date
        path.unlink()
        path.symlink_to(secret)
        with pytest.raises(ChangedAudioError, match="changed while it was read; try again"):
            convert_file(str(path), facts, tmp_path / "target", FLAC, 600.0, 10**9)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(ChangedAudioError, match="changed while it was read"):
            convert_file(str(path), facts, tmp_path / "target", FLAC, 600.0, 10**9)
        path.unlink()
        with pytest.raises(UnreadableAudioError, match=r"cannot be opened \(No such file"):
            convert_file(str(path), facts, tmp_path / "target", FLAC, 600.0, 10**9)
    assert not (tmp_path / "target").exists()


def test_a_full_disk_is_no_fault_of_the_file(make_sound):
    path = make_sound("song.aiff")
    with open(path, "rb", buffering=0) as file:
        done = convert_file(str(path), identity_of(file), "/dev/full", FLAC, 600.0, 10**9)
    assert done.write_error == "No space left on device"


# ---- the length of an MP3, and songs without gaps


def decoded_samples(path: str) -> int:
    """Return how many samples FFmpeg plays, strictly: without those that the file says to leave out."""
    with av.open(path) as file:
        return sum(frame.samples for frame in file.decode(audio=0))


@pytest.mark.parametrize("rate", [44_100, 48_000, 22_050])
@pytest.mark.parametrize("kbit", [32, 320])
def test_the_length_of_an_mp3_is_known_from_its_first_bytes(tmp_path, rate, kbit):
    path, target, seconds = tmp_path / "song.wav", f"{tmp_path}/song.mp3", 1.5
    soundfile.write(path, tone(rate, seconds), rate)
    with open(path, "rb", buffering=0) as file:
        facts = identity_of(file)
    convert_file(path, facts, target, AudioFormat(kbit), 60.0, 10**9, seconds)
    data = Path(target).read_bytes()
    assert len(data) == expected_mp3_bytes(data[:HEAD_BYTES], seconds)
    assert decoded_samples(target) == seconds * rate
    soundfile.write(path, tone(rate, 2 * seconds), rate)  # twice as long as is known
    with open(path, "rb", buffering=0) as file:
        facts = identity_of(file)
    convert_file(path, facts, target, AudioFormat(kbit), 60.0, 10**9, seconds)
    assert decoded_samples(target) == 2 * seconds * rate


@pytest.mark.parametrize("rate", [44_100, 22_050])
@pytest.mark.parametrize("n_more", [0, 1, 46, 47, 575, 576, 577, 1151])
def test_an_mp3_has_as_many_samples_as_the_song_however_its_last_frame_is_filled(tmp_path, rate, n_more):
    path = tmp_path / "song.wav"
    soundfile.write(path, tone(rate, 1.0)[: 10 * 1152 + n_more], rate)
    assert decoded_samples(converted(path, AudioFormat(64))[1]) == 10 * 1152 + n_more


@pytest.mark.parametrize("head", [b"", b"ID3", b"ID3\x04\0\0\0\0\0\x05" + bytes(4000), b"\xff" * 4096])
def test_other_bytes_are_not_the_beginning_of_an_mp3(head):
    assert expected_mp3_bytes(head, 60.0) is None


def test_a_song_can_be_converted_from_a_second_on(tmp_path):
    path, rate = tmp_path / "song.wav", 48_000
    soundfile.write(path, tone(rate, 2.5), rate)
    for form in (AudioFormat(start=1), AudioFormat(96, start=1, is_opus=True)):
        done, target = converted(path, form)
        assert done.seconds == 1.5
        assert decoded_samples(target) == 1.5 * rate
