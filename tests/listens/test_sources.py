"""Files, packed or not, in any encoding, complete or damaged."""

import codecs
import gzip
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import ListensError
from nearsong.listens import sources, zips
from nearsong.listens.sources import SourceFile, decode_lines, zip_members

TEXT = "user,artist,plays\nann,Björk,3\nbob,Sigur Rós,4\n"
LISTENS = [("ann", "Björk", "", 3, 0), ("bob", "Sigur Rós", "", 4, 0)]


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("utf-16"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("cp1252"),
        TEXT.encode("latin-1"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        b"\n\n" + TEXT.encode(),
        TEXT.rstrip().encode(),
        gzip.compress(TEXT.encode(), mtime=0),
        gzip.compress(TEXT.encode("utf-16"), mtime=0),
        gzip.compress(TEXT[:30].encode(), mtime=0) + gzip.compress(TEXT[30:].encode(), mtime=0),
    ],
)
def test_a_table_is_the_same_in_any_encoding_line_end_and_packing(write, listens, content):
    assert listens(write("plays.csv", content)) == LISTENS


def test_lines_in_two_encodings_are_each_read_as_what_they_are(write, listens):
    mixed = TEXT.replace("Björk", "Bj\xf6rk").encode("latin-1").splitlines()[1] + b"\n" + "bob,Mötley,1".encode()
    rows = listens(write("plays.csv", b"user,artist,plays\n" + mixed))
    assert [row[1] for row in rows] == ["Björk", "Mötley"]


def test_bytes_that_windows_has_no_letter_for_are_read_too():
    assert decode_lines(b"caf\xe9 \x81") == "café \x81"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.integers(1, 9), st.booleans())
def test_pieces_of_any_size_make_up_the_text(folder, text, size, packed):
    path = folder / "file"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK_BYTES", size)
        if text.startswith("\ufeff"):
            return
        assert "".join(SourceFile(path).text_pieces()) == text
        assert "".join(SourceFile(path).json_pieces()) == text
        assert all(piece.endswith(("\n", "\r")) for piece in list(SourceFile(path).text_pieces())[:-1])


def test_a_line_without_end_is_refused_in_bounded_memory(write, monkeypatch):
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 1 << 20)
    path = write("plays.csv", b"x" * (3 << 20))
    with pytest.raises(ListensError, match=r"plays.csv has a line of more than 1 MB"):
        list(SourceFile(path).text_pieces())


@pytest.mark.parametrize("length", [0.3, 0.9, 0.99])
def test_a_cut_gzip_file_raises_and_says_where(write, listens, length):
    rows = "user,artist,plays\n" + "".join(f"u{i},artist {i * i},{i + 1}\n" for i in range(30_000))
    packed = gzip.compress(rows.encode())
    path = write("plays.csv.gz", packed[: int(len(packed) * length)])
    with pytest.raises(ListensError, match=r"plays.csv.gz is truncated or damaged after about \d+ lines"):
        listens(path)


def test_a_damaged_gzip_file_raises(write, listens):
    packed = bytearray(gzip.compress(("user,artist,plays\n" + "ann,Björk,3\n" * 9999).encode()))
    packed[-6] ^= 0xFF  # the checksum
    with pytest.raises(ListensError, match=r"is truncated or damaged.*CRC"):
        listens(write("plays.csv.gz", bytes(packed)))


def test_a_file_that_is_not_there_is_one_line(tmp_path, listens):
    with pytest.raises(ListensError, match=r"gone.csv cannot be read \(No such file or directory\)\.$"):
        listens(tmp_path / "gone.csv")


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def test_members_of_a_zip_are_listed_without_shadows(write):
    path = write("a.zip", zipped({"b": "1", "a/c": "2", "a/": "", "__MACOSX/b": "3", ".hidden": "4"}))
    assert zip_members(SourceFile(path)) == ["a/c", "b"]


def test_a_damaged_zip_raises(write, listens):
    content = zipped({"plays": TEXT})
    with pytest.raises(ListensError, match=r"a.zip is truncated or not a zip file"):
        listens(write("a.zip", content[:50]))


def test_a_damaged_file_in_a_zip_raises(write):
    content = bytearray(zipped({"plays": TEXT * 99}))
    content[60] ^= 0xFF
    path = write("a.zip", bytes(content))
    with pytest.raises(ListensError, match=r"a.zip/plays is truncated or damaged"):
        list(SourceFile(path, "plays").chunks())


def test_progress_grows_to_the_complete_file(write, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 10)
    path, seen = write("plays.csv", TEXT), []
    list(SourceFile(path, progress=lambda done, total: seen.append((done, total))).chunks())
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(("name", "stem"), [("evening.m3u8", "evening"), ("a.b.json.gz", "a.b"), ("x", "x")])
def test_the_stem_has_no_endings(name, stem, tmp_path):
    assert SourceFile(tmp_path / name).stem == stem
    assert SourceFile(tmp_path / "zip", f"folder/{name}").stem == stem


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xff"),  # a version of zip that does not exist
        ("Jóga".encode(), b"J\xff\xffga"),  # a name that is not UTF-8
    ],
)
def test_a_zip_whose_list_cannot_be_read_is_refused_in_one_line(folder, old, new):
    path = folder / "strange.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Jóga.csv", TEXT)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(ListensError, match="not a zip file"):
        zip_members(SourceFile(path))


def test_the_list_of_a_zip_is_read_once_to_detect_its_files_and_once_to_read_them(folder, monkeypatch, listens):
    path = folder / "some.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(300):
            archive.writestr(f"{number}.csv", TEXT)
    opened = []

    class CountedZip(zipfile.ZipFile):
        def __init__(self, *arguments):
            opened.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(zips.zipfile, "ZipFile", CountedZip)
    assert len(listens(path)) == 600
    assert len(opened) == 2


@pytest.mark.parametrize("head", [b"", b"user,artist,plays\nann,Bob,1\n", b"#EXTM3U\n", b'[{"artist": "A"},'])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n"])
def test_half_a_gigabyte_of_empty_lines_is_refused_before_it_is_unpacked(write, listens, head, end):
    empty = gzip.compress(end * (1 << 20))
    path = write("bomb.csv.gz", gzip.compress(head) + empty * (512 // len(end)))
    read = []
    with pytest.raises(ListensError, match="more than 1 million empty lines in a row; it is not a listening history"):
        list(SourceFile(path, progress=lambda done, total: read.append(done / total)).utf8_chunks())
    assert max(read) < 0.5
    with pytest.raises(ListensError, match="empty"):
        listens(path)


def test_a_zip_of_very_many_files_is_refused(folder, monkeypatch):
    monkeypatch.setattr(sources, "MAX_ZIP_MEMBERS", 2)
    path = folder / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.csv", TEXT)
    with pytest.raises(ListensError, match="3 files, more than 2; unpack it"):
        zip_members(SourceFile(path))
