"""Text tables (CSV, TSV and variants) -> blocks, at the speed of compiled loops over bytes."""

from nearsong.listens.tables.reading import read_table, table_rows

__all__ = ["read_table", "table_rows"]
