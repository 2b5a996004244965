"""Words for songs: the tags that an encoder hears, and the songs that a few words describe."""
