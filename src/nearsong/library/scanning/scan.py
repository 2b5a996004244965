"""Folders -> songs in the library: new and changed files are analysed, the rest is left alone.

Every song is written in a transaction of its own as soon as it is analysed: a scan that is killed loses the songs in
flight and nothing else, and the next one continues. Two scans at the same time do the same work at most twice.

One pass over a file's audio feeds all encoders of the library that have no vector of it yet. On a cluster the workers
of Dask read, analyse and write, in batches (`cluster/`); the rest is the same.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

from nearsong.audio import map_audio_files
from nearsong.errors import AudioError, LibraryError
from nearsong.library.files.find import FoundFile, find_files, printable
from nearsong.library.files.storage import exists, root_address
from nearsong.library.models.embedding import update_embeddings
from nearsong.library.models.library_encoders import free_encoders, members_of, set_encoders, stored_encoder
from nearsong.library.models.lifecycle import ensure_model
from nearsong.library.scanning.analyse_file import analyse_file, is_unchanged
from nearsong.library.scanning.choose_encoders import EncoderChooser
from nearsong.library.scanning.cluster.cluster_scan import ClusterScan
from nearsong.library.scanning.file_tags import tags_of_files
from nearsong.library.scanning.missing_files import account_for_missing
from nearsong.library.scanning.report import ScanOptions, ScanReport
from nearsong.library.scanning.write_files import FileWriter, is_complete, is_same_file
from nearsong.library.store import KnownFile, SameContent, Store
from nearsong.model import SongEncoder
from nearsong.path_names import is_remote
from nearsong.temporary import remove_leftovers
from nearsong.types import Note, Progress, no_note, no_progress

__all__ = ["ScanOptions", "ScanReport", "scan"]

KnownFiles = dict[str, KnownFile]


def scan(
    store: Store,
    folders: Sequence[str | os.PathLike[str]] = (),
    options: ScanOptions | None = None,
    *,
    encoder: SongEncoder | None = None,
    progress: Progress = no_progress,
    note: Note = no_note,
) -> ScanReport:
    """Bring the library up to date with some folders.

    Parameters
    ----------
    store : Store
    folders : sequence of path-like
        Where to look, also URLs of shared storage; by default all folders that were scanned before.
    options : ScanOptions
    encoder : SongEncoder, optional
        The encoder of a model file, or several as one, used instead of the library's own of these names.
    progress : callable
        Called with (stage, done, total); total is 0 where it is not known.
    note : callable
        Called with a line for the user.

    Raises
    ------
    InvalidInputError
        If a folder does not exist, or a cluster is to scan for a library that is not in PostgreSQL.
    LibraryError
        If there is no folder to scan, or no file at all that an encoder can be fitted on.
    NearsongError
        If a cluster's scheduler is lost.
    """
    options = options or ScanOptions()
    if options.cluster is None:
        return _Scan(store, options, progress, note).run(folders, encoder)
    with ClusterScan(store, options, options.cluster, note) as cluster:
        return _Scan(store, options, progress, note, cluster).run(folders, encoder)


class _Scan:
    """The state of one scan."""

    def __init__(
        self, store: Store, options: ScanOptions, progress: Progress, note: Note, cluster: ClusterScan | None = None
    ) -> None:
        self.store, self.options, self.progress, self.note = store, options, progress, note
        self.cluster = cluster
        self.report = ScanReport()
        self.roots: list[str] = []
        self.encoder_ids: frozenset[int] = frozenset()
        self.known: KnownFiles = {}
        self.known_sizes: set[int] = set()

    def run(self, given: Sequence[str | os.PathLike[str]], encoder: SongEncoder | None) -> ScanReport:
        started = time.monotonic()
        remove_leftovers(self.store.cache)
        folders = [root_address(os.fspath(folder)) for folder in given]
        folders = folders or self._existing_roots()
        found = find_files(folders, self.note, self.progress)
        self.report.found = len(found.files)
        for folder in filter(_is_folder, folders):  # now, so that the next scan continues one that is killed
            self.store.songs.add_root(folder)
        self.roots = self.store.songs.roots()
        if encoder is not None:
            set_encoders(self.store, members_of(encoder), replace=True)
        pending = self._prepare(found.files)
        self._analyse(pending)
        lost = account_for_missing(self.store, folders, found, self.known, prune=self.options.prune, note=self.note)
        self.report.removed, self.report.missing = lost.removed, lost.missing
        ensure_model(self.store, self.options.seed, self.progress, self.note)
        update_embeddings(self.store, self.progress)
        free_encoders(self.store, tuple(self.store.models.scanned_encoders()))
        self.report.seconds = time.monotonic() - started
        return self.report

    def _existing_roots(self) -> list[str]:
        """Return the folders that were scanned before and exist."""
        roots = self.store.songs.roots()
        existing = [root for root in roots if (exists(root) if is_remote(root) else os.path.isdir(root))]
        for root in sorted(set(roots) - set(existing)):
            self.note(f"Folder not found: {printable(root)}. Its songs were left unchanged; is the drive connected?")
        if not existing:
            raise LibraryError("No folder to scan. Name one: nearsong scan FOLDER")
        return existing

    def _prepare(self, files: list[FoundFile]) -> list[FoundFile]:
        """Return the files to analyse, once the library has an encoder of each chosen name."""
        pending = self._compare(files)
        before = self.encoder_ids
        is_needed = bool(pending) or self.options.encoders is not None or self.options.excerpt is not None
        if not files or not is_needed or not self._choose_encoders(files, len(pending)):
            return pending
        pending = self._compare(files)
        if before:  # songs of other folders lack vectors of the new encoders too
            pending += self._elsewhere(files)
        return pending

    def _choose_encoders(self, files: list[FoundFile], n_pending: int) -> bool:
        paths, readable = (
            [file.path for file in files],
            [file.path for file in files if not self._is_no_song(file)],
        )
        n_analysed = Counter(encoder_id for file in self.known.values() for encoder_id in file.analysed)
        map_files = None if self.cluster is None else self.cluster.map_files
        chooser = EncoderChooser(self.store, self.options, self.progress, self.note, map_files)
        return chooser.choose(readable or paths, n_files=len(files), n_pending=n_pending, n_analysed=n_analysed)

    def _is_no_song(self, file: FoundFile) -> bool:
        return file.path in self.known and not self.known[file.path].is_song

    def _compare(self, files: list[FoundFile]) -> list[FoundFile]:
        """Compare files with what is known of them, and return those that have to be analysed."""
        self.encoder_ids = frozenset(self.store.models.scanned_encoders().values())
        self.known = self.store.songs.known_files()
        self.known_sizes = {file.size for file in self.known.values() if file.is_song}
        pending, back = [], []
        n_unchanged = n_unreadable = n_set_aside = 0
        tries_set_aside = self.options.retry or self.options.keep_all
        for file in files:
            known = self.known.get(file.path)
            if known is None or not is_same_file(known, file):
                pending.append(file)
                continue
            if known.missing:
                back.append(known.id)
            if known.problem and not self.options.retry:
                n_unreadable += 1
            elif known.set_aside and not tries_set_aside:
                n_set_aside += 1
            elif self._is_complete(known):
                n_unchanged += 1
            else:
                pending.append(file)
        if back:
            self.store.songs.set_missing(back, False)
        self.report.unchanged = n_unchanged
        self.report.known_unreadable, self.report.known_set_aside = n_unreadable, n_set_aside
        return pending

    def _is_complete(self, file: KnownFile | SameContent) -> bool:
        """Return whether a file has a vector of every encoder."""
        return is_complete(file, self.encoder_ids)

    def _elsewhere(self, files: list[FoundFile]) -> list[FoundFile]:
        """Return the files of folders that are not scanned now, unchanged, that lack a vector."""
        paths = {file.path for file in files}
        others = [
            FoundFile(path, known.size, known.modified)
            for path, known in self.known.items()
            if path not in paths and not known.missing and known.is_song and not self._is_complete(known)
        ]
        return [file for file in sorted(others) if is_unchanged(*file)]

    # ---- analysing

    def _analyse(self, pending: list[FoundFile]) -> None:
        """Analyse files, those that lack vectors of the same encoders together."""
        if not pending or not self.encoder_ids:
            return
        encoders = {encoder_id: stored_encoder(self.store, [encoder_id]) for encoder_id in sorted(self.encoder_ids)}
        for encoder in encoders.values():
            encoder.check_installed()
        groups: dict[frozenset[int], list[FoundFile]] = {}
        for file in pending:
            known = self.known.get(file.path)
            has_vectors = known is not None and is_same_file(known, file) and known.is_song
            lacking = self.encoder_ids - known.analysed if has_vectors and known else self.encoder_ids
            groups.setdefault(lacking, []).append(file)
        steps = count(1)

        def advance() -> None:
            self.progress("analysing songs", next(steps), len(pending))

        for lacking in sorted(groups, key=len, reverse=True):
            chosen = {encoder_id: encoders[encoder_id] for encoder_id in sorted(lacking)}
            self._analyse_group(groups[lacking], chosen, advance)

    def _analyse_group(
        self, files: list[FoundFile], encoders: dict[int, SongEncoder], advance: Callable[[], None]
    ) -> None:
        """Analyse files with some encoders, and write each as soon as it is analysed; on a cluster its batch."""
        writer = FileWriter(self.store, self.roots, self.encoder_ids)
        unknown = self._recognise(files, writer, advance)
        if self.cluster is not None:
            for n_files, report in self.cluster.analyse(unknown, encoders, self.encoder_ids, self.roots):
                self.report.add(report)
                for _ in range(n_files):
                    advance()
            return
        files_by_path = {file.path: file for file in files}

        def paths_to_analyse() -> Iterator[str]:
            for file in unknown:
                if self._is_done(file):  # by another scan meanwhile
                    self.report.unchanged += 1
                    advance()
                else:
                    yield file.path

        options = self.options
        results = map_audio_files(
            partial(analyse_file, encoders, self.roots, keep_all=options.keep_all),
            paths_to_analyse(),
            workers=options.workers,
            timeout=options.timeout,
            nice=options.nice,
        )
        for path, result in results:
            self.report.add(writer.write([(files_by_path[os.fspath(path)], result)]))
            advance()

    def _recognise(self, files: list[FoundFile], writer: FileWriter, advance: Callable[[], None]) -> list[FoundFile]:
        """Write files whose sound is known, as they were moved, copied or touched; return those to analyse."""
        candidates: dict[str, FoundFile] = {}
        unknown: list[FoundFile] = []

        def paths_of_candidates() -> Iterator[str]:
            for file in files:
                if self._may_be_known(file):
                    candidates[file.path] = file
                    yield file.path
                else:
                    unknown.append(file)

        map_files = None if self.cluster is None else self.cluster.map_files
        for path, found in tags_of_files(paths_of_candidates(), self.roots, self.options, map_files):
            file = candidates.pop(path)
            if isinstance(found, AudioError) or not writer.recognise(file, found.content, found.tags, self.report):
                unknown.append(file)  # the worker that analyses it reports what is wrong
            else:
                advance()
        return unknown

    def _may_be_known(self, file: FoundFile) -> bool:
        """Return whether a song of the library may have the content of a file, perhaps under another path."""
        if file.size not in self.known_sizes:
            return False
        here = self.known.get(file.path)
        return here is None or not here.is_song or not is_same_file(here, file)  # else only vectors are missing

    def _is_done(self, file: FoundFile) -> bool:
        known = self.store.songs.known_file(file.path)
        return known is not None and self._is_complete(known) and is_same_file(known, file)


def _is_folder(path: str) -> bool:
    return is_remote(path) or os.path.isdir(path)
