"""A CSV or tab-separated file, gzipped or not -> its header and columns; the first wrong row is an error.

Used for data sets: unlike the import of a listening history, an experiment must not skip unusable rows.
"""

from collections.abc import Iterator

from nearsong.errors import ListensError
from nearsong.listens.columns import ColumnNames
from nearsong.listens.layouts import Layout
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables import Columns, first_row, table_columns


class StrictTable:
    """A table in which every row has all fields, in UTF-8.

    Parameters
    ----------
    source : SourceFile
    tabs : bool
        Whether fields are separated by tabs and quotes have no special meaning; otherwise fields are separated by
        commas and may be quoted.

    Attributes
    ----------
    first_row : list of str
        Usually the header; empty if the file or its first line is empty.

    Raises
    ------
    ListensError
        With file and line, at the first invalid row.
    """

    def __init__(self, source: SourceFile, tabs: bool) -> None:
        self._source = source
        self._layout = Layout(
            format="tsv" if tabs else "csv",
            columns=ColumnNames(artist=0),
            width=0,
            delimiter="\t" if tabs else ",",
            quoted=not tabs,
            strict=True,
        )
        self.first_row = first_row(source, self, self._layout)

    def columns(self, width: int, header_rows: int = 1) -> Iterator[Columns]:
        """Yield the columns of a few thousand rows at a time, and the line of each row."""
        layout = self._layout.with_rows(width, header_rows)
        for fields, numbers in table_columns(self._source, self, layout):
            if numbers:
                yield fields, numbers

    def bad(self, number: int, why: str) -> None:
        """Refuse a row."""
        raise ListensError(f"{self._source.name}, line {number}: {why}")
