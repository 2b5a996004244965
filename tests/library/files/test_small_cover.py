"""Covers made small, of every kind of picture, or refused."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from nearsong.errors import InvalidInputError, NearsongError
from nearsong.library.files import cover as cover_art
from nearsong.library.files.cover import Picture, small_cover
from pictures import RED, painted


def opened(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    return image


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
@pytest.mark.parametrize(
    ("asked", "size"), [(32, (32, 16)), (100, (100, 50)), (9999, (1024, 512)), (0, (32, 16)), (-5, (32, 16))]
)
def test_a_cover_fits_into_the_square_that_was_asked_for(kind, asked, size):
    small = small_cover(Picture(painted(kind, (1200, 600)), ""), asked)
    assert small.media_type == "image/jpeg"
    assert (opened(small).format, opened(small).size, opened(small).mode) == ("JPEG", size, "RGB")


def test_a_cover_is_never_made_larger_and_its_metadata_is_gone():
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
    words = r"^a picture has 4001 x 4000 pixels, more than 16 million; use a smaller picture"
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
    with pytest.raises(InvalidInputError, match=r"^a picture has more than 64 scans; use another"):
        small_cover(Picture(again, "image/jpeg"), 64)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"^a picture of 0 bytes is not a JPEG, PNG, WebP or GIF of at most 20 MB; use another picture"),
        (b"<svg/>", r"^a picture of 6 bytes is not a JPEG"),
        (b"BM" + bytes(100), r"^a picture of 102 bytes is not a JPEG"),
        (
            RED[: len(RED) // 2],
            r"^a picture \(image/jpeg\) is damaged \(\w+\); use another picture",
        ),
        (b"\xff\xd8\xff", r"^a picture \(image/jpeg\) is damaged"),
        (b"RIFF\0\0\0\0WEBP", r"^a picture \(image/webp\) is damaged"),
    ],
)
def test_what_is_no_picture_is_refused_whatever_it_is_declared_to_be(data, message):
    with pytest.raises(InvalidInputError, match=message):
        small_cover(Picture(data, "image/jpeg"), 64)


def test_a_picture_of_too_many_bytes_is_refused(monkeypatch):
    monkeypatch.setattr(cover_art, "MAX_BYTES", len(RED) - 1)
    with pytest.raises(InvalidInputError, match=r"is not a JPEG, PNG, WebP or GIF of at most"):
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
    for position, bit in flips:
        data[int(position * len(data))] ^= 1 << bit
    try:
        small = small_cover(Picture(bytes(data), "image/png"), 48)
    except NearsongError:
        return
    assert max(opened(small).size) <= 48
