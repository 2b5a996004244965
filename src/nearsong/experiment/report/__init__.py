"""The report of a run: tables, figures and a self-contained page."""
