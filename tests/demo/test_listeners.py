import csv
from collections import Counter
from pathlib import Path

import pytest

from nearsong.demo import music as demo_music
from nearsong.demo.listeners import SongName, new_singles
from nearsong.demo.music import DemoLibrary, make_demo_library


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make a demo library whose files hold no sound."""
    monkeypatch.setattr("nearsong.demo.music.synthesise_song", lambda task: task.path.write_bytes(b"no sound"))
    monkeypatch.setattr("nearsong.demo.music.draw_cover", lambda task: None)

    def made(name: str) -> DemoLibrary:
        return make_demo_library(tmp_path / name, n_artists=12, n_listeners=200, workers=1)

    return made


def titles_of(made: DemoLibrary) -> dict[str, list[str]]:
    """Return each artist's titles in the order of the library."""
    return {
        artist.name: [path.stem[3:] for path in sorted(artist.rglob("*")) if path.is_file()]
        for artist in made.music.iterdir()
    }


def plays_of(made: DemoLibrary) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Return the plays by listener and artist, and those by title."""
    artists: Counter[tuple[str, str]] = Counter()
    titles: Counter[str] = Counter()
    with made.listens.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            artists[row["user"], row["artist"].lower()] += int(row["plays"])
            titles[row["title"].lower()] += int(row["plays"])
    return artists, titles


def listed_in(made: DemoLibrary) -> dict[str, list[str]]:
    return {
        path.name: [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        for path in made.playlists.iterdir()
    }


def test_a_song_of_every_third_artist_is_one_that_nobody_has_played_or_put_on_a_list(make):
    made = make("demo")
    _, played = plays_of(made)
    listed = {Path(entry).stem[3:] for entries in listed_in(made).values() for entry in entries}
    never = {
        artist: [title for title in titles if title.lower() not in played]
        for artist, titles in titles_of(made).items()
    }
    new = {artist: titles for artist, titles in never.items() if titles}
    assert 3 <= len(new) <= 4 + 1  # of 12 artists; one who has a single song keeps it
    assert not listed & {title for titles in new.values() for title in titles}
    assert all(len(titles) < len(titles_of(made)[artist]) for artist, titles in new.items())


def test_who_plays_which_artist_how_often_is_the_same_without_new_songs(make, monkeypatch):
    with_new = make("with")
    monkeypatch.setattr(demo_music, "new_singles", lambda songs: {})
    without = make("without")
    assert plays_of(with_new)[0] == plays_of(without)[0]
    assert len(plays_of(with_new)[1]) < len(plays_of(without)[1])
    lists, others = listed_in(with_new), listed_in(without)
    assert list(lists) == list(others)
    for name, entries in lists.items():
        assert {Path(entry).parts[2] for entry in entries} == {Path(entry).parts[2] for entry in others[name]}


def test_an_artist_keeps_an_only_song_and_what_the_library_lacks_is_nobodys_new_single():
    def song(title: str, path: str = "x.mp3") -> SongName:
        return SongName("Can", title, path, 9.0)

    first, only, elsewhere = [song("a"), song("b")], [song("c")], [song("d", ""), song("e", "")]
    assert new_singles([first, only, only, only, first, first, elsewhere]) == {song("b"): song("a")}
