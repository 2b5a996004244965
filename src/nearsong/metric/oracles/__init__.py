"""Exact separation oracles: for every ranking loss, the most violated ranking of a query."""
