"""What was played through the service, on the command line: listed like any history, and forgotten like one."""

from nearsong.library import Library


def test_plays_are_listed_as_a_history_and_removed_like_one(nearsong, trained, tmp_path):
    library = tmp_path / "library.sqlite"
    trained.played.note_all([(3, None), (4, None)])
    said = nearsong("listens", "list", library=library)
    assert said.returncode == 0, said.stderr
    (line,) = [line for line in said.stdout.splitlines() if "played with nearsong" in line]
    number, rows, form = line.split()[:3]
    assert (rows, form) == ("2", "played")
    said = nearsong("listens", "remove", number, library=library)
    assert (said.returncode, said.stdout.split(";")[0]) == (0, "1 history forgotten")
    assert "played with nearsong" not in nearsong("listens", "list", library=library).stdout
    with Library.open(library) as again:
        assert again.played.count() == 0
