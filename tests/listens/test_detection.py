"""Which files are listening histories, found in folders, in zips, under odd names."""

import contextlib
import gzip
import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError, ListensError
from nearsong.listens import FORMATS, ListenFile, blocks, find_listen_files, open_listens, sources
from nearsong.listens.detection import detect_source, members_of
from nearsong.listens.sources import SourceFile, opened_zip

CSV = "user,artist,plays\nann,Björk,3\n"
STREAMS = [{"endTime": "2023-01-31 12:34", "artistName": "Björk", "trackName": "Jóga", "msPlayed": 60000}]
PLAYLISTS = {"playlists": [{"name": "x", "items": [{"track": {"artistName": "A", "trackName": "B"}}]}]}


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_folders_are_searched_in_order_for_known_endings_and_files_are_taken_as_they_are(write, tmp_path):
    names = ["b.csv", "a/z.TSV.GZ", "a/b/c.jsonl", "list.M3U8", "x.jspf", "e.zip", "p.parquet", "README.txt"]
    for name in [*names, "cover.jpg", "song.mp3", ".hidden.csv", ".git/x.csv", "notes.md", "a.csv.bak"]:
        write(f"in/{name}", "x")
    odd = write("odd.name", "x")
    found = find_listen_files([odd, tmp_path / "in", tmp_path / "in" / "b.csv"])
    assert found[0] == odd
    assert [path.relative_to(tmp_path / "in").as_posix() for path in found[1:]] == [
        "README.txt", "b.csv", "e.zip", "list.M3U8", "p.parquet", "x.jspf", "a/z.TSV.GZ", "a/b/c.jsonl",
    ]  # fmt: skip


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(ListensError, match=r"File not found: .*gone\. Give a listening history"):
        find_listen_files([tmp_path / "gone"])


@pytest.mark.parametrize("name", ["plays.csv", "plays.json", "plays.m3u8.txt", "plays"])
def test_content_goes_before_the_ending(write, name):
    assert open_listens(write(name, CSV)).format == "csv"
    assert open_listens(write(name, json.dumps(STREAMS))).format == "spotify-account"
    assert open_listens(write(name, "#EXTM3U\na/b.mp3\n")).format == "m3u8"
    assert open_listens(write(name, gzip.compress(CSV.encode()))).format == "csv"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b" \n\n", "a.csv is empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "a.csv.gz is empty"),
        ("README.txt", b"Hello,\nthis is my music.\n", "README.txt is not a recognised listening history"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00", "a.csv is not a listening history: it is neither text"),
        ("a.csv", b"x" * 300_000, "a.csv is not a recognised listening history"),
        ("a.zip", zipped({}), "a.zip is a zip file without a recognised listening history."),
        ("a.zip", zipped({"x.txt": "hello"}), "a.zip is a zip file without a recognised listening history: .*x.txt"),
        ("a.parquet", b"PAR1 but no more", "a.parquet is truncated or not a Parquet file"),
        ("a.json", b'"just text"', "a.json is not a recognised listening history"),
    ],
)
def test_what_is_no_listening_history_is_one_clear_line(write, name, content, message):
    with pytest.raises(ListensError, match=message) as error:
        open_listens(write(name, content))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(ListensError, match="is a folder; find_listen_files lists the files in it"):
        open_listens(tmp_path)


def test_a_zip_is_one_kind_of_history(write, listens):
    path = write(
        "my_spotify_data.zip",
        zipped({
            "Spotify Account Data/Playlist1.json": json.dumps(PLAYLISTS),
            "Spotify Account Data/StreamingHistory_music_0.json": json.dumps(STREAMS),
            "Spotify Account Data/StreamingHistory_music_1.json": json.dumps(STREAMS),
            "Spotify Account Data/Userdata.json": json.dumps({"username": "ann"}),
            "Spotify Account Data/ReadMeFirst.pdf": b"%PDF",
        }),
    )  # fmt: skip
    assert open_listens(path) == ListenFile(path, "spotify-account", "events")
    assert listens(path) == [("me", "Björk", "Jóga", 1, 1675168380)] * 2
    assert open_listens(path, "spotify-playlists") == ListenFile(path, "spotify-playlists", "playlists")
    assert listens(path, format="spotify-playlists") == [("x", "A", "B", 1, 0)]


def test_a_zip_of_playlists_is_playlists(write, listens):
    path = write("lists.zip", zipped({"a.m3u8": "#EXTM3U\n#EXTINF:5,A - B\nx.mp3\n", "b.m3u": "C/D.mp3\n"}))
    assert open_listens(path) == ListenFile(path, "m3u8", "playlists")
    assert [row[:3] for row in listens(path)] == [("a", "A", "B"), ("b", "C", "D")]


def test_a_format_one_insists_on_goes_for_all_files_of_a_zip_that_can_have_it(write, listens):
    path = write("a.zip", zipped({"songs.csv": "song_id,artist\n1,A\n", "README.txt": "hello"}))
    with pytest.raises(ListensError, match="a zip file without a recognised listening history"):
        open_listens(path)
    assert listens(path, "csv") == [("me", "A", "", 1, 0)]


def test_packed_files_in_a_zip_are_unpacked(write, listens):
    path = write("a.zip", zipped({"plays.csv.gz": gzip.compress(CSV.encode())}))
    assert listens(path) == [("ann", "Björk", "", 3, 0)]


def test_an_unknown_format_lists_the_known_ones(write):
    with pytest.raises(InvalidInputError, match=r"format='winamp' is unknown; choose one of apple-activity, apple"):
        open_listens(write("a.csv", CSV), "winamp")


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_that_is_insisted_on_wrongly_is_one_line(write, listens, format):
    with pytest.raises(ListensError, match=r"plays\.txt") as error:
        listens(write("plays.txt", "a\tb\nc\td\n"), format)
    assert "\n" not in str(error.value)


def test_a_block_comes_before_the_file_is_read_to_its_end(write, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1000)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 4096)
    path = write("plays.tsv", "user\tartist\tplays\n" + "".join(f"u{i}\tartist {i}\t1\n" for i in range(20_000)))
    read = []
    stream = open_listens(path).blocks(progress=lambda done, total: read.append(done / total))
    assert len(next(stream)) <= 1000
    assert max(read) < 0.2
    assert sum(len(block) for block in stream) > 18_000
    assert max(read) == 1


starts = st.sampled_from(
    ["user,artist,plays", "artist\ttitle\tuts", "sep=;", "#EXTM3U", "# a comment", "song,artist,genre", "", " "]
)
bodies = st.sampled_from(
    ["", "\n", "\n \xa0\n", "\nann,A,3\n", "\nA\tB\t1700000000\n", "\nuser;artist\nann;A\n", "\n\0,A,1\n"]
)


@given(st.lists(st.tuples(starts, bodies, st.sampled_from([".csv", ".txt", ".m3u"])), min_size=1, max_size=6))
def test_a_file_of_a_zip_is_detected_as_it_is_alone_whatever_is_before_it(folder, files):
    path = folder / "many.zip"
    path.write_bytes(zipped({f"{n}{ending}": start + body for n, (start, body, ending) in enumerate(files)}))
    with opened_zip(SourceFile(path)) as archive:
        expected = set()
        for name in sources.zip_members(archive):
            with contextlib.suppress(ListensError):
                expected.update((name, *found) for found in detect_source(SourceFile(path, name)))
        try:
            found = {(part.member, format, kind) for part, format, kind in members_of(archive)}
        except ListensError:
            found = set()
    assert found == expected
