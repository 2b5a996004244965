"""``nearsong listens``: listening histories that are imported, pulled, listed, exported and removed."""
