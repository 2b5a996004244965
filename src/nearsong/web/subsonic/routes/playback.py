"""Methods that tell what is played: plays with their times, what plays now, and how far; skips are noticed."""

import time
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from nearsong.errors import NoSuchSongError
from nearsong.library import MAX_PLAYS_PER_REQUEST, Song
from nearsong.listens.records import TrackName
from nearsong.web.http.rate_limits import spend
from nearsong.web.service.now_playing import NowPlaying, is_play, is_skip
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_FOUND, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number

STATES = ("starting", "playing", "paused", "stopped")
"""States of a player that reports how far it has come."""


def scrobble(call: Call) -> dict[str, Any]:
    """Record plays with their times, or note what plays now (submission=false); what was left early is a skip."""
    wanted = call.parameters.all("id") or [call.parameters.require("id")]
    times = [parse_integer("time", text) for text in call.parameters.all("time")]
    if len(times) > len(wanted):
        raise ProtocolError(GENERAL, f"{len(times)} times for {len(wanted)} songs; send one for each.")
    if call.parameters.text("submission", "true").lower() == "false" or not call.service.settings.plays:
        songs = [call.song(song_id) for song_id in wanted]
        if call.service.settings.plays:
            _note_skip(call, _note_now_playing(call, songs[-1]))
        return {}
    if len(wanted) <= MAX_PLAYS_PER_REQUEST:  # more are refused by the library
        spend(call.service.play_limit, call.request, "plays", len(wanted))
    now = time.time()
    played = [
        (song_number(song_id), now if milliseconds is None else milliseconds / 1000)
        for song_id, milliseconds in zip_longest(wanted, times)
    ]
    call.service.library.play_log.record_all(played, call.listener)
    call.service.now_playing.note_play(call.listener, {song for song, _ in played})
    return {}


def report_playback(call: Call) -> dict[str, Any]:
    """Note how far a song is played: half of it or four minutes are a play, one that is stopped early is a skip."""
    parameters = call.parameters
    if parameters.text("mediaType", "song") != "song":
        raise ProtocolError(NOT_FOUND, "only songs are played here; send mediaType=song.")
    song, state = call.song(parameters.require("mediaId")), parameters.require("state")
    if state not in STATES:
        raise ProtocolError(GENERAL, f"state={state[:40]!r} is unknown; use one of {', '.join(STATES)}.")
    parameters.require("positionMs")
    position = min(parameters.number("positionMs", 0) / 1000, song.seconds)
    if not call.service.settings.plays:
        return {}
    counts = parameters.text("ignoreScrobble", "false").lower() != "true"
    if state != "stopped":
        left = _note_now_playing(call, song, position)
        if counts:
            _note_skip(call, left)
    elif counts and position > 0 and is_skip(position, song.seconds):
        spend(call.service.play_limit, call.request, "skips")
        call.service.library.reactions.skip(song.id, call.listener, time.time() - position)
    if counts and state != "starting" and is_play(position, song.seconds):
        _record_play(call, song, position)
    if state == "stopped":
        call.service.now_playing.forget(call.listener)
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


def _note_now_playing(call: Call, song: Song, position: float = 0.0) -> NowPlaying | None:
    """Note what plays now; return what the player left for it."""
    track = TrackName(song.artist, song.title, song.recording_mbid, song.artist_mbid)
    return call.service.now_playing.put(
        call.listener,
        track,
        seconds=song.seconds,
        song_id=song.id,
        player=call.parameters.text("c")[:100],
        position=position,
    )


def _note_skip(call: Call, left: NowPlaying | None) -> None:
    """Record that a song was skipped, if it was left early."""
    if left is None or left.song_id is None or not left.is_skipped_at(call.service.now_playing.now()):
        return
    spend(call.service.play_limit, call.request, "skips")
    with suppress(NoSuchSongError):  # removed meanwhile
        call.service.library.reactions.skip(left.song_id, call.listener, left.since)


def _record_play(call: Call, song: Song, position: float) -> None:
    """Record that the current song was played, once."""
    board = call.service.now_playing
    playing = board.of(call.listener)
    if playing is not None and playing.song_id == song.id and playing.was_played:
        return
    spend(call.service.play_limit, call.request, "plays")
    call.service.library.play_log.record(song.id, call.listener, time.time() - position)
    board.note_play(call.listener, {song.id})  # only now: what was refused for a moment is reported again


METHODS: dict[str, Method] = {"getNowPlaying": get_now_playing}

WRITING_METHODS: dict[str, Method] = {"scrobble": scrobble, "reportPlayback": report_playback}
