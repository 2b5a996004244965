"""Data-set folders: reading and checking them, and making synthetic ones."""
