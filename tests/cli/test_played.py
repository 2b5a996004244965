"""Plays recorded by the service are listed and removed like any listening history."""

from nearsong.library import Library


def test_plays_are_listed_as_a_history_and_removed_like_one(nearsong, trained, tmp_path):
    library = tmp_path / "library.sqlite"
    trained.play_log.record_all([(3, None), (4, None)])
    result = nearsong("listens", "list", library=library)
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "played with nearsong" in line]
    history_id, rows, found, whose, format_name = line.split()[:5]
    assert (rows, found, whose, format_name) == ("2", "100%", "me", "played")
    result = nearsong("listens", "remove", history_id, library=library)
    assert (result.returncode, result.stdout.split(".")[0]) == (0, "1 history removed (2 plays recorded by nearsong)")
    assert "played with nearsong" not in nearsong("listens", "list", library=library).stdout
    with Library.open(library) as again:
        assert again.play_log.count() == 0


def test_what_is_recorded_is_exported_read_back_and_named_when_it_is_removed(nearsong, trained, tmp_path):
    library, file = tmp_path / "library.sqlite", tmp_path / "plays.jsonl"
    result = nearsong("listens", "export", file, library=library)
    assert (result.returncode, "nothing is recorded" in result.stderr) == (2, True)
    trained.play_log.record_all([(3, None), (4, None)])
    trained.reactions.heart([3])
    trained.reactions.rate(5, 4, "anna")
    result = nearsong("listens", "export", file, library=library)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"Written: {file} (2 plays, 1 heart, 1 rating).\n"
    result = nearsong("listens", "export", tmp_path / "anna.jsonl", "--user", "anna", library=library)
    assert result.stdout.endswith("(1 rating).\n")
    result = nearsong("listens", "export", file, "--user", "bob", library=library)
    assert (result.returncode, "nothing of 'bob' is recorded" in result.stderr) == (2, True)
    listed = nearsong("listens", "list", library=library).stdout
    (line,) = [line for line in listed.splitlines() if "played with nearsong" in line]
    result = nearsong("listens", "remove", line.split()[0], library=library)
    assert "1 history removed (2 plays, 1 heart, 1 rating recorded by nearsong)." in result.stdout
    assert "4 rows" in nearsong("listens", "import", file, library=library).stdout
    assert trained.reactions.of("anna").ratings == {}
