"""The names of a song -> a drawing that stands in for its cover."""

import colorsys
import hashlib
import html
import unicodedata

from nearsong.library.records import Picture


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
    random = hashlib.blake2b(artist.casefold().encode("utf-8", "replace"), digest_size=8).digest()
    shapes = hashlib.blake2b(title.casefold().encode("utf-8", "replace"), digest_size=8).digest()
    hue = int.from_bytes(random[:2]) / 65536
    other = (hue + (0.08 + 0.14 * random[2] / 255) * (1 if random[3] % 2 else -1)) % 1
    light, deep = _colour(hue, 0.55, 0.15), _colour(other, 0.62, 0.075)
    x, y, radius = 40 + shapes[0] * 220 // 255, 40 + shapes[1] * 220 // 255, 90 + shapes[2] * 80 // 255
    turn = shapes[3] * 360 // 256
    letters = html.escape(_initials(artist) or _initials(title) or "\u266a")
    rings = "".join(
        f'<circle cx="{x}" cy="{y}" r="{radius * share // 100}" fill="#fff" fill-opacity=".055"/>'
        for share in (150, 100, 60, 25)
    )
    return Picture(
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" width="300" height="300">'
            f'<defs><linearGradient id="g" gradientTransform="rotate({turn} .5 .5)">'
            f'<stop offset="0" stop-color="{light}"/><stop offset="1" stop-color="{deep}"/></linearGradient></defs>'
            f'<rect width="300" height="300" fill="url(#g)"/>{rings}'
            '<text x="150" y="150" dy=".36em" text-anchor="middle" fill="#fff" font-size="108" font-weight="600" '
            f'font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif">{letters}</text></svg>'
        ).encode(),
        "image/svg+xml",
    )


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
