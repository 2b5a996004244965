"""Listening histories and plays -> matched songs and artists, and matrices of who listens to what."""
