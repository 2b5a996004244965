"""Methods about the service: ping, extensions, users, scans, plays."""

import time
from itertools import zip_longest
from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.library import MAX_PLAYS_PER_REQUEST, Song
from nearsong.listens.records import TrackName
from nearsong.names import listener_key
from nearsong.web.http.rate_limits import spend
from nearsong.web.jobs.scan import Scan
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_ALLOWED, NOT_FOUND, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number

EXTENSIONS = {"apiKeyAuthentication": [1], "formPost": [1], "indexBasedQueue": [1], "sonicSimilarity": [1]}
"""Supported extensions of OpenSubsonic with their versions."""

FOLDER_ID = 1
"""All music is in one folder."""

_GRANTED_ROLES = ("streamRole", "downloadRole", "playlistRole")
_DENIED_ROLES = (
    "settingsRole",
    "uploadRole",
    "coverArtRole",
    "commentRole",
    "podcastRole",
    "jukeboxRole",
    "shareRole",
    "videoConversionRole",
)


def ping(_call: Call) -> dict[str, Any]:
    """Return an empty result."""
    return {}


def get_license(_call: Call) -> dict[str, Any]:
    """Return a valid license."""
    return {"license": {"valid": True}}


def extensions() -> dict[str, Any]:
    """List the supported extensions; needs no password."""
    return {"openSubsonicExtensions": [{"name": name, "versions": versions} for name, versions in EXTENSIONS.items()]}


def token_info(call: Call) -> dict[str, Any]:
    """Return the user of an API key."""
    return {"tokenInfo": {"username": call.user}}


def get_user(call: Call) -> dict[str, Any]:
    """Return a user and their roles; others than oneself only as an admin."""
    wanted = call.parameters.text("username") or call.user
    found = next((user for user in _users(call) if listener_key(user["username"]) == listener_key(wanted)), None)
    if found is not None:
        return {"user": found}
    if not call.caller.is_admin:
        raise ProtocolError(NOT_ALLOWED, "only an admin may see other users.")
    raise ProtocolError(NOT_FOUND, f"user not found: {wanted[:40]!r}")


def get_users(call: Call) -> dict[str, Any]:
    """List the user, and for admins all listeners with an account."""
    return {"users": {"user": _users(call)}}


def get_music_folders(_call: Call) -> dict[str, Any]:
    """List the one folder."""
    return {"musicFolders": {"musicFolder": [{"id": FOLDER_ID, "name": "Music"}]}}


def get_scan_status(call: Call) -> dict[str, Any]:
    """Return whether a scan is running, and the number of songs."""
    return {"scanStatus": _scan_status(call)}


def start_scan(call: Call) -> dict[str, Any]:
    """Scan the known folders, unless a scan is running; only for admins."""
    if not call.caller.is_admin:
        raise ProtocolError(NOT_ALLOWED, "only an admin may start a scan.")
    if not _is_scanning(call):
        if not call.service.library.status().folders:
            raise ProtocolError(GENERAL, "no folder has been scanned yet; start with `nearsong scan FOLDER`.")
        spend(call.service.job_limit, call.request, "jobs")
        call.service.jobs.add(Scan())
    return {"scanStatus": _scan_status(call)}


def scrobble(call: Call) -> dict[str, Any]:
    """Record plays with their times, or note what plays now (submission=false)."""
    wanted = call.parameters.all("id") or [call.parameters.require("id")]
    times = [parse_integer("time", text) for text in call.parameters.all("time")]
    if len(times) > len(wanted):
        raise ProtocolError(GENERAL, f"{len(times)} times for {len(wanted)} songs; send one for each.")
    if call.parameters.text("submission", "true").lower() == "false" or not call.service.settings.plays:
        songs = [call.song(song_id) for song_id in wanted]
        if call.service.settings.plays:
            _note_now_playing(call, songs[-1])
        return {}
    if len(wanted) <= MAX_PLAYS_PER_REQUEST:  # more are refused by the library
        spend(call.service.play_limit, call.request, "plays", len(wanted))
    now = time.time()
    played = [
        (song_number(song_id), now if milliseconds is None else milliseconds / 1000)
        for song_id, milliseconds in zip_longest(wanted, times)
    ]
    call.service.library.play_log.record_all(played, call.listener)
    return {}


def get_now_playing(call: Call) -> dict[str, Any]:
    """List what the listener plays now; what all of them do, for an admin. Only songs of the library."""
    playing = [one for one in call.service.now_playing.all() if call.caller.is_admin or one.listener == call.listener]
    if not playing:  # perhaps there is no song either
        return {"nowPlaying": {"entry": []}}
    named = call.snapshot.songs_named([one.track for one in playing])
    entries = []
    for one, match in zip(playing, named, strict=True):
        song = match if one.song_id is None else next(iter(call.known_songs([one.song_id])), None)
        if song is not None:
            minutes = max(0, int((time.time() - one.since) / 60))
            who = {"username": one.listener, "minutesAgo": minutes, "playerId": 0, "playerName": one.player}
            entries.append({**call.records.song(song), **who})
    return {"nowPlaying": {"entry": entries}}


def _note_now_playing(call: Call, song: Song) -> None:
    track = TrackName(song.artist, song.title, song.recording_mbid, song.artist_mbid)
    player = call.parameters.text("c")[:100]
    call.service.now_playing.put(call.listener, track, seconds=song.seconds, song_id=song.id, player=player)


def _empty(name: str) -> Method:
    """Return a method with an empty result, for features that the library does not have."""
    return lambda _call: {name: {}}


def _users(call: Call) -> list[dict[str, Any]]:
    """Return the user of a call, and for admins all others."""
    others = call.service.library.accounts.list() if call.caller.is_admin else []
    own = _user(call, call.user, call.caller.is_admin and call.service.callers.has_accounts)
    return [own, *(_user(call, one.name, one.is_admin) for one in others if one.name != call.user)]


def _user(call: Call, name: str, is_admin: bool) -> dict[str, Any]:
    roles = {
        "scrobblingEnabled": call.service.settings.plays,
        **dict.fromkeys(_GRANTED_ROLES, True),
        **dict.fromkeys(_DENIED_ROLES, False),
        "adminRole": is_admin,
    }
    return {"username": name, **roles, "folder": [FOLDER_ID]}


def _scan_status(call: Call) -> dict[str, Any]:
    try:
        count = len(call.snapshot.space.songs)
    except EmptyLibraryError:
        count = 0
    return {"scanning": _is_scanning(call), "count": count}


def _is_scanning(call: Call) -> bool:
    return any(job.kind == "scan" and job.ended is None for job in call.service.jobs.all())


METHODS: dict[str, Method] = {
    "ping": ping,
    "getLicense": get_license,
    "tokenInfo": token_info,
    "getUser": get_user,
    "getUsers": get_users,
    "getMusicFolders": get_music_folders,
    "getScanStatus": get_scan_status,
    "startScan": start_scan,
    "getNowPlaying": get_now_playing,
    "getPodcasts": _empty("podcasts"),
    "getNewestPodcasts": _empty("newestPodcasts"),
    "getInternetRadioStations": _empty("internetRadioStations"),
    "getBookmarks": _empty("bookmarks"),
    "getShares": _empty("shares"),
    "getVideos": _empty("videos"),
}

WRITING_METHODS: dict[str, Method] = {"scrobble": scrobble}
