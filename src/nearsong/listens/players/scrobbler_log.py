"""``.scrobbler.log`` of Rockbox and other portable players -> blocks: songs that were played (L) or skipped (S).

After some lines that start with ``#`` each line has artist, album, title, track number, length, L or S, time, and
from version 1.1 on an MBID, separated by tabs. The times of a player without a time zone (``#TZ/UNKNOWN``) are its
own; as everywhere here, they are read as UTC.
"""

from collections.abc import Iterator

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.formats.table_records import Header, table_records
from nearsong.listens.json_records import LeftOut, ListenRow, add_records
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

MARK = "#AUDIOSCROBBLER/"

_NAMES = ("artist", "album", "title", "number", "length", "rating", "time", "mbid")
_ACTIONS = {"L": Action.LISTEN, "S": Action.SKIP}
_COMMENT = LeftOut("comments")


def read_scrobbler_log(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a log."""
    builder.begin(source.name, user)
    header = Header(_NAMES, "\t", _n_header_lines(source))
    yield from add_records(builder, user, table_records(source, builder, header), log_row)
    builder.end()


def log_row(record: dict[str, str]) -> ListenRow | LeftOut:
    """Return the row of a line; players that start anew repeat the first lines.

    >>> log_row({"artist": "Ann", "title": "Song", "rating": "S", "time": "1675168440", "mbid": ""}).action.name
    'SKIP'
    """
    if record["artist"].startswith("#") and not record["rating"]:
        return _COMMENT
    return ListenRow(
        artist=record["artist"],
        title=record["title"],
        recording_mbid=record["mbid"],
        time=record["time"],
        action=_ACTIONS[record["rating"].strip().upper()],
    )


def _n_header_lines(source: SourceFile) -> int:
    number = 0
    for piece in source.text_pieces():
        for line in filter(str.strip, piece.splitlines()):
            if not line.startswith("#") or "\t" in line:
                return number
            number += 1
    return number


def _is_log(beginning: Beginning) -> bool:
    return beginning.text.startswith(MARK)


SCROBBLER_LOG = ListenFormat(
    name="scrobbler-log",
    kind="events",
    read=read_scrobbler_log,
    matches=_is_log,
    endings=("scrobbler.log",),
)
