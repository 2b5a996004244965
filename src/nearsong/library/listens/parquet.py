"""Parquet tables -> blocks. The only door to pyarrow, which the extra ``nearsong[parquet]`` brings."""

from collections.abc import Iterator
from typing import Any

from nearsong.errors import ListensError
from nearsong.library.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.library.listens.columns import NEEDED, Columns, find_columns, listed
from nearsong.library.listens.json_records import as_text
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock

_ROLES = ("artist", "user", "title", "recording_mbid", "artist_mbid", "plays", "time")


def parquet_columns(source: Source) -> tuple[Columns, list[str]]:
    """Recognise the columns of a Parquet file and return their names too; raise if none holds artists."""
    with _opened(source) as table:
        return _columns_of(source, table), list(table.schema_arrow.names)


def read_parquet(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a Parquet file some thousand rows at a time.

    Parameters
    ----------
    source : Source
    builder : BlockBuilder
        Takes the rows.
    user : str
        Whose the rows are if no column names users.

    Yields
    ------
    ListenBlock
    """
    builder.begin(source.name, user, "row")
    with _opened(source) as table:
        columns = _columns_of(source, table)
        place_of = {role: place for role in _ROLES if (place := getattr(columns, role)) is not None}
        name_of = {role: table.schema_arrow.names[place] for role, place in place_of.items()}
        done, n_rows = 0, table.metadata.num_rows
        for rows in _batches(source, table, list(dict.fromkeys(name_of.values()))):
            fields = {role: _values(rows.column(name), role) for role, name in name_of.items()}
            yield from builder.add(Batch(numbers=range(done + 1, done + 1 + len(rows)), **fields))
            done += len(rows)
            if source.progress is not None:
                source.progress(done, n_rows)
    builder.end()


def _pyarrow(source: Source) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ListensError(
            f"{source.name}: reading Parquet needs pyarrow: pip install 'nearsong[parquet]'"
        ) from error
    return pyarrow, pyarrow.parquet


def _opened(source: Source) -> Any:
    """Open a Parquet file, which pyarrow closes at the end of a ``with``."""
    arrow, parquet = _pyarrow(source)
    if source.member:
        raise ListensError(f"{source.name}: Parquet inside a zip is not read; unpack the zip first.")
    try:
        return parquet.ParquetFile(source.path)
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(source, error) from error


def _batches(source: Source, table: Any, names: list[str]) -> Iterator[Any]:
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


def _columns_of(source: Source, table: Any) -> Columns:
    names = table.schema_arrow.names
    columns = find_columns(names)
    if columns is None:
        raise ListensError(f"{source.name} has no artist column ({listed(names)}); {NEEDED} is needed.")
    return columns


def _values(column: Any, role: str) -> list[Any]:
    """Return a column as ``Batch`` takes it: text, numbers, or seconds since 1970."""
    kind = str(column.type)
    if role == "time" and kind.startswith(("timestamp", "date")):
        column = column.cast("timestamp[s]", safe=False).cast("int64")
    values: list[Any] = column.to_pylist()
    if role in ("plays", "time"):
        return values
    if kind in ("string", "large_string"):
        return [value or "" for value in values]
    return [as_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else value) for value in values]


def _damaged(source: Source, error: Exception) -> ListensError:
    why = " ".join(str(error).split())[:200]
    return ListensError(f"{source.name} is no whole Parquet file ({why}); copy or download it again.")
