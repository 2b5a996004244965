"""Compile all that numba compiles before the tests begin: ``python tests/warm_up.py``.

What is compiled is stored next to the source. Without this the first tests of every worker, and the programs that
they start, compile the same functions at the same time.
"""

import tempfile
from pathlib import Path

import music_library
from nearsong.library import Library

TIMES = {"iso.csv": ("2020-01-01T10:00:00Z", "2020-01-02 11:30:00"), "unix.csv": ("1577872800", "1577961000")}
"""Histories with times, which are read by functions of their own."""


def main() -> None:
    """Scan a small library with all default encoders, import listens, and train with all methods."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        music_library.make_music(folder / "music")
        with Library.open(folder / "library.sqlite") as library:
            library.scan(folder / "music", workers=1)
            library.import_listens(music_library.write_listens(folder / "listens.csv"))
            for file, times in TIMES.items():
                rows = [f"{number},Band A0,Song 0,{time}" for number, time in enumerate(times)]
                (folder / file).write_text("\n".join(["user,artist,title,timestamp", *rows]) + "\n")
                library.import_listens(folder / file)
            library.train()
            library.map(folder / "map.html")


if __name__ == "__main__":
    main()
