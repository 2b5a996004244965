"""Users and tracks as a history names them -> numbers, in order of appearance; names are cleaned."""

import re
from collections.abc import Sequence
from functools import partial

from nearsong.listens.records import TrackName

Key = tuple[str, str, str, str]
"""Artist, title, MBID of the recording and of the artist."""

_BLANK_OR_EDGE = re.compile(r"\n[\n ]| \n")
_MBID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def clean(text: str) -> str:
    """Return a name stripped of white space and of characters that no database stores (NUL, lone surrogates)."""
    text = text.strip()
    if not text.isprintable():
        text = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text


def are_clean(texts: Sequence[str]) -> bool:
    """Return whether `clean` certainly returns each of these texts, none of which is empty, as it is."""
    lines = "\n".join(["", *texts, ""])
    return "".join(texts).isprintable() and not _BLANK_OR_EDGE.search(lines)


def clean_mbid(text: str) -> str:
    """Return the first MBID in the text, which may be a URL, in lower case; empty if there is none.

    >>> clean_mbid("https://musicbrainz.org/recording/B10BBBFC-CF9E-42E0-BE17-E2C3E1D2600D")
    'b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d'
    """
    if len(text) == 36 and text[8:24:5] == "----" and text.islower() and text.isascii():
        return text  # a cheap check that is good enough
    match = _MBID.search(text.lower())
    return match.group() if match else ""


_as_track = partial(tuple.__new__, TrackName)  # a third of the time of TrackName._make


class UserNumbers(dict[str, int]):
    """Numbers users in order of appearance; -1 for an empty name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.n_characters = 0

    def add_new(self, labels: Sequence[str]) -> None:
        """Add labels, each given once, together where nothing is to be cleaned; otherwise leave them alone."""
        if are_clean(labels) and self.keys().isdisjoint(labels):
            self.update(zip(labels, range(len(self.names), len(self.names) + len(labels)), strict=True))
            self.names.extend(labels)
            self.n_characters += sum(map(len, labels))

    def __missing__(self, label: str) -> int:
        name = clean(label)
        if not name:
            number = -1
        elif name != label:
            number = self[name]
        else:
            number = len(self.names)
            self.names.append(name)
        self[label] = number
        self.n_characters += len(label)
        return number


class TrackNumbers(dict[Key, int]):
    """Numbers track names in order of appearance; -1 for a track without an artist."""

    def __init__(self) -> None:
        super().__init__()
        self.tracks: list[TrackName] = []
        self.n_characters = 0

    def add_new(self, keys: Sequence[Key]) -> None:
        """Add tracks, each given once, together where nothing is to be cleaned; otherwise leave them alone."""
        artists, titles, *mbids = zip(*keys, strict=True)
        is_clean = are_clean(artists) and (are_clean(titles) or not any(titles)) and not any(map(any, mbids))
        if is_clean and self.keys().isdisjoint(keys):
            tracks = list(map(_as_track, keys))
            self.update(zip(tracks, range(len(self.tracks), len(self.tracks) + len(tracks)), strict=True))
            self.tracks.extend(tracks)
            self.n_characters += sum(map(len, artists)) + sum(map(len, titles))

    def __missing__(self, key: Key) -> int:
        artist, title, recording, artist_mbid = key
        track = TrackName(
            clean(artist),
            title and clean(title),
            recording and clean_mbid(recording),
            artist_mbid and clean_mbid(artist_mbid),
        )
        self.n_characters += len(artist) + len(title) + len(recording) + len(artist_mbid)
        if not track.artist:
            number = -1
        elif track != key:
            number = self[track]
        else:
            number = len(self.tracks)
            self.tracks.append(track)
            key = track  # one object less to keep
        self[key] = number
        return number
