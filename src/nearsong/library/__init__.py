"""THE PRODUCT: your music, your listeners, songs nobody has played yet.

Names are imported when first used: a scan's worker processes need none of what answers questions.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearsong.library.learning import ListenerChoice
    from nearsong.library.library import Library
    from nearsong.library.playlist import PlaylistRules
    from nearsong.library.recommend import Filters
    from nearsong.library.records import Neighbour, Song
    from nearsong.library.training import TrainingReport, TrainingSettings

__all__ = [
    "Filters",
    "Library",
    "ListenerChoice",
    "Neighbour",
    "PlaylistRules",
    "Song",
    "TrainingReport",
    "TrainingSettings",
]

_HOMES = {
    "Filters": "recommend",
    "Library": "library",
    "ListenerChoice": "learning",
    "Neighbour": "records",
    "PlaylistRules": "playlist",
    "Song": "records",
    "TrainingReport": "training",
    "TrainingSettings": "training",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"nearsong.library.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'nearsong.library' has no attribute {name!r}")
