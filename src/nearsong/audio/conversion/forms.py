"""The formats that songs are converted to, and how long a result will be before it is made."""

from math import ceil
from typing import NamedTuple

import av

ENCODER_VERSION = f"3 {av.__version__}"
"""Changes when a conversion of the same file may have other bytes."""

BIT_RATES = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
"""Bit rates of MP3 in kbit/s."""

OPUS_BIT_RATES = (32, 48, 64, 96, 128, 160, 192, 256)
"""Bit rates of Opus in kbit/s; 128 are as good as 192 of MP3."""

OPUS_RATE = 48_000
_MP3_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_MIN_RATE = 8_000  # Hz; browsers refuse rates below 3,000
_USUAL_RATE, _MAX_RATE = 96_000, 192_000  # Hz; only DSD files exceed it, with inaudible noise


class AudioFormat(NamedTuple):
    """The format of a conversion: MP3 or Opus of ``kbit`` kbit/s, or FLAC for 0; from a second ``start`` on.

    >>> [AudioFormat().extension, AudioFormat(128).extension, AudioFormat(96, is_opus=True).extension]
    ['flac', 'mp3', 'opus']
    >>> [AudioFormat().media_type, AudioFormat(128).media_type, AudioFormat(96, is_opus=True).media_type]
    ['audio/flac', 'audio/mpeg', 'audio/ogg']
    """

    kbit: int = 0
    start: int = 0
    is_opus: bool = False

    @property
    def extension(self) -> str:
        """The file extension, without the dot; also the name of the container for FFmpeg."""
        return "opus" if self.is_opus else "mp3" if self.kbit else "flac"

    @property
    def is_mp3(self) -> bool:
        """Whether it is MP3."""
        return self.extension == "mp3"

    def bytes_of(self, seconds: float) -> float:
        """Return about how many bytes some seconds of sound take; FLAC half of what a CD does."""
        return seconds * (125 * self.kbit or 88_200)

    @property
    def media_type(self) -> str:
        """The MIME type."""
        return {"opus": "audio/ogg", "mp3": "audio/mpeg", "flac": "audio/flac"}[self.extension]


def mp3_format(max_kbit: int) -> AudioFormat:
    """Return the MP3 format with the highest bit rate up to a limit in kbit/s, or the lowest if none fits.

    >>> mp3_format(200).kbit, mp3_format(5).kbit, mp3_format(999).kbit
    (192, 32, 320)
    """
    return AudioFormat(_highest(BIT_RATES, max_kbit))


def opus_format(max_kbit: int) -> AudioFormat:
    """Return the Opus format with the highest bit rate up to a limit in kbit/s, or the lowest if none fits.

    >>> opus_format(100).kbit, opus_format(5).kbit
    (96, 32)
    """
    return AudioFormat(_highest(OPUS_BIT_RATES, max_kbit), is_opus=True)


def _highest(rates: tuple[int, ...], limit: int) -> int:
    return max((rate for rate in rates if rate <= limit), default=rates[0])


def rate_for(rate: int, form: AudioFormat) -> int:
    """Return the sample rate of the conversion of a file with some rate.

    >>> [rate_for(rate, AudioFormat()) for rate in (44_100, 192_000, 352_800, 4_000)]
    [44100, 192000, 88200, 8000]
    >>> [rate_for(rate, AudioFormat(128)) for rate in (44_100, 88_200, 96_000, 37_800, 4_000)]
    [44100, 44100, 48000, 44100, 8000]
    """
    if form.is_opus:
        return OPUS_RATE
    if form.kbit:
        if rate > _MP3_RATES[-1]:
            return 44_100 if rate % 44_100 == 0 else 48_000
        return min(mp3_rate for mp3_rate in _MP3_RATES if mp3_rate >= rate)
    if rate > _MAX_RATE:
        while rate > _USUAL_RATE:
            rate //= 2
    return max(rate, _MIN_RATE)


# ---- the length of an MP3

HEAD_BYTES = 4096
"""Bytes of an MP3 that tell how long it will be."""

_TAG_HEAD_BYTES = 10

_SPARE_FRAMES = 5
"""Frames that an MP3 may have beyond its sound: the encoder's delay, and what fills the last one."""

_DELAY_SAMPLES = 576
"""What libmp3lame puts before the sound."""

_INFO_BYTES = 156
"""Length of the information in the first frame, as LAME has it: behind ``Info`` the number of frames is at 8, the
delay and the padding are at 141, and the last two bytes are a checksum."""

_FLAC_SAMPLES, _FLAC_SAMPLE_BITS = slice(18, 26), 36
"""The bytes of FLAC that end with the number of samples, and its bits."""

_APE_EDGE = 32  # bytes of the header and of the footer
_APE_FLAGS = (0xA0000000, 0x80000000)  # there is a header, and the first is it

_LSF_BIT_RATES = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_RATES = (44_100, 48_000, 32_000)
_MPEG_1 = 3


class _Frame(NamedTuple):
    kbit: int
    rate: int
    samples: int
    bytes: int


def expected_mp3_bytes(head: bytes, seconds: float) -> int | None:
    """Return how many bytes an MP3 has, once it is complete, from its first bytes; the bit rate is constant.

    Parameters
    ----------
    head : bytes
        Its first `HEAD_BYTES`, as `convert_file` writes them: a tag, a frame of information, then sound.
    seconds : float
        Length of the sound. A file that is shorter is filled up with a `filler`, so that the number holds.

    Returns
    -------
    int or None
        None if the bytes are not those of such a file.
    """
    if len(head) < _TAG_HEAD_BYTES:
        return None
    start = _first_frame_at(head)
    about = _frame_at(head, start)
    sound = None if about is None else _frame_at(head, start + about.bytes)
    if about is None or sound is None or seconds <= 0:
        return None
    all_seconds = seconds + _SPARE_FRAMES * sound.samples / sound.rate
    return start + about.bytes + ceil(125 * sound.kbit * all_seconds)


def with_samples(head: bytes, n_samples: int) -> bytes:
    """Return the beginning of an MP3 or FLAC file that says how many samples the song has.

    An MP3 says it as the delay of its encoder and the padding of its last frame, which players leave out, so that
    songs follow each other without a gap. libmp3lame makes ``ceil(samples / samples of a frame)`` frames, and those
    of 1152 samples more.

    Parameters
    ----------
    head : bytes
        Its first `HEAD_BYTES`, or as many as there are.
    n_samples : int

    Returns
    -------
    bytes
        The first of these bytes, up to the last one that changes; none if it is no such file.
    """
    if head[:4] == b"fLaC":
        known = int.from_bytes(head[_FLAC_SAMPLES], "big") >> _FLAC_SAMPLE_BITS << _FLAC_SAMPLE_BITS
        return head[: _FLAC_SAMPLES.start] + (known + n_samples).to_bytes(8, "big")
    start = _first_frame_at(head)
    frame, tag = _frame_at(head, start), max(head.find(name, start) for name in (b"Xing", b"Info"))
    if frame is None or tag < 0 or len(head) < tag + _INFO_BYTES:
        return b""
    n_frames = ceil(n_samples / frame.samples) + 1152 // frame.samples
    about = bytearray(head[: tag + _INFO_BYTES])
    about[tag : tag + 4] = b"Info"  # a constant bit rate, which FFmpeg says at the end only
    padding = n_frames * frame.samples - n_samples - _DELAY_SAMPLES
    about[tag + 8 : tag + 12] = n_frames.to_bytes(4, "big")
    about[tag + 141 : tag + 144] = (_DELAY_SAMPLES << 12 | padding).to_bytes(3, "big")
    about[-2:] = _crc16(bytes(about[start:-2])).to_bytes(2, "big")
    return bytes(about)


def _crc16(data: bytes) -> int:
    """Return the checksum of LAME's tag, CRC-16/ARC.

    >>> hex(_crc16(b"123456789"))
    '0xbb3d'
    """
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def filler(size: int) -> bytes:
    """Return bytes that decoders of MP3 pass over: an APE tag with one empty value.

    >>> [len(filler(size)) for size in (3, 80, 1000)]
    [3, 80, 1000]
    """
    key = b"Filler\0"
    n_value = size - 2 * _APE_EDGE - 8 - len(key)
    if n_value < 0:
        return bytes(size)
    item = n_value.to_bytes(4, "little") + bytes(4) + key + b" " * n_value
    about = (2000).to_bytes(4, "little") + (size - _APE_EDGE).to_bytes(4, "little") + (1).to_bytes(4, "little")
    header, footer = ((b"APETAGEX" + about + flags.to_bytes(4, "little") + bytes(8)) for flags in _APE_FLAGS)
    return header + item + footer


def _first_frame_at(head: bytes) -> int:
    """Return where the first frame is, behind a tag."""
    if head[:3] != b"ID3":
        return 0
    size = zip(head[6:_TAG_HEAD_BYTES], (21, 14, 7, 0), strict=True)
    return _TAG_HEAD_BYTES + sum((byte & 0x7F) << shift for byte, shift in size)


def _frame_at(data: bytes, start: int) -> _Frame | None:
    """Return what the header of a frame of Layer III says."""
    head = int.from_bytes(data[start : start + 4], "big")
    version, layer = head >> 19 & 3, head >> 17 & 3
    bit_rate, rate = head >> 12 & 15, head >> 10 & 3
    if len(data) < start + 4 or head >> 21 != 0x7FF or version == 1 or layer != 1 or bit_rate in (0, 15) or rate == 3:
        return None
    is_first = version == _MPEG_1
    kbit = (BIT_RATES if is_first else _LSF_BIT_RATES)[bit_rate - 1]
    hertz = _RATES[rate] // {_MPEG_1: 1, 2: 2, 0: 4}[version]
    samples = 1152 if is_first else 576
    return _Frame(kbit, hertz, samples, samples * 125 * kbit // hertz + (head >> 9 & 1))
