"""The parts of a table -> one history; an interrupted import continues with the part that it was reading."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from nearsong.errors import ListensError
from nearsong.library.listeners.importing.history import (
    ImportedFile,
    NoRowsError,
    fingerprint_of,
    report_of,
    title_of,
    write_blocks,
)
from nearsong.library.listeners.importing.progress import BadRows, How
from nearsong.library.store import PartitionedWriter, Store
from nearsong.listens import ListenFile, PartitionedTable, RowCounts


def import_table(
    store: Store, table: PartitionedTable, parts: Sequence[ListenFile], name: str | None, how: How
) -> ImportedFile:
    """Import the parts of a table as one history; it replaces those that earlier imports made of its parts."""
    title = title_of(name, table.path, how.user)
    fingerprint = _fingerprint_of_parts(table, parts, how.user)
    sources = store.listens.histories()
    same = next((source for source in sources if source.fingerprint == fingerprint), None)
    if same is not None:
        return ImportedFile(title, "known", same.format, same.kind, same.rows, source=same.id, path=str(table.path))
    names = {title, *(title_of(None, part.path, how.user) for part in parts)}
    earlier = [source for source in sources if source.name in names]
    bad_rows, counts = BadRows(how.note), RowCounts()
    writer = store.partitioned_history(title, fingerprint, parts[0].format, parts[0].kind)
    try:
        _write_parts(writer, parts, title, how, bad_rows, counts)
        if not writer.rows:
            raise NoRowsError(f"{table.path} has no listens in its {len(parts)} files, so nothing was imported.")
        is_first = writer.finish(replaced=[source.id for source in earlier])
    except ListensError:  # a file that has to be repaired; what ended otherwise can be continued
        store.listens.abandon(writer)
        raise
    bad_rows.summarise(str(table.path))
    return report_of(
        store,
        ImportedFile(
            name=title,
            state="replaced" if earlier else "imported",
            format=parts[0].format,
            kind=parts[0].kind,
            rows=writer.rows,
            bad_rows=bad_rows.count,
            left_out=dict(counts.left_out),
            source=writer.source_id,
            path=str(table.path),
        ),
        fingerprint,
        is_first=is_first,
    )


def _write_parts(
    writer: PartitionedWriter,
    parts: Sequence[ListenFile],
    title: str,
    how: How,
    bad_rows: BadRows,
    counts: RowCounts,
) -> None:
    """Write the parts that are not finished."""
    n_finished, rows = writer.parts, writer.rows
    for number, part in enumerate(parts):
        how.pace.begin(part.path, 1)
        if number >= n_finished:
            own = RowCounts()
            try:
                rows = write_blocks(writer, part, title, how, bad_rows, own)
            except NoRowsError:  # frameworks write a file for each task, also where it had no rows
                rows = 0
            counts.left_out = Counter(counts.left_out + own.left_out)
            writer.end_part()
        how.pace.end_history(rows if number >= n_finished - 1 else 0)


def _fingerprint_of_parts(table: PartitionedTable, parts: Sequence[ListenFile], user: str | None) -> str:
    """Return a hash of the parts, in their order, and of how they are read."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.path.relative_to(table.path).as_posix().encode("utf-8", "surrogateescape"))
        digest.update(fingerprint_of(part.path, f"part {part.format}", user).encode())
    return digest.hexdigest()
