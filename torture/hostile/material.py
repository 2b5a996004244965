"""What the attacks with hostile files share: songs in every format, good songs, a library and its model."""

import json
from pathlib import Path

import soundfile

import music_library
from torture import material
from torture.attack import Workshop
from torture.hostile.songs import make_songs
from torture.warm.victim import Victim

GOOD_ENDINGS = ("flac", "ogg", "wav", "mp3")


def strangers(workshop: Workshop) -> Path:
    """Return a folder with songs, good songs and their vectors, a library and its model."""

    def make(folder: Path) -> None:
        for name in ("songs", "good"):
            (folder / name).mkdir()
        make_songs(folder / "songs")
        for number, ending in enumerate(GOOD_ENDINGS):
            sound = music_library.sound(number % 3, number)
            soundfile.write(folder / "good" / f"good {number}.{ending}", sound, music_library.RATE)
        task = {
            "do": "teach",
            "library": str(folder / "library.sqlite"),
            "music": str(material.music(workshop, 6)),
            "model": str(folder / "model.npz"),
            "good": str(folder / "good"),
        }
        vectors = Victim(task, module="torture.hostile.victim").wait()
        (folder / "vectors.json").write_text(json.dumps(vectors))

    return workshop.material("strangers", make)
