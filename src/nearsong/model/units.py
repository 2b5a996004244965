"""The units of learning, for whoever checks an option without loading what learns."""

UNITS = ("artist", "song")
"""What relevance is learned from: the artists that listeners play, or the songs."""
