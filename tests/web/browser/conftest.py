"""What tests of the player share: a server that has a long song, and one in three parts."""

import shutil
from contextlib import ExitStack

import pytest
import soundfile

import music_library
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library
from playing import LONG_MINUTES, PART_SECONDS


@pytest.fixture(scope="session")
def long_served(trained_file, serving, tmp_path_factory):
    """A server that has a song longer than a browser loads ahead, and three short ones with ReplayGain."""
    folder = tmp_path_factory.mktemp("long")
    file = folder / "music" / "Long Player" / "The long one.wav"
    file.parent.mkdir(parents=True)
    soundfile.write(file, music_library.sound(0, 7, 60 * LONG_MINUTES), music_library.RATE)
    write_tags(file, Tags("Long Player", "The long one", "Long", "low hum", 2001))
    for number in (1, 2, 3):
        part = file.with_name(f"Part {number}.wav")
        soundfile.write(part, music_library.sound(0, 20 + number, PART_SECONDS), music_library.RATE)
        gains = {"track_gain": -6.02, "track_peak": 0.5, "album_gain": -12.04, "album_peak": 0.5}
        write_tags(part, Tags("Long Player", f"Part {number}", "Parts", "low hum", 2001, **gains))
    shutil.copy(trained_file, folder / "library.sqlite")
    with ExitStack() as stack:
        library = stack.enter_context(Library.open(folder / "library.sqlite"))
        library.scan(folder / "music", workers=1)
        yield stack.enter_context(serving(library))
