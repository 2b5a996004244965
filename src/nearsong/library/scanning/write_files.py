"""Analysed files -> rows of the library, each with what the report says of it."""

from collections.abc import Collection, Sequence

from nearsong.audio.tags import Tags, guess_from_path
from nearsong.errors import AudioError, AudioTimeoutError
from nearsong.library.files.find import FoundFile
from nearsong.library.files.storage import UnfetchedAudioError
from nearsong.library.models.embedding import Embedder
from nearsong.library.scanning.analyse_file import AnalysedFile, can_be_opened, is_same_content, size_and_date
from nearsong.library.scanning.file_tags import root_of
from nearsong.library.scanning.report import ScanReport
from nearsong.library.store import NEVER, Connection, KnownFile, SameContent, ScannedFile, Store

Result = AnalysedFile | AudioError


class FileWriter:
    """Writes files of a scan.

    Parameters
    ----------
    store : Store
    roots : sequence of str
        The scanned folders.
    encoder_ids : collection of int
        Encoders of which a complete song has vectors.
    """

    def __init__(self, store: Store, roots: Sequence[str], encoder_ids: Collection[int]) -> None:
        self._store, self._roots, self._encoder_ids = store, roots, frozenset(encoder_ids)
        self._embedder = Embedder(store)

    def write(self, results: Sequence[tuple[FoundFile, Result]]) -> ScanReport:
        """Write what was found out about files in one transaction; return what it was."""
        report = ScanReport()
        # files are looked at before anyone has to wait for the lock
        rows = [(file, result, self._problem_row(file, result)) for file, result in results]
        report.unreadable = [(file.path, result.reason) for file, result in results if isinstance(result, AudioError)]
        if not any(row is not None or isinstance(result, AnalysedFile) for _, result, row in rows):
            return report
        with self._store.writing() as connection:
            for file, result, row in rows:
                if isinstance(result, AnalysedFile):
                    self._write_analysed(connection, file, result, report)
                elif row is not None:
                    self._write_problem(connection, file, row)
        return report

    def recognise(self, file: FoundFile, content: str, tags: Tags, report: ScanReport) -> bool:
        """Write a file whose content is known, and return whether it needs no analysis."""
        songs = self._store.songs
        before = songs.with_content(content)
        if not before:
            return False
        gone = _first_gone(before, file, content)  # files are looked at before anyone has to wait for the lock
        with self._store.writing() as connection:
            same = songs.with_content(content, connection)
            here = next((song for song in same if song.path == file.path), None)
            if here is not None:
                if songs.touch(connection, here.id, file.size, file.modified, tags):
                    self._embedder.embed(connection, here.id, here.analysed)
                is_complete = self._is_complete(here)
                if here.modified == NEVER:  # moved here when another file took its path
                    report.moved += is_complete
                else:
                    report.unchanged += is_complete
                return is_complete
            moved = next((song for song in same if (song.id, song.path) == gone), None)
            if moved is not None:
                if songs.move(connection, moved.id, file.path, file.size, file.modified, tags):
                    self._embedder.embed(connection, moved.id, moved.analysed)
                report.moved += self._is_complete(moved)
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
                vectors={encoder_id: vectors[encoder_id] for encoder_id in self._encoder_ids},
                damage=original.damage,
            )
            self._embedder.embed(connection, songs.put(connection, copy), copy.vectors)
            report.copied += 1
            return True

    def _is_complete(self, file: KnownFile | SameContent) -> bool:
        return is_complete(file, self._encoder_ids)

    def _write_analysed(
        self, connection: Connection, file: FoundFile, result: AnalysedFile, report: ScanReport
    ) -> None:
        """Write an analysed file, or only the vectors that it lacks."""
        if result.set_aside:  # a row with the reason, and no vectors that could answer a query
            report.set_aside.append((file.path, result.set_aside))
            self._store.songs.put(connection, _scanned(file, result))
            return
        songs, vectors = self._store.songs, dict(result.vectors)
        known = songs.known_file(file.path, connection)
        is_same = known is not None and is_same_file(known, file)
        if known is not None and is_same and known.is_song:
            song = known.id
            vectors = {encoder_id: vectors[encoder_id] for encoder_id in vectors.keys() - known.analysed}
            songs.add_vectors(connection, song, vectors)
        else:
            song = songs.put(connection, _scanned(file, result))
        self._embedder.embed(connection, song, vectors)
        if result.damage:
            report.damaged.append((file.path, result.damage))
        if known is None or not known.is_song:
            report.added += 1
        elif not is_same:
            report.changed += 1
        elif vectors:
            report.reanalysed += 1
        else:  # another scan was faster
            report.unchanged += 1

    def _problem_row(self, file: FoundFile, error: Result) -> ScannedFile | None:
        """Return the row of a file that cannot be analysed; None if it is to be looked at again."""
        if not isinstance(error, AudioError):
            return None
        try:
            if size_and_date(file.path) != (file.size, file.modified):
                return None  # still being written: the next scan looks again
        except AudioError:
            return None  # the file is gone, or its drive
        # permissions may change without a trace; a file that took too long may take as long again
        is_final = isinstance(error, AudioTimeoutError) or (
            can_be_opened(file.path) and not isinstance(error, UnfetchedAudioError)
        )
        return ScannedFile(
            path=file.path,
            size=file.size,
            modified=file.modified if is_final else NEVER,
            content="",
            tags=guess_from_path(file.path, root_of(file.path, self._roots)),
            problem=error.reason,
        )

    def _write_problem(self, connection: Connection, file: FoundFile, row: ScannedFile) -> None:
        """Write that a file cannot be analysed, so that it is left alone until it changes."""
        known = self._store.songs.known_file(file.path, connection)
        if known is None or not self._is_complete(known) or not is_same_file(known, file):
            self._store.songs.put(connection, row)


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


def _first_gone(songs: list[SameContent], file: FoundFile, content: str) -> tuple[int, str] | None:
    """Return id and path of the first song whose file is not there any more; None if a file is one of them."""
    if any(song.path == file.path for song in songs):
        return None
    gone = (song for song in songs if not is_same_content(song.path, song.size, song.modified, content))
    return next(((song.id, song.path) for song in gone), None)


def is_same_file(known: KnownFile, file: FoundFile) -> bool:
    """Return whether a file has the size and date that it had."""
    return (known.size, known.modified) == (file.size, file.modified)


def is_complete(file: KnownFile | SameContent, encoder_ids: Collection[int]) -> bool:
    """Return whether a file has a vector of every encoder, of which there is at least one."""
    return bool(encoder_ids) and file.analysed.issuperset(encoder_ids)
