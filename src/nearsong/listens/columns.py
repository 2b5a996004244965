"""The column names of a table -> the columns of user, artist, title, plays and time."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Letters and digits only, by preference: if a table has several of these columns, the first in this list is used.
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
        "datetime", "dateuts", "utctime", "endtime", "starttime", "playedon", "listentime", "dateplayed", "timems",
        "timestampms", "listenedatms", "playedatms", "playedatutc", "listenedatutc", "timestamputc", "listendate",
        "playdate", "scrobbletime", "scrobbledate", "scrobbletimestamp", "scrobbledon",
        "streamedat", "dateutc", "date",
    ),
    "recording_mbid": (
        "recordingmbid", "trackmbid", "songmbid", "mbidrecording", "mbidtrack", "musicbrainzrecordingid",
        "musicbrainztrackid", "recordingid", "traid",
    ),
    "artist_mbid": (
        "artistmbid", "artistmbids", "mbidartist", "artmbid", "artistcreditmbids", "musicbrainzartistid", "artid",
    ),
}  # fmt: skip
_ALBUM_COLUMNS = frozenset({
    "album", "albumname", "albumtitle", "albumid", "albummbid", "release", "releasename", "releasembid",
})  # fmt: skip
_TAGS = frozenset({"tag", "tags"})
NEEDED = "an artist column, and ideally user, title, and plays or timestamp"

_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


def plain_name(name: str) -> str:
    """Return a column's name in small letters and digits only.

    >>> plain_name("Artist Name"), plain_name("artist_name")
    ('artistname', 'artistname')
    """
    return _NOT_ALPHANUMERIC.sub("", name.lower())


@dataclass(frozen=True)
class ColumnNames:
    """Indices of the known columns of a table.

    Attributes
    ----------
    artist : int
    user, title, plays, time, recording_mbid, artist_mbid : int or None
        None if the table has no such column.
    playlists : bool
        Whether the user column contains playlists.
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
        """Kind of the rows: ``"playlists"``, ``"counts"`` or ``"events"``."""
        if self.playlists:
            return "playlists"
        return "events" if self.time is not None and self.plays is None else "counts"

    def known(self) -> Iterator[int]:
        """Yield the indices of all recognised columns."""
        indices = (self.user, self.artist, self.title, self.plays, self.time, self.recording_mbid, self.artist_mbid)
        yield from (index for index in indices if index is not None)


def find_columns(names: Sequence[str]) -> ColumnNames | None:
    """Recognise the columns of a table by their names.

    Parameters
    ----------
    names : sequence of str
        The header; case, spaces and punctuation are ignored.

    Returns
    -------
    ColumnNames or None
        None if there is no artist column.

    Examples
    --------
    >>> find_columns(["User ID", "Artist Name", "playCount"])
    ColumnNames(artist=1, user=0, title=None, plays=2, time=None, recording_mbid=None, artist_mbid=None,
    playlists=False)
    >>> find_columns(["song_id", "genre"]) is None
    True
    """
    index_of: dict[str, int] = {}
    for index, name in enumerate(names):
        index_of.setdefault(plain_name(name), index)
    columns = {
        role: next((index_of[synonym] for synonym in synonyms if synonym in index_of), None)
        for role, synonyms in SYNONYMS.items()
    }
    artist = columns["artist"]
    if artist is None:
        return None
    playlists = columns["user"] is None and columns["playlist"] is not None
    return ColumnNames(
        artist=artist,
        user=columns["playlist"] if playlists else columns["user"],
        title=columns["title"],
        plays=columns["plays"],
        time=columns["time"],
        recording_mbid=columns["recording_mbid"],
        artist_mbid=columns["artist_mbid"],
        playlists=playlists,
    )


def is_catalogue(names: Sequence[str], columns: ColumnNames) -> bool:
    """Return whether a table is a catalogue of songs or artists with metadata, and not a list of plays.

    >>> names = ["song_id", "artist", "title", "genre"]
    >>> is_catalogue(names, find_columns(names)), is_catalogue(names[1:3], find_columns(names[1:3]))
    (True, False)
    """
    plain = [plain_name(name) for name in names]
    if columns.user is None and columns.time is None and not _TAGS.isdisjoint(plain):
        return True  # a table of tags: artist, tag, count
    if any(index is not None for index in (columns.user, columns.plays, columns.time)):
        return False
    known = set(columns.known())
    return any(index not in known and name not in _ALBUM_COLUMNS for index, name in enumerate(plain))


def listed(names: Sequence[str], max_names: int = 8) -> str:
    """Return names as text for a message: the first few, each truncated."""
    shown = [name.strip()[:40] or "(nameless)" for name in names[:max_names]]
    return ", ".join(shown) + (f" and {len(names) - max_names} more" if len(names) > max_names else "")
