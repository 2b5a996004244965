"""The start of a text table -> its layout: delimiter, quoting, header and columns.

Formats without a header: the two Last.fm research datasets (360K users' artists, 1K users' listens) and the CSV of
"Last.fm to CSV". The delimiter (comma, semicolon, tab or bar) is the one with which most header names are recognised.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from nearsong.errors import ListensError
from nearsong.listens.columns import NEEDED, ColumnNames, find_columns, listed
from nearsong.listens.sources import SourceFile
from nearsong.listens.times import parse_time

_DELIMITERS = (",", ";", "\t", "|")
_NO_DELIMITER = "\x1f"
_SAMPLE_ROWS = 20
_SAMPLE_CHARACTERS = 65_536
_CACHED_CHARACTERS = 1_000  # of a header: longer ones are not kept
_LINE_END = re.compile(r"\r\n|\r|\n")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # Excel's declaration of the delimiter
_WORDED_DATE = re.compile(r"\d{1,2} [A-Za-z]{3} \d{4},? \d{2}:\d{2}(:\d{2})?")
_MBID_OR_NOTHING = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?", re.IGNORECASE)
_PLAYS = re.compile(r"\d+(\.\d+)?\s*")


@dataclass(frozen=True)
class Layout:
    """Layout of a text table.

    Attributes
    ----------
    format : str
        One of ``FORMATS``.
    columns : ColumnNames
    width : int
        Number of fields per row.
    delimiter : str
        Separates fields.
    quoted : bool
        Whether fields may be quoted; otherwise quotes are ordinary characters.
    header_rows : int
        Rows before the data, without blank ones.
    user : str
        The user named in the header, if any.
    names : tuple of str
        The column names, if there is a header.
    dated_only : bool
        Whether rows without a time are skipped: Last.fm's "now playing".
    strict : bool
        Whether every row must have all fields, correctly quoted.
    """

    format: str
    columns: ColumnNames
    width: int
    delimiter: str = ","
    quoted: bool = True
    header_rows: int = 1
    user: str = ""
    names: tuple[str, ...] = ()
    dated_only: bool = False
    strict: bool = False

    def with_rows(self, width: int, header_rows: int) -> "Layout":
        """Return a copy with another width and number of header rows."""
        return replace(self, width=width, header_rows=header_rows)


LASTFM_360K = Layout(
    "lastfm-360k",
    ColumnNames(user=0, artist_mbid=1, artist=2, plays=3),
    4,
    delimiter="\t",
    quoted=False,
    header_rows=0,
)
LASTFM_1K = Layout(
    "lastfm-1k",
    ColumnNames(user=0, time=1, artist_mbid=2, artist=3, recording_mbid=4, title=5),
    6,
    delimiter="\t",
    quoted=False,
    header_rows=0,
)
LASTFM_TO_CSV = Layout("lastfm-csv", ColumnNames(artist=0, title=2, time=3), 4, header_rows=0, dated_only=True)


def find_layout(source: SourceFile, delimiters: Sequence[str] = _DELIMITERS) -> Layout:
    """Detect the layout of a table from its first rows.

    Parameters
    ----------
    source : SourceFile
    delimiters : sequence of str
        Candidates for the delimiter.

    Returns
    -------
    Layout

    Raises
    ------
    ListensError
        If it has no artist column and none of the known formats without a header.
    """
    sample, lines = _beginning(source)
    if not lines:
        raise ListensError(f"{source.name} is empty; there are no listens in it.")
    skipped = 0
    if (match := _SEPARATOR_LINE.fullmatch(lines[0].strip())) and len(lines) > 1:
        delimiters, skipped, lines = (match.group(1),), 1, lines[1:]
    n_comments = _n_comments(lines, delimiters)
    skipped, lines = skipped + n_comments, lines[n_comments:]
    read_header = _cached_header if len(lines[0]) <= _CACHED_CHARACTERS else _header
    delimiter, names, user, columns = read_header(lines[0], tuple(delimiters))
    if columns is None:
        return _layout_without_header(source, lines, delimiters, names)
    if len(lines) == 1:
        raise ListensError(f"{source.name} has a header but no rows, so there are no listens.")
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
        names=names,
        dated_only=lastfm,
    )


def _header(line: str, delimiters: Sequence[str]) -> tuple[str, tuple[str, ...], str, ColumnNames | None]:
    """Return the delimiter of a header, the names in it, the user that it names, and the columns."""
    headers = {delimiter: next(csv.reader([line], delimiter=delimiter)) for delimiter in delimiters}
    delimiter = max(headers, key=lambda candidate: _header_score(headers[candidate]))
    names = headers[delimiter]
    if len(names) == 1:
        delimiter = _NO_DELIMITER  # a list of artists: commas are part of a name
    user = ""
    if "#" in names[-1]:  # lastfmstats.com appends the user name: Date#ann
        names[-1], _, user = names[-1].partition("#")
    return delimiter, tuple(names), user, find_columns(names)


_cached_header = lru_cache(maxsize=64)(_header)
"""The files of a zip have the same few headers."""


def _beginning(source: SourceFile) -> tuple[str, list[str]]:
    """Return the start of a table as text, and its first non-blank lines."""
    sample, lines = "", list[str]()
    for piece in source.text_pieces():
        sample += piece
        lines = [line[:_SAMPLE_CHARACTERS] for line in _LINE_END.split(sample) if line.strip()][:_SAMPLE_ROWS]
        if len(lines) == _SAMPLE_ROWS or len(sample) > 16 * _SAMPLE_CHARACTERS:
            break
    return sample[: sample.rfind("\n", 0, _SAMPLE_CHARACTERS) + 1] or sample[:_SAMPLE_CHARACTERS], lines


def _n_comments(lines: Sequence[str], delimiters: Sequence[str]) -> int:
    """Return the number of comments before the header, as Libre.fm's; a header may start with # too."""
    for number, line in enumerate(lines[:-1]):
        if not line.startswith("#") or any(_header_score(line.split(delimiter))[0] for delimiter in delimiters):
            return number
    return 0


def _header_score(names: Sequence[str]) -> tuple[int, int]:
    """Return a score of a parsed header: the number of recognised columns, then of all columns."""
    columns = find_columns([*names[:-1], names[-1].partition("#")[0]])
    return (len(list(columns.known())) if columns else 0, len(names))


def _has_quoted_fields(sample: str, delimiter: str) -> bool:
    """Return whether every opening quote is closed: Excel quotes fields, research data has quotes in names."""
    edge = re.escape(delimiter)
    rest, n_closed = re.subn(rf'(^|{edge})"(?:[^"]|"")*"(?={edge}|\r?$)', r"\1", sample, flags=re.MULTILINE)
    return n_closed > 0 and not re.search(rf'(?:^|{edge})"', rest, re.MULTILINE)


def _layout_without_header(
    source: SourceFile, lines: Sequence[str], delimiters: Iterable[str], names: Sequence[str]
) -> Layout:
    """Return the layout of a known format without a header; raise if none fits."""
    tabbed = [line.split("\t") for line in lines]
    if _fits_most(_is_360k, tabbed):
        return LASTFM_360K
    if _fits_most(_is_1k, tabbed):
        return LASTFM_1K
    for delimiter in delimiters:
        if _fits_most(_is_lastfm_to_csv, csv.reader(lines, delimiter=delimiter)):
            return replace(LASTFM_TO_CSV, delimiter=delimiter)
    raise ListensError(
        f"{source.name} is not a recognised listening history: its first line names no artist column "
        f"({listed(names)}); a header with {NEEDED} is needed."
    )


def _fits_most(fits: Callable[[list[str]], bool], rows: Iterable[list[str]]) -> bool:
    results = [fits(row) for row in rows]
    return 2 * sum(results) > len(results)


def _is_360k(row: list[str]) -> bool:
    return (
        len(row) == 4 and bool(row[0]) and bool(_MBID_OR_NOTHING.fullmatch(row[1])) and bool(_PLAYS.fullmatch(row[3]))
    )


def _is_1k(row: list[str]) -> bool:
    return len(row) == 6 and bool(row[0]) and row[1][4:5] == "-" and parse_time(row[1]) > 0


def _is_lastfm_to_csv(row: list[str]) -> bool:
    return len(row) == 4 and bool(_WORDED_DATE.fullmatch(row[3].strip()))
