"""The music library: songs, listeners, models, similar songs, playlists. `web` and `cli` import it from here only.

Names are imported when first used, so that the worker processes of a scan load nothing that only answers queries.
"""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.library.accounts.accounts import token_hash as token_hash
    from nearsong.library.answers.filters import FILTERS as FILTERS
    from nearsong.library.answers.filters import Filters as Filters
    from nearsong.library.answers.playlist.defaults import PLAYLIST_DEFAULTS as PLAYLIST_DEFAULTS
    from nearsong.library.answers.playlist.rules import PlaylistRules as PlaylistRules
    from nearsong.library.answers.recommending.records import ForYou as ForYou
    from nearsong.library.answers.recommending.records import Heard as Heard
    from nearsong.library.answers.recommending.records import Recommendation as Recommendation
    from nearsong.library.answers.seeds import Seed as Seed
    from nearsong.library.answers.seeds import spread_songs as spread_songs
    from nearsong.library.answers.similar import Query as Query
    from nearsong.library.answers.why.explain import SoundCharacter as SoundCharacter
    from nearsong.library.answers.why.fused_reasons import FusedReasons as FusedReasons
    from nearsong.library.answers.why.reasons import Why as Why
    from nearsong.library.answers.why.shared_moment import MomentWindows as MomentWindows
    from nearsong.library.answers.why.shared_moment import SharedMoment as SharedMoment
    from nearsong.library.answers.why.shared_moment import find_shared_moment as find_shared_moment
    from nearsong.library.answers.why.shared_moment import moment_windows as moment_windows
    from nearsong.library.answers.why.shared_moment import nearest_windows as nearest_windows
    from nearsong.library.answers.words.find_songs import FoundByWords as FoundByWords
    from nearsong.library.automation.records import AutomaticRun as AutomaticRun
    from nearsong.library.automation.records import AutomationSettings as AutomationSettings
    from nearsong.library.automation.records import AutomationState as AutomationState
    from nearsong.library.automation.records import PullSource as PullSource
    from nearsong.library.automation.rules import PlannedTask as PlannedTask
    from nearsong.library.automation.wording import TASK_NAMES as TASK_NAMES
    from nearsong.library.automation.wording import AutomationReport as AutomationReport
    from nearsong.library.automation.wording import moment as moment
    from nearsong.library.browsing.album_artists import disc_of as disc_of
    from nearsong.library.browsing.album_list import AlbumBrowser as AlbumBrowser
    from nearsong.library.browsing.albums import Album as Album
    from nearsong.library.browsing.albums import AlbumIndex as AlbumIndex
    from nearsong.library.browsing.albums import Artist as Artist
    from nearsong.library.browsing.albums import artist_id as artist_id
    from nearsong.library.browsing.home import Home as Home
    from nearsong.library.browsing.song_list import Browser as Browser
    from nearsong.library.browsing.song_list import artist_value as artist_value
    from nearsong.library.browsing.song_list import folded as folded
    from nearsong.library.browsing.song_list import song_words as song_words
    from nearsong.library.browsing.song_list import typed_words as typed_words
    from nearsong.library.files.cover import thumbnail_of as thumbnail_of
    from nearsong.library.files.drawn_cover import painted_placeholder as painted_placeholder
    from nearsong.library.files.drawn_cover import placeholder as placeholder
    from nearsong.library.files.find import ENDINGS as ENDINGS
    from nearsong.library.files.lyrics import Lyrics as Lyrics
    from nearsong.library.files.lyrics import lyrics_of as lyrics_of
    from nearsong.library.files.playlist_files import folder_of_songs as folder_of_songs
    from nearsong.library.files.playlist_files import playlist_text as playlist_text
    from nearsong.library.files.playlist_files import write_playlist as write_playlist
    from nearsong.library.library import Library as Library
    from nearsong.library.listeners.histories import ListenerChoice as ListenerChoice
    from nearsong.library.listeners.importing import ImportedFile as ImportedFile
    from nearsong.library.listeners.matches.records import HistoryFacts as HistoryFacts
    from nearsong.library.listeners.matches.records import MatchList as MatchList
    from nearsong.library.listeners.matches.records import MatchReport as MatchReport
    from nearsong.library.listeners.matches.words import match_sentences as match_sentences
    from nearsong.library.listeners.matches.words import share_words as share_words
    from nearsong.library.listeners.pull.pulling import PullReport as PullReport
    from nearsong.library.listeners.recorded.export import write_recorded as write_recorded
    from nearsong.library.listeners.recorded.plays import DEFAULT_USER as DEFAULT_USER
    from nearsong.library.listeners.recorded.plays import MAX_PLAYS_PER_REQUEST as MAX_PLAYS_PER_REQUEST
    from nearsong.library.listeners.recorded.plays import checked_listener as checked_listener
    from nearsong.library.listeners.recorded.plays import checked_time as checked_time
    from nearsong.library.listeners.recorded.plays import checked_track as checked_track
    from nearsong.library.listeners.recorded.reactions import MAX_STARS as MAX_STARS
    from nearsong.library.maps.cached import DrawnMap as DrawnMap
    from nearsong.library.maps.cached import draw as draw
    from nearsong.library.maps.cached import drawn as drawn
    from nearsong.library.maps.cached import map_columns as map_columns
    from nearsong.library.maps.cached import map_thumbnail as map_thumbnail
    from nearsong.library.models.encoder_list import EncoderStatus as EncoderStatus
    from nearsong.library.models.encoder_list import list_encoders as list_encoders
    from nearsong.library.neighbours.graph_builder import GraphBuilder as GraphBuilder
    from nearsong.library.neighbours.named_songs import NamedSongs as NamedSongs
    from nearsong.library.reading import LibraryReader as LibraryReader
    from nearsong.library.records import Neighbour as Neighbour
    from nearsong.library.records import Picture as Picture
    from nearsong.library.records import Song as Song
    from nearsong.library.scanning.analyse_file import AnalysedUpload as AnalysedUpload
    from nearsong.library.scanning.analyse_file import analyse_upload_with as analyse_upload_with
    from nearsong.library.scanning.folders import ScannedFolder as ScannedFolder
    from nearsong.library.scanning.report import ScanReport as ScanReport
    from nearsong.library.snapshot import Snapshot as Snapshot
    from nearsong.library.status import Status as Status
    from nearsong.library.store import Account as Account
    from nearsong.library.store import JobRow as JobRow
    from nearsong.library.store import JobTable as JobTable
    from nearsong.library.store import ListenerReactions as ListenerReactions
    from nearsong.library.store import ModelRow as ModelRow
    from nearsong.library.store import Play as Play
    from nearsong.library.store import PlayingTable as PlayingTable
    from nearsong.library.store import PlayQueue as PlayQueue
    from nearsong.library.store import SavedPlaylist as SavedPlaylist
    from nearsong.library.store import SessionTable as SessionTable
    from nearsong.library.store import SharedState as SharedState
    from nearsong.library.store import check_backup as check_backup
    from nearsong.library.store import default_address as default_address
    from nearsong.library.store import library_file as library_file
    from nearsong.library.store import restore as restore
    from nearsong.library.store.light.store import check_exists as check_exists
    from nearsong.library.sync.match_songs import SharedFolder as SharedFolder
    from nearsong.library.sync.navidrome_plugin import find_named_song as find_named_song
    from nearsong.library.sync.navidrome_plugin import id_on_server as id_on_server
    from nearsong.library.sync.navidrome_plugin import write_plugin as write_plugin
    from nearsong.library.sync.stream_songs import StreamOptions as StreamOptions
    from nearsong.library.sync.sync import SyncReport as SyncReport
    from nearsong.library.training.comparison import compared_scores as compared_scores
    from nearsong.library.training.comparison import comparison_sentences as comparison_sentences
    from nearsong.library.training.report import MEASURES as MEASURES
    from nearsong.library.training.report import Estimate as Estimate
    from nearsong.library.training.report import TrainingReport as TrainingReport
    from nearsong.library.training.settings import TrainingSettings as TrainingSettings
    from nearsong.library.training.wording import LABELS as LABELS
    from nearsong.library.training.wording import PLAIN as PLAIN
    from nearsong.library.training.wording import advice as advice
    from nearsong.library.training.wording import sentences as sentences
    from nearsong.library.training.wording import table_rows as table_rows

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "library": ["Library"],
        "snapshot": ["Snapshot"],
        "status": ["Status"],
        "neighbours.graph_builder": ["GraphBuilder"],
        "neighbours.named_songs": ["NamedSongs"],
        "reading": ["LibraryReader"],
        "sync.match_songs": ["SharedFolder"],
        "sync.navidrome_plugin": ["find_named_song", "id_on_server", "write_plugin"],
        "sync.stream_songs": ["StreamOptions"],
        "sync.sync": ["SyncReport"],
        "records": ["Neighbour", "Picture", "Song"],
        "store.light.store": ["check_exists"],
        "store": [
            "Account",
            "JobRow",
            "JobTable",
            "ListenerReactions",
            "ModelRow",
            "Play",
            "PlayQueue",
            "PlayingTable",
            "SavedPlaylist",
            "SessionTable",
            "SharedState",
            "check_backup",
            "default_address",
            "library_file",
            "restore",
        ],
        "accounts.accounts": ["token_hash"],
        "answers.filters": ["FILTERS", "Filters"],
        "answers.recommending.records": ["ForYou", "Heard", "Recommendation"],
        "answers.seeds": ["Seed", "spread_songs"],
        "answers.similar": ["Query"],
        "answers.playlist.defaults": ["PLAYLIST_DEFAULTS"],
        "answers.playlist.rules": ["PlaylistRules"],
        "answers.why.explain": ["SoundCharacter"],
        "answers.why.fused_reasons": ["FusedReasons"],
        "answers.why.reasons": ["Why"],
        "answers.why.shared_moment": [
            "MomentWindows",
            "SharedMoment",
            "find_shared_moment",
            "moment_windows",
            "nearest_windows",
        ],
        "answers.words.find_songs": ["FoundByWords"],
        "automation.records": ["AutomaticRun", "AutomationSettings", "AutomationState", "PullSource"],
        "automation.rules": ["PlannedTask"],
        "automation.wording": ["TASK_NAMES", "AutomationReport", "moment"],
        "browsing.album_artists": ["disc_of"],
        "browsing.album_list": ["AlbumBrowser"],
        "browsing.albums": ["Album", "AlbumIndex", "Artist", "artist_id"],
        "browsing.home": ["Home"],
        "browsing.song_list": ["Browser", "artist_value", "folded", "song_words", "typed_words"],
        "files.cover": ["thumbnail_of"],
        "files.drawn_cover": ["painted_placeholder", "placeholder"],
        "files.find": ["ENDINGS"],
        "files.lyrics": ["Lyrics", "lyrics_of"],
        "files.playlist_files": ["folder_of_songs", "playlist_text", "write_playlist"],
        "listeners.recorded.export": ["write_recorded"],
        "listeners.histories": ["ListenerChoice"],
        "listeners.importing": ["ImportedFile"],
        "listeners.matches.records": ["HistoryFacts", "MatchList", "MatchReport"],
        "listeners.matches.words": ["match_sentences", "share_words"],
        "listeners.recorded.plays": [
            "DEFAULT_USER",
            "MAX_PLAYS_PER_REQUEST",
            "checked_listener",
            "checked_time",
            "checked_track",
        ],
        "listeners.recorded.reactions": ["MAX_STARS"],
        "listeners.pull.pulling": ["PullReport"],
        "maps.cached": ["DrawnMap", "draw", "drawn", "map_columns", "map_thumbnail"],
        "models.encoder_list": ["EncoderStatus", "list_encoders"],
        "scanning.analyse_file": ["AnalysedUpload", "analyse_upload_with"],
        "scanning.folders": ["ScannedFolder"],
        "scanning.report": ["ScanReport"],
        "training.settings": ["TrainingSettings"],
        "training.comparison": ["compared_scores", "comparison_sentences"],
        "training.report": ["MEASURES", "Estimate", "TrainingReport"],
        "training.wording": ["LABELS", "PLAIN", "advice", "sentences", "table_rows"],
    },
)
