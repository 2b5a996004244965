"""Songs for the map's page, with names that try to break out of it."""

import numpy as np

from nearsong.library.records import Song

NASTY = [
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "$data ${title} $$ {{data}} $& \\1",
    "quotes \" and ' and & and \\ and \u2028 and \x00",
    "half a character \udcff",
    "\u202eright to left \u05d0\u05d1",
    "\n line \r\n breaks\t",
    "",
    "x" * 5000,
]


def song(i, title="", artist="Anna", genre="folk", year=1999):
    return Song(
        id=i,
        path=f"/music/{i}.ogg",
        artist=artist,
        title=title or f"Song {i}",
        album="An album",
        genre=genre,
        year=year,
        seconds=61.4,
        artist_key=artist.casefold(),
    )


def invented_songs(n=60):
    """Songs of three artists in a row across the map, and who is nearest: the songs next to them."""
    songs = [
        song(100 + i, f"Tune {i}", f"Artist {'ABC'[i % 3]}", ["folk", "jazz"][i % 2], 1970 + i) for i in range(n)
    ]
    positions = np.column_stack([np.linspace(0.02, 0.98, n), 0.5 + 0.3 * np.sin(np.arange(n) / 8)])
    embeddings = np.arange(n)[:, None]
    order = np.argsort(np.abs(embeddings - embeddings.T), axis=1, kind="stable")[:, 1:6]
    return songs, positions, order, np.abs(order - embeddings) / 10
