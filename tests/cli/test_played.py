"""Plays recorded by the service are listed and removed like any listening history."""

from nearsong.library import Library


def test_plays_are_listed_as_a_history_and_removed_like_one(nearsong, trained, tmp_path):
    library = tmp_path / "library.sqlite"
    trained.play_log.record_all([(3, None), (4, None)])
    result = nearsong("listens", "list", library=library)
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "played with nearsong" in line]
    history_id, rows, format_name = line.split()[:3]
    assert (rows, format_name) == ("2", "played")
    result = nearsong("listens", "remove", history_id, library=library)
    assert (result.returncode, result.stdout.split(".")[0]) == (0, "1 history removed")
    assert "played with nearsong" not in nearsong("listens", "list", library=library).stdout
    with Library.open(library) as again:
        assert again.play_log.count() == 0
