"""Sound files in codecs and containers that only FFmpeg writes."""

from pathlib import Path

import av
import numpy as np


def write_ffmpeg(
    path: Path, samples: np.ndarray, rate: int, codec: str, container: str, form: str, layout: str = "mono", *,
    is_stored_so: bool = False, bit_rate: int | None = None, options: dict[str, str] | None = None,
) -> Path:  # fmt: skip
    """Write samples that are in a form of FFmpeg's, such as fltp; the file may be in the codec's usual form."""
    with av.open(str(path), "w", format=container, options=options) as file:
        stream = file.add_stream(codec, rate=rate, layout=layout)
        if is_stored_so:
            stream.codec_context.format = form
        if bit_rate is not None:
            stream.bit_rate = bit_rate
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format=form, layout=layout)
        frame.sample_rate, frame.pts = rate, 0
        for part in (frame, None):
            for packet in stream.encode(part):
                if packet.size:  # FLAC's last one only tells of its head
                    file.mux(packet)
    return path
