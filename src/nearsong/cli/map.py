"""``nearsong map``: the learned space as a page."""

from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, opened, out
from nearsong.cli.progress import showing


def map_(
    out_file: Annotated[Path, typer.Option("--out", help="Page to write.")] = Path("map.html"),
    seed: Annotated[int, typer.Option(help="Of the layout.")] = 0,
    library: LibraryOption = None,
) -> None:
    """Draw all songs as a map in one page that works offline: near is similar.

    A link such as map.html#select=17 opens it at song 17.

    For example: nearsong map --out map.html
    """
    with opened(library) as lib, showing() as show:
        page = lib.map(out_file, seed=seed, progress=show)
    out().print(f"Written: {page}. Open it in a browser.", markup=False, soft_wrap=True)
