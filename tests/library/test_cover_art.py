"""Pictures in audio files and beside them: found, made small, or refused."""

import base64
import io
import os
import shutil
import struct
import zlib

import mutagen
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutagen import apev2, asf, flac, id3, mp4
from PIL import Image, ImageOps

from nearsong.audio.write import write_audio
from nearsong.errors import InvalidInputError, NearsongError
from nearsong.library import cover_art
from nearsong.library.cover_art import Picture, cover_of, small_cover

RATE = 24_000


def painted(kind="JPEG", size=(60, 40), colour=(200, 30, 30), mode="RGB", **options) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, kind, **options)
    return file.getvalue()


RED, BLUE = painted(), painted("PNG", colour=(10, 20, 220))


def opened(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    return image


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


def test_a_picture_of_windows_media_is_read():
    text = "\0".encode("utf-16-le")
    value = struct.pack("<BI", 3, len(RED)) + "image/png".encode("utf-16-le") + text + text + RED + b"after"
    assert cover_art._in_asf(asf.ASFByteArrayAttribute(value=value).value) == (3, RED)


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
def test_a_compressed_picture_that_would_unfold_to_gigabytes_is_not_unfolded(tmp_path, monkeypatch, version):
    bomb = zlib.compress(b"\0image/png\0\x03\0" + RED + bytes(10**7))
    data = struct.pack(">I", 10**7) + bomb
    flags = {3: b"\0\x80", 4: b"\0\x09"}[version]
    safe = (
        bytes((len(data) >> shift) & 127 for shift in (21, 14, 7, 0))
        if version == 4
        else struct.pack(">I", len(data))
    )
    frame = b"APIC" + safe + flags + data
    size = bytes((len(frame) >> shift) & 127 for shift in (21, 14, 7, 0))
    path = tmp_path / "bomb.mp3"
    path.write_bytes(b"ID3" + bytes([version]) + b"\0\0" + size + frame)
    unfolded, unfold = [], zlib.decompress
    monkeypatch.setattr(zlib, "decompress", lambda data: unfolded.append(data) or unfold(data))
    assert cover_of(path) is None
    assert unfolded == []
    with open(path, "rb") as file:  # it is a frame that mutagen would unfold
        id3.ID3(file)
    assert unfolded


# ---- beside the file


def test_a_picture_beside_the_file_is_found_in_any_case_the_usual_names_first(song):
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


def test_what_is_inside_comes_before_what_is_beside_unless_it_is_no_picture(song):
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
    monkeypatch.setattr(cover_art, "LARGEST", len(RED))
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
        for place, value in changes:
            if place < len(data):
                data[place] = value
        damaged = tmp_path / "alone" / f"song.{kind}"
        damaged.write_bytes(data)
        found = cover_of(damaged)
        assert found is None or found.media_type.startswith("image/")
        assert found is None or len(found.data) <= len(data)

    check()


# ---- small


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
@pytest.mark.parametrize(
    ("asked", "size"), [(32, (32, 16)), (100, (100, 50)), (9999, (1024, 512)), (0, (32, 16)), (-5, (32, 16))]
)
def test_a_cover_fits_into_the_square_that_was_asked_for(kind, asked, size):
    small = small_cover(Picture(painted(kind, (1200, 600)), ""), asked)
    assert small.media_type == "image/jpeg"
    assert (opened(small).format, opened(small).size, opened(small).mode) == ("JPEG", size, "RGB")


def test_a_cover_is_never_made_larger_and_what_is_said_besides_is_gone():
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    small = small_cover(Picture(painted(size=(50, 40), exif=exif, comment=b"secret"), "image/jpeg"), 500)
    assert opened(small).size == (50, 40)
    assert b"where I live" not in small.data
    assert b"secret" not in small.data


@pytest.mark.parametrize("turn", range(1, 9))
def test_a_cover_stands_as_the_camera_says(turn):
    image = Image.new("RGB", (80, 60), "white")
    image.paste("black", (0, 0, 40, 30))
    exif = Image.Exif()
    exif[0x0112] = turn
    file = io.BytesIO()
    image.save(file, "JPEG", exif=exif, quality=95)
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue())))
    small = opened(small_cover(Picture(file.getvalue(), "image/jpeg"), 100))
    assert small.size == expected.size
    assert np.abs(np.asarray(small, dtype=float) - np.asarray(expected, dtype=float)).mean() < 6


@pytest.mark.parametrize(
    ("mode", "colour", "kind", "expected"),
    [
        ("L", 120, "JPEG", (120, 120, 120)),
        ("CMYK", (0, 255, 255, 0), "JPEG", (255, 0, 0)),
        ("1", 1, "PNG", (255, 255, 255)),
        ("I;16", 0x8000, "PNG", (128, 128, 128)),
        ("P", 0, "GIF", (0, 0, 0)),
        ("RGBA", (10, 200, 30, 255), "PNG", (10, 200, 30)),
    ],
)
def test_pictures_of_all_kinds_of_colour_become_red_green_and_blue(mode, colour, kind, expected):
    small = small_cover(Picture(painted(kind, (40, 40), colour, mode), ""), 64)
    assert small.media_type == "image/jpeg"
    np.testing.assert_allclose(opened(small).getpixel((20, 20)), expected, atol=4)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_what_one_can_see_through_stays_so(kind):
    small = small_cover(Picture(painted(kind, (40, 40), (255, 0, 0, 60), "RGBA"), ""), 64)
    assert small.media_type == "image/webp"
    np.testing.assert_allclose(opened(small).getpixel((20, 20)), (255, 0, 0, 60), atol=8)


def test_of_a_moving_picture_the_first_frame_is_taken():
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue", "lime")]
    for kind in ("GIF", "WEBP", "PNG"):
        file = io.BytesIO()
        frames[0].save(file, kind, save_all=True, append_images=frames[1:], lossless=True)
        small = opened(small_cover(Picture(file.getvalue(), ""), 64))
        np.testing.assert_allclose(small.convert("RGB").getpixel((10, 10)), (255, 0, 0), atol=4)


def bomb(width: int, height: int) -> bytes:
    """Return a PNG of a few bytes that says it is enormous."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(100)))
        + chunk(b"IEND", b"")
    )


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unfolded():
    words = r"^a picture has 4001 x 4000 pixels, more than 16 million; put a smaller one into the file or beside"
    with pytest.raises(InvalidInputError, match=words):
        small_cover(Picture(bomb(4001, 4000), "image/png"), 64)
    for width, height in [(60_000, 60_000), (2**31 - 1, 2**31 - 1), (20_000, 9_000)]:
        with pytest.raises(InvalidInputError, match=r"^a picture"):
            small_cover(Picture(bomb(width, height), "image/png"), 64)


def test_a_jpeg_may_have_more_pixels_but_not_be_drawn_over_again_and_again():
    written = io.BytesIO()
    Image.new("L", (5000, 4000)).save(written, "JPEG", progressive=True)
    large = written.getvalue()
    assert small_cover(Picture(large, "image/jpeg"), 64).media_type == "image/jpeg"
    start = large.index(b"\xff\xda")
    again = large[:start] + large[start:-2] * 70 + large[-2:]
    with pytest.raises(InvalidInputError, match=r"^a picture is drawn over more than 64 times; put another one into"):
        small_cover(Picture(again, "image/jpeg"), 64)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"^a picture of 0 bytes is no JPEG, PNG, WebP or GIF of at most 20 MB; put another one into the file"),
        (b"<svg/>", r"^a picture of 6 bytes is no JPEG"),
        (b"BM" + bytes(100), r"^a picture of 102 bytes is no JPEG"),
        (
            RED[: len(RED) // 2],
            r"^a picture \(image/jpeg\) is damaged \(\w+\); put another one into the file or beside",
        ),
        (b"\xff\xd8\xff", r"^a picture \(image/jpeg\) is damaged"),
        (b"RIFF\0\0\0\0WEBP", r"^a picture \(image/webp\) is damaged"),
    ],
)
def test_what_is_no_picture_is_refused_whatever_it_is_said_to_be(data, message):
    with pytest.raises(InvalidInputError, match=message):
        small_cover(Picture(data, "image/jpeg"), 64)


def test_a_picture_of_too_many_bytes_is_refused(monkeypatch):
    monkeypatch.setattr(cover_art, "LARGEST", len(RED) - 1)
    with pytest.raises(InvalidInputError, match=r"is no JPEG, PNG, WebP or GIF of at most"):
        small_cover(Picture(RED, "image/jpeg"), 64)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["JPEG", "PNG", "WEBP", "GIF"]),
    st.floats(0, 1),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), max_size=4),
)
def test_a_damaged_picture_is_made_small_or_refused(kind, part, flips):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8))
    file = io.BytesIO()
    noise.save(file, kind)
    data = bytearray(file.getvalue()[: max(12, round(part * len(file.getvalue())))])
    for place, bit in flips:
        data[int(place * len(data))] ^= 1 << bit
    try:
        small = small_cover(Picture(bytes(data), "image/png"), 48)
    except NearsongError:
        return
    assert max(opened(small).size) <= 48
