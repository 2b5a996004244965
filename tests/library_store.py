"""What tests do with the store of a library, which may be opened a second time as by another process."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from nearsong.audio.tags import Tags
from nearsong.library import Library
from nearsong.library.store import ScannedFile, Store
from nearsong.library.store.recorded.plays import Play


@contextmanager
def store_of(library: Library) -> Iterator[Store]:
    """Open the database of a library a second time."""
    with closing(Store(library.address, create=False)) as store:
        yield store


def put_file(store: Store, path: str, *, content: str = "", tags: Tags | None = None, **facts: Any) -> int:
    """Store what a scan found out about a file; return its song."""
    with store.writing() as connection:
        return store.songs.put(connection, ScannedFile(path, 10, 20, content, tags or Tags(), **facts))


def recorded_plays(library: Library) -> list[Play]:
    """Return the plays that were recorded."""
    with store_of(library) as store:
        return list(store.plays.all())


def mark_missing(library: Library, songs: Sequence[int]) -> None:
    """Mark songs whose files are gone, as a scan does."""
    with store_of(library) as store:
        store.songs.set_missing(songs, True)
