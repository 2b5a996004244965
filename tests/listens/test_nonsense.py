"""Whatever a file holds, reading it gives listens or one clear error, never anything else."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import ListensError
from nearsong.listens import FORMATS, open_listens

WORDS = [
    "playlist", "playlists", "track", "tracks", "items", "title", "creator", "identifier", "location", "extension",
    "name", "pid", "artist", "artistName", "trackName", "endTime", "msPlayed", "ts", "ms_played", "user", "plays",
    "date", "master_metadata_album_artist_name", "master_metadata_track_name", "track_metadata", "artist_name",
    "mbid_mapping", "additional_info", "artist_mbids", "listened_at", "listens", "scrobbles", "@attr", "#text", "uts",
    "time", "https://musicbrainz.org/doc/jspf#track", "artist_identifiers", "Björk", "31 Jan 2023 12:34",
    "1675168440",
]  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)
records = st.lists(st.dictionaries(st.sampled_from(WORDS), values, max_size=8), max_size=3)
json_texts = st.one_of(
    values.map(json.dumps),
    records.map(json.dumps),
    records.map(lambda rows: "\n".join(map(json.dumps, rows))),
    records.map(lambda rows: json.dumps({"playlists": rows}, indent=1)),
    records.map(lambda rows: json.dumps({"playlist": {"track": rows}})),
)
MARKS = [",", "\t", ";", "|", "\n", "\r\n", '"', "#EXTM3U\n", "#EXTINF:", "<", "\0", "é", " - "]
texts = st.lists(st.sampled_from([*WORDS, *MARKS])).map("".join)


def read_all(path, format):
    history = open_listens(path) if format is None else open_listens(path, format)
    for block in history.blocks(lambda message: None):
        assert len(block)
        assert block.user.min() >= 0
        assert block.user.max() < len(block.users)
        assert block.item.min() >= 0
        assert block.item.max() < len(block.tracks)
        assert (block.plays > 0).all()
        assert (block.time >= 0).all()
        assert all(track.artist for track in block.tracks)
        assert all(block.users)


@pytest.mark.parametrize("format", [None, *FORMATS])
@given(content=st.one_of(json_texts.map(str.encode), texts.map(str.encode), st.binary(max_size=60)))
@settings(max_examples=15, deadline=None)
def test_any_file_gives_listens_or_one_line(folder, format, content):
    path = folder / "file.txt"
    path.write_bytes(content)
    try:
        read_all(path, format)
    except ListensError as error:
        message = str(error)
    else:
        message = ""
    assert "\n" not in message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("name", "format", "content"),
    [
        ("digits.m3u8", "m3u8", "#EXTM3U\n#EXTINF:" + "1" * 300_000 + "\nx.mp3\n"),
        ("spaces.json", "json", " " * 300_000 + '[{"artist": "A"}]'),
    ],
)
def test_a_long_line_takes_no_longer_than_its_length(tmp_path, name, format, content):
    path = tmp_path / name
    path.write_text(content)
    program = f"from nearsong.listens import open_listens; list(open_listens({str(path)!r}, {format!r}).blocks())"
    # a second at most; where patterns are tried at every place of the line, a quarter of an hour
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0 or "nearsong.errors.ListensError" in run.stderr
