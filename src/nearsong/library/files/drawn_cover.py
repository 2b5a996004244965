"""The names of a song -> a drawing that stands in for its cover."""

import colorsys
import hashlib
import html
import json
import math
import unicodedata
from functools import cache
from importlib import resources
from io import BytesIO
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from nearsong.library.records import Picture

_SIDE = 300
_LETTER_SIZE = 108
_CAPITAL_HEIGHT = 0.7275  # of Inter, as a share of the size
_FONTS = "Segoe UI, Roboto, Helvetica Neue, Noto Sans, Liberation Sans, Arial, sans-serif"
_RINGS = (150, 100, 60, 25)  # percent of the radius
_RING_OPACITY = 0.055


class _Design(NamedTuple):
    """What a drawing shows, on a square of `_SIDE`."""

    light: str
    deep: str
    turn: int
    x: int
    y: int
    radius: int
    letters: str


def placeholder(artist: str, title: str) -> Picture:
    """Draw a cover: initials, on colours derived from the artist and shapes derived from the title.

    Parameters
    ----------
    artist, title : str
        Either may be empty.

    Returns
    -------
    Picture
        SVG, deterministic for the same names.
    """
    design = _design(artist, title)
    rings = "".join(
        f'<circle cx="{design.x}" cy="{design.y}" r="{design.radius * share // 100}" fill="#fff" '
        f'fill-opacity="{_RING_OPACITY}"/>'
        for share in _RINGS
    )
    return Picture(
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" width="300" height="300">'
            f'<defs><linearGradient id="g" gradientTransform="rotate({design.turn} .5 .5)">'
            f'<stop offset="0" stop-color="{design.light}"/><stop offset="1" stop-color="{design.deep}"/>'
            f"</linearGradient></defs><title>{html.escape(design.letters)}</title>"
            f'<rect width="300" height="300" fill="url(#g)"/>{rings}{_drawn(design.letters)}</svg>'
        ).encode(),
        "image/svg+xml",
    )


def painted_placeholder(artist: str, title: str, size: int) -> Picture:
    """Paint what `placeholder` draws, for programs that show no SVG.

    Parameters
    ----------
    artist, title : str
        Either may be empty.
    size : int
        Side in pixels.

    Returns
    -------
    Picture
        JPEG, deterministic for the same names. Initials that the built-in font does not have are left out.
    """
    design = _design(artist, title)
    angle = math.radians(design.turn)
    across = [math.cos(angle), math.sin(angle)]
    levels = Image.new("L", (64, 64))
    levels.putdata(
        [
            round(255 * min(max(0.5 + across[0] * (column / 63 - 0.5) + across[1] * (row / 63 - 0.5), 0.0), 1.0))
            for row in range(64)
            for column in range(64)
        ]
    )
    mask = levels.resize((size, size), Image.Resampling.BICUBIC)
    plain = Image.new("RGB", (size, size), design.light)
    plain.paste(Image.new("RGB", (size, size), design.deep), mask=mask)
    unit = size / _SIDE
    for share in _RINGS:
        ring, radius = Image.new("L", (size, size)), design.radius * share / 100 * unit
        centre = (design.x * unit, design.y * unit)
        ImageDraw.Draw(ring).circle(centre, radius, fill=round(255 * _RING_OPACITY))
        plain.paste(Image.new("RGB", (size, size), "#fff"), mask=ring)
    if design.letters.isascii():
        font = ImageFont.load_default(_LETTER_SIZE * unit)
        ImageDraw.Draw(plain).text((size / 2, size / 2), design.letters, fill="#fff", font=font, anchor="mm")
    buffer = BytesIO()
    plain.save(buffer, "JPEG", quality=88)
    return Picture(buffer.getvalue(), "image/jpeg")


def _design(artist: str, title: str) -> _Design:
    random = hashlib.blake2b(artist.casefold().encode("utf-8", "replace"), digest_size=8).digest()
    shapes = hashlib.blake2b(title.casefold().encode("utf-8", "replace"), digest_size=8).digest()
    hue = int.from_bytes(random[:2]) / 65536
    other = (hue + (0.08 + 0.14 * random[2] / 255) * (1 if random[3] % 2 else -1)) % 1
    light, deep = _colour(hue, 0.55, 0.15), _colour(other, 0.62, 0.075)
    x, y, radius = 40 + shapes[0] * 220 // 255, 40 + shapes[1] * 220 // 255, 90 + shapes[2] * 80 // 255
    turn = shapes[3] * 360 // 256
    letters = _initials(artist) or _initials(title) or "\u266a"
    return _Design(light=light, deep=deep, turn=turn, x=x, y=y, radius=radius, letters=letters)


@cache
def _outlines() -> dict[str, tuple[int, str]]:
    """Return letter -> width and SVG path in 1000ths of the size, of Inter (``web/static/fonts/OFL.txt``).

    A picture cannot load a font, and the systems' own differ.
    """
    text = resources.files("nearsong.library.files").joinpath("cover_letters.json").read_text(encoding="utf-8")
    return {letter: (width, path) for letter, (width, path) in json.loads(text).items()}


def _drawn(letters: str) -> str:
    """Return letters as paths in the middle of the cover, or as text if there is no outline of one of them."""
    outlines = _outlines()
    if any(letter not in outlines for letter in letters):
        return (
            f'<text x="150" y="150" dy=".36em" text-anchor="middle" fill="#fff" font-size="{_LETTER_SIZE}" '
            f'font-weight="600" font-family="{_FONTS}">{html.escape(letters)}</text>'
        )
    scale = _LETTER_SIZE / 1000
    x = 150 - scale * sum(outlines[letter][0] for letter in letters) / 2
    y = 150 + _CAPITAL_HEIGHT * _LETTER_SIZE / 2
    drawn = ""
    for letter in letters:
        width, path = outlines[letter]
        drawn += f'<path fill="#fff" transform="translate({x:.1f} {y:.1f}) scale({scale:g})" d="{path}"/>'
        x += scale * width
    return drawn


def _initials(name: str) -> str:
    """Return the initials of a name's first two words, ignoring "The" and words without letters or digits."""
    words = [
        letters[0].upper()[0]
        for word in unicodedata.normalize("NFC", name).split()
        if word.casefold() != "the" and (letters := [letter for letter in word if letter.isalnum()])
    ]
    return "".join(words[:2])


def _colour(hue: float, saturation: float, luminance: float) -> str:
    """Return the colour of a hue with the given luminance, so that white text is readable on every hue."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if _luminance(hue, middle, saturation) > luminance else (middle, high)
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, low, saturation))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _luminance(hue: float, lightness: float, saturation: float) -> float:
    """Return the relative luminance of a colour as WCAG defines it, from 0 to 1."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colorsys.hls_to_rgb(hue, lightness, saturation)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
