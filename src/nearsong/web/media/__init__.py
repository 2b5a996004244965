"""Files in and out: uploads, songs, conversions, covers."""
