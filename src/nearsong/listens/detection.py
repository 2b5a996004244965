"""A file -> the format and kind of its listening history, detected from its content; readers by format."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.columns import NEEDED, ColumnNames, find_columns, is_catalogue, listed
from nearsong.listens.json_records import FlatRecords, Shape, load_document, read_records, shape_of
from nearsong.listens.layouts import LASTFM_1K, LASTFM_360K, find_layout
from nearsong.listens.listenbrainz import read_listenbrainz
from nearsong.listens.parquet import parquet_columns, read_parquet
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.listens.playlists.to_blocks import read_playlist
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile, decode_lines, zip_members
from nearsong.listens.spotify import read_spotify_account, read_spotify_extended, read_spotify_playlists
from nearsong.listens.tables import read_table

ENDINGS = (
    ".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".zip",
    ".csv.gz", ".tsv.gz", ".txt.gz", ".json.gz", ".jsonl.gz", ".ndjson.gz",
    *(ending for playlist in PLAYLIST_FORMATS.values() for ending in playlist.endings),
)  # fmt: skip

Reader = Callable[[SourceFile, BlockBuilder, str], Iterator[ListenBlock]]

_DELIMITERS_OF = {"csv": (",", ";", "|"), "tsv": ("\t",), "lastfm-csv": (",", ";", "\t")}
_TABLE_ENDINGS = (".csv", ".tsv", ".txt")
_KINDS = ("events", "counts", "playlists")  # in order of preference, for a zip with several


def _read_described(source: SourceFile, builder: BlockBuilder, user: str, format: str) -> Iterator[ListenBlock]:
    """Read a table whose layout is detected from its header or its rows."""
    yield from read_table(source, builder, user, find_layout(source, _DELIMITERS_OF[format]))


def _read_flat(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    yield from read_records(source, builder, user, FlatRecords())


READERS: dict[str, Reader] = {
    "csv": partial(_read_described, format="csv"),
    "tsv": partial(_read_described, format="tsv"),
    "parquet": read_parquet,
    "json": _read_flat,
    "lastfm-csv": partial(_read_described, format="lastfm-csv"),
    "lastfm-360k": partial(read_table, layout=LASTFM_360K),
    "lastfm-1k": partial(read_table, layout=LASTFM_1K),
    "listenbrainz": read_listenbrainz,
    "spotify-account": read_spotify_account,
    "spotify-extended": read_spotify_extended,
    "spotify-playlists": read_spotify_playlists,
    **{name: partial(read_playlist, format=playlist) for name, playlist in PLAYLIST_FORMATS.items()},
}
_KIND_OF = {
    "lastfm-csv": "events",
    "lastfm-360k": "counts",
    "lastfm-1k": "events",
    "listenbrainz": "events",
    "spotify-account": "events",
    "spotify-extended": "events",
    "spotify-playlists": "playlists",
    **dict.fromkeys(PLAYLIST_FORMATS, "playlists"),
}


def detect_source(source: SourceFile) -> tuple[str, str]:
    """Return format and kind of a file that is not a zip, by its content first and its extension second."""
    head = next(source.utf8_chunks(), b"")
    if not head.strip():
        raise ListensError(f"{source.name} is empty; there are no listens in it.")
    if head.startswith(b"PAR1"):
        columns, names = parquet_columns(source)
        return "parquet", _kind_unless_catalogue(source, names, columns)
    if b"\0" in head[:65536]:
        raise ListensError(f"{source.name} is not a listening history: it is neither a text file nor a Parquet file.")
    text = decode_lines(head[:65536]).lstrip()
    ending = Path(source.file_name.lower().removesuffix(".gz")).suffix
    for playlist in PLAYLIST_FORMATS.values():
        if playlist.matches_text(text, ending):
            return playlist.name, "playlists"
    if text.startswith("<"):
        raise ListensError(f"{source.name} is XML or HTML but not an XSPF playlist; this format is not supported.")
    if text.startswith(("{", "[")):
        try:
            return _detect_json(source)
        except ListensError:
            if ending not in _TABLE_ENDINGS:
                raise  # in a table, an artist's name may start with a bracket, as [dunkelbunt] does
    layout = find_layout(source)
    return layout.format, _kind_unless_catalogue(source, layout.names, layout.columns)


def kind_of(source: SourceFile, format: str) -> str:
    """Return the kind of a file whose format is known."""
    if format in _KIND_OF:
        return _KIND_OF[format]
    if format == "parquet":
        return parquet_columns(source)[0].kind
    if format == "json":
        first = _first_record(source, shape_of(source))
        columns = find_columns(list(first))
        if columns is None:
            raise _unknown(source, list(first))
        return columns.kind
    return find_layout(source, _DELIMITERS_OF[format]).columns.kind


def members_of(source: SourceFile, format: str | None = None) -> list[tuple[SourceFile, str, str]]:
    """Return the listening histories in a zip, each with format and kind; all of the same kind.

    Spotify's zip contains playlists as well as the history, ListenBrainz's also likes. A source has one kind, so
    events are preferred over counts, and counts over playlists, unless ``format`` implies another kind. If no file is
    detected as ``format``, all files are read as that format.
    """
    names = [name for name in zip_members(source) if is_plausible(name) and not name.lower().endswith(".zip")]
    members = [source.with_member(name) for name in names]
    detected, reasons = _detect_members(members, detect_source)
    if format is not None and format not in {part[1] for part in detected}:
        detected, reasons = _detect_members(members, lambda member: (format, kind_of(member, format)))
    if not detected:
        why = f": {reasons[0]}" if reasons else "."
        raise ListensError(f"{source.path} is a zip file without a recognised listening history{why}")
    kind = min((part[2] for part in detected if format in (None, part[1])), key=_KINDS.index)
    return [part for part in detected if part[2] == kind]


def _detect_members(
    members: Sequence[SourceFile], detect_member: Callable[[SourceFile], tuple[str, str]]
) -> tuple[list[tuple[SourceFile, str, str]], list[str]]:
    """Return the files whose format and kind could be detected, and the errors of the others."""
    detected, reasons = [], []
    for member in members:
        try:
            detected.append((member, *detect_member(member)))
        except ListensError as error:
            reasons.append(str(error))
    return detected, reasons


def is_plausible(name: str) -> bool:
    """Return whether a file of this name may contain a listening history."""
    return name.lower().endswith(ENDINGS)


def _detect_json(source: SourceFile) -> tuple[str, str]:
    shape = shape_of(source)
    first = _first_record(source, shape)
    if shape.under == "playlists":
        return "spotify-playlists", "playlists"
    for playlist in PLAYLIST_FORMATS.values():
        if playlist.matches_json(first):
            return playlist.name, "playlists"
    if "track_metadata" in first:
        return "listenbrainz", "events"
    if "endTime" in first and "artistName" in first:
        return "spotify-account", "events"
    if "ms_played" in first and "ts" in first:
        return "spotify-extended", "events"
    if "podcastName" in first:
        raise ListensError(f"{source.name} is a history of podcasts; there is no music in it.")
    columns = find_columns(list(first))
    if columns is not None:
        return "json", _kind_unless_catalogue(source, list(first), columns)
    raise _unknown(source, list(first))


def _kind_unless_catalogue(source: SourceFile, names: Sequence[str], columns: ColumnNames) -> str:
    if is_catalogue(names, columns):
        raise ListensError(
            f"{source.name} lists songs or artists ({listed(names)}) but not who played them, how often or when; if "
            "each row is a play, name the format."
        )
    return columns.kind


def _first_record(source: SourceFile, shape: Shape) -> dict[str, Any]:
    first = shape.first
    if shape.name == "object" and first is None:
        first = load_document(source)
    while isinstance(first, list) and first:
        first = first[0]
    if not isinstance(first, dict) or not first:
        raise ListensError(f"{source.name} has no records, so there are no listens.")
    return first


def _unknown(source: SourceFile, names: Sequence[str]) -> ListensError:
    return ListensError(
        f"{source.name} is not a recognised listening history: its first record has the fields {listed(names)}; "
        f"{NEEDED} is needed."
    )
