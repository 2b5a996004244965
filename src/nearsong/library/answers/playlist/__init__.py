"""Embeddings and artists -> playlists: around seeds, drifting, or from one song to another."""
