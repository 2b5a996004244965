"""Methods for the queue of a user, to go on with another player where one stopped."""

from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.library import PlayQueue
from nearsong.web.http.rate_limits import spend
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import MISSING_PARAMETER, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number
from nearsong.web.subsonic.records import timestamp

_NO_QUEUE = PlayQueue(songs=(), current=0, position=0, changed=0.0, changed_by="")


def save_play_queue(call: Call) -> dict[str, Any]:
    """Save the queue and the id of its current song, by default the first; without songs, remove it."""
    songs = _songs(call)
    current = song_number(call.parameters.text("current") or str(songs[0])) if songs else 0
    if songs and current not in songs:
        raise ProtocolError(
            MISSING_PARAMETER, f"current={current} is not one of the {len(songs)} songs of the queue."
        )
    return _save(call, songs, songs.index(current) if songs else 0)


def save_play_queue_by_index(call: Call) -> dict[str, Any]:
    """Save the queue and the index of its current song, which may occur twice; without songs, remove it."""
    songs = _songs(call)
    current = parse_integer("currentIndex", call.parameters.require("currentIndex")) if songs else 0
    if songs and not 0 <= current < len(songs):
        raise ProtocolError(
            MISSING_PARAMETER, f"currentIndex={current} is not one of the {len(songs)} songs, counted from 0."
        )
    return _save(call, songs, current)


def get_play_queue(call: Call) -> dict[str, Any]:
    """Return the queue with the id of its current song; one without songs if there is none."""
    queue = _queue(call)
    current = {"current": str(queue.songs[queue.current])} if queue.songs else {}
    return {"playQueue": {**current, **_record(call, queue)}}


def get_play_queue_by_index(call: Call) -> dict[str, Any]:
    """Return the queue with the index of its current song; one without songs if there is none."""
    queue = _queue(call)
    current = {"currentIndex": queue.current} if queue.songs else {}
    return {"playQueueByIndex": {**current, **_record(call, queue)}}


def _songs(call: Call) -> list[int]:
    songs = [song_number(song) for song in call.parameters.all("id")]
    for song in songs:
        call.snapshot.song(song)  # or it is not found
    return songs


def _save(call: Call, songs: list[int], current: int) -> dict[str, Any]:
    spend(call.service.play_limit, call.request, "changes")
    position = call.parameters.number("position", 0)
    player = call.parameters.text("c")
    call.service.library.play_queues.save(songs, current, position, call.listener, player)
    return {}


def _queue(call: Call) -> PlayQueue:
    """Return the queue; one without songs if there is none, or none of its songs exists."""
    try:
        known = call.snapshot.space.row_of
    except EmptyLibraryError:
        return _NO_QUEUE
    return call.service.library.play_queues.get(known, call.listener) or _NO_QUEUE


def _record(call: Call, queue: PlayQueue) -> dict[str, Any]:
    return {
        "position": queue.position,
        "username": call.user,
        "changed": timestamp(queue.changed),
        "changedBy": queue.changed_by,
        "entry": call.records.songs(call.known_songs(queue.songs)) if queue.songs else [],
    }


METHODS: dict[str, Method] = {"getPlayQueue": get_play_queue, "getPlayQueueByIndex": get_play_queue_by_index}

WRITING_METHODS: dict[str, Method] = {
    "savePlayQueue": save_play_queue,
    "savePlayQueueByIndex": save_play_queue_by_index,
}
