"""The five seconds of two songs that sound most alike, with a planted passage and with files that cannot be read."""

from functools import partial

import numpy as np
import pytest
import soundfile

import music_library
from nearsong.audio import DeltaMFCC
from nearsong.errors import ChangedAudioError
from nearsong.guarded_file import FileIdentity, identity_of
from nearsong.library.answers.why.shared_moment import (
    MOMENT_SECONDS,
    find_shared_moment,
    moment_windows,
    nearest_windows,
    windows_of_frames,
)

RATE = music_library.RATE


def windows_of(samples):
    features = DeltaMFCC()
    mfccs = features.transform(samples.astype(np.float32))[:, : features.n_mfcc].astype(np.float64)
    return windows_of_frames(mfccs, 1 / features.seconds_a_frame, features.n_mels)


def loud(style, seed, seconds):
    sound = music_library.sound(style, seed, seconds)
    return sound / np.abs(sound).max()


hum, hiss = partial(loud, 0), partial(loud, 1)


def song(before, after, seed):
    """Return hum, then six seconds of pulses, then hiss."""
    return np.concatenate([hum(seed, before), loud(2, seed, 6.0), hiss(seed, after)])


@pytest.mark.parametrize(("first", "second"), [(9.0, 4.0), (3.0, 12.0)])
def test_the_passage_that_two_songs_share_is_found(first, second):
    pulses = loud(2, 77, 6.0)
    query = np.concatenate([hum(1, first), pulses, hum(2, 8.0)])
    other = np.concatenate([hiss(3, second), 0.7 * pulses, hiss(4, 8.0)])  # softer, and the same
    found = nearest_windows(windows_of(query), windows_of(other))
    assert found.query_start == pytest.approx(first + 0.5, abs=0.8)
    assert found.other_start == pytest.approx(second + 0.5, abs=0.8)
    assert found.reason == ""


def test_both_windows_lie_within_their_songs_and_swap_with_them():
    query, other = windows_of(song(4.0, 7.0, 5)), windows_of(song(8.0, 3.0, 6))
    found, turned = nearest_windows(query, other), nearest_windows(other, query)
    assert (found.query_start, found.other_start) == (turned.other_start, turned.query_start)
    assert 0 <= found.query_start <= 17.0 - MOMENT_SECONDS
    assert 0 <= found.other_start <= 17.0 - MOMENT_SECONDS


def test_a_fade_out_is_not_what_songs_share():
    ends = np.random.default_rng(0).standard_normal(int(6 * RATE)) * 1e-4
    query = np.concatenate([music_library.sound(0, 1, 14.0), ends])
    other = np.concatenate([music_library.sound(1, 2, 14.0), ends])
    found = nearest_windows(windows_of(query), windows_of(other))
    assert max(found.query_start, found.other_start) <= 14.0 - 0.3 * MOMENT_SECONDS


def test_a_song_shorter_than_a_moment_is_one_window():
    short = windows_of(music_library.sound(0, 1, 1.0))
    assert short.starts.tolist() == [0.0]
    assert nearest_windows(short, windows_of(song(4.0, 4.0, 1))).query_start == 0.0


def test_what_cannot_be_read_has_a_reason_and_no_moment(tmp_path):
    good, bad = tmp_path / "good.wav", tmp_path / "bad.wav"
    soundfile.write(good, music_library.sound(0, 1), RATE)
    bad.write_bytes(b"no music" * 50)
    found = find_shared_moment(str(good), str(bad))
    assert (found.query_start, found.other_start) == (None, None)
    assert "bad.wav" in found.reason
    same = find_shared_moment(str(good), str(good))
    assert same.query_start == same.other_start == 0.0


def test_a_file_that_was_replaced_is_not_read(tmp_path):
    path = tmp_path / "song.wav"
    soundfile.write(path, music_library.sound(0, 1), RATE)
    with open(path, "rb", buffering=0) as file:
        identity = identity_of(file)
    assert len(moment_windows(path, identity).starts) == 1
    with pytest.raises(ChangedAudioError, match="was replaced or changed"):
        moment_windows(path, FileIdentity(*identity[:3], identity.modified - 1))
