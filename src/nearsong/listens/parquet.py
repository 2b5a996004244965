"""Parquet tables -> blocks. The only module that uses pyarrow, of the extra ``nearsong[parquet]``."""

from collections.abc import Iterator, Sequence
from typing import Any

from nearsong.errors import ListensError, install_command
from nearsong.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.listens.columns import NEEDED, ColumnNames, find_columns, listed
from nearsong.listens.json_records import as_text
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile

_ROLES = ("artist", "user", "title", "recording_mbid", "artist_mbid", "plays", "time")
_NUMBERS = ("plays", "time")
_TEXT = ("string", "large_string", "binary", "large_binary")


def parquet_columns(source: SourceFile) -> tuple[ColumnNames, list[str]]:
    """Return the recognised columns of a Parquet file and all column names; raise if there is no artist column."""
    with _opened(source) as table:
        return _columns_of(source, table), list(table.schema_arrow.names)


def read_parquet(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a Parquet file some thousand rows at a time; its rows are of ``user`` if no column names users.

    Text is read as a dictionary: a file of some bytes may repeat a long name millions of times.
    """
    builder.begin(source.name, user, "row")
    with _opened(source) as table:
        columns = _columns_of(source, table)
        schema = table.schema_arrow
    index_of = {role: index for role in _ROLES if (index := getattr(columns, role)) is not None}
    name_of = {role: schema.names[index] for role, index in index_of.items()}
    names = list(dict.fromkeys(name_of.values()))
    if repeated := [name for name in names if schema.names.count(name) > 1]:
        raise ListensError(f"{source.name} has several columns named {repeated[0]}; keep one of them.")
    with _opened(source, [name for name in names if str(schema.field(name).type) in _TEXT]) as table:
        done, n_rows = 0, table.metadata.num_rows
        for rows in _batches(source, table, names):
            fields = {role: _readable_values(source, rows.column(name), role) for role, name in name_of.items()}
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
        raise ListensError(f"{source.name}: reading Parquet needs pyarrow: {install_command('parquet')}") from error
    return pyarrow, pyarrow.parquet


def _opened(source: SourceFile, texts: Sequence[str] = ()) -> Any:
    """Open a Parquet file, some columns as dictionaries; use it as a context manager."""
    arrow, parquet = _pyarrow(source)
    if source.member:
        raise ListensError(f"{source.name}: Parquet inside a zip is not supported; unpack the zip first.")
    try:
        return parquet.ParquetFile(source.path, read_dictionary=list(texts))
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


def _readable_values(source: SourceFile, column: Any, role: str) -> list[Any]:
    arrow, _ = _pyarrow(source)
    try:
        return _values(column, role)
    except (arrow.ArrowException, ValueError, OverflowError, ImportError) as error:  # dates beyond those of Python
        raise ListensError(
            f"{source.name}: its column for {role} is of type {column.type}, with values that are out of range; "
            "store text or numbers."
        ) from error


def _values(column: Any, role: str) -> list[Any]:
    """Return a column in the form that ``Batch`` expects: text, numbers, or seconds since 1970."""
    kind = str(column.type)
    if kind.startswith("dictionary"):
        used = column.indices.drop_null().unique()  # a dictionary is that of many batches
        values_of = dict(zip(used.to_pylist(), _values(column.dictionary.take(used), role), strict=True))
        values_of[None] = None if role in _NUMBERS else ""
        return [values_of[index] for index in column.indices.to_pylist()]
    if role == "time" and kind.startswith(("timestamp", "date")):
        column = column.cast("timestamp[s]", safe=False).cast("int64")
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # Parquet does not check that text is UTF-8
        values = [None if value is None else value.decode("utf-8", "replace") for value in _bytes_of(column)]
    if role in _NUMBERS:
        return values
    if kind in ("string", "large_string"):
        return [value or "" for value in values]
    return [as_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else value) for value in values]


def _bytes_of(column: Any) -> list[bytes | None]:
    values: list[bytes | None] = column.cast("large_binary").to_pylist()
    return values


def _damaged(source: SourceFile, error: Exception) -> ListensError:
    why = " ".join(str(error).split())[:200]
    return ListensError(f"{source.name} is truncated or not a Parquet file ({why}); copy or download it again.")
