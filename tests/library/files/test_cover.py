"""Pictures in audio files and next to them: found, or passed over."""

import base64
import os
import shutil
import struct
import tracemalloc

import mutagen
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutagen import apev2, asf, flac, id3, mp4

import foreign_music
from nearsong.audio.headers import tag_file
from nearsong.audio.write import write_audio
from nearsong.guarded_file import identity_of
from nearsong.library.files import cover as cover_art
from nearsong.library.files.cover import Picture, cover_of
from pictures import BLUE, RED, painted
from tag_bombs import id3_tag

RATE = 24_000


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """A short file of every format, without pictures; copy it before you change it."""
    folder = tmp_path_factory.mktemp("sounds")
    noise = np.random.default_rng(0).normal(scale=0.1, size=RATE // 4)
    files = {
        kind: write_audio(folder / f"song.{kind}", noise, RATE) for kind in ("mp3", "flac", "ogg", "opus", "m4a")
    }
    files["wav"] = write_audio(folder / "song.wav", noise, RATE)
    return files


@pytest.fixture
def song(sounds, tmp_path):
    """Return a function that copies a file of a format into a folder of its own."""

    def copy(kind: str):
        (tmp_path / "album").mkdir(exist_ok=True)
        return shutil.copy(sounds[kind], tmp_path / "album")

    return copy


def block(data: bytes, number: int = 3) -> flac.Picture:
    picture = flac.Picture()
    picture.type, picture.mime, picture.data = number, "text/html", data  # what it claims is not believed
    return picture


def embed(path, *pictures: tuple[int, bytes]) -> None:
    """Put pictures into a file, each with the number of what it shows, as its format has them."""
    file = mutagen.File(path)
    if file.tags is None:
        file.add_tags()
    if isinstance(file, flac.FLAC):
        for number, data in pictures:
            file.add_picture(block(data, number))
    elif isinstance(file.tags, id3.ID3):
        for number, data in pictures:
            file.tags.add(id3.APIC(encoding=3, mime="text/html", type=number, desc=f"{number}", data=data))
    elif isinstance(file.tags, mp4.MP4Tags):
        file.tags["covr"] = [mp4.MP4Cover(data) for _, data in pictures]
    else:
        coded = [base64.b64encode(block(data, number).write()).decode() for number, data in pictures]
        file.tags["metadata_block_picture"] = coded
    file.save()


# ---- inside the file


@pytest.mark.parametrize("kind", ["mp3", "flac", "ogg", "opus", "m4a", "wav"])
def test_a_picture_in_the_file_is_found_in_every_format(song, kind):
    path = song(kind)
    assert cover_of(path) is None
    embed(path, (3, RED))
    assert cover_of(path) == Picture(RED, "image/jpeg")


@pytest.mark.parametrize("kind", ["mp3", "flac", "ogg", "opus", "wav"])
def test_the_front_cover_comes_first_and_icons_last(song, kind):
    path = song(kind)
    other = painted("PNG", colour=(1, 2, 3))
    embed(path, (1, other), (4, BLUE), (3, RED))
    assert cover_of(path).data == RED
    path = song(kind)
    embed(path, (1, other), (4, BLUE))
    assert cover_of(path).data == BLUE


def test_an_aiff_has_its_picture_in_id3(tmp_path):
    sound = b"FORM" + struct.pack(">I", 4 + 8 + 18) + b"AIFFCOMM" + struct.pack(">IhIh", 18, 1, 0, 16)
    path = tmp_path / "song.aiff"
    path.write_bytes(sound + b"\x40\x0e\xac\x44\0\0\0\0\0\0")
    embed(path, (3, RED))
    assert cover_of(path).data == RED


def test_a_picture_of_windows_media_is_read(tmp_path):
    path = foreign_music.write_song(tmp_path / "song.wma", "WMA", 0, seconds=0.2)
    text = "\0".encode("utf-16-le")
    value = struct.pack("<BI", 3, len(RED)) + "image/png".encode("utf-16-le") + text + text + RED + b"after"
    file = asf.ASF(path)
    file["WM/Picture"] = [asf.ASFByteArrayAttribute(value=value)]
    file.save()
    assert cover_of(path) == Picture(RED, "image/jpeg")


def test_a_file_with_an_ape_tag_at_its_end_gives_its_cover(tmp_path):
    path = tmp_path / "song.mp3"
    path.write_bytes(b"\xff\xfb\x90\0" + bytes(400))
    tags = apev2.APEv2()
    tags["Cover Art (Front)"] = apev2.APEValue(b"cover.jpg\0" + RED, apev2.BINARY)
    tags.save(path)
    assert cover_of(path).data == RED


def test_old_id3_and_old_ogg_comments_are_read(song, tmp_path):
    frame = b"PIC" + struct.pack(">I", len(BLUE) + 6)[1:] + b"\0PNG\x03\0" + BLUE
    size = bytes((len(frame) >> shift) & 127 for shift in (21, 14, 7, 0))
    path = tmp_path / "old.mp3"
    path.write_bytes(b"ID3\x02\0\0" + size + frame)
    assert cover_of(path) == Picture(BLUE, "image/png")
    path = song("ogg")
    file = mutagen.File(path)
    file.tags["coverart"] = [base64.b64encode(RED).decode()]
    file.save()
    assert cover_of(path).data == RED


@pytest.mark.parametrize("version", [3, 4])
def test_a_compressed_picture_is_found_unless_it_unpacks_to_too_much(tmp_path, version):
    path, whole = tmp_path / "song.mp3", b"\0image/png\0\x03\0" + RED
    path.write_bytes(id3_tag(b"APIC", whole, version))
    assert cover_of(path).data == RED
    bomb = id3_tag(b"APIC", whole + bytes(8 * tag_file.MAX_UNPACKED_BYTES), version)
    path.write_bytes(bomb)
    tracemalloc.start()
    try:
        assert cover_of(path) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * tag_file.MAX_UNPACKED_BYTES


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_song_that_is_a_pipe_has_no_cover(tmp_path):
    os.mkfifo(tmp_path / "song.mp3")
    (tmp_path / "cover.jpg").write_bytes(RED)
    assert cover_of(tmp_path / "song.mp3") is None


def test_a_song_that_was_replaced_since_it_was_opened_has_no_cover(song, tmp_path):
    path = song("flac")
    embed(path, (3, RED))
    with open(path, "rb", buffering=0) as file:
        identity = identity_of(file)
    assert cover_of(path, identity).data == RED
    other = shutil.copy2(path, tmp_path / "other.flac")
    os.replace(other, path)
    with open(os.path.join(os.path.dirname(path), "cover.jpg"), "wb") as file:
        file.write(RED)
    assert cover_of(path, identity) is None


# ---- next to the file


def test_a_picture_next_to_the_file_is_found_in_any_case_the_usual_names_first(song):
    path = song("flac")
    folder = os.path.dirname(path)
    found = []
    for name in ("other.jpg", "cover.txt", "album.webp", "FRONT.PNG", "Folder.Jpeg", "folder.JPG", "Cover.png"):
        picture = painted("PNG", colour=(len(found), 0, 0))
        with open(os.path.join(folder, name), "wb") as file:
            file.write(picture)
        cover = cover_of(path)
        found.append(cover and cover.data == picture)
    assert found == [None, None, True, True, True, True, True]


def test_what_is_inside_comes_before_what_is_next_to_it_unless_it_is_no_picture(song):
    path = song("mp3")
    with open(os.path.join(os.path.dirname(path), "cover.png"), "wb") as file:
        file.write(BLUE)
    embed(path, (3, RED))
    assert cover_of(path).data == RED
    path = song("mp3")
    embed(path, (3, b"<svg xmlns='http://www.w3.org/2000/svg'/>"))
    assert cover_of(path).data == BLUE
    os.truncate(path, 0)
    assert cover_of(path).data == BLUE


@pytest.mark.parametrize(
    "content", [b"", b"<svg onload='alert(1)'/>", b"<!doctype html>", b"BM" + bytes(60), b"\0\0\1\0", b"%PDF-1.7"]
)
def test_what_is_no_picture_of_a_known_kind_is_passed_over_whatever_its_name(song, content):
    path = song("wav")
    folder = os.path.dirname(path)
    for name in ("cover.jpg", "folder.png"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    assert cover_of(path) is None
    with open(os.path.join(folder, "front.jpg"), "wb") as file:
        file.write(BLUE)
    assert cover_of(path) == Picture(BLUE, "image/png")  # by its first bytes, not its name


def test_pipes_folders_and_files_too_large_are_passed_over(song, monkeypatch):
    path = song("wav")
    folder = os.path.dirname(path)
    os.mkfifo(os.path.join(folder, "cover.jpg"))
    os.mkdir(os.path.join(folder, "folder.jpg"))
    os.symlink("/nowhere", os.path.join(folder, "front.jpg"))
    monkeypatch.setattr(cover_art, "MAX_BYTES", len(RED))
    with open(os.path.join(folder, "album.jpg"), "wb") as file:
        file.write(RED + b"\0")
    assert cover_of(path) is None
    with open(os.path.join(folder, "album.png"), "wb") as file:
        file.write(RED)
    assert cover_of(path).data == RED
    embed(path, (3, BLUE + bytes(len(RED))))
    assert cover_of(path).data == RED


@pytest.mark.parametrize("path", ["/nowhere/at/all.mp3", "", "a\0b.mp3", "/dev/null", "/"])
def test_a_file_that_is_not_there_has_no_cover(path):
    assert cover_of(path) is None


def test_damaged_files_have_a_picture_or_none_and_never_raise(song, tmp_path):
    originals = {}
    for kind in ("mp3", "flac", "ogg", "opus", "m4a", "wav"):
        path = song(kind)
        embed(path, (3, RED))
        with open(path, "rb") as file:
            originals[kind] = file.read(20_000)
    (tmp_path / "alone").mkdir()

    @settings(max_examples=120, deadline=None)
    @given(
        st.sampled_from(sorted(originals)),
        st.integers(0, 20_000),
        st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 255)), max_size=6),
    )
    def check(kind, length, changes):
        data = bytearray(originals[kind][:length])
        for position, value in changes:
            if position < len(data):
                data[position] = value
        damaged = tmp_path / "alone" / f"song.{kind}"
        damaged.write_bytes(data)
        found = cover_of(damaged)
        assert found is None or found.media_type.startswith("image/")
        assert found is None or len(found.data) <= len(data)

    check()
