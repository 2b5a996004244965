"""Google Takeout's ``watch-history.json`` -> blocks of what was played with YouTube Music; videos are left out."""

from collections.abc import Iterator
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat, with_names
from nearsong.listens.json_records import NAMELESS, NOT_MUSIC, LeftOut, ListenRow, as_text, read_records
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile

_VERBS = ("Watched ", "Listened to ")
_TOPIC = " - Topic"


def read_youtube_music(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read what was played with YouTube Music."""
    yield from read_records(source, builder, user, watched_row)


def watched_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of what was watched, unless it is a video.

    >>> watched_row({"header": "YouTube Music", "title": "Watched Song", "titleUrl": "https://music.youtube.com/",
    ...              "subtitles": [{"name": "Ann - Topic"}], "time": "2023-01-31T12:34:00.000Z"})[:2]
    ('Ann', 'Song')
    """
    if record["header"] != "YouTube Music":
        return NOT_MUSIC
    title, time = as_text(record["title"]), record["time"]
    artist = as_text(record.get("subtitles")).removesuffix(_TOPIC)
    for verb in _VERBS:
        title = title.removeprefix(verb)
    if not artist.strip() or not record.get("titleUrl"):  # removed since, or an advertisement
        return NAMELESS
    return ListenRow(artist=artist, title=title, time=time)


def _refused_html(beginning: Beginning) -> str:
    if beginning.text.startswith("<") and "<html" in beginning.text.lower() and "YouTube" in beginning.text:
        return "is a history of YouTube as HTML; in Google Takeout choose JSON as the format of the history."
    return ""


YOUTUBE_MUSIC = ListenFormat(
    name="youtube-music",
    kind="events",
    read=read_youtube_music,
    matches=with_names("header", "title", "time"),
    needs=("header", "title", "time"),
    refusal=_refused_html,
)
