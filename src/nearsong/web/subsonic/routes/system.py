"""Methods about the service: ping, extensions, users, scans."""

from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.names import listener_key
from nearsong.web.http.rate_limits import spend
from nearsong.web.jobs.scan import Scan
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_ALLOWED, NOT_FOUND, ProtocolError

EXTENSIONS = {
    name: [1]
    for name in (
        "apiKeyAuthentication",
        "formPost",
        "indexBasedQueue",
        "playbackReport",
        "songLyrics",
        "sonicSimilarity",
        "transcodeOffset",
    )
}
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
    "getPodcasts": _empty("podcasts"),
    "getNewestPodcasts": _empty("newestPodcasts"),
    "getInternetRadioStations": _empty("internetRadioStations"),
    "getShares": _empty("shares"),
    "getVideos": _empty("videos"),
}
