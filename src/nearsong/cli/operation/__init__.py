"""Commands for who runs nearsong: backups, and where options come from."""
