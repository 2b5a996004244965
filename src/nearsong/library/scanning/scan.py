"""Folders -> songs in the library: new and changed files are analysed, the rest is left alone.

Every song is written in a transaction of its own as soon as it is analysed: a scan that is killed loses the songs in
flight and nothing else, and the next one continues. Two scans at the same time do the same work at most twice.

One pass over a file's audio feeds all encoders of the library that have no vector of it yet.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

from nearsong.audio import map_audio_files
from nearsong.audio.tags import Tags, guess_from_path
from nearsong.errors import AudioError, AudioTimeoutError, LibraryError
from nearsong.library.files.find import FoundFile, find_files, printable
from nearsong.library.models.embedding import Embedder, update_embeddings
from nearsong.library.models.library_encoders import free_encoders, members_of, set_encoders, stored_encoder
from nearsong.library.models.lifecycle import ensure_model
from nearsong.library.scanning.analyse_file import (
    AnalysedFile,
    analyse_file,
    can_be_opened,
    is_same_content,
    is_unchanged,
    size_and_date,
)
from nearsong.library.scanning.choose_encoders import EncoderChooser
from nearsong.library.scanning.file_tags import root_of, tags_of_files
from nearsong.library.scanning.missing_files import account_for_missing
from nearsong.library.scanning.report import ScanOptions, ScanReport
from nearsong.library.store import NEVER, KnownFile, SameContent, ScannedFile, Store
from nearsong.model import SongEncoder
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
        Where to look; by default all folders that were scanned before.
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
        If a folder does not exist.
    LibraryError
        If there is no folder to scan, or no file at all that an encoder can be fitted on.
    """
    return _Scan(store, options or ScanOptions(), progress, note).run(folders, encoder)


class _Scan:
    """The state of one scan."""

    def __init__(self, store: Store, options: ScanOptions, progress: Progress, note: Note) -> None:
        self.store, self.options, self.progress, self.note = store, options, progress, note
        self.report = ScanReport()
        self.embedder = Embedder(store)
        self.roots: list[str] = []
        self.encoder_ids: frozenset[int] = frozenset()
        self.known: KnownFiles = {}
        self.known_sizes: set[int] = set()

    def run(self, given: Sequence[str | os.PathLike[str]], encoder: SongEncoder | None) -> ScanReport:
        started = time.monotonic()
        remove_leftovers(self.store.cache)
        # the same folder by way of a link is the same folder
        folders = [os.path.realpath(os.path.expanduser(os.fspath(folder))) for folder in given]
        folders = folders or self._existing_roots()
        found = find_files(folders, self.note, self.progress)
        self.report.found = len(found.files)
        for folder in filter(os.path.isdir, folders):  # now, so that the next scan continues one that is killed
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
        existing = [root for root in roots if os.path.isdir(root)]
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
        chooser = EncoderChooser(self.store, self.options, self.progress, self.note)
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
            if known is None or not _is_same_file(known, file):
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
        return bool(self.encoder_ids) and self.encoder_ids <= file.analysed

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
            has_vectors = known is not None and _is_same_file(known, file) and known.is_song
            lacking = self.encoder_ids - known.analysed if has_vectors and known else self.encoder_ids
            groups.setdefault(lacking, []).append(file)
        n_done = count(1)

        def advance() -> None:
            self.progress("analysing songs", next(n_done), len(pending))

        for lacking in sorted(groups, key=len, reverse=True):
            chosen = {encoder_id: encoders[encoder_id] for encoder_id in sorted(lacking)}
            self._analyse_group(groups[lacking], chosen, advance)

    def _analyse_group(
        self, files: list[FoundFile], encoders: dict[int, SongEncoder], advance: Callable[[], None]
    ) -> None:
        """Analyse files with some encoders, and write each as soon as it is analysed."""
        files_by_path = {file.path: file for file in files}
        unknown = self._recognise(files, advance)

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
            file = files_by_path[os.fspath(path)]
            if isinstance(result, AudioError):
                self._write_problem(file, result)
            elif result.set_aside:
                self._write_set_aside(file, result)
            else:
                self._write(file, result)
            advance()

    def _recognise(self, files: list[FoundFile], advance: Callable[[], None]) -> list[FoundFile]:
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

        for path, found in tags_of_files(paths_of_candidates(), self.roots, self.options):
            file = candidates.pop(path)
            if isinstance(found, AudioError) or not self._recognise_content(file, found.content, found.tags):
                unknown.append(file)  # the worker that analyses it reports what is wrong
            else:
                advance()
        return unknown

    def _may_be_known(self, file: FoundFile) -> bool:
        """Return whether a song of the library may have the content of a file, perhaps under another path."""
        if file.size not in self.known_sizes:
            return False
        here = self.known.get(file.path)
        return here is None or not here.is_song or not _is_same_file(here, file)  # else only vectors are missing

    def _is_done(self, file: FoundFile) -> bool:
        known = self.store.songs.known_file(file.path)
        return known is not None and self._is_complete(known) and _is_same_file(known, file)

    def _recognise_content(self, file: FoundFile, content: str, tags: Tags) -> bool:
        """Write a file whose content is known, and return whether it needs no analysis."""
        songs = self.store.songs
        before = songs.with_content(content)
        if not before:
            return False
        gone = self._first_gone(before, file, content)  # files are looked at before anyone has to wait for the lock
        with self.store.writing() as connection:
            same = songs.with_content(content, connection)
            here = next((song for song in same if song.path == file.path), None)
            if here is not None:
                if songs.touch(connection, here.id, file.size, file.modified, tags):
                    self.embedder.embed(connection, here.id, here.analysed)
                is_complete = self._is_complete(here)
                if here.modified == NEVER:  # moved here when another file took its path
                    self.report.moved += is_complete
                else:
                    self.report.unchanged += is_complete
                return is_complete
            moved = next((song for song in same if (song.id, song.path) == gone), None)
            if moved is not None:
                if songs.move(connection, moved.id, file.path, file.size, file.modified, tags):
                    self.embedder.embed(connection, moved.id, moved.analysed)
                self.report.moved += self._is_complete(moved)
                return self._is_complete(moved)
            original = next((song for song in same if self._is_complete(song)), None)
            if original is None:
                return False
            vectors = songs.vectors_of(connection, original.id)
            copy = ScannedFile(
                **file._asdict(),
                content=content,
                tags=tags,
                seconds=original.seconds,
                vectors={encoder_id: vectors[encoder_id] for encoder_id in self.encoder_ids},
                damage=original.damage,
            )
            self.embedder.embed(connection, songs.put(connection, copy), copy.vectors)
            self.report.copied += 1
            return True

    @staticmethod
    def _first_gone(songs: list[SameContent], file: FoundFile, content: str) -> tuple[int, str] | None:
        """Return id and path of the first song whose file is not there any more; None if a file is one of them."""
        if any(song.path == file.path for song in songs):
            return None
        gone = (song for song in songs if not is_same_content(song.path, song.size, song.modified, content))
        return next(((song.id, song.path) for song in gone), None)

    # ---- writing

    def _write(self, file: FoundFile, result: AnalysedFile) -> None:
        """Write an analysed file, or only the vectors that it lacks."""
        songs, report, damage = self.store.songs, self.report, result.damage or ""
        vectors = dict(result.vectors)
        with self.store.writing() as connection:
            known = songs.known_file(file.path, connection)
            is_same = known is not None and _is_same_file(known, file)
            if known is not None and is_same and known.is_song:
                song = known.id
                vectors = {encoder_id: vectors[encoder_id] for encoder_id in vectors.keys() - known.analysed}
                songs.add_vectors(connection, song, vectors)
            else:
                song = songs.put(connection, _scanned(file, result))
            self.embedder.embed(connection, song, vectors)
        if damage:
            report.damaged.append((file.path, damage))
        if known is None or not known.is_song:
            report.added += 1
        elif not is_same:
            report.changed += 1
        elif vectors:
            report.reanalysed += 1
        else:  # another scan was faster
            report.unchanged += 1

    def _write_set_aside(self, file: FoundFile, result: AnalysedFile) -> None:
        """Write a file without music: a row with the reason, and no vectors that could answer a query."""
        self.report.set_aside.append((file.path, result.set_aside))
        with self.store.writing() as connection:
            self.store.songs.put(connection, _scanned(file, result))

    def _write_problem(self, file: FoundFile, error: AudioError) -> None:
        """Write that a file cannot be analysed, so that it is left alone until it changes."""
        self.report.unreadable.append((file.path, error.reason))
        try:
            if size_and_date(file.path) != (file.size, file.modified):
                return  # still being written: the next scan looks again
        except AudioError:
            return  # the file is gone, or its drive
        # permissions may change without a trace; a file that took too long may take as long again
        is_final = isinstance(error, AudioTimeoutError) or can_be_opened(file.path)
        modified = file.modified if is_final else NEVER
        tags = guess_from_path(file.path, root_of(file.path, self.roots))
        with self.store.writing() as connection:
            known = self.store.songs.known_file(file.path, connection)
            if known is None or not self._is_complete(known) or not _is_same_file(known, file):
                unreadable = ScannedFile(
                    path=file.path, size=file.size, modified=modified, content="", tags=tags, problem=error.reason
                )
                self.store.songs.put(connection, unreadable)


def _scanned(file: FoundFile, result: AnalysedFile) -> ScannedFile:
    """Return a row of what a worker found out about a file."""
    return ScannedFile(
        **file._asdict(),
        content=result.content,
        tags=result.tags,
        seconds=result.seconds,
        vectors=result.vectors,
        set_aside=result.set_aside,
        damage=result.damage or "",
    )


def _is_same_file(known: KnownFile, file: FoundFile) -> bool:
    """Return whether a file has the size and date that it had."""
    return (known.size, known.modified) == (file.size, file.modified)
