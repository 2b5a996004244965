"""`nearsong for`, `nearsong radio` and minus seeds: what is printed, what is written, and who is not known."""

import json
import shutil
import time
from pathlib import Path

import pytest

from nearsong.library import Library


@pytest.fixture(scope="module")
def library(trained_file, tmp_path_factory) -> Path:
    """A library in which Anna has played two songs, and Zoe has an account."""
    address = Path(shutil.copy(trained_file, tmp_path_factory.mktemp("played") / "library.sqlite"))
    with Library.open(address) as opened:
        for song in (1, 7):
            opened.play_log.record(song, "Anna", time.time() - 60)
        opened.accounts.add("Zoe")
    return address


@pytest.fixture(scope="module")
def snapshot(library):
    with Library.open(library) as opened:
        yield opened.snapshot()


def test_songs_for_a_listener_are_listed_with_the_song_they_are_there_for(nearsong, library, snapshot):
    result = nearsong("for", "anna", "-n", 3, library=library, COLUMNS="118")
    assert result.returncode == 0
    assert "For Anna, from 2 plays" in result.stdout
    assert "because of" in result.stdout
    for one in snapshot.for_you("Anna", 3).songs:
        assert one.song.title in result.stdout
        assert (one.because.name in result.stdout) == one.is_near


def test_what_a_listener_knows_is_left_out_unless_it_is_asked_for(nearsong, library, snapshot):
    def ids(*options) -> list[int]:
        answer = json.loads(nearsong("for", "Anna", "-n", 100, "--json", *options, library=library).stdout)
        assert (answer["listener"], answer["plays"]) == ("Anna", 2)
        return [song["id"] for song in answer["songs"]]

    assert ids("--genre", "low hum") == [song for song in ids() if snapshot.song(song).genre == "low hum"]
    assert not {1, 7} & {*ids()}
    assert {1, 7} <= {*ids("--include-played")}


def test_a_listener_of_whom_nothing_is_known_is_named_with_those_nearby(nearsong, library):
    result = nearsong("for", "Ana", library=library)
    assert (result.returncode, result.stdout) == (2, "")
    assert "nothing is known of a listener called 'Ana'; did you mean Anna?" in result.stderr
    result = nearsong("radio", 1, "--for", "somebody else", library=library)
    assert "nothing is known of a listener called 'somebody else'; this library has" in result.stderr
    assert "ask for one of them" in result.stderr


def test_who_has_done_nothing_yet_is_told_whom_else_to_ask_for(nearsong, library):
    result = nearsong("for", "me", "-n", 2, library=library)
    assert result.returncode == 0
    assert "Nothing that you played is known yet" in result.stdout
    assert "This library has" in result.stdout
    assert "Anna" in result.stdout
    assert "import a listening history" not in result.stdout


def test_a_listener_who_has_played_nothing_is_told_so(nearsong, library):
    result = nearsong("for", "zoe", "-n", 2, library=library)
    assert result.returncode == 0
    assert "Nothing that Zoe played is known yet" in result.stdout


def test_recommendations_and_radio_are_written_as_playlists(nearsong, library, tmp_path):
    def songs(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith("#")]

    result = nearsong("for", "Anna", "-n", 4, "--out", tmp_path / "anna.m3u8", library=library)
    assert f"Written: {tmp_path / 'anna.m3u8'}" in result.stdout
    assert len(songs((tmp_path / "anna.m3u8").read_text())) == 4
    result = nearsong("radio", 1, "--n", 3, "--out", "-", library=library)
    assert result.stdout.startswith("#EXTM3U")
    assert len(songs(result.stdout)) == 3


def test_a_radio_is_the_librarys_and_another_seed_gives_another(nearsong, library, snapshot):
    def ids(*options) -> list[int]:
        answer = json.loads(nearsong("radio", 1, 7, "-n", 12, "--json", *options, library=library).stdout)
        return [song["id"] for song in answer["songs"]]

    assert ids("--for", "anna") == [one.song.id for one in snapshot.radio([1, 7], n=12, listener="Anna")]
    assert ids() == ids("--seed", 0) != ids("--seed", 1)
    surprising = snapshot.radio([1, 7], n=12, listener="Anna", surprise=0.8)
    assert ids("--for", "anna", "--surprise", 0.8) == [one.song.id for one in surprising] != ids("--for", "anna")
    wrong = nearsong("radio", 1, "--surprise", 2, library=library)
    assert "surprise=2.0 must be a number from 0 (familiar) to 1 (surprising)" in wrong.stderr
    result = nearsong("radio", 1, "-n", 2, "--for", "Anna", library=library, COLUMNS="118")
    assert ", for Anna" in " ".join(result.stdout.split())
    assert "2 songs, 4 s." in result.stdout


def test_similar_songs_stay_away_from_minus_seeds(nearsong, library, snapshot):
    answer = json.loads(nearsong("similar", 1, 3, "--not", 9, "-n", 8, "--json", library=library).stdout)
    assert [song["id"] for song in answer["songs"]] == [
        near.song.id for near in snapshot.similar([1, 3], 8, without=[9])
    ]
    assert answer["not"] == [snapshot.song(9).name]
    result = nearsong("similar", 1, "--not", 9, "--not", 3, library=library)
    assert f"not to {snapshot.song(9).name} +" in " ".join(result.stdout.split())


def test_a_radio_starts_from_an_artist_by_name_and_names_its_one_seed_only_in_the_title(nearsong, library, snapshot):
    artist = snapshot.song(1).artist
    result = nearsong("radio", artist, "-n", 3, library=library)
    assert result.returncode == 0
    assert f"Radio: {artist}" in result.stdout
    assert nearsong("playlist", artist, library=library).returncode == 0
    assert "after" not in nearsong("radio", 1, "-n", 3, library=library).stdout
