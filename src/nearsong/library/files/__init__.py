"""Files of a library: finding audio, opening a song safely, covers, and playlist files."""
