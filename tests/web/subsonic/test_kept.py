"""What players keep on the server and read from it: bookmarks and lyrics."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from nearsong.library.listeners.recorded import bookmarks
from rest_server import playing


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    with playing(trained_file, tmp_path_factory.mktemp("kept")) as found:
        yield found


def places(player, **asked):
    return [
        (one["entry"]["id"], one["position"]) for one in player.ask("getBookmarks", **asked)["bookmarks"]["bookmark"]
    ]


def test_a_bookmark_is_kept_for_its_listener_and_moves(player):
    player.ask("createBookmark", id=4, position=61_000, comment="the bridge")
    player.ask("createBookmark", id=7, position=0)
    player.ask("createBookmark", id=9, position=5, u="anna")
    first = player.ask("getBookmarks")["bookmarks"]["bookmark"][1]
    player.ask("createBookmark", id=4, position=62_000, comment="the bridge")
    moved = player.ask("getBookmarks")["bookmarks"]["bookmark"][0]
    assert (moved["position"], moved["created"], moved["comment"]) == (62_000, first["created"], "the bridge")
    assert moved["changed"] > first["changed"]
    assert player.ask("getSong", id=4)["song"]["bookmarkPosition"] == 62_000
    assert "bookmarkPosition" not in player.ask("getSong", id=4, u="anna")["song"]
    assert (places(player), places(player, u="anna")) == ([("4", 62_000), ("7", 0)], [("9", 5)])
    player.ask("deleteBookmark", id=4)
    assert places(player) == [("7", 0)]
    assert player.fails("deleteBookmark", id=9)[0] == 70
    assert player.fails("createBookmark", id=4, position=-1)[0] == 0


def test_a_listener_has_a_limited_number_of_bookmarks(player, monkeypatch):
    monkeypatch.setattr(bookmarks, "MAX_BOOKMARKS", 2)
    for song in (1, 2, 2):
        player.ask("createBookmark", id=song, position=song, u="ben")
    assert "remove some" in player.fails("createBookmark", id=3, position=1, u="ben")[1]


def test_lyrics_come_as_a_text_and_line_by_line(player):
    song = player.snapshot.song(3)
    empty = player.ask("getLyricsBySongId", id=3)["lyricsList"]["structuredLyrics"]
    named = {"artist": song.artist, "title": song.title}
    assert (empty, player.ask("getLyrics", **named)["lyrics"]) == ([], {"value": ""})
    beside = Path(song.path).with_suffix(".lrc")
    beside.write_text("[00:01.5]One & <two>\n[00:03]Three")
    try:
        (found,) = player.ask("getLyricsBySongId", id=3)["lyricsList"]["structuredLyrics"]
        assert (found["synced"], found["lang"]) == (True, "xxx")
        assert found["line"] == [{"start": 1500, "value": "One & <two>"}, {"start": 3000, "value": "Three"}]
        assert player.ask("getLyrics", **named)["lyrics"] == {**named, "value": "One & <two>\nThree"}
        document = ET.fromstring(player.response("getLyrics", **named, f="xml").content)
        assert document[0].text == document[0].get("value") == "One & <two>\nThree"
        assert player.ask("getLyrics", artist="nobody", title="nothing")["lyrics"] == {"value": ""}
    finally:
        beside.unlink()


def test_everybody_has_an_avatar(player):
    drawn = {name: player.response("getAvatar", username=name).content for name in ("anna", "Ben", "anna")}
    assert len(set(drawn.values())) == 2
    assert all(data.startswith(b"\xff\xd8\xff") for data in drawn.values())
