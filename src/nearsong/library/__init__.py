"""The music library: songs, listeners, models, similar songs, playlists. `web` and `cli` import it from here only.

Names are imported when first used, so that the worker processes of a scan load nothing that only answers queries.
"""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.library.accounts.accounts import token_hash as token_hash
    from nearsong.library.answers.filters import FILTERS as FILTERS
    from nearsong.library.answers.filters import Filters as Filters
    from nearsong.library.answers.playlist.rules import PlaylistRules as PlaylistRules
    from nearsong.library.answers.recommending.records import ForYou as ForYou
    from nearsong.library.answers.recommending.records import Heard as Heard
    from nearsong.library.answers.recommending.records import Recommendation as Recommendation
    from nearsong.library.answers.seeds import Seed as Seed
    from nearsong.library.answers.similar import Query as Query
    from nearsong.library.answers.why.explain import SoundCharacter as SoundCharacter
    from nearsong.library.answers.why.fused_reasons import FusedReasons as FusedReasons
    from nearsong.library.answers.why.reasons import Why as Why
    from nearsong.library.answers.words.find_songs import FoundByWords as FoundByWords
    from nearsong.library.automation.records import AutomaticRun as AutomaticRun
    from nearsong.library.automation.records import AutomationSettings as AutomationSettings
    from nearsong.library.automation.records import AutomationState as AutomationState
    from nearsong.library.automation.records import PullSource as PullSource
    from nearsong.library.automation.rules import PlannedTask as PlannedTask
    from nearsong.library.automation.wording import TASK_NAMES as TASK_NAMES
    from nearsong.library.automation.wording import AutomationReport as AutomationReport
    from nearsong.library.automation.wording import moment as moment
    from nearsong.library.browsing.albums import Album as Album
    from nearsong.library.browsing.albums import AlbumIndex as AlbumIndex
    from nearsong.library.browsing.albums import Artist as Artist
    from nearsong.library.browsing.albums import artist_id as artist_id
    from nearsong.library.browsing.song_list import Browser as Browser
    from nearsong.library.browsing.song_list import artist_value as artist_value
    from nearsong.library.browsing.song_list import folded as folded
    from nearsong.library.browsing.song_list import song_words as song_words
    from nearsong.library.browsing.song_list import typed_words as typed_words
    from nearsong.library.files.cover import thumbnail_of as thumbnail_of
    from nearsong.library.files.drawn_cover import placeholder as placeholder
    from nearsong.library.files.find import ENDINGS as ENDINGS
    from nearsong.library.files.playlist_files import playlist_text as playlist_text
    from nearsong.library.files.playlist_files import write_playlist as write_playlist
    from nearsong.library.library import Library as Library
    from nearsong.library.listeners.histories import ListenerChoice as ListenerChoice
    from nearsong.library.listeners.importing import ImportedFile as ImportedFile
    from nearsong.library.listeners.matching import MatchReport as MatchReport
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
    from nearsong.library.models.encoder_list import EncoderStatus as EncoderStatus
    from nearsong.library.models.encoder_list import list_encoders as list_encoders
    from nearsong.library.records import Neighbour as Neighbour
    from nearsong.library.records import Picture as Picture
    from nearsong.library.records import Song as Song
    from nearsong.library.scanning.analyse_file import AnalysedUpload as AnalysedUpload
    from nearsong.library.scanning.analyse_file import analyse_upload_with as analyse_upload_with
    from nearsong.library.scanning.report import ScanReport as ScanReport
    from nearsong.library.snapshot import Snapshot as Snapshot
    from nearsong.library.status import Status as Status
    from nearsong.library.store import Account as Account
    from nearsong.library.store import ListenerReactions as ListenerReactions
    from nearsong.library.store import ModelRow as ModelRow
    from nearsong.library.store import Play as Play
    from nearsong.library.store import PlayQueue as PlayQueue
    from nearsong.library.store import SavedPlaylist as SavedPlaylist
    from nearsong.library.store import default_address as default_address
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
        "records": ["Neighbour", "Picture", "Song"],
        "store": [
            "Account",
            "ListenerReactions",
            "ModelRow",
            "Play",
            "PlayQueue",
            "SavedPlaylist",
            "default_address",
        ],
        "accounts.accounts": ["token_hash"],
        "answers.filters": ["FILTERS", "Filters"],
        "answers.recommending.records": ["ForYou", "Heard", "Recommendation"],
        "answers.seeds": ["Seed"],
        "answers.similar": ["Query"],
        "answers.playlist.rules": ["PlaylistRules"],
        "answers.why.explain": ["SoundCharacter"],
        "answers.why.fused_reasons": ["FusedReasons"],
        "answers.why.reasons": ["Why"],
        "answers.words.find_songs": ["FoundByWords"],
        "automation.records": ["AutomaticRun", "AutomationSettings", "AutomationState", "PullSource"],
        "automation.rules": ["PlannedTask"],
        "automation.wording": ["TASK_NAMES", "AutomationReport", "moment"],
        "browsing.albums": ["Album", "AlbumIndex", "Artist", "artist_id"],
        "browsing.song_list": ["Browser", "artist_value", "folded", "song_words", "typed_words"],
        "files.cover": ["thumbnail_of"],
        "files.drawn_cover": ["placeholder"],
        "files.find": ["ENDINGS"],
        "files.playlist_files": ["playlist_text", "write_playlist"],
        "listeners.recorded.export": ["write_recorded"],
        "listeners.histories": ["ListenerChoice"],
        "listeners.importing": ["ImportedFile"],
        "listeners.matching": ["MatchReport"],
        "listeners.recorded.plays": [
            "DEFAULT_USER",
            "MAX_PLAYS_PER_REQUEST",
            "checked_listener",
            "checked_time",
            "checked_track",
        ],
        "listeners.recorded.reactions": ["MAX_STARS"],
        "listeners.pull.pulling": ["PullReport"],
        "maps.cached": ["DrawnMap", "draw", "drawn", "map_columns"],
        "models.encoder_list": ["EncoderStatus", "list_encoders"],
        "scanning.analyse_file": ["AnalysedUpload", "analyse_upload_with"],
        "scanning.report": ["ScanReport"],
        "training.settings": ["TrainingSettings"],
        "training.report": ["MEASURES", "Estimate", "TrainingReport"],
        "training.wording": ["LABELS", "PLAIN", "advice", "sentences", "table_rows"],
    },
)
