"""What holds for every playlist format of the registry."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import ListensError
from nearsong.listens import open_listens
from nearsong.listens.playlists import PLAYLIST_FORMATS

MBID = "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"
NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)


@dataclass
class Listed:
    path: str
    artist: str = ""
    title: str = ""
    seconds: float = 0.0
    album: str = ""
    recording_mbid: str = ""


every_format = pytest.mark.parametrize("format", PLAYLIST_FORMATS.values(), ids=list(PLAYLIST_FORMATS))


@every_format
def test_a_format_is_called_by_a_short_name_and_its_ending(format):
    assert PLAYLIST_FORMATS[format.name] is format
    assert f".{format.name}" == format.endings[0]
    assert format.label
    assert "/" in format.media_type


def test_no_two_formats_share_an_ending():
    endings = [ending for format in PLAYLIST_FORMATS.values() for ending in format.endings]
    assert len(set(endings)) == len(endings)


@every_format
@given(songs=st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4), title=NAMES)
@settings(max_examples=25)
def test_what_is_written_is_recognised_and_read_back(folder, listens, format, songs, title):
    listed = [Listed(f"/music/{n}.mp3", artist, name, 61.0) for n, (artist, name) in enumerate(songs)]
    path = folder / f"list.{format.name}.txt"  # recognised by its content
    path.write_text(format.write(listed, title, str(folder)), encoding="utf-8")
    assert (open_listens(path).format, open_listens(path).kind) == (format.name, "playlists")
    assert sorted((artist, name) for _, artist, name, _, _ in listens(path)) == sorted(songs)


@every_format
def test_names_that_need_escaping_survive(write, listens, format):
    artist, title = 'Q & "A" <é>', "a=b; [c] #1 \\ %20"
    path = write(f"x{format.endings[0]}", format.write([Listed("/m/a b.mp3", artist, title)], "T & <T>", None))
    assert [(artist, title) for _, artist, title, _, _ in listens(path)] == [(artist, title)]


@every_format
def test_control_characters_do_not_break_a_file(write, listens, format):
    songs = [Listed("/m/\udcff\n1.mp3", "A\nb\x00", "C\r\x1b\u2028d"), Listed("/m/2.mp3", "E", "F", float("nan"))]
    path = write(f"x{format.endings[0]}", format.write(songs, "x\ny", None))
    assert [title[-1] for _, _, title, _, _ in listens(path)] == ["d", "F"]


@every_format
def test_a_file_that_is_cut_is_an_error_or_a_shorter_playlist(write, listens, format):
    text = format.write([Listed(f"/m/{n}.mp3", "A", f"T{n}") for n in range(5)], "x", None)
    for end in range(1, len(text), 7):
        try:
            found = listens(write(f"x{format.endings[0]}", text[:end]), format=format.name)
        except ListensError:
            continue
        assert len(found) <= 5
