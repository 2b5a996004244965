"""Listening services with listens of a person -> histories in the library, a page at a time."""
