"""A file -> which listening history it is, by what is in it, and the function that reads it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nearsong.errors import ListensError
from nearsong.library.listens.blocks import BlockBuilder
from nearsong.library.listens.columns import NEEDED, Columns, find_columns, is_catalogue, listed
from nearsong.library.listens.json_records import FlatRecords, Shape, load_whole, read_records, shape_of
from nearsong.library.listens.layouts import LASTFM_1K, LASTFM_360K, find_layout
from nearsong.library.listens.listenbrainz import read_listenbrainz
from nearsong.library.listens.parquet import parquet_columns, read_parquet
from nearsong.library.listens.playlist_documents import read_jspf, read_spotify_playlists, read_xspf
from nearsong.library.listens.playlists import read_m3u
from nearsong.library.listens.sources import Source, decode_lines, zip_members
from nearsong.library.listens.spotify import read_spotify_account, read_spotify_extended
from nearsong.library.listens.tables import read_table
from nearsong.library.records import ListenBlock

ENDINGS = (
    ".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".m3u", ".m3u8", ".jspf", ".xspf", ".zip",
    ".csv.gz", ".tsv.gz", ".txt.gz", ".json.gz", ".jsonl.gz", ".ndjson.gz",
)  # fmt: skip

Reader = Callable[[Source, BlockBuilder, str], Iterator[ListenBlock]]

_DELIMITERS_OF = {"csv": (",", ";", "|"), "tsv": ("\t",), "lastfm-csv": (",", ";", "\t")}
_TABLE_ENDINGS = (".csv", ".tsv", ".txt")
_KINDS = ("events", "counts", "playlists")  # of a zip with several, the first is read


def _read_described(source: Source, builder: BlockBuilder, user: str, format: str) -> Iterator[ListenBlock]:
    """Read a table that says itself, by a header or by its form, what is where."""
    yield from read_table(source, builder, user, find_layout(source, _DELIMITERS_OF[format]))


def _read_flat(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
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
    "m3u": read_m3u,
    "jspf": read_jspf,
    "xspf": read_xspf,
}
_KIND_OF = {
    "lastfm-csv": "events",
    "lastfm-360k": "counts",
    "lastfm-1k": "events",
    "listenbrainz": "events",
    "spotify-account": "events",
    "spotify-extended": "events",
    "spotify-playlists": "playlists",
    "m3u": "playlists",
    "jspf": "playlists",
    "xspf": "playlists",
}


def detect_source(source: Source) -> tuple[str, str]:
    """Return format and kind of a file that is no zip, by its content first and by its ending second."""
    head = next(source.utf8_chunks(), b"")
    if not head.strip():
        raise ListensError(f"{source.name} is empty; there are no listens in it.")
    if head.startswith(b"PAR1"):
        columns, names = parquet_columns(source)
        return "parquet", _kind_unless_catalogue(source, names, columns)
    if b"\0" in head[:65536]:
        raise ListensError(f"{source.name} is no text and no Parquet file; it is no listening history known here.")
    text = decode_lines(head[:65536]).lstrip()
    ending = Path(source.file_name.lower().removesuffix(".gz")).suffix
    if text.upper().startswith("#EXTM3U") or ending in (".m3u", ".m3u8"):
        return "m3u", "playlists"
    if text.startswith("<"):
        if "<playlist" in text:
            return "xspf", "playlists"
        raise ListensError(
            f"{source.name} is XML or HTML, but no XSPF playlist; it is no listening history known here."
        )
    if text.startswith(("{", "[")):
        try:
            return _detect_json(source)
        except ListensError:
            if ending not in _TABLE_ENDINGS:
                raise  # an artist may be called [dunkelbunt]
    layout = find_layout(source)
    return layout.format, _kind_unless_catalogue(source, layout.names, layout.columns)


def kind_of(source: Source, format: str) -> str:
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


def members_of(source: Source, format: str | None = None) -> list[tuple[Source, str, str]]:
    """Return the listening histories in a zip, each with format and kind; all of one kind.

    Spotify's zip has playlists beside the history, ListenBrainz' has likes: a source is one kind, so single listens
    go before counts, and these before playlists, unless a format asks for another kind. A format that no file of the
    zip seems to have is taken for all.
    """
    names = [name for name in zip_members(source) if is_plausible(name) and not name.lower().endswith(".zip")]
    members = [source.with_member(name) for name in names]
    found, reasons = _sorted_out(members, detect_source)
    if format is not None and format not in {part[1] for part in found}:
        found, reasons = _sorted_out(members, lambda member: (format, kind_of(member, format)))
    if not found:
        why = f": {reasons[0]}" if reasons else "."
        raise ListensError(f"{source.path} is a zip without any listening history known here{why}")
    kind = min((part[2] for part in found if format in (None, part[1])), key=_KINDS.index)
    return [part for part in found if part[2] == kind]


def _sorted_out(
    members: Sequence[Source], tell: Callable[[Source], tuple[str, str]]
) -> tuple[list[tuple[Source, str, str]], list[str]]:
    """Return the files that are told what they are, and why the others are not."""
    found, reasons = [], []
    for member in members:
        try:
            found.append((member, *tell(member)))
        except ListensError as error:
            reasons.append(str(error))
    return found, reasons


def is_plausible(name: str) -> bool:
    """Tell whether a file of that name may hold a listening history."""
    return name.lower().endswith(ENDINGS)


def _detect_json(source: Source) -> tuple[str, str]:
    shape = shape_of(source)
    first = _first_record(source, shape)
    if shape.under == "playlists":
        return "spotify-playlists", "playlists"
    if _is_jspf(first):
        return "jspf", "playlists"
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


def _kind_unless_catalogue(source: Source, names: Sequence[str], columns: Columns) -> str:
    if is_catalogue(names, columns):
        raise ListensError(
            f"{source.name} lists songs or artists ({listed(names)}) but not who played them, how often or when; if "
            "each row is one play, say which format it is."
        )
    return columns.kind


def _first_record(source: Source, shape: Shape) -> dict[str, Any]:
    first = shape.first
    if shape.name == "object" and first is None:
        first = load_whole(source)
    while isinstance(first, list) and first:
        first = first[0]
    if not isinstance(first, dict) or not first:
        raise ListensError(f"{source.name} has no records in it; there are no listens.")
    return first


def _is_jspf(document: dict[str, Any]) -> bool:
    return isinstance(document.get("playlist"), dict) or isinstance(document.get("track"), list)


def _unknown(source: Source, names: Sequence[str]) -> ListensError:
    return ListensError(
        f"{source.name} is no listening history that is known here: its first record has the fields {listed(names)}; "
        f"{NEEDED} is needed."
    )
