"""A Subsonic server and a library -> each has what the other knows: songs and listens here, playlists there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nearsong.errors import EmptyLibraryError
from nearsong.library.answers.recommending.records import ForYou
from nearsong.library.listeners.pull.from_subsonic import rows_of
from nearsong.library.listeners.pull.pulling import PullReport, store_counts
from nearsong.library.listeners.pull.services import checked_name
from nearsong.library.listeners.pull.subsonic_server import SubsonicServer
from nearsong.library.records import Song
from nearsong.library.store import Store
from nearsong.library.sync.match_songs import SharedFolder, ids_on_server, match_songs
from nearsong.library.sync.server_playlists import PlaylistReport, ServerPlaylists, WantedPlaylist
from nearsong.library.sync.server_songs import ServerSong, songs_of
from nearsong.library.sync.stream_songs import SongStream, StreamOptions, StreamReport
from nearsong.listens.json_records import ListenRow
from nearsong.path_names import is_streamed
from nearsong.types import Note, Progress, no_note, no_progress

FOR_YOU = "for you"
FOR_YOU_NAME = "For you"
MAX_FOR_YOU = 500

Recommend = Callable[[str, int], ForYou]
"""A listener and a number -> songs for them."""


@dataclass(frozen=True)
class SyncOptions:
    """What a sync does besides reading the list of songs.

    Attributes
    ----------
    listener : str or None
        Whose listens these are, and whom "For you" is for; by default the user of the server.
    shared : sequence of SharedFolder
        Folders that the server and this machine both read.
    stream : bool
        Whether songs that the library lacks are fetched and analysed.
    listens, playlists : bool
        Whether plays, hearts and ratings are read, and saved playlists written.
    for_you : int
        Songs of the playlist "For you"; 0 for none.
    streaming : StreamOptions
    """

    listener: str | None = None
    shared: Sequence[SharedFolder] = ()
    stream: bool = False
    listens: bool = True
    playlists: bool = True
    for_you: int = 50
    streaming: StreamOptions = field(default_factory=StreamOptions)


@dataclass
class SyncReport:
    """What a sync found and did.

    Attributes
    ----------
    host : str
    songs, matched : int
        Of the server, and how many of them the library has.
    streamed : StreamReport
    listens : PullReport or None
        None if the server knows of no plays, hearts or ratings, or they were not wanted.
    playlists : PlaylistReport
    left_out : int
        Songs of playlists that the server does not have.
    """

    host: str
    songs: int = 0
    matched: int = 0
    streamed: StreamReport = field(default_factory=StreamReport)
    listens: PullReport | None = None
    playlists: PlaylistReport = field(default_factory=PlaylistReport)
    left_out: int = 0


class SubsonicSync:
    """A sync with one server.

    Parameters
    ----------
    store : Store
    server : SubsonicServer
    options : SyncOptions
    progress, note : callable
        As for a scan.
    """

    def __init__(
        self,
        store: Store,
        server: SubsonicServer,
        options: SyncOptions,
        progress: Progress = no_progress,
        note: Note = no_note,
    ) -> None:
        self._store, self._server, self._options = store, server, options
        self._progress, self._note = progress, note
        listener = options.listener
        self._listener = server.user if listener is None else checked_name(listener, "the listener (--user)")
        self._ids: dict[int, str] = {}
        self.report = SyncReport(server.host)

    def read(self) -> None:
        """Read songs and listens of the server; the library has what it can have of them then."""
        songs, rows = self._list()
        matched = match_songs(songs, self._local_songs(), self._options.shared)
        stream = SongStream(
            self._store, self._server, songs, self._options.streaming, progress=self._progress, note=self._note
        )
        others = [song for song in songs if song.id not in matched]
        if self._options.stream:
            self.report.streamed = stream.run(others)
            matched |= self.report.streamed.songs
        else:
            matched |= stream.known(others)
        self._ids = ids_on_server(matched)
        self.report.songs, self.report.matched = len(songs), len(matched)
        if self._options.listens and rows:
            self.report.listens = store_counts(self._store, self._server, rows, self._listener)

    def write(self, recommend: Recommend) -> None:
        """Write saved playlists and "For you" to the server, once songs and listens are read."""
        wanted, keep = [], []
        saved = self._store.playlists.list()
        if self._options.playlists:
            wanted += [WantedPlaylist(str(one.id), one.name, self._on_server(one.songs)) for one in saved]
        else:
            keep += [str(one.id) for one in saved]
        if self._options.for_you:
            wanted.append(WantedPlaylist(FOR_YOU, FOR_YOU_NAME, self._for_you(recommend)))
        else:
            keep.append(FOR_YOU)
        playlists = ServerPlaylists(self._store, self._server)
        self.report.playlists = playlists.write(wanted, keep=keep)

    def _list(self) -> tuple[list[ServerSong], list[ListenRow]]:
        """Return all songs of the server, each once, and what it knows of their plays, hearts and ratings."""
        songs: dict[str, ServerSong] = {}
        rows: list[ListenRow] = []
        for page in self._server.songs():
            for song in songs_of(page):
                songs.setdefault(song.id, song)
            rows += [row for record in page for row in rows_of(record)]
            self._progress("reading the server's songs", len(songs), 0)
        return list(songs.values()), rows

    def _local_songs(self) -> list[Song]:
        return [song for song in self._store.songs.all() if not is_streamed(song.path)]

    def _on_server(self, songs: Sequence[int]) -> tuple[str, ...]:
        found = tuple(self._ids[song] for song in songs if song in self._ids)
        self.report.left_out += len(songs) - len(found)
        return found

    def _for_you(self, recommend: Recommend) -> tuple[str, ...]:
        """Return ids of recommended songs that the server has; none for a listener of whom nothing is known."""
        number = self._options.for_you
        try:
            found = recommend(self._listener, min(2 * number, MAX_FOR_YOU))
        except EmptyLibraryError:
            return ()
        songs = [one.song.id for one in found.songs if one.because is not None]  # else it is what everybody plays
        if not songs:
            self._note(f"Nothing that {found.listener} likes is known, so there is no {FOR_YOU_NAME!r} yet.")
        return tuple([self._ids[song] for song in songs if song in self._ids][:number])
