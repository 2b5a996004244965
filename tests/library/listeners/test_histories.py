"""The histories of a library: who listens to whom, artists that the library does not have among them."""

import csv

import numpy as np

from nearsong.audio.tags import Tags
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.importing import import_listens
from nearsong.library.store import ScannedFile

PLAYS = {
    "anna": ["Can", "Neu!", "Björk", "Rare"],
    "bob": ["Can", "neu!", "BJORK", "Faust"],
    "eve": ["Faust", "Neu!", "Bjork"],
    "ida": ["Faust", "Can"],
}


def test_every_column_has_the_name_of_the_artist_its_listeners_play(store, tmp_path):
    with store.writing() as connection:
        for i, artist in enumerate(["Faust", "Can"]):
            tags = Tags(artist=artist, title=f"song {i}")
            song = ScannedFile(path=f"/{i}.mp3", size=1, modified=1, content=str(i), tags=tags, seconds=9.0)
            store.songs.put(connection, song)
    with open(tmp_path / "listens.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "artist", "plays"])
        rows.writerows([user, artist, 50] for user, artists in PLAYS.items() for artist in artists)
    import_listens(store, [tmp_path / "listens.csv"])
    histories = Histories(store)
    listening = histories.listening_to_all()
    names = histories.artist_names(listening)
    n_listeners = np.asarray(listening.all_plays.sum(axis=0)).ravel()
    assert dict(zip(names, n_listeners.tolist(), strict=True)) == {"Faust": 3, "Can": 3, "Neu!": 3, "Björk": 3}
    assert names[:2] == histories.catalogue.artists
