"""Methods about the service itself: that it answers, what it can do, who asks, scans, what was played."""

import time
from itertools import zip_longest
from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.library.importing import ME
from nearsong.library.played import MOST_AT_ONCE
from nearsong.web.limits import spend
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError
from nearsong.web.subsonic.parameters import song_number, whole_number

EXTENSIONS = {"apiKeyAuthentication": [1], "formPost": [1], "sonicSimilarity": [1]}
"""Of OpenSubsonic, with the versions of each."""

FOLDER = 1
"""All music is in one folder."""

_MAY = ("streamRole", "downloadRole", "playlistRole")
_MAY_NOT = (
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
    """Say that the service answers."""
    return {}


def get_license(_call: Call) -> dict[str, Any]:
    """Say that nothing has to be paid."""
    return {"license": {"valid": True}}


def extensions() -> dict[str, Any]:
    """List what of OpenSubsonic is there; anyone may ask."""
    return {"openSubsonicExtensions": [{"name": name, "versions": known} for name, known in EXTENSIONS.items()]}


def token_info(call: Call) -> dict[str, Any]:
    """Say whom an API key stands for."""
    return {"tokenInfo": {"username": call.user}}


def get_user(call: Call) -> dict[str, Any]:
    """Say what the one who asks may do."""
    return {"user": _user(call)}


def get_users(call: Call) -> dict[str, Any]:
    """List the one who asks."""
    return {"users": {"user": [_user(call)]}}


def get_music_folders(_call: Call) -> dict[str, Any]:
    """List the one folder that all music is in."""
    return {"musicFolders": {"musicFolder": [{"id": FOLDER, "name": "Music"}]}}


def get_scan_status(call: Call) -> dict[str, Any]:
    """Say whether a scan runs, and how many songs there are."""
    return {"scanStatus": _scan_status(call)}


def start_scan(call: Call) -> dict[str, Any]:
    """Begin to look for new songs in the known folders, unless that is being done."""
    if not _scans(call):
        if not call.service.library.status().folders:
            raise ProtocolError(GENERAL, "no folder was scanned yet; begin with `nearsong scan FOLDER`.")
        spend(call.service.job_limit, call.request, "jobs")
        call.service.jobs.add("scan", {"folders": []})
    return {"scanStatus": _scan_status(call)}


def scrobble(call: Call) -> dict[str, Any]:
    """Note that songs were played, each at its time; that one plays just now is heard and not kept."""
    wanted = call.asked.all("id") or [call.asked.need("id")]
    times = [whole_number("time", text) for text in call.asked.all("time")]
    if len(times) > len(wanted):
        raise ProtocolError(GENERAL, f"{len(times)} times came for {len(wanted)} songs; give one for each.")
    if call.asked.text("submission", "true").lower() == "false" or not call.service.settings.plays:
        for song_id in wanted:
            call.song(song_id)
        return {}
    if len(wanted) <= MOST_AT_ONCE:  # more are refused as such
        spend(call.service.play_limit, call.request, "plays", len(wanted))
    now = time.time()
    played = [
        (song_number(song_id), now if when is None else when / 1000) for song_id, when in zip_longest(wanted, times)
    ]
    call.service.library.played.note_all(played, call.user if call.asked.text("u") else ME)
    return {}


def _nothing(name: str) -> Method:
    """Return a method that answers with an empty list: of what players ask for and nothing here has."""
    return lambda _call: {name: {}}


def _user(call: Call) -> dict[str, Any]:
    keeps = {"scrobblingEnabled": call.service.settings.plays}
    may = {**keeps, **dict.fromkeys(_MAY, True), **dict.fromkeys(_MAY_NOT, False)}
    return {"username": call.user, **may, "folder": [FOLDER]}


def _scan_status(call: Call) -> dict[str, Any]:
    try:
        count = len(call.snapshot.space.songs)
    except EmptyLibraryError:
        count = 0
    return {"scanning": _scans(call), "count": count}


def _scans(call: Call) -> bool:
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
    "scrobble": scrobble,
    "getNowPlaying": _nothing("nowPlaying"),
    "getStarred": _nothing("starred"),
    "getStarred2": _nothing("starred2"),
    "getPodcasts": _nothing("podcasts"),
    "getNewestPodcasts": _nothing("newestPodcasts"),
    "getInternetRadioStations": _nothing("internetRadioStations"),
    "getBookmarks": _nothing("bookmarks"),
    "getShares": _nothing("shares"),
    "getVideos": _nothing("videos"),
    "getPlayQueue": ping,  # the protocol's way to say that there is none
}
