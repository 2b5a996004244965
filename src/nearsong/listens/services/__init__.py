"""Readers of what services export, one module for each service: Spotify, Apple Music, Last.fm and others."""
