"""The only package with SQL: a path or URL -> songs, listens, models, playlists, plays, reactions and settings.

Names are imported when first used, so that commands that only read a library do not load SQLAlchemy.
"""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.library.store.backup import check_backup as check_backup
    from nearsong.library.store.backup import restore as restore
    from nearsong.library.store.database import Connection as Connection
    from nearsong.library.store.database import Database as Database
    from nearsong.library.store.database import library_file as library_file
    from nearsong.library.store.light.address import ENVIRONMENT as ENVIRONMENT
    from nearsong.library.store.light.address import default_address as default_address
    from nearsong.library.store.light.records import ACTIVE as ACTIVE
    from nearsong.library.store.light.records import PENDING as PENDING
    from nearsong.library.store.light.records import PLAYED as PLAYED
    from nearsong.library.store.light.records import REJECTED as REJECTED
    from nearsong.library.store.light.records import EncoderRow as EncoderRow
    from nearsong.library.store.light.records import History as History
    from nearsong.library.store.light.records import ModelRow as ModelRow
    from nearsong.library.store.listen_columns import ListenColumns as ListenColumns
    from nearsong.library.store.listener_rows import DeletedRows as DeletedRows
    from nearsong.library.store.listener_rows import ListenerRows as ListenerRows
    from nearsong.library.store.listens import HistoryWriter as HistoryWriter
    from nearsong.library.store.listens import ListenTable as ListenTable
    from nearsong.library.store.models import ModelTable as ModelTable
    from nearsong.library.store.partitioned import PartitionedWriter as PartitionedWriter
    from nearsong.library.store.playlists import PlaylistTable as PlaylistTable
    from nearsong.library.store.playlists import SavedPlaylist as SavedPlaylist
    from nearsong.library.store.pulled import PulledHistory as PulledHistory
    from nearsong.library.store.recorded.accounts import Account as Account
    from nearsong.library.store.recorded.accounts import AccountTable as AccountTable
    from nearsong.library.store.recorded.bookmarks import Bookmark as Bookmark
    from nearsong.library.store.recorded.bookmarks import BookmarkTable as BookmarkTable
    from nearsong.library.store.recorded.play_queues import PlayQueue as PlayQueue
    from nearsong.library.store.recorded.play_queues import PlayQueueTable as PlayQueueTable
    from nearsong.library.store.recorded.plays import Play as Play
    from nearsong.library.store.recorded.plays import PlayTable as PlayTable
    from nearsong.library.store.recorded.reactions import ListenerReactions as ListenerReactions
    from nearsong.library.store.recorded.reactions import Reacted as Reacted
    from nearsong.library.store.recorded.reactions import Reaction as Reaction
    from nearsong.library.store.recorded.reactions import ReactionTable as ReactionTable
    from nearsong.library.store.shared import JobRow as JobRow
    from nearsong.library.store.shared import JobTable as JobTable
    from nearsong.library.store.shared import Lease as Lease
    from nearsong.library.store.shared import PlayingTable as PlayingTable
    from nearsong.library.store.shared import SessionTable as SessionTable
    from nearsong.library.store.shared import SharedState as SharedState
    from nearsong.library.store.songs import NEVER as NEVER
    from nearsong.library.store.songs import KnownFile as KnownFile
    from nearsong.library.store.songs import SameContent as SameContent
    from nearsong.library.store.songs import ScannedFile as ScannedFile
    from nearsong.library.store.songs import SongTable as SongTable
    from nearsong.library.store.store import Store as Store

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "backup": ["check_backup", "restore"],
        "database": ["Connection", "Database", "library_file"],
        "light.address": ["ENVIRONMENT", "default_address"],
        "light.records": ["ACTIVE", "EncoderRow", "History", "ModelRow", "PENDING", "PLAYED", "REJECTED"],
        "listen_columns": ["ListenColumns"],
        "listener_rows": ["DeletedRows", "ListenerRows"],
        "listens": ["HistoryWriter", "ListenTable"],
        "models": ["ModelTable"],
        "partitioned": ["PartitionedWriter"],
        "playlists": ["PlaylistTable", "SavedPlaylist"],
        "pulled": ["PulledHistory"],
        "recorded.accounts": ["Account", "AccountTable"],
        "recorded.bookmarks": ["Bookmark", "BookmarkTable"],
        "recorded.play_queues": ["PlayQueue", "PlayQueueTable"],
        "recorded.plays": ["Play", "PlayTable"],
        "recorded.reactions": ["ListenerReactions", "Reacted", "Reaction", "ReactionTable"],
        "shared": ["JobRow", "JobTable", "Lease", "PlayingTable", "SessionTable", "SharedState"],
        "songs": ["KnownFile", "NEVER", "SameContent", "ScannedFile", "SongTable"],
        "store": ["Store"],
    },
)
