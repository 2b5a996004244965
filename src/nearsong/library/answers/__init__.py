"""Queries on a loaded library: seeds and filters -> similar songs, playlists, explanations, cold start."""
