"""An audio file -> the picture in it or beside it, checked and made small; a drawn one where there is none.

What kind a picture is, its first bytes say, never its name or what a tag claims; only JPEG, PNG, WebP and GIF are
taken. Files that are damaged, or made to do damage, have no picture.
"""

import base64
import colorsys
import hashlib
import html
import os
import re
import stat
import struct
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import mutagen
from mutagen import id3
from mutagen.aiff import AIFF
from mutagen.apev2 import APEv2
from mutagen.asf import ASF
from mutagen.flac import FLAC
from mutagen.flac import Picture as FlacPicture
from mutagen.mp4 import MP4
from mutagen.oggflac import OggFLAC
from mutagen.oggopus import OggOpus
from mutagen.oggspeex import OggSpeex
from mutagen.oggvorbis import OggVorbis
from mutagen.wave import WAVE
from PIL import Image

from nearsong.errors import InvalidInputError

LARGEST = 20 * 2**20
"""Bytes of a picture; one that has more is not taken."""

MOST_PIXELS = {"JPEG": 36_000_000, "PNG": 16_000_000, "WEBP": 16_000_000, "GIF": 16_000_000}
"""Pixels of a picture; a small file can unfold to any number of them, and each takes its time. JPEG alone need not be
unfolded whole to be made small."""

MOST_SCANS = 64
"""Times that a JPEG may go over all its pixels; progressive ones do so about ten times."""

SIZES = (32, 1024)
"""Pixels that a side of a small cover may have, from and to."""

_KINDS = (  # first bytes, media type, Pillow's name
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg", "JPEG"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png", "PNG"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp", "WEBP"),
    (re.compile(rb"GIF8[79]a"), "image/gif", "GIF"),
)
_BESIDE = re.compile(r"(cover|folder|front|album)\.(jpg|jpeg|png|webp)", re.IGNORECASE)
_NAMES, _ENDINGS = ("cover", "folder", "front", "album"), ("jpg", "jpeg", "png", "webp")
_FRONT, _ICONS = 3, (1, 2)  # as ID3 numbers kinds of pictures, and FLAC and ASF after it
_WORKING = threading.BoundedSemaphore(2)  # pictures that are unfolded at a time: each may take a few 100 MB


@dataclass(frozen=True)
class Picture:
    """A picture as a browser takes it."""

    data: bytes
    media_type: str


class APIC(id3.APIC):
    """A picture in ID3, unless it is compressed: there is no telling how large it would become.

    mutagen knows frames by the names of their classes, hence the name.
    """

    @classmethod
    def _fromData(cls, header: Any, flags: int, data: bytes) -> Any:  # noqa: N802
        compressed = cls.FLAG24_COMPRESS if header.version >= header._V24 else cls.FLAG23_COMPRESS
        if flags & compressed:
            raise id3.ID3JunkFrameError("compressed")
        return super()._fromData(header, flags, data)  # type: ignore[no-untyped-call]


_FRAMES = {"APIC": APIC, "PIC": id3.PIC}  # other frames are not even read


# ---- finding it


def cover_of(path: str | os.PathLike[str]) -> Picture | None:
    """Return the picture of a song: one inside the file, or one beside it.

    Inside, the front cover comes first. Beside it, files called cover, folder, front or album, in this order, with
    the endings jpg, jpeg, png or webp, in any case.

    Parameters
    ----------
    path : path-like
        The audio file.

    Returns
    -------
    Picture or None
        As it was found; it may still be damaged further on. None where there is none, whatever the reason.
    """
    for find in (_inside, _beside):
        try:
            for data in find(os.fspath(path)):
                if (picture := _picture(data)) is not None:
                    return picture
        except Exception:  # whatever a damaged file does to a parser, it has no picture
            continue
    return None


def _picture(data: bytes) -> Picture | None:
    """Return a picture if it is of a kind that is taken, and not too large."""
    kind = _kind(data)
    return Picture(bytes(data), kind[0]) if kind and len(data) <= LARGEST else None


def _kind(data: bytes) -> tuple[str, str] | None:
    return next(((media, name) for first, media, name in _KINDS if first.match(data)), None)


def _inside(path: str) -> Iterator[bytes]:
    """Give the pictures in a file, the front cover first."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return
    with open(path, "rb") as file:
        head = file.read(16)
    found = list(_numbered(path, head))
    for _, data in sorted(found, key=lambda picture: (picture[0] != _FRONT, picture[0] in _ICONS)):
        yield data


def _numbered(path: str, head: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the pictures in a file with the number of what they show."""
    opened: Any
    if head.startswith(b"ID3"):
        yield from _in_id3(_opened(id3.ID3, path, known_frames=_FRAMES))
    elif head.startswith((b"RIFF", b"FORM")):
        opened = _opened(WAVE if head.startswith(b"RIFF") else AIFF, path, known_frames=_FRAMES)
        yield from _in_id3(opened.tags)
    elif head.startswith(b"fLaC"):
        yield from ((picture.type, picture.data) for picture in _opened(FLAC, path).pictures)
    elif head.startswith(b"OggS"):
        opened = _opened(mutagen.File, path, options=[OggVorbis, OggOpus, OggFLAC, OggSpeex])
        for text in opened.tags.get("metadata_block_picture", []):
            block = _opened(FlacPicture, base64.b64decode(text))
            yield block.type, block.data
        for text in opened.tags.get("coverart", []):  # as it was done before
            yield _FRONT, base64.b64decode(text)
    elif head[4:8] == b"ftyp":
        yield from ((_FRONT, bytes(data)) for data in _opened(MP4, path).tags.get("covr", []))
    elif head.startswith(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"):
        yield from (_in_asf(picture.value) for picture in _opened(ASF, path).tags.get("WM/Picture", []))
    else:  # MP3 with tags at its end, Musepack, WavPack, Monkey's Audio
        opened = _opened(APEv2, path)
        for key in ("Cover Art (Front)", "Cover Art (Other)"):
            if key in opened:
                yield _FRONT, bytes(opened[key].value).partition(b"\0")[2]


def _opened(kind: Any, what: str | bytes, **options: Any) -> Any:
    """Read with mutagen, which has no types."""
    return kind(what, **options)


def _in_id3(tags: Any) -> Iterator[tuple[int, bytes]]:
    for frame in tags.getall("APIC") if tags else []:
        yield int(frame.type), frame.data


def _in_asf(block: bytes) -> tuple[int, bytes]:
    """Read what a picture of Windows Media begins with: kind, size, and two texts of UTF-16 that end in zeros."""
    number, size = struct.unpack_from("<BI", block)
    start = 5
    for _ in range(2):
        while block[start : start + 2] not in (b"\0\0", b""):
            start += 2
        start += 2
    return number, block[start : start + size]


def _beside(path: str) -> Iterator[bytes]:
    """Give the pictures beside a file that are called as covers are."""
    folder = os.path.dirname(os.path.abspath(path))
    with os.scandir(folder) as entries:
        names = [(found, entry.name) for entry in entries if (found := _BESIDE.fullmatch(entry.name))]

    def preference(named: tuple[re.Match[str], str]) -> tuple[int, int, str]:
        return _NAMES.index(named[0][1].lower()), _ENDINGS.index(named[0][2].lower()), named[1]

    for _, name in sorted(names, key=preference):
        whole = os.path.join(folder, name)
        try:
            if stat.S_ISREG(os.stat(whole).st_mode):  # a pipe would never end
                with open(whole, "rb") as file:
                    yield file.read(LARGEST + 1)
        except OSError:  # the next one may be readable
            continue


# ---- making it small


def small_cover(picture: Picture, size: int) -> Picture:
    """Return a picture that fits into a square, upright, without anything that the file says besides.

    Parameters
    ----------
    picture : Picture
    size : int
        Pixels of a side; taken as the nearest number within `SIZES`. A picture is never made larger.

    Returns
    -------
    Picture
        JPEG; WebP if one can see through it.

    Raises
    ------
    InvalidInputError
        If it is damaged, of another kind, or has more pixels than `MOST_PIXELS` says.
    """
    side = min(max(int(size), SIZES[0]), SIZES[1])
    kind = _kind(picture.data)
    if kind is None or len(picture.data) > LARGEST:
        raise InvalidInputError(
            f"a picture of {len(picture.data):,} bytes is no JPEG, PNG, WebP or GIF of at most {LARGEST // 2**20} MB;"
            " put another one into the file or beside it."
        )
    try:
        with _WORKING:
            return _shrunk(picture.data, kind[1], side)
    except InvalidInputError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever comes up
        raise InvalidInputError(
            f"a picture ({kind[0]}) is damaged ({type(error).__name__}); put another one into the file or beside it."
        ) from error


def _shrunk(data: bytes, kind: str, side: int) -> Picture:
    with Image.open(BytesIO(data), formats=[kind]) as image:
        width, height = image.size
        most = MOST_PIXELS[kind]
        if width * height > most:
            raise InvalidInputError(
                f"a picture has {width} x {height} pixels, more than {most // 10**6} million; put a smaller one into "
                "the file or beside it."
            )
        if kind == "JPEG" and data.count(b"\xff\xda") > MOST_SCANS:  # no other bytes of a JPEG look like this mark
            raise InvalidInputError(
                f"a picture is drawn over more than {MOST_SCANS} times; put another one into the file or beside it."
            )
        image.draft("RGB", (side, side))  # of a large JPEG no more is unfolded than needed
        image.load()
        turned = _orientation(image)
        plain = _plain(image)
    plain.thumbnail((side, side), Image.Resampling.LANCZOS)
    if turned is not None:
        plain = plain.transpose(turned)
    plain.info = {}  # comments and the like
    see_through = plain.mode == "RGBA" and plain.getchannel("A").histogram()[255] < plain.width * plain.height
    written = BytesIO()
    if see_through:
        plain.save(written, "WEBP", quality=85)
        return Picture(written.getvalue(), "image/webp")
    plain.convert("RGB").save(written, "JPEG", quality=85, optimize=True)
    return Picture(written.getvalue(), "image/jpeg")


_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def _orientation(image: Image.Image) -> Image.Transpose | None:
    """Return how a camera wants the picture to be turned."""
    try:
        return _TURNS.get(image.getexif().get(0x0112, 1))
    except Exception:  # a picture is fine though what is said of it is not
        return None


def _plain(image: Image.Image) -> Image.Image:
    """Return a picture in red, green and blue, with what one can see through where it has that."""
    if image.mode.startswith("I"):  # 16 bits a pixel
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        return image.convert("RGBA")
    return image.convert("RGB")


# ---- drawing one


def placeholder(artist: str, title: str) -> Picture:
    """Draw a cover: the initials of a name on colours that are the artist's own, and shapes that are the title's.

    Parameters
    ----------
    artist, title : str
        Either may be empty.

    Returns
    -------
    Picture
        SVG; the same for the same names.
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
    """Return the first letters of a name's first two words that have any; a leading "The" says nothing."""
    words = [
        letters[0].upper()[0]
        for word in unicodedata.normalize("NFC", name).split()
        if word.casefold() != "the" and (letters := [letter for letter in word if letter.isalnum()])
    ]
    return "".join(words[:2])


def _colour(hue: float, saturation: float, luminance: float) -> str:
    """Return the colour of a hue that is as bright as asked: white letters can be read on it, whatever its hue."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if _luminance(hue, middle, saturation) > luminance else (middle, high)
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, low, saturation))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _luminance(hue: float, lightness: float, saturation: float) -> float:
    """Return how bright a colour is, from 0 to 1, as WCAG reckons."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colorsys.hls_to_rgb(hue, lightness, saturation)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
