"""Methods for bookmarks: where the user wants to go on in a long song, in any player."""

from typing import Any

from nearsong.web.http.rate_limits import spend
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import NOT_FOUND, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number
from nearsong.web.subsonic.records import timestamp


def get_bookmarks(call: Call) -> dict[str, Any]:
    """List the bookmarks of the user, the latest change first; those of missing files are left out."""
    saved = {one.song_id: one for one in call.service.library.bookmarks.of(call.listener)}
    songs = call.known_songs(saved) if saved else []  # perhaps there is no song either
    listed = [
        {
            "position": saved[song.id].position,
            "username": call.user,
            "comment": saved[song.id].comment or None,
            "created": timestamp(saved[song.id].created),
            "changed": timestamp(saved[song.id].changed),
            "entry": call.records.song(song),
        }
        for song in songs
    ]
    return {"bookmarks": {"bookmark": listed}}


def create_bookmark(call: Call) -> dict[str, Any]:
    """Set the bookmark of a song, in milliseconds; one that is there moves."""
    song = call.song(call.parameters.require("id"))
    position = parse_integer("position", call.parameters.require("position"))
    spend(call.service.play_limit, call.request, "changes")
    call.service.library.bookmarks.put(song.id, position, call.listener, call.parameters.text("comment"))
    return {}


def delete_bookmark(call: Call) -> dict[str, Any]:
    """Remove the bookmark of a song."""
    song_id = song_number(call.parameters.require("id"))
    spend(call.service.play_limit, call.request, "changes")
    if not call.service.library.bookmarks.remove(song_id, call.listener):
        raise ProtocolError(NOT_FOUND, f"song {song_id} has no bookmark of yours.")
    return {}


METHODS: dict[str, Method] = {"getBookmarks": get_bookmarks}

WRITING_METHODS: dict[str, Method] = {"createBookmark": create_bookmark, "deleteBookmark": delete_bookmark}
