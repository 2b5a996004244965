"""Embeddings -> a map of all songs in two dimensions, for the service and as one HTML page."""
