"""Excerpts of files: the same samples as the middle of the fully decoded song, whatever the format and its damage."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import soundfile

from ffmpeg_files import write_ffmpeg
from nearsong.audio import decode, load_audio, stream_audio
from nearsong.audio.excerpt import MAX_GAP_SECONDS, middle
from nearsong.errors import DamagedAudioWarning, InvalidInputError, NotAudioError

from .conftest import FORMATS, write_sound

SECONDS = 10
LENGTH = 14
EXACT = {"song.wav", "float.wav", "song.flac", "song.aiff", "alac.m4a"}
LOSSY_TOLERANCE = 3e-3
"""AAC fills quiet bands with noise, which depends on where decoding began."""

MAX_SHIFT_SECONDS = 0.05
"""Lossy formats pad a song at its start and end; its middle is where it is without knowing how much."""


def music(rate: int, seconds: float = LENGTH, seed: int = 0) -> np.ndarray:
    """Return stereo noise without a period, so that no part of it is like another."""
    random = np.random.default_rng(seed)
    noise = np.convolve(random.normal(size=round(rate * seconds)), np.hanning(32) / 16, mode="same")
    return np.stack([0.2 * noise, 0.1 * noise], axis=1).astype(np.float32)


def excerpt_of(path: Path, rate: int, seconds: float = SECONDS, **options) -> np.ndarray:
    return np.concatenate(list(stream_audio(path, sample_rate=rate, excerpt=seconds, **options)))


def shift_of(part: np.ndarray, complete: np.ndarray, rate: int) -> int:
    """Return how many samples after the middle of a song a part of it is, by trying all shifts."""
    start = (len(complete) - len(part)) // 2
    n = round(MAX_SHIFT_SECONDS * rate)
    candidates = np.lib.stride_tricks.sliding_window_view(complete[start - n : start + n + 500], 500)
    return int(np.abs(candidates - part[:500]).max(axis=1).argmin()) - n


def is_counted(path: Path) -> bool:
    """Return whether the position of an excerpt is found by decoding everything."""
    return next(decode._excerpts(path, float(SECONDS))).span.origin is None


@pytest.mark.parametrize("kind", FORMATS)
def test_an_excerpt_is_the_middle_of_the_decoded_song(tmp_path, kind):
    rate = FORMATS[kind][0]
    path = write_sound(tmp_path / kind, music(rate), rate)
    complete, lengths = load_audio(path, sample_rate=rate), []
    part = excerpt_of(path, rate, on_length=lengths.append)  # warnings of damage are errors here
    assert len(part) == SECONDS * rate
    shift = shift_of(part, complete, rate)
    start = (len(complete) - len(part)) // 2 + shift
    if kind in EXACT:
        assert shift == 0
        np.testing.assert_array_equal(part, complete[start : start + len(part)])
    np.testing.assert_allclose(part, complete[start : start + len(part)], atol=LOSSY_TOLERANCE)
    assert lengths == [pytest.approx(len(complete) / rate, abs=2 * MAX_SHIFT_SECONDS)]
    assert part.tobytes() == excerpt_of(path, rate).tobytes()


@pytest.mark.parametrize("kind", ["song.wav", "song.flac"])
def test_an_excerpt_is_what_a_file_of_these_samples_alone_gives(tmp_path, kind):
    rate = FORMATS[kind][0]
    path = write_sound(tmp_path / kind, music(rate), rate)
    samples, _ = soundfile.read(path, dtype="float32", always_2d=True)
    start = (len(samples) - SECONDS * rate) // 2
    soundfile.write(tmp_path / "part.wav", samples[start : start + SECONDS * rate], rate, subtype="FLOAT")
    assert excerpt_of(path, 22_050).tobytes() == load_audio(tmp_path / "part.wav").tobytes()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_song_that_is_not_longer_is_read_completely(tmp_path, kind):
    rate = FORMATS[kind][0]
    path = write_sound(tmp_path / kind, music(rate, seconds=6), rate)
    lengths = []
    assert excerpt_of(path, 22_050, on_length=lengths.append).tobytes() == load_audio(path).tobytes()
    assert lengths == [len(load_audio(path)) / 22_050]


def test_an_mp3_file_with_neither_index_nor_constant_bitrate_is_cut_where_it_should_be(tmp_path):
    sound = music(44_100)
    sound[: len(sound) // 8] = 0  # silence takes few bits, so that bytes do not tell the time
    path = write_ffmpeg(
        tmp_path / "song.mp3", sound.T, 44_100, "libmp3lame", "mp3", "fltp", "stereo",
        options={"write_xing": "0"},
    )  # fmt: skip
    complete, part = load_audio(path, sample_rate=44_100), excerpt_of(path, 44_100)
    start = (len(complete) - len(part)) // 2 + shift_of(part, complete, 44_100)
    np.testing.assert_allclose(part, complete[start : start + len(part)], atol=LOSSY_TOLERANCE)


@pytest.mark.parametrize("kind", ["song.mp3", "song.ogg", "song.opus", "song.aac"])
def test_joined_files_are_one_song(tmp_path, kind):
    rate = FORMATS[kind][0]
    parts = [
        write_sound(tmp_path / f"{i}", music(rate, seconds, seed=i), rate, kind).read_bytes()
        for i, seconds in enumerate([6, 8])
    ]
    (tmp_path / kind).write_bytes(b"".join(parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedAudioWarning)
        complete, part = load_audio(tmp_path / kind, sample_rate=rate), excerpt_of(tmp_path / kind, rate)
    start = (len(complete) - len(part)) // 2 + shift_of(part, complete, rate)
    np.testing.assert_allclose(part, complete[start : start + len(part)], atol=LOSSY_TOLERANCE)


@pytest.mark.parametrize("kind", FORMATS)
def test_where_time_stamps_cannot_be_trusted_samples_are_counted(tmp_path, kind, monkeypatch):
    rate = FORMATS[kind][0]
    path = write_sound(tmp_path / kind, music(rate), rate)
    monkeypatch.setattr(decode, "middle_of_packets", lambda packets, seconds: None)
    monkeypatch.setattr(decode, "_soundfile_excerpt", lambda path, seconds: None)
    assert is_counted(path)
    complete = load_audio(path, sample_rate=rate)
    start = (len(complete) - SECONDS * rate) // 2
    np.testing.assert_array_equal(excerpt_of(path, rate), complete[start : start + SECONDS * rate])


class Packet:
    """What is asked of a packet."""

    def __init__(self, pts, duration=10, size=1):
        from fractions import Fraction

        self.pts, self.duration, self.size, self.time_base = pts, duration, size, Fraction(1, 100)

    def decode(self):
        self.samples, self.sample_rate = self.duration * 441, 44_100
        return [self]


def test_packets_tell_the_length_unless_one_is_missing_or_has_no_time():
    from nearsong.audio.excerpt import middle_of_packets

    times = list(range(0, 2000, 10))
    found = middle_of_packets(map(Packet, times), 10.0)
    assert (found.span.start, found.span.stop, found.song_seconds) == (5 * 44_100, 15 * 44_100, 20.0)
    gap = int(MAX_GAP_SECONDS * 100) + 1
    for wrong in ([*times[:50], *(time + gap for time in times[50:])], [*times, *times], [*times, None]):
        assert middle_of_packets(map(Packet, wrong), 10.0) is None
    assert middle_of_packets([Packet(0, duration=0)], 10.0) is None
    assert middle_of_packets([], 10.0) is None


# ---- damage


def test_a_truncated_flac_file_gives_the_middle_of_what_is_left_and_says_so(tmp_path):
    path = write_sound(tmp_path / "song.flac", music(44_100, 60), 44_100)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 5])  # it ends before the middle it declares
    damages, lengths = [], []
    part = excerpt_of(path, 44_100, on_damage=damages.append, on_length=lengths.append)
    assert len(part) == SECONDS * 44_100
    assert lengths == [pytest.approx(24, abs=1)]
    assert len(damages) == 1
    with pytest.warns(DamagedAudioWarning):
        complete = load_audio(path, sample_rate=44_100)
    start = (len(complete) - len(part)) // 2
    np.testing.assert_array_equal(part, complete[start : start + len(part)])


@pytest.mark.parametrize("kind", ["song.wav", "song.mp3", "song.ogg"])
def test_a_truncated_file_is_reported_though_the_excerpt_is_complete(tmp_path, kind):
    rate = FORMATS[kind][0]
    path = write_sound(tmp_path / kind, music(rate, 20), rate)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    damages = []
    assert len(excerpt_of(path, rate, on_damage=damages.append)) == SECONDS * rate
    assert "missing" in str(damages[0])
    assert "the readable 10.0 s were used" in str(damages[0])


@pytest.mark.parametrize("kind", ["song.flac", "song.mp3", "song.ogg", "song.m4a", "song.wma"])
def test_a_hole_in_the_excerpt_does_not_cost_what_follows(tmp_path, kind):
    rate = FORMATS[kind][0]
    path = write_sound(tmp_path / kind, music(rate), rate)
    content = bytearray(path.read_bytes())
    at = len(content) // 2
    content[at : at + 1_500] = np.random.default_rng(0).bytes(1_500)
    path.write_bytes(content)
    part = excerpt_of(path, rate, on_damage=lambda damage: None)
    assert len(part) == pytest.approx(SECONDS * rate, rel=0.1)


def test_damage_outside_the_excerpt_is_not_in_its_way(tmp_path):
    path = write_sound(tmp_path / "song.mp3", music(44_100, 20), 44_100)
    expected = excerpt_of(path, 44_100)
    content = bytearray(path.read_bytes())
    at = len(content) * 9 // 10
    content[at : at + 400] = bytes(400)
    path.write_bytes(content)
    found = excerpt_of(path, 44_100, on_damage=lambda damage: None)
    assert len(found) == len(expected)


def test_a_recording_that_was_never_closed_and_a_stream_of_unknown_length_have_a_middle(tmp_path):
    wav = write_sound(tmp_path / "song.wav", music(44_100), 44_100)
    content = bytearray(wav.read_bytes())
    position = content.index(b"data") + 4
    content[4:8] = content[position : position + 4] = bytes(4)
    wav.write_bytes(content)
    flac = write_sound(tmp_path / "song.flac", music(44_100), 44_100)
    content = bytearray(flac.read_bytes())
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    flac.write_bytes(content)
    for path in (wav, flac):
        complete = load_audio(path, sample_rate=44_100)
        start = (len(complete) - SECONDS * 44_100) // 2
        np.testing.assert_array_equal(excerpt_of(path, 44_100), complete[start : start + SECONDS * 44_100])


def test_what_is_not_audio_is_called_so(tmp_path):
    (tmp_path / "song.mp3").write_bytes(b"not music at all" * 1000)
    with pytest.raises(NotAudioError, match="is not a readable audio file"):
        excerpt_of(tmp_path / "song.mp3", 22_050)


# ---- numbers


@pytest.mark.parametrize("seconds", [9.9, -1, float("nan"), float("inf"), "60", True, None])
def test_a_length_that_cannot_be_is_refused(tmp_path, seconds):
    with pytest.raises(InvalidInputError, match=r"excerpt=.* choose 10 or more, or 0 for complete songs"):
        excerpt_of(tmp_path / "song.mp3", 22_050, seconds)


def test_the_middle_has_as_much_before_it_as_after_it():
    for n_samples in range(95, 300):
        span = middle(n_samples, 10, 10.0).span
        if n_samples <= 100:
            assert (span.start, span.stop) == (0, None)
        else:
            assert span.stop - span.start == 100
            assert 0 <= (n_samples - span.stop) - span.start <= 1
