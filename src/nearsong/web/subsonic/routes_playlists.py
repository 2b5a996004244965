"""Methods for the playlists that the library keeps; the page shows the same ones."""

import threading
from collections.abc import Sequence
from typing import Any

from nearsong.errors import NoSuchPlaylistError
from nearsong.library.records import Song
from nearsong.library.store import SavedPlaylist
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_ALLOWED, ProtocolError
from nearsong.web.subsonic.parameters import song_number, whole_number
from nearsong.web.subsonic.records import Record, moment, song_records

MOST_SONGS = 10_000
LONGEST_NAME = 200

_changing = threading.Lock()  # a change reads what is there first


def get_playlists(call: Call) -> dict[str, Any]:
    """List all playlists."""
    saved = call.service.library.playlists.list()
    return {"playlists": {"playlist": [_record(call, one, _songs(call, one)) for one in saved]}}


def get_playlist(call: Call) -> dict[str, Any]:
    """Return a playlist and its songs; those whose files are gone are left out."""
    return _whole(call, call.service.library.playlists.get(playlist_number(call.asked.need("id"))))


def create_playlist(call: Call) -> dict[str, Any]:
    """Keep a new playlist, or give one that is there other songs."""
    table = call.service.library.playlists
    songs = _checked_songs([song_number(song) for song in call.asked.all("songId")])
    if "playlistId" not in call.asked:
        return _whole(call, table.add(_checked_name(call.asked.need("name")), songs))
    with _changing:
        saved = table.get(playlist_number(call.asked.need("playlistId")))
        name = _checked_name(call.asked.text("name") or saved.name)
        return _whole(call, table.replace(saved.id, name, songs, call.snapshot.space.row_of))


def update_playlist(call: Call) -> dict[str, Any]:
    """Rename a playlist, take songs out of it by their places, and add others at its end."""
    asked, table = call.asked, call.service.library.playlists
    added = [song_number(song) for song in asked.all("songIdToAdd")]
    removed = {whole_number("songIndexToRemove", place) for place in asked.all("songIndexToRemove")}
    with _changing:
        saved = table.get(playlist_number(asked.need("playlistId")))
        kept = _without(call, saved, removed)
        table.replace(saved.id, _checked_name(asked.text("name") or saved.name), _checked_songs([*kept, *added]))
    return {}


def delete_playlist(call: Call) -> dict[str, Any]:
    """Forget a playlist; its songs stay."""
    call.service.library.playlists.remove(playlist_number(call.asked.need("id")))
    return {}


def playlist_number(text: str) -> int:
    """Return the number of a playlist from its id."""
    digits = text.removeprefix("pl-")
    if digits == text or not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise NoSuchPlaylistError(f"there is no playlist {text[:40]!r}; getPlaylists lists them.")
    return int(digits)


def _without(call: Call, saved: SavedPlaylist, removed: set[int]) -> list[int]:
    """Return the songs of a playlist without some, by their places among those whose files are there."""
    known = call.snapshot.space.row_of
    kept: list[int] = []
    place = 0
    for song in saved.songs:
        if song not in known:
            kept.append(song)
            continue
        if place not in removed:
            kept.append(song)
        place += 1
    if wrong := [one for one in sorted(removed) if not 0 <= one < place]:
        raise ProtocolError(GENERAL, f"songIndexToRemove={wrong[0]} is not one of the {place} songs, counted from 0.")
    return kept


def _songs(call: Call, saved: SavedPlaylist) -> list[Song]:
    if not saved.songs:
        return []
    space = call.snapshot.space
    return [space.songs[space.row_of[song]] for song in saved.songs if song in space.row_of]


def _whole(call: Call, saved: SavedPlaylist) -> dict[str, Any]:
    songs = _songs(call, saved)
    entries = song_records(call.catalogue, songs) if songs else []
    return {"playlist": {**_record(call, saved, songs), "entry": entries}}


def _record(call: Call, saved: SavedPlaylist, songs: Sequence[Song]) -> Record:
    return {
        "id": f"pl-{saved.id}",
        "name": saved.name,
        "owner": call.user,
        "public": False,
        "songCount": len(songs),
        "duration": round(sum(song.seconds for song in songs)),
        "created": moment(saved.created),
        "changed": moment(saved.changed),
        "coverArt": f"pl-{saved.id}" if songs else None,
    }


def _checked_name(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise ProtocolError(GENERAL, f"the name has {len(name)} characters; {LONGEST_NAME} is the most.")
    return name


def _checked_songs(songs: list[int]) -> list[int]:
    if len(songs) > MOST_SONGS:
        raise ProtocolError(
            NOT_ALLOWED, f"a playlist of {len(songs):,} songs is too long; {MOST_SONGS:,} is the most."
        )
    return songs


METHODS: dict[str, Method] = {
    "getPlaylists": get_playlists,
    "getPlaylist": get_playlist,
    "createPlaylist": create_playlist,
    "updatePlaylist": update_playlist,
    "deletePlaylist": delete_playlist,
}
