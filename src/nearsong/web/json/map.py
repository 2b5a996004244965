"""A map and its songs -> the compressed JSON response, built once for each version of the library."""

import gzip
import json
import threading
from hashlib import blake2b

from nearsong.library import DrawnMap, Snapshot, map_columns
from nearsong.web.media.files import etag_of


class MapAnswer:
    """The latest map as compressed JSON; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._etag, self._body = "", b""

    def get(self, snapshot: Snapshot, drawn: DrawnMap) -> tuple[str, bytes]:
        """Return the entity tag and the compressed JSON of a map; concurrent requests build it once."""
        etag = etag_of(snapshot.stamp, drawn.model_id, blake2b(drawn.points.tobytes()).digest())
        with self._lock:
            if etag != self._etag:
                text = json.dumps(map_columns(snapshot, drawn), ensure_ascii=False, separators=(",", ":"))
                self._body, self._etag = gzip.compress(text.encode(), 6, mtime=0), etag
            return self._etag, self._body
