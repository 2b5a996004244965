"""A drawn map and the songs -> the bytes of the answer, made once for each state of the library."""

import gzip
import json
import threading
from hashlib import blake2b

from nearsong.library.drawn_map import DrawnMap, map_columns
from nearsong.library.snapshot import Snapshot
from nearsong.web.files import etag_of


class MapAnswer:
    """The last map that was asked for, written and compressed; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._etag, self._body = "", b""

    def get(self, snapshot: Snapshot, drawn: DrawnMap) -> tuple[str, bytes]:
        """Return the tag and the compressed JSON of a map; of those who ask for a new one, one makes it."""
        etag = etag_of(snapshot.stamp, drawn.model_id, blake2b(drawn.points.tobytes()).digest())
        with self._lock:
            if etag != self._etag:
                text = json.dumps(map_columns(snapshot, drawn), ensure_ascii=False, separators=(",", ":"))
                self._body, self._etag = gzip.compress(text.encode(), 6, mtime=0), etag
            return self._etag, self._body
