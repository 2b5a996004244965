"""Folders -> songs in the library: what is new or changed is heard, the rest is left alone.

Every song is written in a transaction of its own as soon as it is heard: a scan that is killed loses the songs in
flight and nothing else, and the next one goes on. Two scans at once do the same work at most twice.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from nearsong.audio import map_audio_files
from nearsong.errors import AudioError, LibraryError
from nearsong.library.codebook import LARGEST, SAMPLE_SONGS, learn_ear
from nearsong.library.file_tags import guess_from_path, read_tags
from nearsong.library.hearing import (
    HeardFile,
    can_be_opened,
    hear_file,
    is_as_it_was,
    is_still_there,
    root_of,
    size_and_date,
)
from nearsong.library.projection import Placer, current_ear, ensure_model, set_ear
from nearsong.library.scan_report import ScanOptions, ScanReport
from nearsong.library.store import NEVER, OWN_EAR, KnownFile, ScannedFile, Store
from nearsong.library.walk import Found, FoundFile, content_key, find_files, printable
from nearsong.model import Ear

__all__ = ["ScanOptions", "ScanReport", "scan"]

Progress = Callable[[str, int, int], None]

OUTGROWN = 4
"""A codebook is learned anew when there are this many times the songs that it was learned from."""


def scan(
    store: Store,
    folders: Sequence[str | os.PathLike[str]] = (),
    options: ScanOptions | None = None,
    *,
    ear: Ear | None = None,
    progress: Progress = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda text: None,
) -> ScanReport:
    """Bring the library up to date with some folders.

    Parameters
    ----------
    store : Store
    folders : sequence of path-like
        Where to look; by default all folders that were scanned before.
    options : ScanOptions
    ear : Ear, optional
        The codebook to hear with, out of a model file; by default the library's own, learned on the first scan.
    progress : callable
        Told (stage, done, total); total is 0 where it is not known.
    note : callable
        Told what the user should know.

    Returns
    -------
    ScanReport

    Raises
    ------
    InvalidInputError
        If a folder is not there.
    LibraryError
        If there is no folder to scan, or no file at all gives a sound to learn a codebook from.
    """
    return _Scan(store, options or ScanOptions(), progress, note).run(folders, ear)


class _Scan:
    """One scan at work."""

    def __init__(self, store: Store, options: ScanOptions, progress: Progress, note: Callable[[str], None]) -> None:
        self.store, self.options, self.progress, self.note = store, options, progress, note
        self.report = ScanReport()
        self.placer = Placer(store)
        self.roots: list[str] = []
        self.sizes: set[int] = set()

    def run(self, folders: Sequence[str | os.PathLike[str]], ear: Ear | None) -> ScanReport:
        started = time.monotonic()
        # the same folder by way of a link is the same folder
        given = [os.path.realpath(os.path.expanduser(os.fspath(folder))) for folder in folders]
        places = given or self._roots_there()
        found = find_files(places, self.note, self.progress)
        self.report.found = len(found.files)
        for folder in filter(os.path.isdir, places):  # now, so that a scan that is killed can be gone on with
            self.store.songs.add_root(folder)
        self.roots = self.store.songs.roots()
        if ear is not None:
            set_ear(self.store, ear, replace=True)
        known, waiting = self._compare(found.files)
        if waiting:
            before = self.store.models.current_ear
            ear_id, current = self._ear(found.files, known, len(waiting))
            if before not in (None, ear_id):
                self.note(
                    "the codebook was of the first few songs only: a new one is learned, and all are heard again."
                )
                known, waiting = self._compare(found.files)
                waiting += _others(known, found.files)
            self.sizes = {there.size for there in known.values() if not there.problem}
            self._hear(waiting, ear_id, current)
        self._account_for_missing(places, found, known)
        ensure_model(self.store, self.options.seed, self.progress, self.note)
        self.report.seconds = time.monotonic() - started
        return self.report

    def _roots_there(self) -> list[str]:
        """Return the folders that were scanned before and are there."""
        roots = self.store.songs.roots()
        there = [root for root in roots if os.path.isdir(root)]
        for root in sorted(set(roots) - set(there)):
            self.note(f"{printable(root)} is not there and was left as it was; is the drive connected?")
        if not there:
            raise LibraryError("there is no folder to scan; give one: `nearsong scan FOLDER`.")
        return there

    def _compare(self, files: list[FoundFile]) -> tuple[dict[str, KnownFile], list[FoundFile]]:
        """Return what is known, and the files that have to be looked at."""
        known = self.store.songs.known_files(self.store.models.current_ear)
        waiting, back = [], []
        unchanged = known_unreadable = 0
        for file in files:
            there = known.get(file.path)
            if there is None or (there.size, there.modified) != (file.size, file.modified):
                waiting.append(file)
                continue
            if there.missing:
                back.append(there.id)
            if there.problem and not self.options.retry:
                known_unreadable += 1
            elif there.heard:
                unchanged += 1
            else:
                waiting.append(file)
        if back:
            self.store.songs.set_missing(back, False)
        self.report.unchanged, self.report.known_unreadable = unchanged, known_unreadable
        return known, waiting

    # ---- the codebook

    def _ear(self, files: list[FoundFile], known: dict[str, KnownFile], waiting: int) -> tuple[int, Ear]:
        """Return the ear to hear with, learning it if there is none or if the library has outgrown it."""
        current = current_ear(self.store)
        if current is not None and not self._has_outgrown(current[1], len(files), known, waiting):
            return current
        paths = [file.path for file in files if not (file.path in known and known[file.path].problem)]
        learned = learn_ear(
            paths or [file.path for file in files],
            seed=self.options.seed,
            workers=self.options.workers,
            nice=self.options.nice,
            timeout=self.options.timeout,
            progress=self.progress,
        )
        own = min(len(files), SAMPLE_SONGS)
        return set_ear(self.store, learned, instead_of=None if current is None else current[0], own=own)

    def _has_outgrown(self, ear: Ear, n_files: int, known: dict[str, KnownFile], waiting: int) -> bool:
        """Say whether a codebook from the first few songs is worth learning anew, all songs being heard again."""
        own = self.store.models.setting(OWN_EAR)
        if own is None or ear.n_codewords >= LARGEST or OUTGROWN * int(own) > min(n_files, SAMPLE_SONGS):
            return False
        heard = sum(there.heard for there in known.values())
        active = self.store.models.active
        return (OUTGROWN - 1) * heard <= waiting and (
            active is None or self.store.models.row(active).kind == "native"
        )

    # ---- hearing

    def _hear(self, waiting: list[FoundFile], ear_id: int, ear: Ear) -> None:
        in_hand = {file.path: file for file in waiting}
        done = 0

        def to_hear() -> Iterator[str]:
            nonlocal done
            for file in waiting:
                if self._recognise(file, ear_id):
                    done += 1
                    self.progress("hearing songs", done, len(waiting))
                else:
                    yield file.path

        options = self.options
        work = partial(hear_file, ear, self.roots)
        heard = map_audio_files(work, to_hear(), workers=options.workers, timeout=options.timeout, nice=options.nice)
        for path, result in heard:
            self._write(in_hand[os.fspath(path)], result, ear_id)
            done += 1
            self.progress("hearing songs", done, len(waiting))

    def _recognise(self, file: FoundFile, ear_id: int) -> bool:
        """Say whether a file need not be heard: moved, copied, touched, or done by another scan meanwhile."""
        now = self.store.songs.known_file(file.path, ear_id)
        if now is not None and now.heard and (now.size, now.modified) == (file.size, file.modified):
            self.report.unchanged += 1
            return True
        if file.size not in self.sizes:
            return False
        try:
            content = content_key(file.path)
        except OSError:
            return False  # the worker will say what is wrong
        songs = self.store.songs
        tags = read_tags(file.path, root_of(file.path, self.roots))
        with self.store.writing() as connection:
            twins = songs.with_content(connection, content, ear_id)
            here = next((twin for twin in twins if twin.path == file.path), None)
            gone = next(
                (twin for twin in twins if not is_still_there(twin.path, twin.size, twin.modified, content)), None
            )
            twin = next((twin for twin in twins if twin.heard), None)
            if here is not None:
                songs.touch(connection, here.id, file.size, file.modified, tags)
                if here.modified == NEVER:  # put here when another file took the place of its own
                    self.report.moved += here.heard
                else:
                    self.report.unchanged += here.heard
                return here.heard
            if gone is not None:
                songs.move(connection, gone.id, file.path, file.size, file.modified, tags)
                self.report.moved += gone.heard
                return gone.heard
            if twin is None:
                return False
            vector = songs.sound(connection, twin.id, ear_id)
            assert vector is not None  # it was heard, and nobody else writes now
            copy = ScannedFile(*file, content, tags, twin.seconds, vector, damage=twin.damage)
            self.placer.place(connection, songs.put(connection, copy, ear_id), ear_id, vector)
            self.report.copied += 1
            return True

    def _write(self, file: FoundFile, result: HeardFile | AudioError, ear_id: int) -> None:
        songs, report = self.store.songs, self.report
        if isinstance(result, AudioError):
            self._write_problem(file, result.reason, ear_id)
            return
        sound = result.sound
        vector = sound.vector.astype(np.float32)
        with self.store.writing() as connection:
            there = songs.known_file(file.path, ear_id, connection)
            same = there is not None and (there.size, there.modified) == (file.size, file.modified)
            if there is not None and same and not there.problem:
                song = there.id
                if not there.heard:  # otherwise another scan was faster
                    songs.add_sound(connection, song, ear_id, vector)
            else:
                damage = sound.damage or ""
                scanned = ScannedFile(*file, result.content, result.tags, sound.seconds, vector, damage=damage)
                song = songs.put(connection, scanned, ear_id)
            self.placer.place(connection, song, ear_id, vector)
        if sound.damage:
            report.damaged.append((file.path, sound.damage))
        if there is None or there.problem:
            report.added += 1
        elif not same:
            report.changed += 1
        elif there.heard:
            report.unchanged += 1
        else:
            report.reheard += 1

    def _write_problem(self, file: FoundFile, reason: str, ear_id: int) -> None:
        """Write that a file gives no sound, so that it is left alone until it changes."""
        self.report.unreadable.append((file.path, reason))
        try:
            if size_and_date(file.path) != (file.size, file.modified):
                return  # still being written: the next scan looks again
        except AudioError:
            return  # gone, and so is the drive perhaps
        modified = file.modified if can_be_opened(file.path) else NEVER  # rights may change without a trace
        tags = guess_from_path(file.path, root_of(file.path, self.roots))
        with self.store.writing() as connection:
            there = self.store.songs.known_file(file.path, ear_id, connection)
            if there is None or not there.heard or (there.size, there.modified) != (file.size, file.modified):
                bad = ScannedFile(file.path, file.size, modified, "", tags, problem=reason)
                self.store.songs.put(connection, bad, None)

    # ---- what is gone

    def _account_for_missing(self, places: Sequence[str], found: Found, known: dict[str, KnownFile]) -> None:
        """Mark or forget songs of these folders whose files are gone."""
        here = {file.path for file in found.files}
        closed, inside, set_aside = _inside(found.closed), _inside(places), set(found.closed)
        lost = {path for path in known if path not in here and path.startswith(inside)}
        lost = {path for path in lost if path not in set_aside and not path.startswith(closed)}
        if not lost:
            return
        empty = _inside([place for place in places if _is_empty(place, found.files)])
        gone = {path: there for path, there in self.store.songs.known_files(None).items() if path in lost}
        useless = [there.id for there in gone.values() if there.problem]
        songs = {path: there for path, there in gone.items() if not there.problem}
        # a drive that is not connected looks like an empty folder: its songs are forgotten at second sight only
        doubtful = {path for path, there in songs.items() if path.startswith(empty) and not there.missing}
        removed = [there.id for path, there in songs.items() if self.options.prune and path not in doubtful]
        kept = [there for path, there in songs.items() if not self.options.prune or path in doubtful]
        if useless or removed:
            self.store.songs.remove(useless + removed)
        if newly := [there.id for there in kept if not there.missing]:
            self.store.songs.set_missing(newly, True)
        self.report.removed, self.report.missing = len(removed), len(kept)
        if self.options.prune and doubtful:
            self.note(
                f"{len(doubtful):,} songs are in folders that are empty now, as if the drive were not connected; "
                "they were kept. Prune once more to forget them."
            )


def _others(known: dict[str, KnownFile], files: list[FoundFile]) -> list[FoundFile]:
    """Return the songs of folders that are not looked at now, as far as they are there."""
    here = {file.path for file in files}
    others = [
        FoundFile(path, there.size, there.modified)
        for path, there in known.items()
        if path not in here and not there.missing and not there.problem
    ]
    return [file for file in sorted(others) if is_as_it_was(*file)]


def _inside(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(os.path.join(folder, "") for folder in folders)


def _is_empty(folder: str, files: list[FoundFile]) -> bool:
    """Say whether no file, of a sorted list, is in a folder."""
    start = os.path.join(folder, "")
    first = bisect_left(files, start, key=lambda file: file.path)
    return first == len(files) or not files[first].path.startswith(start)
