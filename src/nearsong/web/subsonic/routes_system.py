"""Methods about the service: ping, extensions, users, scans, plays."""

import time
from itertools import zip_longest
from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.library import DEFAULT_USER, MAX_PLAYS_PER_REQUEST
from nearsong.web.http.rate_limits import spend
from nearsong.web.jobs.scan import Scan
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number

EXTENSIONS = {"apiKeyAuthentication": [1], "formPost": [1], "sonicSimilarity": [1]}
"""Supported extensions of OpenSubsonic with their versions."""

FOLDER_ID = 1
"""All music is in one folder."""

_GRANTED_ROLES = ("streamRole", "downloadRole", "playlistRole")
_DENIED_ROLES = (
    "adminRole",
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
    """Return the user and its roles."""
    return {"user": _user(call)}


def get_users(call: Call) -> dict[str, Any]:
    """List the one user."""
    return {"users": {"user": [_user(call)]}}


def get_music_folders(_call: Call) -> dict[str, Any]:
    """List the one folder."""
    return {"musicFolders": {"musicFolder": [{"id": FOLDER_ID, "name": "Music"}]}}


def get_scan_status(call: Call) -> dict[str, Any]:
    """Return whether a scan is running, and the number of songs."""
    return {"scanStatus": _scan_status(call)}


def start_scan(call: Call) -> dict[str, Any]:
    """Scan the known folders, unless a scan is running."""
    if not _is_scanning(call):
        if not call.service.library.status().folders:
            raise ProtocolError(GENERAL, "no folder has been scanned yet; start with `nearsong scan FOLDER`.")
        spend(call.service.job_limit, call.request, "jobs")
        call.service.jobs.add(Scan())
    return {"scanStatus": _scan_status(call)}


def scrobble(call: Call) -> dict[str, Any]:
    """Record plays with their times; a "now playing" notice (submission=false) is checked but not recorded."""
    wanted = call.parameters.all("id") or [call.parameters.require("id")]
    times = [parse_integer("time", text) for text in call.parameters.all("time")]
    if len(times) > len(wanted):
        raise ProtocolError(GENERAL, f"{len(times)} times for {len(wanted)} songs; send one for each.")
    if call.parameters.text("submission", "true").lower() == "false" or not call.service.settings.plays:
        for song_id in wanted:
            call.song(song_id)
        return {}
    if len(wanted) <= MAX_PLAYS_PER_REQUEST:  # more are refused by the library
        spend(call.service.play_limit, call.request, "plays", len(wanted))
    now = time.time()
    played = [
        (song_number(song_id), now if milliseconds is None else milliseconds / 1000)
        for song_id, milliseconds in zip_longest(wanted, times)
    ]
    call.service.library.play_log.record_all(played, call.user if call.parameters.text("u") else DEFAULT_USER)
    return {}


def _empty(name: str) -> Method:
    """Return a method with an empty result, for features that the library does not have."""
    return lambda _call: {name: {}}


def _user(call: Call) -> dict[str, Any]:
    roles = {
        "scrobblingEnabled": call.service.settings.plays,
        **dict.fromkeys(_GRANTED_ROLES, True),
        **dict.fromkeys(_DENIED_ROLES, False),
    }
    return {"username": call.user, **roles, "folder": [FOLDER_ID]}


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
    "getNowPlaying": _empty("nowPlaying"),
    "getStarred": _empty("starred"),
    "getStarred2": _empty("starred2"),
    "getPodcasts": _empty("podcasts"),
    "getNewestPodcasts": _empty("newestPodcasts"),
    "getInternetRadioStations": _empty("internetRadioStations"),
    "getBookmarks": _empty("bookmarks"),
    "getShares": _empty("shares"),
    "getVideos": _empty("videos"),
    "getPlayQueue": ping,  # an empty result means that there is none
}

WRITING_METHODS: dict[str, Method] = {"scrobble": scrobble}
