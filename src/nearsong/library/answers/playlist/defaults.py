"""What a playlist is like that nobody has described: the same in the command line, the service and the page."""

from typing import NamedTuple


class PlaylistDefaults(NamedTuple):
    """Defaults of `PlaylistRules`, in a module that the help of a command can load."""

    length: int = 25
    artist_gap: int = 5
    diversity: float = 0.0
    drift: float = 0.0
    adventurousness: float = 0.0


PLAYLIST_DEFAULTS = PlaylistDefaults()
