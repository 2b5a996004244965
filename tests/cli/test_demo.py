"""The demo: a first evening on one's own music, and on music it makes up."""

import subprocess
import sys

import music_library


def demo(*arguments):
    command = [sys.executable, "-m", "nearsong", "demo", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_on_ones_own_music_ends_with_what_learning_changed(styled_music, tmp_path):
    listens = music_library.write_listens(tmp_path / "listens.csv")
    said = demo("--folder", tmp_path / "demo", "--music", styled_music, "--listens", listens)
    for command in ("scan", "listens import", "train", "similar", "playlist", "map", "status"):
        assert f"$ nearsong {command}" in said
    assert "nearest by sound alone" in said
    assert "✓" in said
    assert "Held-out AUC:" in said
    assert (tmp_path / "demo" / "evening.m3u8").exists()
    assert (tmp_path / "demo" / "map.html").exists()


def test_the_demo_makes_its_own_music_and_says_when_it_is_too_little_to_learn_from(tmp_path):
    said = demo("--folder", tmp_path / "demo", "--artists", 9)
    assert "9 artists are few to learn from" in said
    assert "(native metric)" in said
    endings = {path.suffix for path in (tmp_path / "demo").rglob("music/**/*.*")}
    assert len(endings) >= 4
    again = demo("--folder", tmp_path / "demo", "--artists", 9)
    assert "Making up" not in again
    assert "known already" in again
