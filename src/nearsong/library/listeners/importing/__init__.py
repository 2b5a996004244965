"""Files and folders of listening histories -> histories in the library."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.library.listeners.importing.files import import_listens as import_listens
    from nearsong.library.listeners.importing.history import ImportedFile as ImportedFile

__getattr__, __dir__, __all__ = lazy_names(__name__, {"files": ["import_listens"], "history": ["ImportedFile"]})
