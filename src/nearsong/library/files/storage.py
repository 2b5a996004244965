"""A URL of shared storage, such as ``s3://bucket/music`` -> the files below it; one of them -> a temporary copy here.

Any storage that fsspec knows. Such songs are stored under their URLs. Size and date of an object tell whether it has
changed, as those of a file do; its date is in whole seconds, so the fraction of a second is made from its ETag.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b
from typing import Any
from urllib.parse import unquote, urlsplit

from nearsong.errors import (
    AudioError,
    InvalidInputError,
    LibraryError,
    TooLargeAudioError,
    UnreadableAudioError,
    install_command,
)
from nearsong.path_names import is_remote
from nearsong.temporary import DOWNLOAD_PREFIX, LockedFolder

MAX_COPY_BYTES = 2 << 30
"""Larger files are not fetched."""

_DATES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_TAGS = ("ETag", "etag", "md5Hash", "checksum")
"""What storages call the date of a file, and what changes with its content."""


class UnfetchedAudioError(UnreadableAudioError):
    """A file of shared storage could not be fetched; it may be possible later."""


def root_address(text: str) -> str:
    """Return the form in which a scanned folder is stored: a real path, or a URL without a final slash.

    >>> root_address("s3://bucket/music/"), root_address("file:///no/such%20folder")
    ('s3://bucket/music', '/no/such folder')

    Raises
    ------
    InvalidInputError
        If a URL holds a password, or nothing here can read its kind.
    """
    if text.lower().startswith("file://"):
        text = unquote(text[len("file://") :])
    if not is_remote(text):
        return os.path.realpath(os.path.expanduser(text))  # the same folder by way of a link is the same folder
    if urlsplit(text).password is not None or "::" in text:
        raise InvalidInputError(
            "a URL of music must be a plain one, without a password, since the library shows it; give keys to "
            "nearsong and to the workers in the environment, as the storage's own tools have them."
        )
    url = text.rstrip("/")
    _opened(url)
    return url


def exists(url: str) -> bool:
    """Return whether there is something at a URL."""
    fs, path = _opened(url)
    return bool(_asked(url, lambda: fs.exists(path)))


def files_below(url: str) -> list[tuple[str, int, int]]:
    """Return URL, size and date of all files below a URL, or of the file at it, sorted.

    Raises
    ------
    InvalidInputError
        If there is nothing.
    LibraryError
        If the storage cannot be reached, or does not let us in.
    """
    fs, start = _opened(url)
    found = _asked(url, lambda: fs.find(start, detail=True))
    if not found:
        raise _not_found(url)
    return sorted((url + name[len(start) :], *_size_and_date(facts)) for name, facts in found.items())


def remote_size_and_date(url: str) -> tuple[int, int]:
    """Return size in bytes and date in nanoseconds since 1970 of a file.

    Raises
    ------
    UnfetchedAudioError
        If it is not there, or cannot be asked for.
    """
    try:
        fs, path = _opened(url)
        return _size_and_date(fs.info(path))
    except Exception as error:  # each storage has errors of its own
        raise _unfetched(url, error) from error


@contextmanager
def at_hand(path: str) -> Iterator[str]:
    """Yield a path under which a file can be read: its own, or that of a copy which is removed afterwards.

    Raises
    ------
    AudioError
        If it is too large or cannot be fetched. Those that are raised while it is used name the file, not the copy.
    """
    if not is_remote(path):
        yield path
        return
    with LockedFolder(DOWNLOAD_PREFIX) as folder:
        copy = os.path.join(folder.path, "song" + os.path.splitext(path)[1][:8])
        _fetch(path, copy)
        try:
            yield copy
        except AudioError as error:
            raise type(error)(path, error.reason) from error


def _fetch(url: str, copy: str) -> None:
    if remote_size_and_date(url)[0] > MAX_COPY_BYTES:
        raise TooLargeAudioError(url, f"is larger than {MAX_COPY_BYTES >> 30} GiB; nearsong does not fetch it.")
    try:
        fs, path = _opened(url)
        fs.get_file(path, copy)
    except Exception as error:  # each storage has errors of its own
        raise _unfetched(url, error) from error


def _opened(url: str) -> tuple[Any, str]:
    """Return the storage of a URL and the path in it; listings are not cached, since others change them."""
    try:
        from fsspec.core import url_to_fs

        fs, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        scheme = url.partition("://")[0]
        extra = "s3" if scheme in ("s3", "s3a") else "cluster"
        raise InvalidInputError(
            f"{scheme}:// needs a package that is not installed: {install_command(extra)}, or what fsspec has for "
            f"it ({error})."
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"music cannot be read from {url} ({_first_line(error)}).") from error
    return fs, str(path)


def _asked(url: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except FileNotFoundError as error:
        raise _not_found(url) from error
    except Exception as error:  # each storage has errors of its own
        raise LibraryError(
            f"{url} cannot be listed ({_first_line(error)}); check the address, the keys in the environment and the "
            "network."
        ) from error


def _not_found(url: str) -> InvalidInputError:
    return InvalidInputError(f"Folder not found: {url}. Check its name.")


def _unfetched(url: str, error: Exception) -> UnfetchedAudioError:
    return UnfetchedAudioError(url, f"could not be fetched ({_first_line(error)}); the next scan tries again.")


def _size_and_date(facts: dict[str, Any]) -> tuple[int, int]:
    date = next((facts[name] for name in _DATES if facts.get(name)), None)
    if isinstance(date, str):
        date = datetime.fromisoformat(date)
    seconds = int(date.timestamp()) if isinstance(date, datetime) else int(date or 0)
    tag = next((str(facts[name]) for name in _TAGS if facts.get(name)), "")
    fraction = int.from_bytes(blake2b(tag.encode(), digest_size=8).digest()) % 10**9 if tag else 0
    return int(facts.get("size") or 0), seconds * 10**9 + fraction


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
