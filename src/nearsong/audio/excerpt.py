"""The packets of a file -> where the middle of the song is, and the frames from there on.

A file is read twice: once to add up its packets, whatever its header declares, and once more up to the end of the
excerpt. Packets that are not needed are read but not decoded, which takes a few percent of the time. Seeking would
save that too, but is not exact: in an MP3 file without an index FFmpeg guesses where a time is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nearsong.audio.ffmpeg import DecoderError, PacketTally, frames_of
from nearsong.errors import InvalidInputError

MIN_EXCERPT_SECONDS = 10.0
"""Length of the shortest excerpt: less does not describe a song."""

WARM_UP_SECONDS = Fraction(1, 2)
"""What is decoded before an excerpt and dropped: the first packets that a decoder gets depend on earlier ones."""

MAX_GAP_SECONDS = Fraction(1, 10)
"""The time stamps of a file with a larger gap between two packets are not trusted."""


@dataclass(frozen=True)
class Span:
    """Some of the samples of a file, as they are decoded.

    Attributes
    ----------
    start, stop : int
        The first sample, and the one after the last; None for the end of the file.
    rate : int
        Samples per second, where ``origin`` is known.
    origin : Fraction or None
        The time stamp of the file's first sample, in seconds; None if the file has to be decoded from its start.
    """

    start: int = 0
    stop: int | None = None
    rate: int = 0
    origin: Fraction | None = None


@dataclass(frozen=True)
class Excerpt:
    """A part of a song.

    Attributes
    ----------
    span : Span
        The samples of the part.
    song_seconds : float
        Length of the complete song.
    damages : tuple of str
        What was wrong with the file when all of it was decoded to find the part.
    """

    span: Span
    song_seconds: float
    damages: tuple[str, ...] = ()


def check_excerpt(seconds: Any, name: str = "excerpt") -> float:
    """Return the length of an excerpt, in seconds, as a float; 0 stands for the complete song.

    >>> check_excerpt(120), check_excerpt(0)
    (120.0, 0.0)
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not (seconds == 0 or MIN_EXCERPT_SECONDS <= seconds < float("inf")):
        raise InvalidInputError(
            f"{name}={seconds!r} is not a length in seconds; choose {MIN_EXCERPT_SECONDS:g} or more, or 0 for "
            "complete songs."
        )
    return float(seconds)


def middle(n_samples: int, rate: int, seconds: float, origin: Fraction | None = None) -> Excerpt:
    """Return the middle of a song; all of a song that is not longer.

    Parameters
    ----------
    n_samples, rate : int
        Length of the song, and samples per second.
    seconds : float
        Length of the excerpt.
    origin : Fraction, optional
        As in `Span`.

    Examples
    --------
    >>> middle(1000, 10, 60.0).span
    Span(start=200, stop=800, rate=10, origin=None)
    >>> middle(500, 10, 60.0).span
    Span(start=0, stop=None, rate=0, origin=None)
    """
    n_wanted = round(seconds * rate)
    if n_samples <= n_wanted:
        return Excerpt(Span(), n_samples / rate)
    start = (n_samples - n_wanted) // 2
    return Excerpt(Span(start, start + n_wanted, rate, origin), n_samples / rate)


def middle_of_packets(packets: Iterable[Any], seconds: float) -> Excerpt | None:
    """Return the middle of the song that some packets hold; None if their time stamps do not follow each other."""
    origin: Fraction | None = None
    rate = end = max_gap = 0
    time_base = Fraction(1)
    for packet in packets:
        if not packet.size:  # the last one
            continue
        if packet.pts is None or not packet.duration:
            return None
        if origin is None:  # decoders drop the first samples of some codecs
            frames = packet.decode()
            if frames and frames[0].pts is None:
                return None
            if frames:
                origin, rate = frames[0].pts * frames[0].time_base, frames[0].sample_rate
        if not max_gap:
            time_base, end = packet.time_base, packet.pts
            max_gap = max(1, int(MAX_GAP_SECONDS / time_base))
        if abs(packet.pts - end) > max_gap:
            return None
        end = packet.pts + packet.duration
    if origin is None:
        return None
    return middle(round((end * time_base - origin) * rate), rate, seconds, origin)


def frames_from(packets: Iterator[Any], tally: PacketTally, span: Span) -> Iterator[tuple[Any, int]]:
    """Decode packets from a span's start on.

    Yields FFmpeg frames, and how many samples of each come before the span. Packets that only precede it are not
    counted in the tally: the first of them cannot always be decoded.
    """
    assert span.origin is not None
    start = span.origin + Fraction(span.start, span.rate)
    before: list[Any] = []

    def preceding() -> Iterator[Any]:
        for packet in packets:
            if packet.pts is None or packet.pts * packet.time_base >= start:
                before.append(packet)
                return
            yield packet

    def continued() -> Iterator[Any]:
        yield from before
        yield from packets

    n_left: int | None = None
    for source, counted in ((_near(preceding(), start), PacketTally()), (continued(), tally)):
        for frame in frames_of(source, counted):
            if n_left is None:
                if frame.pts is None:
                    raise DecoderError("FFmpeg: no time stamps")
                n_before = round((start - frame.pts * frame.time_base) * span.rate)
                if n_before >= frame.samples:
                    continue
                n_left = max(0, n_before)
            yield frame, n_left
            n_left = 0


def _near(packets: Iterable[Any], start: Fraction) -> Iterator[Any]:
    """Return the packets that a decoder needs before a time."""
    return (packet for packet in packets if packet.pts * packet.time_base >= start - WARM_UP_SECONDS)
