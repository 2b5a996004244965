"""Vectors -> fewer dimensions: principal components, and t-SNE for maps."""
