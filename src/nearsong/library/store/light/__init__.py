"""Reading a SQLite library without SQLAlchemy, for commands that only show something."""
