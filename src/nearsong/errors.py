"""Every error that nearsong raises on purpose, in one tree.

::

    NearsongError
    ├── InvalidInputError (also a ValueError)   an argument with a wrong shape, range or value
    │   └── NoUsableQueryError                  nothing left to learn from or to score
    ├── AudioError                              a file that cannot be analysed: ``path``, ``reason``, ``summary``
    │   ├── UnreadableAudioError                missing, damaged beyond use, or its decoder crashed
    │   │   ├── NotAudioError                   no decoder finds audio in it
    │   │   └── AudioMemoryError                needs more memory than is available
    │   ├── SilentAudioError                    nothing but silence
    │   ├── EmptyAudioError                     no bytes or no samples
    │   ├── TooShortAudioError                  shorter than the features need
    │   ├── TooLongAudioError                   longer than the limit
    │   │   └── TooLargeAudioError              larger than the space for the converted file
    │   ├── ChangedAudioError                   changed while it was read
    │   └── AudioTimeoutError                   took longer than the time limit
    ├── DatasetError                            a data-set folder with missing or wrong content
    ├── LibraryError                            a library that cannot be opened, or has no data for a call
    │   ├── DatabaseError                       the database cannot be used: ``address``, ``transient``
    │   │   └── DiskFullError                   it cannot grow; :func:`is_disk_full` also finds files that cannot
    │   ├── UnclearSongError                    a name that matches several songs or none: ``suggestions``
    │   ├── NoSuchSongError
    │   ├── NoSuchPlaylistError
    │   ├── NoSuchHistoryError
    │   ├── EmptyLibraryError                   no songs to compare yet
    │   └── EncoderNotInstalledError            an optional encoder whose weights are not on this computer
    ├── ListensError                            a listening history that cannot be read
    └── ModelFileError                          not a model file, damaged, or of a newer version

    DamagedAudioWarning (a UserWarning)         a file that is truncated or damaged; the readable part was used

A message is one line: what was given, why it cannot work and what to do. Errors about files name the file and, where
there is one, the row.
"""

import errno
import os
import sys
from collections.abc import Sequence
from typing import ClassVar

_DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class NearsongError(Exception):
    """Base class of all errors that nearsong raises on purpose."""


class InvalidInputError(NearsongError, ValueError):
    """An argument has a shape, a range or a value that cannot work."""


class NoUsableQueryError(InvalidInputError):
    """No query has both a relevant and an irrelevant item."""


class AudioError(NearsongError):
    """A file cannot be analysed; the subclass says why.

    Parameters
    ----------
    path : path-like
        The file.
    reason : str
        What is wrong with it and what to do; may quote a decoder.

    Attributes
    ----------
    summary : str
        One sentence per subclass for the person who sent the file, without technical details.

    Examples
    --------
    >>> error = SilentAudioError("song.mp3", "silent; there is nothing to compare.")
    >>> str(error)
    'song.mp3: silent; there is nothing to compare.'
    >>> error.summary
    'it is silent; there is nothing to compare.'
    """

    summary: ClassVar[str] = "it cannot be read; convert it to another format."

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(path, reason)  # both arguments, so that a worker process can pickle the error
        self.path = os.fspath(path)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class UnreadableAudioError(AudioError):
    """The file is missing, is damaged beyond use, or its decoder crashed."""


class NotAudioError(UnreadableAudioError):
    """No decoder finds audio in the file."""

    summary = "it is not a readable audio file; check that it plays, or convert it to another format."


class AudioMemoryError(UnreadableAudioError):
    """Reading the file needs more memory than is available."""

    summary = "it needs more memory than is available; send a shorter file."


class SilentAudioError(AudioError):
    """The file holds nothing but silence."""

    summary = "it is silent; there is nothing to compare."


class EmptyAudioError(AudioError):
    """The file has no bytes, or no samples."""

    summary = "it is empty; copy or download it again."


class TooShortAudioError(AudioError):
    """The file is shorter than the features need."""

    summary = "it is too short to analyse; send a longer file."


class TooLongAudioError(AudioError):
    """The file is longer than the limit."""

    summary = "it is too long; send a shorter file."


class TooLargeAudioError(TooLongAudioError):
    """The converted file is larger than the space for it."""


class ChangedAudioError(AudioError):
    """The file changed while it was read; a second attempt may succeed."""

    summary = "it changed while it was read; try again."


class AudioTimeoutError(AudioError):
    """Reading the file took longer than the time limit."""

    summary = "it takes too long to read; send a shorter file, or convert it to another format."


class DamagedAudioWarning(UserWarning):
    """A file is truncated or damaged; the readable part was used."""


class DatasetError(NearsongError):
    """A data-set folder has a missing or invalid file; the message names the file and the row."""


class LibraryError(NearsongError):
    """A library cannot be opened, or has no data for a call."""


class DatabaseError(LibraryError):
    """The database of a library cannot be used.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    address : str
        The library's address as the message has it. The service removes it from what clients see.
    transient : bool
        Whether a retry may succeed.
    """

    def __init__(self, message: str, address: str, transient: bool = False) -> None:
        super().__init__(message, address, transient)  # all arguments, so that a worker process can pickle the error
        self.address, self.transient = address, transient

    def __str__(self) -> str:
        return str(self.args[0])


class DiskFullError(DatabaseError):
    """The database cannot grow, because its disk is full; what was stored before is still there."""


class UnclearSongError(LibraryError):
    """A name matches several songs or none.

    Parameters
    ----------
    message : str
        The name and what to do.
    suggestions : sequence of str
        Names that match one song each.
    """

    def __init__(self, message: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.suggestions = tuple(suggestions)


class NoSuchSongError(LibraryError):
    """There is no song with this id, or its file is missing."""


class NoSuchPlaylistError(LibraryError):
    """There is no playlist with this id."""


class NoSuchHistoryError(LibraryError):
    """There is no listening history with this id."""


class EmptyLibraryError(LibraryError):
    """There are no songs to compare yet."""


class EncoderNotInstalledError(LibraryError):
    """An optional encoder is needed whose weights are not installed on this computer; the message says how to."""


class ListensError(NearsongError):
    """A listening history cannot be read; the message names the file and, where it helps, the row."""


class ModelFileError(NearsongError):
    """A file is not a nearsong model, is damaged, or was written by a newer version."""


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error, or one that it was raised from, is that a disk is full or cannot be written.

    Examples
    --------
    >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device")), is_disk_full(OSError(errno.ENOENT, "no"))
    (True, False)
    """
    while error is not None:
        if isinstance(error, DiskFullError) or (isinstance(error, OSError) and error.errno in _DISK_ERRNOS):
            return True
        error = error.__cause__
    return False


def disk_words(error: OSError) -> str:
    """Return one line about a disk that is full or cannot be written, for errors that no other message describes.

    >>> disk_words(OSError(errno.ENOSPC, "No space left on device", "/cache/x"))
    'the disk is full (No space left on device); free some space and try again.'
    """
    if error.errno == errno.EROFS:
        return f"the disk is read-only ({error.strerror}); make it writable and try again."
    return f"the disk is full ({error.strerror}); free some space and try again."


def install_command(extra: str) -> str:
    """Return the command that installs what an extra needs into the environment that runs, for an error to show.

    A pip that is first on the path may belong to another environment; programs of pipx have none of their own.
    """
    import shlex  # only an error needs these
    import shutil
    from importlib.metadata import requires

    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        listed = (text.partition(";") for text in requires("nearsong") or ())
        needed = [name.strip() for name, _, marker in listed if marker.strip() == f"extra == '{extra}'"]
        return f"pipx inject nearsong {shlex.join(needed)}"
    is_first = shutil.which("pip") == os.path.join(os.path.dirname(sys.executable), "pip")
    return f"{'pip' if is_first else f'{shlex.quote(sys.executable)} -m pip'} install 'nearsong[{extra}]'"
