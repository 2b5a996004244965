import contextlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio import load_audio, stream_audio
from nearsong.audio.decode import AudioDamage, _resampled
from nearsong.audio.write import write_audio
from nearsong.errors import AudioError, DamagedAudioWarning, EmptyAudioError, InvalidInputError, UnreadableAudioError
from peak_memory import peak_memory
from tag_bombs import with_id3_bomb

from .conftest import FORMATS, tone, write_sound

RATE = 22_050


def level_at(samples: np.ndarray, frequency: float) -> float:
    """Return the amplitude of a frequency in the middle of a sound."""
    middle = samples[len(samples) // 4 : -len(samples) // 4] * np.hanning(
        len(samples[len(samples) // 4 : -len(samples) // 4])
    )
    phase = np.exp(-2j * np.pi * frequency * np.arange(len(middle)) / RATE)
    return float(4 * abs(np.mean(middle * phase)))


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_comes_as_mono_float32_at_22050_hz(make_sound, kind):
    samples = load_audio(make_sound(kind))
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert len(samples) == pytest.approx(2 * RATE, abs=0.1 * RATE)  # codecs pad
    # the mean of the channels: 0.4 and 0.2
    assert level_at(samples, 440) == pytest.approx(0.3, abs=FORMATS[kind][1])
    assert level_at(samples, 1000) < 0.01


@pytest.mark.parametrize("kind", FORMATS)
def test_a_wrongly_named_file_is_read_by_its_content(make_sound, kind):
    right = make_sound(kind)
    for name in ("cover.jpg", "noise.raw", "no-ending", "song.mp3x"):
        wrong = right.rename(right.with_name(name))
        assert len(load_audio(wrong)) == pytest.approx(2 * RATE, abs=0.1 * RATE)
        right = wrong


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 48_000, 192_000])
def test_resampling_agrees_with_librosa(tmp_path, rate):
    librosa = pytest.importorskip("librosa", reason="librosa is not installed, as where the wheel alone is tested")
    sound = np.random.default_rng(1).normal(scale=0.1, size=rate).astype(np.float32)
    soundfile.write(tmp_path / "noise.wav", sound, rate, subtype="FLOAT")
    expected = librosa.resample(sound, orig_sr=rate, target_sr=RATE, res_type="soxr_hq") if rate != RATE else sound
    np.testing.assert_allclose(load_audio(tmp_path / "noise.wav"), expected, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 2, 3, 6, 8])
def test_channels_are_averaged(tmp_path, channels):
    values = np.random.default_rng(channels).uniform(-0.5, 0.5, size=(1_000, channels)).astype(np.float32)
    soundfile.write(tmp_path / "many.wav", values, RATE, subtype="FLOAT")
    np.testing.assert_allclose(load_audio(tmp_path / "many.wav"), values.mean(axis=1), atol=1e-6)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_both_decoders_agree_on_every_sample_type(tmp_path, monkeypatch, subtype):
    path = tmp_path / "song.wav"
    soundfile.write(path, np.stack([tone(RATE), tone(RATE, frequency=300)], axis=1), RATE, subtype=subtype)
    first = load_audio(path)
    monkeypatch.setattr("nearsong.audio.decode._SOUNDFILE_FIRST", set())  # FFmpeg's turn
    np.testing.assert_allclose(load_audio(path), first, atol=1e-6)


def test_a_name_that_looks_like_an_address_is_a_file(make_sound, monkeypatch):
    path = make_sound("song.m4a")
    monkeypatch.chdir(path.parent)
    os.rename(path, "http:song")
    assert len(load_audio("http:song")) > RATE


def test_another_rate_can_be_asked_for(make_sound):
    assert len(load_audio(make_sound("song.wav"), sample_rate=8_000)) == 16_000
    with pytest.raises(InvalidInputError, match="sample_rate=0 must be a whole number"):
        load_audio(make_sound("song.wav"), sample_rate=0)


@pytest.mark.parametrize("kind", ["song.flac", "song.mp3", "song.ogg", "song.m4a"])
def test_a_stream_has_the_samples_of_the_complete_file(make_sound, kind):
    path = make_sound(kind, seconds=9)
    blocks = list(stream_audio(path))
    assert len(blocks) > 3
    np.testing.assert_array_equal(np.concatenate(blocks), load_audio(path))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=8), st.sampled_from([8_000, 22_050, 44_100, 48_000]))
def test_resampling_does_not_depend_on_where_blocks_begin(sizes, rate):
    sound = np.random.default_rng(0).normal(size=sum(sizes)).astype(np.float32)
    parts = np.split(sound, np.cumsum(sizes)[:-1])
    pieces = np.concatenate([*_resampled(iter([(rate, part) for part in parts]), RATE), np.empty(0, np.float32)])
    complete = np.concatenate([*_resampled(iter([(rate, sound)]), RATE), np.empty(0, np.float32)])
    np.testing.assert_array_equal(pieces, complete)


def test_a_rate_that_changes_in_the_middle_is_followed():
    sound = tone(44_100, 1.0), tone(48_000, 1.0)
    joined = np.concatenate(list(_resampled(iter(zip((44_100, 48_000), sound, strict=True)), RATE)))
    assert len(joined) == 2 * RATE
    assert level_at(joined[:RATE], 440) == pytest.approx(0.4, abs=0.01)
    assert level_at(joined[RATE:], 440) == pytest.approx(0.4, abs=0.01)


def test_samples_that_are_not_numbers_are_silence_and_loud_ones_are_cut(tmp_path):
    sound = np.array([0.5, np.nan, np.inf, -np.inf, 1e30, -0.5], dtype=np.float32)
    soundfile.write(tmp_path / "odd.wav", sound, RATE, subtype="FLOAT")
    np.testing.assert_array_equal(load_audio(tmp_path / "odd.wav"), np.float32([0.5, 0, 1e6, -1e6, 1e6, -0.5]))


# ---- files that cannot be read


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(UnreadableAudioError, match=r"gone\.mp3: cannot be opened \(No such file") as caught:
        load_audio(tmp_path / "gone.mp3")
    assert caught.value.path == str(tmp_path / "gone.mp3")


def test_a_folder_a_pipe_and_an_impossible_name_are_not_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UnreadableAudioError, match="is not a file; give the path"):
            load_audio(path)
    with pytest.raises(UnreadableAudioError, match="null"):
        load_audio("a\0b")


def test_a_file_without_permission_says_so(make_sound, monkeypatch):
    path = make_sound("song.wav")
    if os.geteuid() == 0:  # root may read everything

        def refuse(*arguments):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
    else:
        path.chmod(0)
    with pytest.raises(UnreadableAudioError, match="Permission denied"):
        load_audio(path)


@pytest.mark.parametrize("name", ["zero.mp3", "zero.flac", "zero"])
def test_a_file_of_no_bytes_is_empty(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(EmptyAudioError, match="is empty; copy or download it again"):
        load_audio(tmp_path / name)


@pytest.mark.parametrize("kind", ["song.wav", "song.flac", "song.aiff"])
def test_a_file_of_no_samples_is_empty(tmp_path, kind):
    write_sound(tmp_path / kind, np.zeros((0, 2), dtype=np.float32), 44_100)
    with pytest.raises(AudioError) as caught:
        load_audio(tmp_path / kind)
    assert isinstance(caught.value, EmptyAudioError)


NOT_AUDIO = {
    "text.mp3": b"Dear diary, today nothing was played.\n" * 400,
    "utf16.mp3": "Dear diary".encode("utf-16") * 400,
    "noise.mp3": np.random.default_rng(0).bytes(200_000),
    "noise.flac": np.random.default_rng(1).bytes(5_000),
    "zeros.wav": bytes(100_000),
    "cover.png": b"\x89PNG\r\n\x1a\n" + np.random.default_rng(2).bytes(3_000),
    "cover.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + np.random.default_rng(3).bytes(3_000),
    "one-byte.ogg": b"O",
    "ogg-mark.ogg": b"OggS" + bytes(2_000),
    "riff-mark.wav": b"RIFF\xff\xff\xff\xffWAVEfmt ",
    "id3-mark.mp3": b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + bytes(200),
}


@pytest.mark.parametrize("name", NOT_AUDIO)
def test_what_is_not_audio_is_unreadable(tmp_path, name):
    (tmp_path / name).write_bytes(NOT_AUDIO[name])
    with pytest.raises(UnreadableAudioError, match=r"is not a readable audio file \(.+\); check that it plays"):
        load_audio(tmp_path / name)


def test_a_playlist_does_not_make_the_decoder_open_other_files(make_sound, tmp_path):
    make_sound("song.m4a")
    playlists = {
        "hls.mp3": "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:3,\nsong.m4a\n#EXT-X-ENDLIST\n",
        "concat.mp3": "ffconcat version 1.0\nfile song.m4a\n",
    }
    for name, text in playlists.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(UnreadableAudioError):
            load_audio(tmp_path / name)


def test_a_picture_without_sound_says_so(tmp_path):
    path = tmp_path / "silent.mp4"
    import av

    with av.open(str(path), "w") as file:
        stream = file.add_stream("mpeg4", rate=10, width=64, height=64, pix_fmt="yuv420p")
        for _ in range(3):
            for packet in stream.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")):
                file.mux(packet)
        for packet in stream.encode(None):
            file.mux(packet)
    with pytest.raises(UnreadableAudioError, match="no audio stream"):
        load_audio(path)


@pytest.mark.parametrize("rate", [1, 999, 2_000_000])
def test_an_impossible_rate_is_refused(tmp_path, rate):
    soundfile.write(tmp_path / "odd.wav", np.zeros(4_000), rate)
    with pytest.raises(UnreadableAudioError, match=f"sample rate of {rate} Hz"):
        load_audio(tmp_path / "odd.wav")


# ---- damaged files: what can be read is used


@pytest.mark.parametrize(
    "kind", ["song.wav", "song.flac", "song.aiff", "song.mp3", "song.ogg", "song.opus", "song.wma"]
)
def test_of_a_truncated_file_the_first_part_is_used_and_that_is_reported(make_sound, kind):
    path = make_sound(kind, seconds=6)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.warns(DamagedAudioWarning, match="the readable .* s were used"):
        samples = load_audio(path)
    assert RATE < len(samples) < 5 * RATE
    assert level_at(samples, 440) == pytest.approx(0.3, abs=0.05)


def test_a_recording_that_was_never_closed_is_read(make_sound):
    path = make_sound("song.wav", seconds=3)
    content = bytearray(path.read_bytes())
    position = content.index(b"data") + 4
    content[4:8] = content[position : position + 4] = bytes(4)  # the lengths a recorder fills in at the end
    path.write_bytes(content)
    assert len(load_audio(path)) == pytest.approx(3 * RATE, abs=10)


def test_joined_mp3_files_are_read_to_the_end(make_sound):
    path = make_sound("song.mp3", seconds=3)
    path.write_bytes(2 * path.read_bytes())
    assert len(load_audio(path)) > 5.8 * RATE


def test_a_flac_stream_of_unknown_length_is_not_damaged(make_sound):
    path = make_sound("song.flac", seconds=3)
    content = bytearray(path.read_bytes())
    content[21] &= 0xF0  # the 36 bits of STREAMINFO that count samples
    content[22:26] = bytes(4)
    path.write_bytes(content)
    assert len(load_audio(path)) == pytest.approx(3 * RATE, abs=10)


def test_complete_files_of_every_format_are_not_called_damaged(make_sound):
    for kind in FORMATS:  # warnings are errors here
        assert len(load_audio(make_sound(kind))) > RATE


def test_a_frame_that_says_another_rate_than_the_header_is_refused(make_sound, monkeypatch):
    monkeypatch.setattr("nearsong.audio.ffmpeg.SAMPLE_RATES", (44_101, 10**6))
    monkeypatch.setattr("nearsong.audio.ffmpeg.check_codec", lambda codec, rate: None)
    with pytest.raises(UnreadableAudioError, match="sample rate of 44100 Hz"):
        load_audio(make_sound("song.m4a"), sample_rate=48_000)


def test_a_truncated_m4a_without_its_index_is_unreadable(make_sound):
    path = make_sound("song.m4a")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnreadableAudioError, match="Invalid data"):
        load_audio(path)


@pytest.mark.parametrize("kind", ["song.flac", "song.mp3", "song.ogg", "song.m4a", "song.wma"])
def test_a_hole_in_the_middle_does_not_cost_what_follows(make_sound, kind):
    path = make_sound(kind, seconds=8)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 1_500] = np.random.default_rng(0).bytes(1_500)
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedAudioWarning)
        samples = load_audio(path)
    assert len(samples) > 6 * RATE
    assert level_at(samples[: 3 * RATE], 440) == pytest.approx(0.3, abs=0.05)
    assert level_at(samples[-2 * RATE :], 440) == pytest.approx(0.3, abs=0.05)


def test_damage_is_reported_once_in_a_warning_or_to_whom_it_concerns(make_sound):
    path = make_sound("song.flac", seconds=6)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.warns(DamagedAudioWarning, match=r"song\.flac: damaged \(.+\); the readable [23]\.\d s were used"):
        load_audio(path)
    damages: list[AudioDamage] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(stream_audio(path, on_damage=damages.append))
    assert len(damages) == 1
    assert str(damages[0]).startswith("damaged (")
    assert damages[0].summary.startswith("it is damaged; ")


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(FORMATS)), st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans())
def test_a_scrambled_file_gives_finite_sound_or_an_audio_error(tmp_path_factory, kind, seed, n_bytes, header):
    folder = tmp_path_factory.mktemp("scrambled")
    rate = FORMATS[kind][0]
    path = write_sound(folder / kind, np.stack([tone(rate, 0.5)] * 2, axis=1), rate)
    content = bytearray(path.read_bytes())
    random = np.random.default_rng(seed)
    reach = min(200, len(content)) if header else len(content)
    for position in random.integers(0, reach, size=n_bytes):
        content[position] = random.integers(256)
    path.write_bytes(content)
    # a process of its own is for scans; here a crash would end the test run, and there must be none
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedAudioWarning)
        try:
            samples = load_audio(path)
        except AudioError:
            return
    assert np.isfinite(samples).all()


def test_a_long_file_streams_in_little_memory(tmp_path):
    path = tmp_path / "hour.flac"
    with soundfile.SoundFile(path, "w", RATE, 1) as file:
        for _ in range(60):
            file.write(np.zeros(60 * RATE))
    code = (
        "import resource, sys\n"
        "from nearsong.audio import stream_audio\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "n = sum(len(block) for block in stream_audio(sys.argv[1]))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    n_samples, kilobytes = map(int, done.stdout.split())
    assert n_samples == 3_600 * RATE
    assert kilobytes < 50_000  # all samples would be 318 MB


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory by /proc")
def test_tags_before_the_sound_are_not_unpacked_by_its_decoder(tmp_path):
    plain = write_audio(tmp_path / "song.mp3", 0.1 * np.random.default_rng(0).normal(size=24_000), 24_000)
    expected = load_audio(plain)
    with_id3_bomb(plain, 256)
    with peak_memory() as peak:
        np.testing.assert_array_equal(load_audio(plain), expected)
    assert peak.growth < 64 << 20
    many = tmp_path / "many.mp3"
    many.write_bytes(1000 * b"ID3\x04\0\0\0\0\0\0" + plain.read_bytes())
    with peak_memory() as peak, contextlib.suppress(AudioError):
        load_audio(many)
    assert peak.growth < 64 << 20
