"""The bytes of a model or an encoder -> its header, without NumPy and without its arrays.

Only for what this library stored itself: nothing is checked. Files of others are read by
:mod:`~nearsong.model.file_format`.
"""

import io
import json
import zipfile
from typing import Any

_ENTRY = "header.npy"
_LENGTH = slice(8, 10)
"""Where the first version of the npy format has the length of its description, which the data follows."""


def header_in(data: bytes) -> Any:
    """Return the header of a stored encoder or model, which is an array of the bytes of a JSON text."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = archive.read(_ENTRY)
    return json.loads(entry[_LENGTH.stop + int.from_bytes(entry[_LENGTH], "little") :])
