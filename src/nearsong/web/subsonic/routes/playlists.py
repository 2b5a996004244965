"""Methods for playlists: the saved ones, the same as on the page, and those that are made for the listener."""

from collections.abc import Container, Sequence
from typing import Any

from nearsong.errors import EmptyLibraryError, NoSuchPlaylistError
from nearsong.library import SavedPlaylist, Song
from nearsong.web.service.made_playlists import MADE_IDS, MadePlaylist, made_playlists
from nearsong.web.service.own_playlists import check_change, visible_playlist, visible_playlists
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_ALLOWED, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number
from nearsong.web.subsonic.records import Record, timestamp

MAX_SONGS = 10_000
MAX_NAME_CHARACTERS = 200


def get_playlists(call: Call) -> dict[str, Any]:
    """List all playlists, first those that are made for the listener."""
    made = [_made_record(call, playlist) for playlist in _made(call)]
    saved = visible_playlists(call.service, call.caller)
    return {"playlists": {"playlist": [*made, *(_record(call, one, _songs(call, one)) for one in saved)]}}


def get_playlist(call: Call) -> dict[str, Any]:
    """Return a playlist and its songs; those with missing files are left out."""
    wanted = call.parameters.require("id")
    if is_made(wanted):
        made = made_playlist(call, wanted)
        return {"playlist": {**_made_record(call, made), "entry": call.records.songs(made.songs)}}
    return _with_songs(call, visible_playlist(call.service, call.caller, playlist_number(wanted)))


def create_playlist(call: Call) -> dict[str, Any]:
    """Save a new playlist, or replace the songs of an existing one."""
    table = call.service.library.playlists
    songs = _checked_songs([song_number(song) for song in call.parameters.all("songId")])
    if "playlistId" not in call.parameters:
        return _with_songs(call, table.add(_checked_name(call.parameters.require("name")), songs, call.caller.owner))
    playlist_id = playlist_number(call.parameters.require("playlistId"))
    check_change(call.service, call.caller, playlist_id)
    name = _checked_name(call.parameters.text("name"))
    shown = call.snapshot.space.row_of
    return _with_songs(call, table.edit(playlist_id, lambda saved: (name or saved.name, songs), shown))


def update_playlist(call: Call) -> dict[str, Any]:
    """Rename a playlist, remove songs by index, and append others."""
    parameters, table = call.parameters, call.service.library.playlists
    added = [song_number(song) for song in parameters.all("songIdToAdd")]
    removed = {parse_integer("songIndexToRemove", index) for index in parameters.all("songIndexToRemove")}
    name, known = _checked_name(parameters.text("name")), call.snapshot.space.row_of

    def change(saved: SavedPlaylist) -> tuple[str, list[int]]:
        return name or saved.name, _checked_songs([*_without(known, saved, removed), *added])

    playlist_id = playlist_number(parameters.require("playlistId"))
    check_change(call.service, call.caller, playlist_id)
    table.edit(playlist_id, change)
    return {}


def delete_playlist(call: Call) -> dict[str, Any]:
    """Delete a playlist; its songs stay."""
    playlist_id = playlist_number(call.parameters.require("id"))
    check_change(call.service, call.caller, playlist_id)
    call.service.library.playlists.remove(playlist_id)
    return {}


def is_made(text: str) -> bool:
    """Return whether an id is that of a playlist that is made for each listener."""
    return text.removeprefix("pl-") in MADE_IDS and text.startswith("pl-")


def made_playlist(call: Call, text: str) -> MadePlaylist:
    """Return a playlist that is made for the listener, by its id."""
    found = next((playlist for playlist in _made(call) if f"pl-{playlist.id}" == text), None)
    if found is None:
        raise NoSuchPlaylistError(f"playlist not found: {text!r}; it is there once you have played something.")
    return found


def playlist_number(text: str) -> int:
    """Return the id of a saved playlist as a number."""
    if is_made(text):
        raise ProtocolError(NOT_ALLOWED, "this playlist is made for you and cannot be changed; save a copy of it.")
    digits = text.removeprefix("pl-")
    if digits == text or not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise NoSuchPlaylistError(f"playlist not found: {text[:40]!r}; getPlaylists lists them.")
    return int(digits)


def _without(known: Container[int], saved: SavedPlaylist, removed: set[int]) -> list[int]:
    """Return the songs of a playlist without those at some indices, counted among songs whose files exist."""
    existing = [position for position, song in enumerate(saved.songs) if song in known]
    if wrong := [index for index in sorted(removed) if not 0 <= index < len(existing)]:
        raise ProtocolError(
            GENERAL, f"songIndexToRemove={wrong[0]} is not one of the {len(existing)} songs, counted from 0."
        )
    positions = {existing[index] for index in removed}
    return [song for position, song in enumerate(saved.songs) if position not in positions]


def _songs(call: Call, saved: SavedPlaylist) -> list[Song]:
    if not saved.songs:
        return []
    space = call.snapshot.space
    return [space.songs[space.row_of[song]] for song in saved.songs if song in space.row_of]


def _with_songs(call: Call, saved: SavedPlaylist) -> dict[str, Any]:
    songs = _songs(call, saved)
    entries = call.records.songs(songs) if songs else []
    return {"playlist": {**_record(call, saved, songs), "entry": entries}}


def _made(call: Call) -> Sequence[MadePlaylist]:
    try:
        return made_playlists(call.snapshot, call.listener)
    except EmptyLibraryError:
        return ()


def _made_record(call: Call, made: MadePlaylist) -> Record:
    created = timestamp(call.catalogue.created)
    return {
        "id": f"pl-{made.id}",
        "name": made.name,
        "comment": made.comment,
        "owner": call.user,
        "public": False,
        "songCount": len(made.songs),
        "duration": round(sum(song.seconds for song in made.songs)),
        "created": created,
        "changed": created,
        "coverArt": f"pl-{made.id}",
        "readonly": None if call.is_plain else True,
    }


def _record(call: Call, saved: SavedPlaylist, songs: Sequence[Song]) -> Record:
    return {
        "id": f"pl-{saved.id}",
        "name": saved.name,
        "owner": saved.owner or call.user,
        "public": call.caller.listener is not None and not saved.owner,
        "songCount": len(songs),
        "duration": round(sum(song.seconds for song in songs)),
        "created": timestamp(saved.created),
        "changed": timestamp(saved.changed),
        "coverArt": f"pl-{saved.id}" if songs else None,
        "readonly": None if call.is_plain else not call.caller.may_change(saved.owner),
    }


def _checked_name(name: str) -> str:
    if len(name) > MAX_NAME_CHARACTERS:
        raise ProtocolError(GENERAL, f"the name has {len(name)} characters; the maximum is {MAX_NAME_CHARACTERS}.")
    return name


def _checked_songs(songs: list[int]) -> list[int]:
    if len(songs) > MAX_SONGS:
        raise ProtocolError(NOT_ALLOWED, f"the playlist has {len(songs):,} songs; the maximum is {MAX_SONGS:,}.")
    return songs


METHODS: dict[str, Method] = {
    "getPlaylists": get_playlists,
    "getPlaylist": get_playlist,
}

WRITING_METHODS: dict[str, Method] = {
    "createPlaylist": create_playlist,
    "updatePlaylist": update_playlist,
    "deletePlaylist": delete_playlist,
}
