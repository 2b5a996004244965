"""The beginning of a table of text -> how it is written: what separates fields, what is quoted, what is where.

The forms without a header: the two research sets of Last.fm (360K users' artists, 1K users' listens) and the CSV of
"Last.fm to CSV". Fields are separated by commas, semicolons, tabs or bars, whichever the header makes sense with.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from nearsong.errors import ListensError
from nearsong.library.listens.columns import NEEDED, Columns, find_columns, listed
from nearsong.library.listens.sources import Source
from nearsong.library.listens.times import parse_time

_DELIMITERS = (",", ";", "\t", "|")
_NO_DELIMITER = "\x1f"
_LOOKED_AT_ROWS = 20
_LOOKED_AT = 65_536
_LINE_END = re.compile(r"\r\n|\r|\n")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # Excel's own way to say it
_WORDED_DATE = re.compile(r"\d{1,2} [A-Za-z]{3} \d{4},? \d{2}:\d{2}(:\d{2})?")
_MBID_OR_NOTHING = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?", re.IGNORECASE)
_PLAYS = re.compile(r"\d+(\.\d+)?\s*")


@dataclass(frozen=True)
class Layout:
    """How a table is written.

    Attributes
    ----------
    format : str
        One of ``FORMATS``.
    columns : Columns
    width : int
        Fields in a row.
    delimiter : str
        Between two fields.
    quoted : bool
        Whether quotes enclose a field; otherwise they are letters.
    header_rows : int
        Rows before the first one of data, blank ones not counted.
    user : str
        Whose history it is, if the header says so.
    names : tuple of str
        The columns' names, if there is a header.
    dated_only : bool
        Whether a row without a time is no listen: Last.fm's "now playing".
    """

    format: str
    columns: Columns
    width: int
    delimiter: str = ","
    quoted: bool = True
    header_rows: int = 1
    user: str = ""
    names: tuple[str, ...] = ()
    dated_only: bool = False


LASTFM_360K = Layout(
    "lastfm-360k", Columns(user=0, artist_mbid=1, artist=2, plays=3), 4, delimiter="\t", quoted=False, header_rows=0
)
LASTFM_1K = Layout(
    "lastfm-1k",
    Columns(user=0, time=1, artist_mbid=2, artist=3, recording_mbid=4, title=5),
    6,
    delimiter="\t",
    quoted=False,
    header_rows=0,
)
LASTFM_TO_CSV = Layout("lastfm-csv", Columns(artist=0, title=2, time=3), 4, header_rows=0, dated_only=True)


def find_layout(source: Source, delimiters: Sequence[str] = _DELIMITERS) -> Layout:
    """Look at the beginning of a table and tell how it is written.

    Parameters
    ----------
    source : Source
    delimiters : sequence of str
        What may separate fields.

    Returns
    -------
    Layout

    Raises
    ------
    ListensError
        If it has no column of artists and none of the known forms without a header.
    """
    sample, lines = _beginning(source)
    if not lines:
        raise ListensError(f"{source.name} is empty; there are no listens in it.")
    skipped = 0
    if (said := _SEPARATOR_LINE.fullmatch(lines[0].strip())) and len(lines) > 1:
        delimiters, skipped, lines = (said.group(1),), 1, lines[1:]
    headers = {delimiter: next(csv.reader([lines[0]], delimiter=delimiter)) for delimiter in delimiters}
    delimiter = max(headers, key=lambda candidate: _understood(headers[candidate]))
    names = headers[delimiter]
    if len(names) == 1:
        delimiter = _NO_DELIMITER  # a list of artists: a comma is part of a name
    user = ""
    if "#" in names[-1]:  # lastfmstats.com puts the user's name there: Date#ann
        names[-1], _, user = names[-1].partition("#")
    columns = find_columns(names)
    if columns is None:
        return _layout_without_header(source, lines, delimiters, names)
    if len(lines) == 1:
        raise ListensError(f"{source.name} has a header and no rows; there are no listens in it.")
    plain = [name.strip().lower() for name in names]
    lastfm = bool(user) or {"uts", "artist", "track"} <= set(plain)
    return Layout(
        format="lastfm-csv" if lastfm else "tsv" if delimiter == "\t" else "csv",
        columns=columns,
        width=len(names),
        delimiter=delimiter,
        quoted=delimiter in (",", ";", _NO_DELIMITER) or _has_quoted_fields(sample, delimiter),
        header_rows=1 + skipped,
        user=user.strip(),
        names=tuple(names),
        dated_only=lastfm,
    )


def _beginning(source: Source) -> tuple[str, list[str]]:
    """Return the text a table begins with, and the first lines of it that are not blank."""
    sample, lines = "", list[str]()
    for piece in source.text_pieces():
        sample += piece
        lines = [line[:_LOOKED_AT] for line in _LINE_END.split(sample) if line.strip()][:_LOOKED_AT_ROWS]
        if len(lines) == _LOOKED_AT_ROWS or len(sample) > 16 * _LOOKED_AT:
            break
    return sample[: sample.rfind("\n", 0, _LOOKED_AT) + 1] or sample[:_LOOKED_AT], lines


def _understood(names: Sequence[str]) -> tuple[int, int]:
    """Return how much sense a header makes: columns known, columns at all."""
    columns = find_columns([*names[:-1], names[-1].partition("#")[0]])
    return (len(list(columns.known())) if columns else 0, len(names))


def _has_quoted_fields(sample: str, delimiter: str) -> bool:
    """Tell whether fields that begin with a quote end with one: Excel quotes, research sets have quotes in names."""
    edge = re.escape(delimiter)
    rest, n_whole = re.subn(rf'(^|{edge})"(?:[^"]|"")*"(?={edge}|\r?$)', r"\1", sample, flags=re.MULTILINE)
    return n_whole > 0 and not re.search(rf'(?:^|{edge})"', rest, re.MULTILINE)


def _layout_without_header(
    source: Source, lines: Sequence[str], delimiters: Iterable[str], names: Sequence[str]
) -> Layout:
    """Tell which known form without a header it is."""
    tabbed = [line.split("\t") for line in lines]
    if _most(_is_360k, tabbed):
        return LASTFM_360K
    if _most(_is_1k, tabbed):
        return LASTFM_1K
    for delimiter in delimiters:
        if _most(_is_lastfm_to_csv, csv.reader(lines, delimiter=delimiter)):
            return replace(LASTFM_TO_CSV, delimiter=delimiter)
    raise ListensError(
        f"{source.name} is no listening history that is known here: its first line names no artist column "
        f"({listed(names)}); a header with {NEEDED} is needed."
    )


def _most(fits: Callable[[list[str]], bool], rows: Iterable[list[str]]) -> bool:
    answers = [fits(row) for row in rows]
    return 2 * sum(answers) > len(answers)


def _is_360k(row: list[str]) -> bool:
    return (
        len(row) == 4 and bool(row[0]) and bool(_MBID_OR_NOTHING.fullmatch(row[1])) and bool(_PLAYS.fullmatch(row[3]))
    )


def _is_1k(row: list[str]) -> bool:
    return len(row) == 6 and bool(row[0]) and row[1][4:5] == "-" and parse_time(row[1]) > 0


def _is_lastfm_to_csv(row: list[str]) -> bool:
    return len(row) == 4 and bool(_WORDED_DATE.fullmatch(row[3].strip()))
