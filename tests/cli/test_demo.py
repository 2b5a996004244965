"""The demo on the user's own music, and on synthesised music."""

import pytest

import music_library


@pytest.fixture
def demo(nearsong, tmp_path):
    """Return a function that runs the demo and returns what it prints."""

    def run(*arguments) -> str:
        done = nearsong("demo", "--folder", tmp_path / "demo", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_demo_on_own_music_ends_with_what_learning_changed(demo, styled_music, tmp_path):
    listens = music_library.write_listens(tmp_path / "listens.csv")
    printed = demo("--music", styled_music, "--listens", listens)
    for command in ("scan", "listens import", "train", "similar", "playlist", "map", "status"):
        assert f"$ nearsong {command}" in printed
    assert "similar sound" in printed
    assert "✓" in printed
    assert "Held-out AUC:" in printed
    assert (tmp_path / "demo" / "evening.m3u8").exists()
    assert (tmp_path / "demo" / "map.html").exists()


def test_the_demo_synthesises_music_and_reports_when_it_is_too_little_to_learn_from(demo, tmp_path):
    printed = demo("--artists", 4)
    assert "Scan music by more artists: training needs 25, the library has 4" in printed
    assert "(sound alone)" in printed
    endings = {path.suffix for path in (tmp_path / "demo").rglob("music/**/*.*")}
    assert len(endings) >= 4
    again = demo("--artists", 4)
    assert "Creating" not in again
    assert "already imported" in again
