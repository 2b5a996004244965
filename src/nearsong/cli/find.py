"""``nearsong find``: the songs that a few words describe."""

from typing import Annotated

import typer

from nearsong.cli.common import (
    JsonOption,
    LibraryOption,
    open_library,
    output,
    print_json,
    print_line,
    song_table,
)
from nearsong.cli.filter_options import with_filters
from nearsong.library import Filters


@with_filters(without=("new_artists",))
def find(
    words: Annotated[list[str], typer.Argument(help='Words that describe music, such as "mellow acoustic".')],
    *,
    n: Annotated[int, typer.Option("--number", "-n", help="How many songs.")] = 10,
    filters: Filters,
    as_json: JsonOption = False,
    library: LibraryOption = None,
) -> None:
    """Find songs by words, such as "mellow acoustic" or "female vocalists without rap".

    The words are tags that an encoder with words hears in a song: `nearsong encoders install musicnn`. A percentage
    is the probability that listeners would use the tag; `more than` is the share of the library that the words fit
    less.

    For example:

        nearsong find mellow acoustic
        nearsong find "80s dance" --one-per-artist --json
    """
    with open_library(library) as lib:
        found = lib.snapshot().find(" ".join(words), n, filters)
    if as_json:
        rows = [
            {"song": item.song.as_json(), "probability": item.probability, "tags": item.tags, "share": item.share}
            for item in found.songs
        ]
        facts = {"wanted": found.wanted, "unwanted": found.unwanted, "unknown": found.unknown}
        print_json({**facts, "encoder": found.encoder, "songs": rows, "notes": found.notes()})
        return
    console = output()
    title = ", ".join([*found.wanted, *(f"not {tag}" for tag in found.unwanted)])
    columns = [(tag, [f"{item.tags[tag]:.0%}" for item in found.songs]) for tag in (*found.wanted, *found.unwanted)]
    columns.append(("more than", [f"{item.share:.0%}" for item in found.songs]))
    if found.songs:
        songs = [item.song for item in found.songs]
        console.print(song_table(f"Found by {found.encoder}: {title}", songs, columns, console.width))
    else:
        console.print("No songs match. Use fewer filters.")
    for note in found.notes():
        print_line(console, f"note: {note}")
