"""Methods for stars and ratings of songs, albums and artists, of the user who calls."""

from collections.abc import Callable
from typing import Any

from nearsong.library import MAX_PLAYS_PER_REQUEST, MAX_STARS, Album, Artist
from nearsong.web.http.rate_limits import spend
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import MISSING_PARAMETER, NOT_ALLOWED, ProtocolError
from nearsong.web.subsonic.parameters import parse_integer, song_number
from nearsong.web.subsonic.records import Record, Records


def star(call: Call) -> dict[str, Any]:
    """Give songs, albums and artists a star, which is a heart; all or none."""
    items = _items(call)
    for item in items:
        _check_folder(call, item)
    _check_recording(call, len(items))
    call.service.library.reactions.heart(items, call.listener)
    return {}


def unstar(call: Call) -> dict[str, Any]:
    """Remove stars; those of removed songs, albums and artists too."""
    items = _items(call)
    for item in items:
        if item not in call.reactions.hearts:
            _check_folder(call, item)
    _check_recording(call, len(items))
    call.service.library.reactions.remove_heart(items, call.listener)
    return {}


def set_rating(call: Call) -> dict[str, Any]:
    """Rate a song, an album or an artist with 1 to 5 stars; 0 removes the rating."""
    (item,) = _parsed([call.parameters.require("id")])
    stars = parse_integer("rating", call.parameters.require("rating"))
    if not 0 <= stars <= MAX_STARS:
        raise ProtocolError(MISSING_PARAMETER, f"rating={stars} is out of range; send 1 to {MAX_STARS}, 0 for none.")
    if stars or item not in call.reactions.ratings:
        _check_folder(call, item)
    _check_recording(call, 1)
    log = call.service.library.reactions
    if stars:
        log.rate(item, stars, call.listener)
    else:
        log.remove_rating(item, call.listener)
    return {}


def get_starred(call: Call) -> dict[str, Any]:
    """List what the user has given a star, for players that browse by folder."""
    return {"starred": _starred(call, Records.artist_folder, Records.album_folder)}


def get_starred2(call: Call) -> dict[str, Any]:
    """List what the user has given a star, the latest first."""
    return {"starred2": _starred(call, Records.artist, Records.album)}


def _starred(
    call: Call, to_artist: Callable[[Records, Artist], Record], to_album: Callable[[Records, Album], Record]
) -> dict[str, list[Record]]:
    hearts = call.reactions.hearts
    if not hearts:  # perhaps there is no song either
        return {"artist": [], "album": [], "song": []}
    return {
        "artist": [to_artist(call.records, artist) for artist in call.known_artists(hearts)],
        "album": [to_album(call.records, album) for album in call.known_albums(hearts)],
        "song": call.records.songs(call.known_songs(hearts)),
    }


def _items(call: Call) -> list[int | str]:
    """Return all songs, albums and artists of a call; players that browse by folder send any of them as ``id``."""
    items = _parsed([item for name in ("id", "albumId", "artistId") for item in call.parameters.all(name)])
    if not items:
        raise ProtocolError(MISSING_PARAMETER, "the parameter id is missing; send id, albumId or artistId.")
    return items


def _parsed(ids: list[str]) -> list[int | str]:
    return [text if text.startswith(("al-", "ar-")) else song_number(text) for text in ids]


def _check_folder(call: Call, item: int | str) -> None:
    """Refuse an album or artist that is not there; the library checks songs."""
    if isinstance(item, str):
        if item.startswith("al-"):
            call.album(item)
        else:
            call.artist(item)


def _check_recording(call: Call, n_items: int) -> None:
    if not call.service.settings.plays:
        raise ProtocolError(NOT_ALLOWED, "this service records no stars and ratings; start it without --no-plays.")
    if n_items <= MAX_PLAYS_PER_REQUEST:  # more are refused by the library
        spend(call.service.play_limit, call.request, "changes", n_items)


METHODS: dict[str, Method] = {"getStarred": get_starred, "getStarred2": get_starred2}

WRITING_METHODS: dict[str, Method] = {"star": star, "unstar": unstar, "setRating": set_rating}
