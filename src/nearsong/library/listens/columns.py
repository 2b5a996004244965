"""The names of a table's columns -> which of them says who, what, how often and when."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Letters and digits only, the surest name first: where a table has two, the first one counts.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "user": (
        "user", "userid", "username", "usersha1", "userkey", "uid", "listener", "listenerid", "listenername",
        "account", "profile", "lastfmuser", "session", "sessionid",
    ),
    "playlist": ("playlist", "playlistid", "playlistname", "pid"),
    "artist": (
        "artist", "artistname", "artists", "artistnames", "trackartist", "trackartistname", "songartist", "performer",
        "band", "creator", "artistcredit", "artistcreditname", "masteralbumartistname",
        "mastermetadataalbumartistname", "albumartist", "albumartistname", "artname",
    ),
    "title": (
        "title", "track", "trackname", "tracktitle", "song", "songname", "songtitle", "recording", "recordingname",
        "mastermetadatatrackname", "traname", "name",
    ),
    "plays": (
        "plays", "playcount", "playcounts", "count", "counts", "n", "nplays", "playstotal", "totalplays", "numplays",
        "timesplayed", "listens", "listencount", "listeningcount", "streams", "scrobbles", "scrobblecount",
    ),
    "time": (
        "uts", "unixtimestamp", "unixtime", "listenedat", "timestamp", "playedat", "scrobbledat", "ts", "time",
        "datetime", "dateuts", "utctime", "endtime", "starttime", "playedon", "listentime", "dateplayed", "date",
    ),
    "recording_mbid": (
        "recordingmbid", "trackmbid", "songmbid", "mbidrecording", "mbidtrack", "musicbrainzrecordingid",
        "musicbrainztrackid", "recordingid", "traid",
    ),
    "artist_mbid": (
        "artistmbid", "artistmbids", "mbidartist", "artmbid", "artistcreditmbids", "musicbrainzartistid", "artid",
    ),
}  # fmt: skip
_BESIDE_A_SONG = frozenset({
    "album", "albumname", "albumtitle", "albumid", "albummbid", "release", "releasename", "releasembid",
})  # fmt: skip
_TAGS = frozenset({"tag", "tags"})
NEEDED = "an artist column, and best user, title, and plays or timestamp"

_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Columns:
    """Where in a row to find what; None where a table does not say.

    Attributes
    ----------
    artist : int
    user, title, plays, time, recording_mbid, artist_mbid : int or None
        Places in a row.
    playlists : bool
        Whether the column of users is one of playlists.
    """

    artist: int
    user: int | None = None
    title: int | None = None
    plays: int | None = None
    time: int | None = None
    recording_mbid: int | None = None
    artist_mbid: int | None = None
    playlists: bool = False

    @property
    def kind(self) -> str:
        """What such rows are: ``"playlists"``, ``"counts"`` or ``"events"``."""
        if self.playlists:
            return "playlists"
        return "events" if self.time is not None and self.plays is None else "counts"

    def known(self) -> Iterator[int]:
        """Yield the places that say something."""
        places = (self.user, self.artist, self.title, self.plays, self.time, self.recording_mbid, self.artist_mbid)
        yield from (place for place in places if place is not None)


def find_columns(names: Sequence[str]) -> Columns | None:
    """Recognise the columns of a table by their names.

    Parameters
    ----------
    names : sequence of str
        A header; capitals, spaces and punctuation do not matter.

    Returns
    -------
    Columns or None
        None if no column holds artists.

    Examples
    --------
    >>> find_columns(["User ID", "Artist Name", "playCount"])
    Columns(artist=1, user=0, title=None, plays=2, time=None, recording_mbid=None, artist_mbid=None, playlists=False)
    >>> find_columns(["song_id", "genre"]) is None
    True
    """
    place_of: dict[str, int] = {}
    for place, name in enumerate(names):
        place_of.setdefault(_NO_LETTER.sub("", name.lower()), place)
    found = {
        role: next((place_of[synonym] for synonym in synonyms if synonym in place_of), None)
        for role, synonyms in SYNONYMS.items()
    }
    artist = found["artist"]
    if artist is None:
        return None
    playlists = found["user"] is None and found["playlist"] is not None
    return Columns(
        artist=artist,
        user=found["playlist"] if playlists else found["user"],
        title=found["title"],
        plays=found["plays"],
        time=found["time"],
        recording_mbid=found["recording_mbid"],
        artist_mbid=found["artist_mbid"],
        playlists=playlists,
    )


def is_catalogue(names: Sequence[str], columns: Columns) -> bool:
    """Tell whether a table lists songs or artists with something about them, and nobody who played them.

    >>> names = ["song_id", "artist", "title", "genre"]
    >>> is_catalogue(names, find_columns(names)), is_catalogue(names[1:3], find_columns(names[1:3]))
    (True, False)
    """
    plain = [_NO_LETTER.sub("", name.lower()) for name in names]
    if columns.user is None and columns.time is None and not _TAGS.isdisjoint(plain):
        return True  # artist, tag, count
    if any(place is not None for place in (columns.user, columns.plays, columns.time)):
        return False
    known = set(columns.known())
    return any(place not in known and name not in _BESIDE_A_SONG for place, name in enumerate(plain))


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return some names as a message can show them: the first few, each cut to a readable length."""
    shown = [name.strip()[:40] or "(nameless)" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
