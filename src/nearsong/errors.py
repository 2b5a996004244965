"""Every error nearsong raises on purpose, in one tree.

::

    NearsongError
    ├── InvalidInputError (also a ValueError)   an argument that cannot work; the message says what to do
    │   └── NoUsableQueryError                  nothing left to learn from or to score
    ├── AudioError                              a file that gives no usable sound; ``path`` says which
    │   ├── UnreadableAudioError                missing, not audio, damaged beyond use, or its decoder crashed
    │   ├── EmptyAudioError                     no bytes or no samples
    │   ├── TooShortAudioError                  sound, but less than the features need
    │   ├── TooLongAudioError                   more sound than is taken
    │   │   └── TooLargeAudioError              more bytes than there is room for
    │   ├── ChangedAudioError                   became another file while it was read
    │   └── AudioTimeoutError                   took longer than allowed
    ├── DatasetError                            a data-set folder with something missing or wrong; names file and row
    ├── LibraryError                            a library that cannot be opened, or lacks what is asked of it
    │   ├── DatabaseError                       its database cannot be used, for now (``passing``) or at all
    │   ├── UnclearSongError                    a name that fits several songs, or none; ``suggestions`` says which
    │   ├── NoSuchSongError, NoSuchPlaylistError
    │   └── EmptyLibraryError                   there are no songs to compare yet
    ├── ListensError                            a listening history that cannot be read; names file and row
    └── ModelFileError                          a file that is no model of ours, or was changed, cut or made later

    DamagedAudioWarning (a UserWarning)         a file that broke off or skipped; what could be read was used

A message says what came, why it cannot work and what to do, in one line.
"""

import os
from collections.abc import Sequence


class NearsongError(Exception):
    """The root: catch this to catch everything nearsong raises on purpose."""


class InvalidInputError(NearsongError, ValueError):
    """An argument has a shape, a range or a value that cannot work."""


class NoUsableQueryError(InvalidInputError):
    """No query has both a relevant and an irrelevant item."""


class AudioError(NearsongError):
    """A file gives no usable sound.

    Parameters
    ----------
    path : path-like
        The file.
    reason : str
        What is wrong with it, and what to do.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(path, reason)  # both, so that the error survives the way back from a worker process
        self.path = os.fspath(path)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class UnreadableAudioError(AudioError):
    """The file is missing, is not audio, is damaged beyond use, or its decoder crashed."""


class EmptyAudioError(AudioError):
    """The file has no bytes, or no samples."""


class TooShortAudioError(AudioError):
    """The file has sound, but less than the features need."""


class TooLongAudioError(AudioError):
    """The file has more sound than is taken."""


class TooLargeAudioError(TooLongAudioError):
    """What the file becomes has more bytes than there is room for."""


class ChangedAudioError(AudioError):
    """The file became another one while it was read; the same may work a little later."""


class AudioTimeoutError(AudioError):
    """Reading the file took longer than allowed."""


class DamagedAudioWarning(UserWarning):
    """A file broke off or skipped; what could be read was used."""


class DatasetError(NearsongError):
    """A data-set folder lacks something, or a file in it is wrong; the message names the file and the row."""


class LibraryError(NearsongError):
    """A library cannot be opened, or lacks what is asked of it; the message says what to do."""


class DatabaseError(LibraryError):
    """The database of a library cannot be used, now or at all.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    place : str
        Where the message says that it is; not for everyone to know.
    passing : bool
        Whether the same may work a little later.
    """

    def __init__(self, message: str, place: str, passing: bool = False) -> None:
        super().__init__(message, place, passing)  # all, so that the error survives the way from another process
        self.place, self.passing = place, passing

    def __str__(self) -> str:
        return str(self.args[0])


class UnclearSongError(LibraryError):
    """A name fits several songs, or none.

    Parameters
    ----------
    message : str
        What came and what to do.
    suggestions : sequence of str
        Names that would be clear.
    """

    def __init__(self, message: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.suggestions = tuple(suggestions)


class NoSuchSongError(LibraryError):
    """There is no song of this number, or its file is gone."""


class NoSuchPlaylistError(LibraryError):
    """There is no playlist of this number."""


class EmptyLibraryError(LibraryError):
    """There are no songs to compare yet; the message says what to do."""


class ListensError(NearsongError):
    """A listening history cannot be read; the message names the file and, where it helps, the row."""


class ModelFileError(NearsongError):
    """A file is not a nearsong model, or was changed, cut short or written by a later version."""
