"""An audio file opened by FFmpeg (PyAV) -> its packets, and the frames they are decoded to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from nearsong.audio.headers.truncation import id3_length
from nearsong.guarded_file import open_regular

SAMPLE_RATES = (1_000, 1_000_000)
"""Sample rates in Hz outside this range are those of a damaged header; resampling from them could take any memory."""

# The containers that FFmpeg may recognise: audio only, never playlists, which would make it open other files.
_CONTAINERS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dsf,dts,eac3,flac,flv,iff,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,"
    "mpeg,mpegts,ogg,oma,rm,tak,tta,voc,w64,wav,wv,xwma"
)
# PyAV 19 removed this argument; since then metadata that is not UTF-8 is never an error.
_TOLERANT_METADATA: dict[str, Any] = {"metadata_errors": "ignore"} if int(av.__version__.split(".")[0]) < 19 else {}

# MPEG layer I is obsolete; files that look like it are UTF-16 text, whose byte-order mark is its sync word.
_NOT_MUSIC = {"MPEG_LAYER_I", "mp1", "mp1float"}


_MAX_TAGS = 100


class DecoderError(Exception):
    """One of the two decoders failed."""


@contextmanager
def opened_by_ffmpeg(source: Any) -> "Iterator[tuple[Iterator[Any], PacketTally]]":
    """Open the first audio stream of a path or a file-like object; raises `DecoderError` if it cannot be read.

    Yields its packets, and the tally that `frames_of` fills.
    """
    try:
        # FFmpeg would unpack compressed ID3 frames, into gigabytes if they are made for it
        options = {"format_whitelist": _CONTAINERS, "skip_initial_bytes": str(_bytes_of_tags(source))}
        with av.open(source, options=options, **_TOLERANT_METADATA) as container:
            if not container.streams.audio:
                raise DecoderError("FFmpeg: no audio stream")
            stream = container.streams.audio[0]
            if stream.codec_context is None:
                raise DecoderError("FFmpeg: unknown codec")
            check_codec(stream.codec_context.name, stream.codec_context.sample_rate)
            codec = stream.codec_context.codec
            tally = PacketTally(is_lossless=codec.lossless and not codec.lossy)
            yield iter(container.demux(stream)), tally
            if tally.failed > tally.decoded:
                raise DecoderError(f"FFmpeg: {tally.reason}")
    except (av.error.FFmpegError, ValueError, MemoryError) as error:
        raise DecoderError(f"FFmpeg: {getattr(error, 'strerror', None) or error}") from error


def _bytes_of_tags(source: Any) -> int:
    """Return the length of the ID3 tags at the start of a path or a file-like object."""
    if isinstance(source, str | os.PathLike):
        try:
            with open_regular(source) as file:
                return _bytes_of_tags(file)
        except OSError as error:
            raise DecoderError(f"FFmpeg: {error.strerror}") from error
    n_bytes = 0
    for _ in range(_MAX_TAGS):
        source.seek(n_bytes)
        head = source.read(10)
        if len(head) < 10 or head[:3] != b"ID3":
            source.seek(0)
            return n_bytes
        n_bytes += id3_length(head)
    raise DecoderError(f"FFmpeg: more than {_MAX_TAGS} ID3 tags")


@dataclass
class PacketTally:
    """How many packets of a file could be decoded, how many could not, and the last reason; is the codec lossless."""

    decoded: int = 0
    failed: int = 0
    reason: str = ""
    is_lossless: bool = False

    @property
    def damage(self) -> str | None:
        """The share of packets that could not be decoded, in words; None if all could."""
        total = self.failed + self.decoded
        return f"{self.failed} of {total} packets could not be decoded" if self.failed else None


def frames_of(packets: Iterator[Any], tally: PacketTally) -> Iterator[Any]:
    """Decode packets to FFmpeg frames; packets that cannot be decoded are counted and skipped."""
    while True:
        try:
            packet = next(packets, None)  # after an error of the container itself this is None
            frames = [] if packet is None else packet.decode()
        except av.error.FFmpegError as error:
            tally.failed += 1
            tally.reason = error.strerror or str(error)
            continue
        if packet is None:
            return
        tally.decoded += bool(frames)
        for frame in frames:
            _check_rate(frame.sample_rate)  # the rate of a frame may differ from the header
            yield frame


def channels_of(frame: Any) -> npt.NDArray[np.float32]:
    """Return the samples of a frame as channels x samples, full scale = 1."""
    values = frame.to_ndarray()
    if not frame.format.is_planar:
        values = values.reshape(-1, frame.layout.nb_channels).T
    if values.dtype == np.uint8:
        return np.asarray((values - np.float32(128)) / np.float32(128))
    if values.dtype.kind == "i":
        return np.asarray(values / -float(np.iinfo(values.dtype).min), dtype=np.float32)
    return np.asarray(values, dtype=np.float32)


def check_codec(codec: str, rate: int) -> None:
    """Raise `DecoderError` for a codec or a sample rate that only text or a damaged header has."""
    if codec in _NOT_MUSIC:
        raise DecoderError(f"looks like {codec}, as UTF-16 text does")
    _check_rate(rate)


def _check_rate(rate: int) -> None:
    if not SAMPLE_RATES[0] <= rate <= SAMPLE_RATES[1]:
        raise DecoderError(f"sample rate of {rate} Hz")
