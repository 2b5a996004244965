"""Songs that are only on a server -> song vectors in the library: each is fetched, analysed and dropped.

No more than a few files are on this machine at a time, and none of them stays. Each is read in a worker with limits,
like any stranger's file, and stored at once: a sync that is stopped loses the songs in flight, and the next goes on.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial

from nearsong.audio import map_audio_files
from nearsong.audio.tags import Tags, guess_from_path
from nearsong.errors import AudioError
from nearsong.library.files.find import ENDINGS
from nearsong.library.listeners.pull.subsonic_server import MAX_SONG_BYTES, SongRefusedError, SubsonicServer
from nearsong.library.models.embedding import Embedder, update_embeddings
from nearsong.library.models.excerpt import library_excerpt
from nearsong.library.models.fit_encoder import SAMPLE_SONGS, fit_encoders
from nearsong.library.models.library_encoders import set_encoders, stored_encoder
from nearsong.library.models.lifecycle import ensure_model
from nearsong.library.scanning.analyse_file import AnalysedFile, analyse_file
from nearsong.library.store import KnownFile, ScannedFile, Store
from nearsong.library.sync.server_songs import ServerSong, server_prefix, streamed_path
from nearsong.model import SongEncoder
from nearsong.model.encoders import DEFAULT_ENCODERS
from nearsong.temporary import DOWNLOAD_PREFIX, LockedFolder
from nearsong.types import Note, Progress, no_note, no_progress


@dataclass(frozen=True)
class StreamOptions:
    """How songs are analysed: processes, niceness, seconds a file may take, whether bad ones are tried again."""

    workers: int | None = None
    nice: int = 0
    timeout: float | None = 600.0
    retry: bool = False


@dataclass
class StreamReport:
    """What came of streaming: ids on the server of the songs that the library has now, and counts."""

    songs: dict[str, int] = field(default_factory=dict)
    analysed: int = 0
    unchanged: int = 0
    unreadable: int = 0
    set_aside: int = 0
    refused: int = 0
    missing: int = 0


class SongStream:
    """Streams the songs of one server into a library.

    Parameters
    ----------
    store : Store
    server : SubsonicServer
    songs : sequence of ServerSong
        All that the server has.
    options : StreamOptions
    progress, note : callable
        As for a scan.
    """

    def __init__(
        self,
        store: Store,
        server: SubsonicServer,
        songs: Sequence[ServerSong],
        options: StreamOptions,
        *,
        progress: Progress = no_progress,
        note: Note = no_note,
    ) -> None:
        self._store, self._server, self._options = store, server, options
        self._progress, self._note = progress, note
        self._paths = {song.id: streamed_path(server.url, song) for song in songs}
        self.report = StreamReport()

    def known(self, songs: Iterable[ServerSong]) -> dict[str, int]:
        """Return the ids on the server and in the library of songs that were streamed before."""
        stored = self._streamed()
        return {
            song.id: known.id
            for song in songs
            if (known := stored.get(self._paths[song.id])) is not None and known.is_song
        }

    def run(self, songs: Sequence[ServerSong]) -> StreamReport:
        """Bring the library up to date with songs of the server."""
        stored = self._streamed()
        self._account_for_missing(stored)
        encoders = set(self._store.models.scanned_encoders().values())
        pending = [song for song in songs if self._is_pending(song, stored.get(self._paths[song.id]), encoders)]
        large = [song for song in pending if song.size > MAX_SONG_BYTES]
        self.report.refused += len(large)
        pending = [song for song in pending if song.size <= MAX_SONG_BYTES]
        if pending:
            with LockedFolder(DOWNLOAD_PREFIX) as folder:
                self._analyse(_Fetched(self._server, str(folder.path), pending, self._refuse))
        ensure_model(self._store, 0, self._progress, self._note)  # also what an interrupted sync did not come to
        update_embeddings(self._store, self._progress)
        self.report.songs = self.known(songs)
        self.report.unchanged = len(self.report.songs) - self.report.analysed
        return self.report

    def _streamed(self) -> dict[str, KnownFile]:
        start = server_prefix(self._server.url)
        return {path: file for path, file in self._store.songs.known_files().items() if path.startswith(start)}

    def _account_for_missing(self, stored: Mapping[str, KnownFile]) -> None:
        """Hide songs that the server does not have any more, and show those that are back."""
        listed = set(self._paths.values())
        gone = [file.id for path, file in stored.items() if path not in listed and not file.missing]
        back = [file.id for path, file in stored.items() if path in listed and file.missing]
        for ids, missing in ((gone, True), (back, False)):
            if ids:
                self._store.songs.set_missing(ids, missing)
        self.report.missing = len(gone)

    def _is_pending(self, song: ServerSong, known: KnownFile | None, encoders: set[int]) -> bool:
        if known is None or (known.size, known.modified) != (song.size, song.modified):
            return True
        if not known.is_song:
            return self._options.retry
        return not encoders <= known.analysed

    def _refuse(self, song: ServerSong, reason: str) -> None:
        self.report.refused += 1
        if self.report.refused == 1:
            self._note(f"{self._server.host} does not give {song.tags.title or song.id!r}: {reason}")

    # ---- analysing

    def _analyse(self, files: "_Fetched") -> None:
        encoders = self._encoders(files)
        embedder = Embedder(self._store)
        results = map_audio_files(
            partial(analyse_file, encoders, ()),
            files.fetched(list(files.songs)),
            workers=self._options.workers,
            timeout=self._options.timeout,
            nice=self._options.nice,
        )
        for done, (path, result) in enumerate(results, start=1):
            file = os.fspath(path)
            files.drop(file)
            self._write(files.songs[file], file, result, embedder)
            self._progress("analysing songs", done, len(files.songs))

    def _encoders(self, files: "_Fetched") -> dict[int, SongEncoder]:
        """Return the encoders of the library; those of a new one are fitted on some of the songs first."""
        models, options = self._store.models, self._options
        if not models.scanned_encoders():
            fitted = fit_encoders(
                DEFAULT_ENCODERS,
                list(files.songs),
                workers=options.workers,
                nice=options.nice,
                timeout=options.timeout,
                progress=self._progress,
                fetched=files.fetched,
                drop=files.drop,
            )
            excerpt = library_excerpt(self._store)
            set_encoders(
                self._store,
                [encoder.with_excerpt(excerpt) for encoder in fitted.values()],
                fitted_songs=min(len(files.songs), SAMPLE_SONGS),
            )
        return {number: stored_encoder(self._store, [number]) for number in models.scanned_encoders().values()}

    def _write(self, song: ServerSong, file: str, result: AnalysedFile | AudioError, embedder: Embedder) -> None:
        scanned = ScannedFile(
            path=self._paths[song.id], size=song.size, modified=song.modified, content="", tags=song.tags
        )
        if isinstance(result, AudioError):
            self.report.unreadable += 1
            scanned = replace(scanned, problem=result.reason)
        else:
            self.report.set_aside += bool(result.set_aside)
            self.report.analysed += not result.set_aside
            scanned = replace(
                scanned,
                content=result.content,
                tags=completed(result.tags, guess_from_path(file), song.tags),
                seconds=result.seconds,
                vectors=result.vectors,
                set_aside=result.set_aside,
                damage=result.damage or "",
            )
        with self._store.writing() as connection:
            number = self._store.songs.put(connection, scanned)
            embedder.embed(connection, number, scanned.vectors)


def completed(tags: Tags, guessed: Tags, reported: Tags) -> Tags:
    """Return the tags of a file; what was only guessed from its path here is what the server tells.

    >>> completed(Tags(artist="Ann", title="17-ab"), Tags(title="17-ab"), Tags(artist="ann", title="One"))
    Tags(artist='Ann', title='One', ...)
    """
    changes = {}
    for one in fields(Tags):
        value = getattr(tags, one.name)
        if value in ("", None) or (value == getattr(guessed, one.name) and value is not False):
            changes[one.name] = getattr(reported, one.name)
    return replace(tags, **changes)


class _Fetched:
    """Songs of a server as files of a temporary folder, fetched when they are needed.

    Parameters
    ----------
    server : SubsonicServer
    folder : str
    songs : sequence of ServerSong
    refuse : callable
        Called with a song that the server does not give, and why.
    """

    def __init__(
        self,
        server: SubsonicServer,
        folder: str,
        songs: Sequence[ServerSong],
        refuse: Callable[[ServerSong, str], None],
    ) -> None:
        self._server, self._refuse = server, refuse
        self.songs = {os.path.join(folder, _file_name(song)): song for song in songs}
        self._refused: set[str] = set()

    def fetched(self, files: Sequence[str]) -> Iterator[str]:
        """Yield files once they are fetched; those that the server does not give are left out."""
        for file in files:
            if file in self._refused:
                continue
            try:
                self._server.fetch(self.songs[file].id, file)
            except SongRefusedError as error:
                self._refused.add(file)
                self._refuse(self.songs[file], str(error))
            else:
                yield file

    def drop(self, file: str) -> None:
        """Delete a file."""
        with suppress(OSError):
            os.unlink(file)


def _file_name(song: ServerSong) -> str:
    """Return a file name that no server can choose, with a usual ending."""
    ending = os.path.splitext(song.path)[1].lower()
    name = hashlib.blake2b(song.id.encode(errors="surrogatepass"), digest_size=12).hexdigest()
    return name + (ending if ending in ENDINGS else "")
