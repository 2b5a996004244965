"""Folders of music -> analysed songs in the library."""
