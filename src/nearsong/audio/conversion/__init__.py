"""Audio files of any format -> FLAC, MP3 or Opus, for browsers and players."""
