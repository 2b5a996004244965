"""``Library.xml`` of iTunes and Music -> blocks: plays, skips, hearts and ratings of each song; playlists.

The file is read as a stream: songs first, then the playlists, which name songs by number. A file that declares
entities is refused: these can make a small file expand without limit.
"""

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.json_records import NOT_MUSIC, NOT_PLAYED, LeftOut, ListenRow, add_records
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

MAX_CHARACTERS = 1 << 30
MAX_SONGS = 2_000_000
"""Songs whose names are in memory for the playlists."""

_ENTRY_DEPTH = 4  # plist, dict, the dict of songs or the array of playlists, an entry
_NOT_MUSIC_FLAGS = ("Podcast", "Movie", "TV Show", "Has Video", "Music Video", "Audiobook", "Books")
_BUILT_IN_KEYS = ("Master", "Distinguished Kind", "Smart Info", "Smart Criteria", "Folder", "Music")
_BUILT_IN = LeftOut("in smart and built-in playlists")
_UNKNOWN_SONG = ListenRow(artist="")

_Entry = dict[str, Any]


def read_itunes(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read plays, skips, hearts and ratings."""
    builder.begin(source.name, user, "song")
    songs = (entry for section, entry in _entries(source) if section == "Tracks")
    yield from add_records(builder, user, enumerate(songs, start=1), song_rows)
    builder.end()


def read_itunes_playlists(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read the playlists that somebody made."""
    builder.begin(source.name, user, "entry of a playlist")
    rows = enumerate(_playlist_rows(source), start=1)
    yield from add_records(builder, "nameless", rows, lambda row: row)
    builder.end()


def song_rows(song: _Entry) -> LeftOut | list[ListenRow | LeftOut]:
    """Return what a library says about a song; ratings that iTunes computed from the album are ignored.

    >>> rows = song_rows({"Artist": "Ann", "Name": "Song", "Play Count": "3", "Rating": "80", "Loved": True})
    >>> [(row.action.name, row.plays) for row in rows]
    [('LISTEN', 3.0), ('HEART', 1), ('RATING', 4.0)]
    """
    if any(song.get(flag) is True for flag in _NOT_MUSIC_FLAGS):
        return NOT_MUSIC
    plays, skips, rating = (float(song.get(name) or 0) for name in ("Play Count", "Skip Count", "Rating"))
    row = _named(song)
    rows: list[ListenRow | LeftOut] = []
    if plays:
        rows.append(row._replace(plays=plays))
    if skips:
        rows.append(row._replace(plays=skips, action=Action.SKIP))
    if song.get("Loved") is True or song.get("Favorited") is True:
        rows.append(row._replace(action=Action.HEART))
    if rating and song.get("Rating Computed") is not True:
        rows.append(row._replace(plays=min(rating, 100) / 20, action=Action.RATING))
    return rows or NOT_PLAYED


def _named(song: _Entry) -> ListenRow:
    artist, title = song.get("Artist") or song.get("Album Artist") or "", song.get("Name") or ""
    return ListenRow(artist=str(artist), title=str(title))


def _playlist_rows(source: SourceFile) -> Iterator[ListenRow | LeftOut]:
    songs: dict[str, ListenRow | LeftOut] = {}
    for section, entry in _entries(source):
        if section == "Tracks":
            number = str(entry.get("Track ID"))
            songs[number] = NOT_MUSIC if any(entry.get(flag) is True for flag in _NOT_MUSIC_FLAGS) else _named(entry)
            if len(songs) > MAX_SONGS:
                raise ListensError(f"{source.name} has more than {MAX_SONGS:,} songs, too many for its playlists.")
            continue
        items = entry.get("Playlist Items")
        is_built_in = any(key in entry for key in _BUILT_IN_KEYS)
        for item in items if isinstance(items, list) else ():
            song = songs.get(str(item.get("Track ID")) if isinstance(item, dict) else "", _UNKNOWN_SONG)
            if is_built_in:
                yield _BUILT_IN
            else:
                yield song if isinstance(song, LeftOut) else song._replace(user=str(entry.get("Name") or "nameless"))


def _entries(source: SourceFile) -> Iterator[tuple[str, _Entry]]:
    """Yield the section (Tracks or Playlists) and the fields of each song and playlist."""
    parser: Any = ElementTree.XMLPullParser(events=("start", "end"))
    opened: list[ElementTree.Element] = []
    section = ""
    try:
        for piece in _safe_pieces(source):
            parser.feed(piece)
            for event, element in parser.read_events():
                if event == "start":
                    opened.append(element)
                    continue
                depth = len(opened)
                opened.pop()
                if depth == _ENTRY_DEPTH - 1:
                    section = (element.text or "") if element.tag == "key" else section
                    element.clear()
                elif depth == _ENTRY_DEPTH:
                    if element.tag == "dict" and section in ("Tracks", "Playlists"):
                        yield section, _value(element)
                    opened[-1].clear()
        parser.close()
    except ElementTree.ParseError as error:
        raise ListensError(
            f"{source.name} is truncated or invalid XML ({error}); export or copy it again."
        ) from error


def _safe_pieces(source: SourceFile) -> Iterator[str]:
    n_characters = 0
    for piece in source.text_pieces():
        n_characters += len(piece)
        if n_characters > MAX_CHARACTERS:
            raise ListensError(f"{source.name} has more than {MAX_CHARACTERS >> 20} MB, too much for a library.")
        if "<!ENTITY" in piece:
            raise ListensError(f"{source.name} defines XML entities, which are not allowed in a library.")
        yield piece


def _value(element: ElementTree.Element, depth: int = 0) -> Any:
    """Return an element of a property list: a dict, a list, a flag, or text."""
    if element.tag in ("true", "false"):
        return element.tag == "true"
    if element.tag == "dict" and depth < _ENTRY_DEPTH:
        fields = list(element)
        return {
            key.text or "": _value(value, depth + 1) for key, value in zip(fields[::2], fields[1::2], strict=False)
        }
    if element.tag == "array" and depth < _ENTRY_DEPTH:
        return [_value(item, depth + 1) for item in element]
    return element.text or ""


def _is_library_file(beginning: Beginning) -> bool:
    return beginning.text.startswith("<") and "<plist" in beginning.text and "<key>Tracks</key>" in beginning.text


ITUNES = ListenFormat(
    name="itunes",
    kind="counts",
    read=read_itunes,
    matches=_is_library_file,
    also=("itunes-playlists",),
    endings=(".xml",),
)
ITUNES_PLAYLISTS = ListenFormat(name="itunes-playlists", kind="playlists", read=read_itunes_playlists)
