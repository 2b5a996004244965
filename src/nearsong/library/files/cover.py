"""An audio file -> its cover, embedded or in its folder, validated and scaled down.

The image format is detected from the first bytes, never from the file name or tag; only JPEG, PNG, WebP and GIF are
accepted. Damaged or malicious files are treated as having no cover. The service reads covers in worker processes with
limits: `thumbnail_of`.
"""

import base64
import os
import re
import struct
from collections.abc import Iterator, Sequence
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

from nearsong.audio.headers.tag_file import TagFile, opened_for_tags
from nearsong.errors import InvalidInputError
from nearsong.guarded_file import FileIdentity, leads_within, open_regular
from nearsong.library.records import Picture

MAX_BYTES = 20 * 2**20
"""Largest accepted image file, in bytes."""

MAX_PIXELS = {"JPEG": 36_000_000, "PNG": 16_000_000, "WEBP": 16_000_000, "GIF": 16_000_000}
"""Largest accepted image, in pixels: a small file can decompress to a huge image. The limit is higher for JPEG, which
can be decoded at a reduced size."""

MAX_SCANS = 64
"""Most scans of a JPEG, each of which costs a pass over all pixels; progressive JPEGs have about ten."""

SIZES = (32, 1024)
"""Smallest and largest side of a scaled cover, in pixels."""

_KINDS = (  # first bytes, media type, Pillow format
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg", "JPEG"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png", "PNG"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp", "WEBP"),
    (re.compile(rb"GIF8[79]a"), "image/gif", "GIF"),
)
_COVER_FILE = re.compile(r"(cover|folder|front|album)\.(jpg|jpeg|png|webp)", re.IGNORECASE)
_NAMES, _ENDINGS = ("cover", "folder", "front", "album"), ("jpg", "jpeg", "png", "webp")
_FRONT, _ICONS = 3, (1, 2)  # picture types of ID3, which FLAC and ASF share


_ID3_FRAMES = {"APIC": id3.APIC, "PIC": id3.PIC}  # other frames are not parsed


# ---- finding a cover


def thumbnail_of(
    path: str | os.PathLike[str], identity: FileIdentity, folders: Sequence[str], size: int
) -> Picture | None:
    """Return the cover of a song, scaled down; runs in the service's workers.

    Parameters
    ----------
    path, identity, folders
        As for `cover_of`.
    size : int
        As for `small_cover`.

    Returns
    -------
    Picture or None
        None if there is none, or if it is damaged or too large.
    """
    picture = cover_of(path, identity, folders)
    try:
        return None if picture is None else small_cover(picture, size)
    except InvalidInputError:
        return None


def cover_of(
    path: str | os.PathLike[str], identity: FileIdentity | None = None, folders: Sequence[str] = ()
) -> Picture | None:
    """Return the cover of a song: embedded in the file, or an image file in its folder.

    Of embedded pictures, the front cover is preferred. Image files are named cover, folder, front or album, in this
    order of preference, with the extension jpg, jpeg, png or webp; case does not matter.

    Parameters
    ----------
    path : path-like
        The audio file.
    identity : FileIdentity, optional
        Of the file when the caller opened it; one that has replaced it since has no cover.
    folders : sequence of str
        The scanned folders. An image file that is a link is used only if it leads into one of them.

    Returns
    -------
    Picture or None
        The original image; only its format and size in bytes are checked. None if there is none or on any error.
    """
    # resolved once: a folder that is replaced by a link after the song was checked is not followed
    folder, name = os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path)
    try:
        with opened_for_tags(os.path.join(folder, name), identity) as file:
            picture = _first_picture(_embedded_pictures(file))
    except OSError:
        return None
    return picture or _first_picture(_folder_pictures(folder, folders))


def _first_picture(found: Iterator[bytes]) -> Picture | None:
    """Return the first usable picture, if any."""
    try:
        return next(filter(None, map(_picture, found)), None)
    except Exception:  # parsers may raise anything on a damaged file
        return None


def _picture(data: bytes) -> Picture | None:
    """Return a picture if its format is supported and it is not too large."""
    kind = _kind(data)
    return Picture(bytes(data), kind[0]) if kind and len(data) <= MAX_BYTES else None


def _kind(data: bytes) -> tuple[str, str] | None:
    return next(((media, name) for first, media, name in _KINDS if first.match(data)), None)


def _embedded_pictures(file: TagFile) -> Iterator[bytes]:
    """Yield the embedded pictures of a file, the front cover first."""
    head = file.read(16)
    file.start_again()
    pictures = list(_typed_pictures(file, head))
    for _, data in sorted(pictures, key=lambda picture: (picture[0] != _FRONT, picture[0] in _ICONS)):
        yield data


def _typed_pictures(file: TagFile, head: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the embedded pictures of a file with their ID3 picture types."""
    opened: Any
    if head.startswith(b"ID3"):
        yield from _in_id3(_open_tags(id3.ID3, file, known_frames=_ID3_FRAMES))
    elif head.startswith((b"RIFF", b"FORM")):
        opened = _open_tags(WAVE if head.startswith(b"RIFF") else AIFF, file, known_frames=_ID3_FRAMES)
        yield from _in_id3(opened.tags)
    elif head.startswith(b"fLaC"):
        yield from ((picture.type, picture.data) for picture in _open_tags(FLAC, file).pictures)
    elif head.startswith(b"OggS"):
        opened = _open_tags(mutagen.File, file, options=[OggVorbis, OggOpus, OggFLAC, OggSpeex])
        for text in opened.tags.get("metadata_block_picture", []):
            block = _open_tags(FlacPicture, base64.b64decode(text))
            yield block.type, block.data
        for text in opened.tags.get("coverart", []):  # older convention
            yield _FRONT, base64.b64decode(text)
    elif head[4:8] == b"ftyp":
        yield from ((_FRONT, bytes(data)) for data in _open_tags(MP4, file).tags.get("covr", []))
    elif head.startswith(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"):
        yield from (_in_asf(picture.value) for picture in _open_tags(ASF, file).tags.get("WM/Picture", []))
    else:  # APEv2 tags: MP3 with tags at the end, Musepack, WavPack, Monkey's Audio
        opened = _open_tags(APEv2, file)
        for key in ("Cover Art (Front)", "Cover Art (Other)"):
            if key in opened:
                yield _FRONT, bytes(opened[key].value).partition(b"\0")[2]


def _open_tags(kind: Any, what: TagFile | bytes, **options: Any) -> Any:
    """Open a file with mutagen, which is not typed."""
    return kind(what, **options)


def _in_id3(tags: Any) -> Iterator[tuple[int, bytes]]:
    for frame in tags.getall("APIC") if tags else []:
        yield int(frame.type), frame.data


def _in_asf(block: bytes) -> tuple[int, bytes]:
    """Parse a ``WM/Picture`` value: type, size, two zero-terminated UTF-16 strings, then the image data."""
    number, size = struct.unpack_from("<BI", block)
    start = 5
    for _ in range(2):
        while block[start : start + 2] not in (b"\0\0", b""):
            start += 2
        start += 2
    return number, block[start : start + size]


def _folder_pictures(folder: str, folders: Sequence[str]) -> Iterator[bytes]:
    """Yield the image files in a folder that are named like covers, by preference."""
    with os.scandir(folder) as entries:
        names = [(match, entry.name) for entry in entries if (match := _COVER_FILE.fullmatch(entry.name))]

    def preference(named: tuple[re.Match[str], str]) -> tuple[int, int, str]:
        return _NAMES.index(named[0][1].lower()), _ENDINGS.index(named[0][2].lower()), named[1]

    for _, name in sorted(names, key=preference):
        path = os.path.join(folder, name)
        try:
            with open_regular(path) as file:
                if leads_within(file, path, lambda: folders):
                    yield file.read(MAX_BYTES + 1)
        except OSError:  # the next one may be readable
            continue


# ---- scaling it down


def small_cover(picture: Picture, size: int) -> Picture:
    """Scale a picture down to fit a square, with the EXIF orientation applied and all metadata removed.

    Parameters
    ----------
    picture : Picture
    size : int
        Side of the square in pixels, clipped to `SIZES`. A picture is never enlarged.

    Returns
    -------
    Picture
        JPEG; WebP if it is transparent.

    Raises
    ------
    InvalidInputError
        If it is damaged, of an unsupported format, or exceeds `MAX_PIXELS`.
    """
    side = min(max(int(size), SIZES[0]), SIZES[1])
    kind = _kind(picture.data)
    if kind is None or len(picture.data) > MAX_BYTES:
        raise InvalidInputError(
            f"a picture of {len(picture.data):,} bytes is not a JPEG, PNG, WebP or GIF of at most "
            f"{MAX_BYTES >> 20} MB; use another picture."
        )
    try:
        return _shrunk(picture.data, kind[1], side)
    except InvalidInputError:
        raise
    except Exception as error:  # Pillow's decoders may raise anything
        raise InvalidInputError(
            f"a picture ({kind[0]}) is damaged ({type(error).__name__}); use another picture."
        ) from error


def _shrunk(data: bytes, kind: str, side: int) -> Picture:
    with Image.open(BytesIO(data), formats=[kind]) as image:
        width, height = image.size
        most = MAX_PIXELS[kind]
        if width * height > most:
            raise InvalidInputError(
                f"a picture has {width} x {height} pixels, more than {most // 10**6} million; use a smaller picture."
            )
        if kind == "JPEG" and data.count(b"\xff\xda") > MAX_SCANS:  # start-of-scan marker; cannot occur in image data
            raise InvalidInputError(f"a picture has more than {MAX_SCANS} scans; use another picture.")
        image.draft("RGB", (side, side))  # decodes a large JPEG at a reduced size
        image.load()
        transpose = _orientation(image)
        plain = _plain(image)
    plain.thumbnail((side, side), Image.Resampling.LANCZOS)
    if transpose is not None:
        plain = plain.transpose(transpose)
    plain.info = {}  # metadata such as comments
    is_transparent = plain.mode == "RGBA" and plain.getchannel("A").histogram()[255] < plain.width * plain.height
    buffer = BytesIO()
    if is_transparent:
        plain.save(buffer, "WEBP", quality=85)
        return Picture(buffer.getvalue(), "image/webp")
    plain.convert("RGB").save(buffer, "JPEG", quality=85, optimize=True)
    return Picture(buffer.getvalue(), "image/jpeg")


_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def _orientation(image: Image.Image) -> Image.Transpose | None:
    """Return the transposition that the EXIF orientation asks for."""
    try:
        return _TRANSPOSITIONS.get(image.getexif().get(0x0112, 1))
    except Exception:  # broken metadata does not make the image unusable
        return None


def _plain(image: Image.Image) -> Image.Image:
    """Convert an image to RGB, or to RGBA if it has transparency."""
    if image.mode.startswith("I"):  # 16 bits per pixel
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        return image.convert("RGBA")
    return image.convert("RGB")
