"""Tables and records that their columns describe, and Last.fm's tables without a header -> blocks."""

from collections.abc import Iterator, Sequence
from functools import partial

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.columns import NEEDED, ColumnNames, find_columns, listed
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.json_records import FlatRecords, first_record, read_records, shape_of
from nearsong.listens.layouts import LASTFM_1K, LASTFM_360K, find_layout
from nearsong.listens.parquet import parquet_columns, read_parquet
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables import read_table

_Described = tuple[ColumnNames, Sequence[str]]


def read_described(
    source: SourceFile, builder: BlockBuilder, user: str, delimiters: Sequence[str]
) -> Iterator[ListenBlock]:
    """Read a table whose layout is detected from its header or its rows."""
    yield from read_table(source, builder, user, find_layout(source, delimiters))


def read_flat(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read records whose fields are named like the columns of a table."""
    yield from read_records(source, builder, user, FlatRecords())


def _table_columns(source: SourceFile, delimiters: Sequence[str]) -> _Described:
    layout = find_layout(source, delimiters)
    return layout.columns, layout.names


def _json_columns(source: SourceFile) -> _Described:
    names = list(first_record(source, shape_of(source)))
    columns = find_columns(names)
    if columns is None:
        raise ListensError(
            f"{source.name} is not a recognised listening history: its first record has the fields {listed(names)}; "
            f"{NEEDED} is needed."
        )
    return columns, names


def _has_layout(beginning: Beginning, name: str) -> bool:
    return beginning.layout is not None and beginning.layout.format == name


def _described_table(name: str, delimiters: Sequence[str], kind: str = "") -> ListenFormat:
    return ListenFormat(
        name=name,
        kind=kind,
        read=partial(read_described, delimiters=delimiters),
        matches=partial(_has_layout, name=name),
        columns=partial(_table_columns, delimiters=delimiters),
        endings=(".csv", ".tsv", ".txt"),
    )


CSV = _described_table("csv", (",", ";", "|"))
TSV = _described_table("tsv", ("\t",))
LASTFM_CSV = _described_table("lastfm-csv", (",", ";", "\t"), kind="events")
LASTFM_360K_SET = ListenFormat(
    name="lastfm-360k",
    kind="counts",
    read=partial(read_table, layout=LASTFM_360K),
    matches=partial(_has_layout, name="lastfm-360k"),
)
LASTFM_1K_SET = ListenFormat(
    name="lastfm-1k",
    kind="events",
    read=partial(read_table, layout=LASTFM_1K),
    matches=partial(_has_layout, name="lastfm-1k"),
)
JSON = ListenFormat(
    name="json",
    read=read_flat,
    matches=lambda beginning: find_columns(list(beginning.record)) is not None,
    columns=_json_columns,
    endings=(".json", ".jsonl", ".ndjson"),
)
PARQUET = ListenFormat(
    name="parquet",
    read=read_parquet,
    matches=lambda beginning: beginning.head.startswith(b"PAR1"),
    columns=parquet_columns,
    endings=(".parquet",),
)
