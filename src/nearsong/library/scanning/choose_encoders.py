"""The files and options of a scan -> the encoders that it analyses songs with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nearsong.library.models.excerpt import library_excerpt
from nearsong.library.models.fit_encoder import SAMPLE_SONGS, fit_encoders
from nearsong.library.models.fitting_cache import FittingCache
from nearsong.library.models.library_encoders import (
    keep_encoders,
    set_encoders,
    stored_encoder,
    use_excerpt,
)
from nearsong.library.scanning.report import ScanOptions
from nearsong.library.store import EncoderRow, Store
from nearsong.model import SongEncoder
from nearsong.model.encoders import DEFAULT_ENCODERS
from nearsong.types import Note, Progress

MAX_REPEATED_SHARE = 0.25
"""An encoder is fitted again only if at most this share of the songs is analysed already."""


class EncoderChooser:
    """Gives a library the encoders that a scan needs.

    Parameters
    ----------
    store : Store
    options : ScanOptions
    progress, note : callable
        As for a scan.
    map_files : callable, optional
        As for :func:`~nearsong.library.models.fit_encoder.fit_encoders`.
    """

    def __init__(
        self,
        store: Store,
        options: ScanOptions,
        progress: Progress,
        note: Note,
        map_files: Callable[..., Any] | None = None,
    ) -> None:
        self._store, self._options, self._progress, self._note = store, options, progress, note
        self._map_files = map_files

    def choose(self, paths: Sequence[str], *, n_files: int, n_pending: int, n_analysed: Mapping[int, int]) -> bool:
        """Fit encoders that the library lacks or has outgrown; return whether other encoders are used from now on.

        Parameters
        ----------
        paths : sequence of str
            Files to fit encoders on.
        n_files, n_pending : int
            Files that were found, and those of them that have to be analysed.
        n_analysed : mapping of int to int
            Number of songs that have a vector of each encoder, by its id.
        """
        models = self._store.models
        before = models.scanned_encoders()
        names = self._options.encoders or tuple(before) or DEFAULT_ENCODERS
        rows = {row.name: row for row in models.encoders() if row.scanned}
        outgrown = [
            name
            for name in names
            if name in rows and self._has_outgrown(rows[name], n_files, n_pending, n_analysed.get(rows[name].id, 0))
        ]
        lacking = [name for name in names if name not in rows or name in outgrown]
        if lacking:
            with FittingCache(self._store.cache) as cache:
                set_encoders(
                    self._store,
                    self._fit(lacking, paths, cache),
                    instead_of=[rows[name].id for name in outgrown],
                    fitted_songs=min(n_files, SAMPLE_SONGS),
                )
        if outgrown:
            fitted_again = ", ".join(outgrown)
            self._note(f"Encoders that were fitted to the first few songs only are fitted again: {fitted_again}.")
        if self._options.encoders is not None:
            keep_encoders(self._store, names)
        self._use_excerpt(has_songs=bool(n_analysed))
        return models.scanned_encoders() != before

    def _fit(self, names: list[str], paths: Sequence[str], cache: FittingCache) -> list[SongEncoder]:
        options = self._options
        fitted = fit_encoders(
            names,
            paths,
            seed=options.seed,
            workers=options.workers,
            nice=options.nice,
            timeout=options.timeout,
            progress=self._progress,
            cache=cache,
            map_files=self._map_files,
        )
        excerpt = library_excerpt(self._store) if options.excerpt is None else options.excerpt
        return [encoder.with_excerpt(excerpt) for encoder in fitted.values()]

    def _has_outgrown(self, row: EncoderRow, n_files: int, n_pending: int, n_analysed: int) -> bool:
        """Return whether an encoder from the first few songs is worth fitting and analysing all songs again.

        Not where most songs are analysed already, or where a learned model would be lost.
        """
        if row.fitted_songs is None or n_pending == 0:
            return False
        if not stored_encoder(self._store, [row.id]).is_outgrown(row.fitted_songs, min(n_files, SAMPLE_SONGS)):
            return False
        if MAX_REPEATED_SHARE * (n_analysed + n_pending) < n_analysed:
            return False
        models = self._store.models
        return models.active is None or models.row(models.active).kind == "native"

    def _use_excerpt(self, *, has_songs: bool) -> None:
        """Use the chosen excerpt for all encoders; songs that were analysed by another one lack vectors then."""
        excerpt = self._options.excerpt
        if excerpt is None or not use_excerpt(self._store, excerpt) or not has_songs:
            return
        part = f"the middle {excerpt:g} seconds" if excerpt else "their complete length"
        self._note(f"All songs are analysed again, now {part}, to stay comparable; an interrupted scan continues.")
