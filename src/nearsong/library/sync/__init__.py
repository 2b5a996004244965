"""A music server that people already have -> songs and listens of the library; playlists -> back to it."""
