"""Playlist files read back line by line: every entry must lead to its file from where the playlist lies."""

import json
import ntpath
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.files.playlist_files import folder_of_songs, playlist_text, write_playlist
from nearsong.library.records import Song
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.listens.playlists.m3u8 import write_m3u8
from nearsong.listens.playlists.paths import relative_path


@dataclass
class Listed:
    path: str
    artist: str = "Artist"
    title: str = "Title"
    seconds: float = 10.0


def song(path, **changes):
    known = {
        "id": 1,
        "artist": "Wynton Marsalis",
        "title": "Caravan",
        "album": "Standard Time",
        "genre": "Jazz",
        "year": 1987,
        "seconds": 497.6,
        "artist_key": "wynton marsalis",
        "recording_mbid": "4f5b2a2e-0000-4000-8000-000000000001",
    }
    return Song(path=str(path), **(known | changes))


def entries(playlist):
    """Return the files a playlist leads to, as a player would find them, as bytes."""
    found = []
    for line in playlist.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("file://"):
            found.append(unquote_to_bytes(line.removeprefix("file://")))
        else:
            found.append(os.fsencode(playlist.parent / line))
    return found


@pytest.mark.parametrize(
    ("paths", "folders", "expected"),
    [
        (["/m/a.mp3", "/m/x/b.mp3"], ["/m"], "/m"),
        (["/m/a.mp3"], ["/m", "/music"], "/m"),
        (["/m/a.mp3", "/m/x/b.mp3"], ["/m", "/m/x"], "/m"),  # the outermost folder, as it is copied
        (["/d/one/a.mp3", "/d/two/b.mp3"], ["/d/one", "/d/two", "/d/three"], "/d"),
        (["/elsewhere/a.mp3"], ["/m"], None),
        (["/m/a.mp3", "/elsewhere/a.mp3"], ["/m"], None),
        (["/music2/a.mp3"], ["/music"], None),
        ([], ["/m"], None),
    ],
)
def test_the_folder_of_a_playlists_songs_is_the_one_to_copy(paths, folders, expected):
    assert folder_of_songs([Listed(path) for path in paths], folders) == expected


# M3U8


def test_an_m3u8_says_artist_title_length_and_relative_path(tmp_path):
    written = write_playlist(tmp_path / "evening.m3u8", [song(tmp_path / "Jazz" / "Caravan.mp3")], "Evening")
    assert written.read_bytes() == (
        b"#EXTM3U\n#PLAYLIST:Evening\n#EXTINF:498,Wynton Marsalis - Caravan\nJazz/Caravan.mp3\n"
    )


def test_an_empty_playlist_is_still_one(tmp_path):
    assert write_playlist(tmp_path / "none.m3u8", []).read_bytes() == b"#EXTM3U\n"


def test_paths_go_up_from_the_playlists_folder():
    assert write_m3u8([Listed("/music/a/b.mp3")], "", "/music/lists/2024").splitlines()[-1] == "../../a/b.mp3"


def test_paths_relative_to_the_working_folder_are_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists").mkdir()
    write_playlist("lists/one.m3u8", [Listed("music/a.mp3")])
    assert (tmp_path / "lists" / "one.m3u8").read_text().splitlines()[-1] == "../music/a.mp3"


@pytest.mark.parametrize(
    ("artist", "title", "seconds", "line"),
    [
        ("Björk", "Jóga", 305.5, "#EXTINF:306,Björk - Jóga"),
        ("", "Jóga", 305.4, "#EXTINF:305,Jóga"),
        ("Björk", "", 1.0, "#EXTINF:1,Björk - a file"),
        ("", "", 0.0, "#EXTINF:-1,a file"),
        ("A\nB\r\n#EXTINF:1,C", "D\u2028E\x00F\x85G", float("nan"), "#EXTINF:-1,A B  #EXTINF:1,C - D E F G"),
        ("Bj\udcf6rk", "\ud800", 2.0, "#EXTINF:2,Bj\ufffdrk - \ufffd"),
        ("Duo, The", "A - B", 3.0, "#EXTINF:3,Duo, The - A - B"),
    ],
)
def test_a_song_is_described_in_one_line_whatever_its_tags_hold(artist, title, seconds, line):
    text = write_m3u8([Listed("/music/a file.mp3", artist, title, seconds)], "", "/music")
    assert text == f"#EXTM3U\n{line}\na file.mp3\n"
    text.encode("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "plain.mp3",
        "Jóga – live.mp3",
        "#1 hit.mp3",
        "two\nlines.mp3",
        " spaces around ",
        "back\\slash.mp3",
        "100%25.mp3",
        "next\u2028line.mp3",
        os.fsdecode(b"Bj\xf6rk.mp3"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="such names are not possible on Windows")
def test_every_name_leads_to_its_file(tmp_path, name):
    file = tmp_path / "music" / name
    file.parent.mkdir()
    file.write_bytes(b"sound")
    (tmp_path / "lists").mkdir()
    playlist = write_playlist(tmp_path / "lists" / "all.m3u8", [Listed(str(file))])
    (found,) = entries(playlist)
    assert os.path.samefile(found, file)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1, max_size=30))
def test_any_name_takes_one_line_that_gives_it_back(name):
    if name in (".", ".."):
        return
    path = "/music/" + name
    lines = write_m3u8([Listed(path)], "", "/music").split("\n")
    assert len(lines) == 4
    assert "\r" not in "".join(lines)
    line = lines[2]
    if line.startswith("file:///"):
        assert unquote_to_bytes(line.removeprefix("file://")) == os.fsencode(path)
    else:
        assert line.removeprefix("./") == name
        assert not line.startswith("#")


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_paths_are_right_where_folders_are_links(tmp_path):
    (tmp_path / "disk" / "music").mkdir(parents=True)
    (tmp_path / "other" / "deep" / "lists").mkdir(parents=True)
    (tmp_path / "disk" / "music" / "a.mp3").write_bytes(b"sound")
    (tmp_path / "lists").symlink_to(tmp_path / "other" / "deep" / "lists")
    (tmp_path / "music").symlink_to(tmp_path / "disk" / "music")
    (tmp_path / "music" / "b.mp3").symlink_to("a.mp3")
    for folder in ("lists", "music"):
        listed = [Listed(str(tmp_path / "music" / name)) for name in ("a.mp3", "b.mp3")]
        playlist = write_playlist(tmp_path / folder / "all.m3u8", listed)
        for found, name in zip(entries(playlist), ("a.mp3", "b.mp3"), strict=True):
            assert os.path.samefile(found, tmp_path / "disk" / "music" / "a.mp3")
            assert os.path.basename(found) == name.encode()
    assert "\na.mp3\n" in (tmp_path / "music" / "all.m3u8").read_text()


@pytest.mark.parametrize(
    ("path", "line"), [("C:\\Music\\Jazz\\a.mp3", "../Music/Jazz/a.mp3"), ("D:\\Jazz\\a.mp3", "D:/Jazz/a.mp3")]
)
def test_on_windows_paths_have_slashes_and_another_drive_stays_absolute(path, line):
    assert relative_path(path, "C:\\Lists", ntpath) == line


# JSPF


def test_a_jspf_says_everything_that_is_known(tmp_path):
    file = tmp_path / "Jazz & Blues" / "Caravan #1.mp3"
    written = write_playlist(tmp_path / "evening.jspf", [song(file)], "Evening")
    (track,) = json.loads(written.read_text())["playlist"]["track"]
    assert track == {
        "location": [file.as_uri()],
        "title": "Caravan",
        "creator": "Wynton Marsalis",
        "album": "Standard Time",
        "duration": 497_600,
        "identifier": ["https://musicbrainz.org/recording/4f5b2a2e-0000-4000-8000-000000000001"],
    }
    assert json.loads(written.read_text())["playlist"]["title"] == "Evening"


def test_a_jspf_leaves_out_what_is_not_known_and_takes_its_title_from_the_file(tmp_path):
    unknown = Listed("/music/a.mp3", artist="", title="", seconds=float("nan"))
    written = write_playlist(tmp_path / "evening.jspf", [unknown])
    assert json.loads(written.read_text()) == {
        "playlist": {"title": "evening", "track": [{"location": ["file:///music/a.mp3"]}]}
    }


@pytest.mark.skipif(os.name == "nt", reason="such names are not possible on Windows")
def test_a_jspf_survives_names_that_are_no_utf_8(tmp_path):
    name = os.fsdecode(b"/music/Bj\xf6rk.mp3")
    written = write_playlist(tmp_path / os.fsdecode(b"J\xf3ga.jspf"), [song(name, title="J\udcf3ga", artist="Björk")])
    playlist = json.loads(written.read_bytes().decode("utf-8"))["playlist"]
    assert playlist["title"] == "J\ufffdga"
    assert playlist["track"][0]["location"] == ["file:///music/Bj%F6rk.mp3"]
    assert (playlist["track"][0]["title"], playlist["track"][0]["creator"]) == ("J\ufffdga", "Björk")


# By ending, and onto the disk


def test_the_ending_chooses_the_format(tmp_path):
    songs = [song("/music/a.mp3")]
    assert write_playlist(tmp_path / "one.M3U8", songs).read_text().startswith("#EXTM3U\n")
    m3u, m3u8 = (write_playlist(tmp_path / f"Abendmusik für dich.{ending}", songs) for ending in ("m3u", "m3u8"))
    assert m3u.read_bytes() == m3u8.read_bytes()  # the same text, in UTF-8
    assert m3u.suffix == ".m3u"
    assert (
        json.loads(write_playlist(str(tmp_path / "two.jspf"), songs, "Two").read_text())["playlist"]["title"] == "Two"
    )


@pytest.mark.parametrize("name", ["evening.wpl", "evening"])
def test_another_ending_is_refused_and_nothing_is_written(tmp_path, name):
    *others, last = (ending for format in PLAYLIST_FORMATS.values() for ending in format.endings)
    with pytest.raises(InvalidInputError) as refused:
        write_playlist(tmp_path / name, [])
    assert str(refused.value) == f"Unknown playlist format: {name}; use {', '.join(others)} or {last}."
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_line_not_a_traceback(tmp_path):
    with pytest.raises(
        LibraryError, match=r"x\.m3u8 cannot be written \(No such file or directory\); choose another"
    ):
        write_playlist(tmp_path / "no" / "x.m3u8", [])


def test_an_old_playlist_stays_intact_when_the_new_one_cannot_be_written(tmp_path, monkeypatch):
    playlist = write_playlist(tmp_path / "a.m3u8", [song("/music/a.mp3")])
    before = playlist.read_bytes()

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(LibraryError, match="No space left on device"):
        write_playlist(playlist, [])
    assert playlist.read_bytes() == before
    assert list(tmp_path.iterdir()) == [playlist]


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_playlist_that_is_a_link_is_written_through_it(tmp_path):
    (tmp_path / "real.m3u8").write_text("old")
    (tmp_path / "link.m3u8").symlink_to("real.m3u8")
    write_playlist(tmp_path / "link.m3u8", [])
    assert (tmp_path / "link.m3u8").is_symlink()
    assert (tmp_path / "real.m3u8").read_text() == "#EXTM3U\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are not files here")
def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe.m3u8"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path(pipe).read_text()))
    reader.start()
    write_playlist(pipe, [])
    reader.join()
    assert read == ["#EXTM3U\n"]
    assert pipe.is_fifo()


# the text of a playlist that will lie nobody knows where


def test_a_playlist_for_anywhere_has_full_paths(tmp_path):
    listed = [song("/music/a/b.mp3"), song("/music/#1.mp3", artist="", title="", seconds=0.0)]
    assert playlist_text(listed, "m3u8", "For\nSunday").splitlines() == [
        "#EXTM3U",
        "#PLAYLIST:For Sunday",
        "#EXTINF:498,Wynton Marsalis - Caravan",
        "/music/a/b.mp3",
        "#EXTINF:-1,#1",
        "/music/#1.mp3",
    ]


def test_a_playlist_for_anywhere_leaves_links_as_the_library_knows_them(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert playlist_text([song(tmp_path / "link" / "a.mp3")], "m3u8").splitlines()[-1] == f"{tmp_path}/link/a.mp3"


@pytest.mark.parametrize("name", ["line\nbreak.mp3", "half\udcff.mp3", "para\u2029graph.mp3"])
def test_what_no_line_can_hold_is_an_address_anywhere(name):
    line = playlist_text([song(f"/music/{name}")], "m3u8").splitlines()[-1]
    assert line.startswith("file:///music/")
    assert unquote_to_bytes(line.removeprefix("file://")) == os.fsencode(f"/music/{name}")


def test_a_jspf_for_anywhere_is_what_a_file_would_hold(tmp_path):
    listed = [song("/music/a/b.mp3"), song("/music/c.mp3", recording_mbid="")]
    written = write_playlist(tmp_path / "x.jspf", listed, "Sunday")
    assert playlist_text(listed, "jspf", "Sunday") == written.read_text(encoding="utf-8")
    playlist = json.loads(playlist_text(listed, "jspf", "Sunday"))["playlist"]
    assert playlist["title"] == "Sunday"
    assert [track["location"] for track in playlist["track"]] == [["file:///music/a/b.mp3"], ["file:///music/c.mp3"]]


def test_a_playlist_of_no_songs_is_still_a_playlist():
    assert playlist_text([], "m3u8") == "#EXTM3U\n"
    assert json.loads(playlist_text([], "jspf")) == {"playlist": {"title": "", "track": []}}


def test_a_format_that_cannot_be_written_is_refused_with_those_that_can():
    with pytest.raises(InvalidInputError) as refused:
        playlist_text([], "wpl")
    assert str(refused.value) == f"format='wpl' is unknown; choose one of {', '.join(sorted(PLAYLIST_FORMATS))}."
