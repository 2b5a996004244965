"""Why a file that was sent gives no sound, or not all of it -> a line for whoever sent it; decoders are not named."""

import re

from nearsong.errors import AudioError, AudioTimeoutError, EmptyAudioError, TooShortAudioError

_UNREADABLE = {
    "is not audio": "it is not audio that can be read; check that it plays, or convert it to another format.",
    "holds silence": "it holds silence alone; there is nothing to compare.",
    "reading it takes more memory": "reading it takes more memory than there is; send a shorter piece of it.",
}
"""How reasons begin, and what they mean to people."""

_DAMAGED = re.compile(r"damaged \(.*\); (?P<used>[0-9.]+ s could be read and are used\.)", re.DOTALL)


def plain_reason(error: AudioError) -> str:
    """Return why a file cannot be used.

    >>> plain_reason(AudioError("x.mp3", "is not audio that can be read (FFmpeg: Invalid data); check it."))
    'it is not audio that can be read; check that it plays, or convert it to another format.'
    """
    if isinstance(error, EmptyAudioError):
        return "it is empty; copy or download it again."
    if isinstance(error, TooShortAudioError):
        return "it is too short to tell what it sounds like; send a longer piece."
    if isinstance(error, AudioTimeoutError):
        return "it takes too long to read; send a shorter piece, or convert it to another format."
    known = (words for start, words in _UNREADABLE.items() if error.reason.startswith(start))
    return next(known, "it cannot be read; convert it to another format.")


def plain_damage(damage: str) -> str:
    """Return what is wrong with a file that could be used.

    >>> plain_damage("damaged (FFmpeg: Invalid data; its end is missing); 12.5 s could be read and are used.")
    'it breaks off or is damaged; 12.5 s could be read and are used.'
    >>> plain_damage("it is longer than 30 minutes; so much from its start was heard.")
    'it is longer than 30 minutes; so much from its start was heard.'
    """
    found = _DAMAGED.fullmatch(damage)
    return damage if found is None else f"it breaks off or is damaged; {found['used']}"
