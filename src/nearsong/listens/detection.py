"""A file -> the formats and kinds of the listening histories in it, detected from its content."""

import re
from collections.abc import Callable, Iterable, Sequence

from nearsong.errors import ListensError
from nearsong.listens.columns import NEEDED, ColumnNames, is_catalogue, listed, plain_name
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.formats.registry import ENDINGS, LISTEN_FORMATS
from nearsong.listens.sources import SourceFile, zip_members

KINDS = ("events", "counts", "playlists")
"""Kinds of histories, the most useful first."""

MIN_SHARED_NAMES = 2
MAX_HEADERS = 100
MAX_HEADER_BYTES = 1_000
"""Headers of tables whose format is kept while the files of a zip are detected: how many, and how long."""

_OTHER_STARTS = (b"#", b"<", b"{", b"[")
_LETTER = re.compile(rb"[!-~]")

Detected = tuple[str, str]
"""Format and kind of a history."""

Part = tuple[SourceFile, str, str]
"""A source with format and kind; a zip has several."""


def detect_source(source: SourceFile) -> list[Detected]:
    """Return format and kind of each history in a file that is not a zip, by its content first.

    The first format of the registry that matches it is its format; some files hold histories of other kinds too.
    """
    return _detect(Beginning(source))


class _MemberDetection:
    """Detects the files of a zip one after the other; tables with the same header have the same format."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, bytes], list[Detected]] = {}

    def __call__(self, source: SourceFile) -> list[Detected]:
        beginning = Beginning(source)
        line, _, rest = beginning.head.partition(b"\n")
        key = (beginning.ending, line)
        is_plain = (
            len(line) <= MAX_HEADER_BYTES
            and _LETTER.match(line)
            and not line.startswith(_OTHER_STARTS)
            and _LETTER.search(rest)  # a row
            and beginning.is_text
        )
        if is_plain and key in self._found:
            return self._found[key]
        found = _detect(beginning)
        has_columns = LISTEN_FORMATS[found[0][0]].columns is not None
        has_header = has_columns and beginning.layout is not None and beginning.layout.header_rows == 1
        if is_plain and has_header and len(self._found) < MAX_HEADERS:
            self._found[key] = found
        return found


def _detect(beginning: Beginning) -> list[Detected]:
    source = beginning.source
    if not beginning.head.strip():
        raise ListensError(f"{source.name} is empty; there are no listens in it.")
    for format in LISTEN_FORMATS.values():
        if advice := format.refusal(beginning):
            raise ListensError(f"{source.name} {advice}")
        if format.matches(beginning):
            if format.columns is not None:
                columns, names = format.columns(source)
                _check_no_catalogue(source, columns, names)
                return [(format.name, format.kind or columns.kind)]
            return [(name, LISTEN_FORMATS[name].kind) for name in (format.name, *format.also)]
    raise _refusal(beginning)


def kind_of(source: SourceFile, format: str) -> str:
    """Return the kind of a file whose format is known."""
    found = LISTEN_FORMATS[format]
    if found.columns is None or found.kind:
        return found.kind
    columns, _ = found.columns(source)
    return columns.kind


def columns_of(source: SourceFile, format: str) -> ColumnNames | None:
    """Return the columns of a table that its header describes; None for formats that have no choice of columns."""
    found = LISTEN_FORMATS[format]
    if found.columns is None or found.kind:
        return None
    columns, _ = found.columns(source)
    return columns


def members_of(source: SourceFile, format: str | None = None, kind: str | None = None) -> list[Part]:
    """Return the listening histories in a zip, each with format and kind, sorted by kind.

    With a ``format``, only those of its kind, or of the given one. If no file is detected as ``format``, all files
    are read as such.
    """
    members = [source.with_member(name) for name in zip_members(source) if is_plausible(name)]
    parts, reasons = _detect_members(members, _MemberDetection())
    if format is not None and format not in {part[1] for part in parts}:
        parts, reasons = _detect_members(members, lambda member: [(format, kind_of(member, format))])
    if not parts:
        reasons += source.archive.refused if source.archive else []
        why = f": {reasons[0]}" if reasons else "."
        raise ListensError(f"{source.path} is a zip file without a recognised listening history{why}")
    if format is None:
        parts = _without_repeats(parts)
    else:
        parts = _of_kind(parts, kind or min((part[2] for part in parts if part[1] == format), key=KINDS.index))
    return sorted(parts, key=lambda part: KINDS.index(part[2]))


def _without_repeats(parts: Sequence[Part]) -> list[Part]:
    """Return the histories without those that tell of the same plays as another one."""
    repeated = {other for _, name, _ in parts for other in LISTEN_FORMATS[name].instead_of}
    return [part for part in parts if part[1] not in repeated]


def _of_kind(parts: Sequence[Part], kind: str) -> list[Part]:
    return [part for part in parts if part[2] == kind]


def _detect_members(
    members: Sequence[SourceFile], detect_member: Callable[[SourceFile], list[Detected]]
) -> tuple[list[Part], list[str]]:
    """Return the files whose format and kind could be detected, and the errors of the others."""
    parts: list[Part] = []
    reasons: list[str] = []
    for member in members:
        try:
            parts.extend((member, format, kind) for format, kind in detect_member(member))
        except ListensError as error:
            reasons.append(str(error))
    return parts, reasons


def is_plausible(name: str) -> bool:
    """Return whether a file of this name may contain a listening history."""
    return name.lower().endswith(ENDINGS)


def nearest_format(names: Iterable[str]) -> tuple[ListenFormat, list[str]] | None:
    """Return the format that shares most names with a file, and the names that the file lacks.

    >>> format, missing = nearest_format(["artistName", "trackName", "msPlayed"])
    >>> format.name, missing
    ('spotify-account', ['endTime'])
    """
    plain = set(map(plain_name, names))
    shared = {
        format.name: sum(plain_name(name) in plain for name in format.needs) for format in LISTEN_FORMATS.values()
    }
    best = max(shared, key=lambda name: shared[name])
    if shared[best] < MIN_SHARED_NAMES:
        return None
    format = LISTEN_FORMATS[best]
    return format, [name for name in format.needs if plain_name(name) not in plain]


def _check_no_catalogue(source: SourceFile, columns: ColumnNames, names: Sequence[str]) -> None:
    if is_catalogue(names, columns):
        raise ListensError(
            f"{source.name} lists songs or artists ({listed(names)}) but not who played them, how often or when; if "
            "each row is a play, name the format."
        )


def _refusal(beginning: Beginning) -> ListensError:
    """Return why a file that no format matches is refused, and which format it looks most like."""
    source = beginning.source
    if beginning.is_sqlite:
        return ListensError(f"{source.name} is a database, but neither of beets nor of Navidrome.")
    if not beginning.is_text:
        return ListensError(f"{source.name} is not a listening history: it is neither text nor a Parquet file.")
    if beginning.text.startswith("<"):
        return ListensError(
            f"{source.name} is XML or HTML but neither an XSPF playlist nor a library of iTunes; this format is not "
            "supported."
        )
    near = nearest_format(beginning.names)
    advice = ""
    if near is not None:
        format, missing = near
        advice = f" It looks most like {format.name}" + (f", which needs {listed(missing)} too." if missing else ".")
    if beginning.record:
        return ListensError(
            f"{source.name} is not a recognised listening history: its first record has the fields "
            f"{listed(beginning.names)}; {NEEDED} is needed.{advice}"
        )
    return ListensError(f"{beginning.error}{advice}")
