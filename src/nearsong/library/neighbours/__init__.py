"""Embeddings -> nearest neighbours, similarities, and songs by name."""
