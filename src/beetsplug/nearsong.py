"""A plugin of beets: ``beet nearsong`` scans beets' music, ``beet similar QUERY`` lists similar items.

It is part of nearsong, which is installed in the environment of beets; ``plugins: nearsong`` in the configuration
of beets loads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from beets import ui
from beets.plugins import BeetsPlugin

from nearsong.errors import NearsongError
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import Library, Song

MAX_SEEDS = 5
"""Items of a query that similar songs are searched for, evenly spaced among them."""


class NearsongPlugin(BeetsPlugin):
    """Adds the two commands.

    Settings, under ``nearsong:``. ``library`` is the address of the library (default: nearsong's own), ``number`` how
    many songs are listed, ``workers`` the processes that decode (default: one per processor).
    """

    def __init__(self) -> None:
        super().__init__()
        self.config.add({"library": None, "number": 20, "workers": None})

    def commands(self) -> list[Any]:
        """Return the commands."""
        scan = ui.Subcommand("nearsong", help="analyse new and changed music, so that similar songs can be found")
        scan.func = self._scan
        similar = ui.Subcommand("similar", help="list songs that are similar to those of a query")
        similar.parser.add_option("-n", "--number", type="int", help="how many songs")
        similar.parser.add_option(
            "-d", "--different-artists", action="store_true", help="only one song of each artist"
        )
        similar.parser.add_path_option()
        similar.parser.add_format_option(target="item")
        similar.func = self._similar
        return [scan, similar]

    def _scan(self, lib: Any, _options: Any, query: list[str]) -> None:
        """Scan the folder of beets' library, or the files of a query."""
        wanted = [_path(item) for item in lib.items(query)] if query else [os.fsdecode(lib.directory)]
        if not wanted:
            raise ui.UserError("no item matches the query")
        with _Errors(), self._open(create=True) as library:
            report = library.scan(*wanted, workers=self.config["workers"].get(), note=self._log.info)
            n_songs = library.status().songs
        done = report.added + report.changed + report.moved + report.copied
        files = count(report.found, "file")
        ui.print_(f"{files}: {done:,} new or changed. nearsong's library has {n_songs:,} songs.")

    def _similar(self, lib: Any, options: Any, query: list[str]) -> None:
        """List the items that are nearest to those of a query."""
        items = list(lib.items(query)) if query else []
        if not items:
            raise ui.UserError("no item matches the query" if query else "no query; name a song, album or artist")
        from nearsong.library import Filters

        number = options.number or self.config["number"].get(int)
        with _Errors(), self._open() as library:
            known = _known_seeds(library, [_path(item) for item in items])
            if not known:
                raise ui.UserError("nearsong has not analysed these songs yet; run `beet nearsong` first")
            filters = Filters(one_per_artist=True) if options.different_artists else Filters()
            # some songs of nearsong's library may not be items of beets
            found = [one.song.path for one in library.similar(*known, n=2 * number + len(items), filters=filters)]
        seeds = {item.id for item in items}
        similar = [item for item in _items(lib, found) if item.id not in seeds]
        for item in similar[:number]:
            ui.print_(format(item))

    def _open(self, *, create: bool = False) -> Library:
        from nearsong.library import Library

        address = self.config["library"].get()
        if address and "://" not in address:
            address = self.config["library"].as_filename()
        return Library.open(address, create=create)


class _Errors:
    """Turns errors of nearsong, which are for its users, into those of beets."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, NearsongError):
            raise ui.UserError(str(error)) from None


def _path(item: Any) -> str:
    return os.fsdecode(item.path)


def _known_seeds(library: Library, paths: Sequence[str]) -> list[Song]:
    """Return some songs of the library with these paths, evenly spaced."""
    space = library.snapshot().space
    known = [song for path in paths if (song := space.song_at(path)) is not None]
    return known[:: max(1, len(known) // MAX_SEEDS)][:MAX_SEEDS]


def _items(lib: Any, paths: Iterable[str]) -> Iterator[Any]:
    """Yield the items with some paths; nearsong resolves links in the folder of the library, which beets keeps."""
    folder = os.path.join(os.fsdecode(lib.directory), "")
    resolved = os.path.join(os.path.realpath(folder), "")
    for path in paths:
        own = folder + path.removeprefix(resolved) if path.startswith(resolved) else path
        yield from (item for item in lib.items([f"path:{own}"]) if _path(item) == own)
