"""Methods about the service itself: that it answers, what it can do, who asks, scans; and what it does not keep."""

from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.web.limits import spend
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError

EXTENSIONS = {"apiKeyAuthentication": [1], "formPost": [1], "sonicSimilarity": [1]}
"""Of OpenSubsonic, with the versions of each."""

FOLDER = 1
"""All music is in one folder."""

_MAY = ("streamRole", "downloadRole", "playlistRole")
_MAY_NOT = (
    "scrobblingEnabled",
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
    """Take note that a song is played; it is not kept yet."""
    for song_id in call.asked.all("id") or [call.asked.need("id")]:
        call.song(song_id)
    return {}


def _nothing(name: str) -> Method:
    """Return a method that answers with an empty list: of what players ask for and nothing here has."""
    return lambda _call: {name: {}}


def _user(call: Call) -> dict[str, Any]:
    return {"username": call.user, **dict.fromkeys(_MAY, True), **dict.fromkeys(_MAY_NOT, False), "folder": [FOLDER]}


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
