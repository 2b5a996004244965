"""A playlist in any format -> blocks: the playlist is a listener, each of its songs one play.

A song that the playlist names incompletely is named by the tags of its file, if the file exists, as in a scan;
otherwise by its displayed name ("Artist - Title"), and then by its path.
"""

import os
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice

from nearsong.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.playlists.playlist_format import DASH, PlaylistEntry, PlaylistFormat
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile
from nearsong.path_names import names_in_path

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def read_playlist(
    source: SourceFile, builder: BlockBuilder, user: str, format: PlaylistFormat
) -> Iterator[ListenBlock]:
    """Read a playlist; the listener is named after the playlist, or else after the file."""
    playlist = format.read(source)
    name = playlist.title or source.stem
    builder.begin(source.name, name, format.unit)
    entries = iter(playlist.entries)
    while batch := list(islice(entries, BATCH_ROWS)):
        artists, titles = zip(*(_artist_and_title(source, entry) for entry in batch), strict=True)
        yield from builder.add(
            Batch(
                artist=artists,
                title=titles,
                numbers=[entry.number for entry in batch],
                user=[name] * len(batch),
                recording_mbid=[entry.recording_mbid for entry in batch],
                artist_mbid=[entry.artist_mbid for entry in batch],
            )
        )
    builder.end()


def listen_format_of(playlist: PlaylistFormat) -> ListenFormat:
    """Return a playlist format as a format of listening histories."""

    def matches(beginning: Beginning) -> bool:
        if beginning.record:
            return playlist.matches_json(beginning.record)
        return bool(beginning.text) and playlist.matches_text(beginning.text, beginning.ending)

    return ListenFormat(
        name=playlist.name,
        kind="playlists",
        read=partial(read_playlist, format=playlist),
        matches=matches,
        endings=playlist.endings,
    )


def _artist_and_title(source: SourceFile, entry: PlaylistEntry) -> tuple[str, str]:
    artist, title = entry.artist.strip(), entry.title.strip()
    if artist and title:
        return artist, title
    if tags := _tags_of_file(source, entry.location):
        return tags
    first, *rest = DASH.split(entry.shown, maxsplit=1)
    if rest and (not artist or artist.lower() == first.lower()):
        return artist or first, title or rest[0]
    guess = names_in_path(entry.location)
    return artist or guess.artist, title or entry.shown or guess.title


def _tags_of_file(source: SourceFile, location: str) -> tuple[str, str] | None:
    """Return artist and title from the tags of an entry's file, if it exists and has an artist."""
    if source.file_names is None or source.member or not location or _URL.match(location):
        return None
    path = os.path.join(source.path.absolute().parent, location)
    if not os.path.isfile(path):  # also False for what cannot be a path
        return None
    artist, title = source.file_names(path)
    return (artist, title) if artist else None
