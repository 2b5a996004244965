"""``nearsong map``: the library as a map in one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, open_library, output, print_line
from nearsong.cli.progress import show_progress


def map_(
    out_file: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("map.html"),
    seed: Annotated[int, typer.Option(help="Random seed for the layout.")] = 0,
    library: LibraryOption = None,
) -> None:
    """Draw a map of the library as one HTML page that works offline.

    Similar songs are close together. A link such as map.html#select=17 opens the map at song 17.

    For example: nearsong map --out map.html
    """
    with open_library(library) as lib, show_progress() as progress:
        page = lib.map(out_file, seed=seed, progress=progress)
    print_line(output(), f"Written: {page}. Open it in a browser.")
