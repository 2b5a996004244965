"""Parquet tables -> blocks. The only module that uses pyarrow, of the extra ``nearsong[parquet]``."""

from collections.abc import Iterator
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.listens.columns import NEEDED, ColumnNames, find_columns, listed
from nearsong.listens.json_records import as_text
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile

_ROLES = ("artist", "user", "title", "recording_mbid", "artist_mbid", "plays", "time")


def parquet_columns(source: SourceFile) -> tuple[ColumnNames, list[str]]:
    """Return the recognised columns of a Parquet file and all column names; raise if there is no artist column."""
    with _opened(source) as table:
        return _columns_of(source, table), list(table.schema_arrow.names)


def read_parquet(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a Parquet file some thousand rows at a time; its rows are of ``user`` if no column names users."""
    builder.begin(source.name, user, "row")
    with _opened(source) as table:
        columns = _columns_of(source, table)
        index_of = {role: index for role in _ROLES if (index := getattr(columns, role)) is not None}
        name_of = {role: table.schema_arrow.names[index] for role, index in index_of.items()}
        done, n_rows = 0, table.metadata.num_rows
        for rows in _batches(source, table, list(dict.fromkeys(name_of.values()))):
            fields = {role: _values(rows.column(name), role) for role, name in name_of.items()}
            yield from builder.add(Batch(numbers=range(done + 1, done + 1 + len(rows)), **fields))
            done += len(rows)
            if source.progress is not None:
                source.progress(done, n_rows)
    builder.end()


def _pyarrow(source: SourceFile) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ListensError(
            f"{source.name}: reading Parquet needs pyarrow: pip install 'nearsong[parquet]'"
        ) from error
    return pyarrow, pyarrow.parquet


def _opened(source: SourceFile) -> Any:
    """Open a Parquet file; use it as a context manager."""
    arrow, parquet = _pyarrow(source)
    if source.member:
        raise ListensError(f"{source.name}: Parquet inside a zip is not supported; unpack the zip first.")
    try:
        return parquet.ParquetFile(source.path)
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(source, error) from error


def _batches(source: SourceFile, table: Any, names: list[str]) -> Iterator[Any]:
    arrow, _ = _pyarrow(source)
    batches = table.iter_batches(batch_size=BATCH_ROWS, columns=names)
    while True:
        try:
            rows = next(batches, None)
        except (arrow.ArrowException, OSError) as error:
            raise _damaged(source, error) from error
        if rows is None:
            return
        yield rows


def _columns_of(source: SourceFile, table: Any) -> ColumnNames:
    names = table.schema_arrow.names
    columns = find_columns(names)
    if columns is None:
        raise ListensError(f"{source.name} has no artist column ({listed(names)}); {NEEDED} is needed.")
    return columns


def _values(column: Any, role: str) -> list[Any]:
    """Return a column in the form that ``Batch`` expects: text, numbers, or seconds since 1970."""
    kind = str(column.type)
    if role == "time" and kind.startswith(("timestamp", "date")):
        column = column.cast("timestamp[s]", safe=False).cast("int64")
    values: list[Any] = column.to_pylist()
    if role in ("plays", "time"):
        return values
    if kind in ("string", "large_string"):
        return [value or "" for value in values]
    return [as_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else value) for value in values]


def _damaged(source: SourceFile, error: Exception) -> ListensError:
    why = " ".join(str(error).split())[:200]
    return ListensError(f"{source.name} is truncated or not a Parquet file ({why}); copy or download it again.")
