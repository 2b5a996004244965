"""Pictures to put into files."""

import io

from PIL import Image


def painted(kind="JPEG", size=(60, 40), colour=(200, 30, 30), mode="RGB", **options) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, kind, **options)
    return file.getvalue()


RED, BLUE = painted(), painted("PNG", colour=(10, 20, 220))
