"""One person's own history is enough to learn from: sittings are listeners."""

import csv
from datetime import UTC, datetime, timedelta

import numpy as np

import music_library
from nearsong.library import TrainingSettings

N_SITTINGS = 240


def write_history(path):
    """Write a Last.fm export: every evening one sitting, eight songs of one style and now and then another."""
    random = np.random.default_rng(5)
    start = datetime(2023, 1, 1, 20, tzinfo=UTC)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        for sitting in range(N_SITTINGS):
            artists = random.choice(np.arange(sitting % 3, music_library.N_ARTISTS, 3), 8, replace=False).tolist()
            for number, artist in enumerate([*artists, int(random.integers(music_library.N_ARTISTS))]):
                when = start + timedelta(days=sitting, minutes=4 * number)
                title = f"Song {artist * 10 + int(random.integers(music_library.SONGS_EACH))}"
                rows.writerow([music_library.artist_name(artist), "First", title, when.strftime("%d %b %Y %H:%M")])
    return path


def test_one_persons_history_is_cut_into_sittings_and_learned_from(trained, tmp_path):
    trained.remove_listens(*(source.id for source in trained.listens()))
    (file,) = trained.import_listens(write_history(tmp_path / "lastfm.csv"))
    assert (file.format, file.kind, file.rows) == ("lastfm-csv", "events", 9 * N_SITTINGS)
    report = trained.train(TrainingSettings(n_splits=2))
    assert report.listener_kinds == {"users": 0, "sessions": N_SITTINGS, "playlists": 0}
    assert any(f"one person's history, split into {N_SITTINGS} sessions" in note for note in report.notes)
    assert report.score("learned", "known") > report.score("random", "known") + 0.3
    same = [near.song.genre == song.genre for song in trained.songs()[::6] for near in trained.similar(song, n=5)]
    assert np.mean(same) > 0.9
