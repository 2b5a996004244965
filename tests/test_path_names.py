"""Artist, title, album and year from paths: one table of folder layouts that people use."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio.tags import Tags, guess_from_path
from nearsong.names import clean_text
from nearsong.path_names import PathNames, names_in_path

LAYOUTS = [
    # Artist/Album/NN Title
    ("Artist/Album/01 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/01. Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/01 Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/1-01 Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/01-title.mp3", ("Artist", "title", "Album", None)),
    ("Artist/Album/3. Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/12 Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/01 - Title - Live at Home.mp3", ("Artist", "Title - Live at Home", "Album", None)),
    ("Artist/Album/Artist - Album - 03 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Title.mp3", ("Artist", "Title", "", None)),
    ("Album/01 - Title.mp3", ("", "Title", "Album", None)),
    ("AC-DC/Back in Black/01 - Hells Bells.mp3", ("AC-DC", "Hells Bells", "Back in Black", None)),
    ("Black Sabbath/Vol. 4/01 Wheels of Confusion.mp3", ("Black Sabbath", "Wheels of Confusion", "Vol. 4", None)),
    # years
    ("Artist/Album (2001)/01 - Title.mp3", ("Artist", "Title", "Album", 2001)),
    ("Artist/[2001] Album/01 - Title.mp3", ("Artist", "Title", "Album", 2001)),
    ("Artist/2001 - Album/01 - Title.mp3", ("Artist", "Title", "Album", 2001)),
    # Artist - Album/NN - Title
    ("Artist - Album/01 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist - Album (2001)/01 - Title.mp3", ("Artist", "Title", "Album", 2001)),
    ("Artist - 2001 - Album/01 - Title.mp3", ("Artist", "Title", "Album", 2001)),
    ("Music/Nina Simone - Pastel Blues/08 Sinnerman.mp3", ("Nina Simone", "Sinnerman", "Pastel Blues", None)),
    # various artists
    ("V.A./Hits/04 Porcelain.mp3", ("", "Porcelain", "Hits", None)),
    ("V.A. - Hits/04 Porcelain.mp3", ("", "Porcelain", "Hits", None)),
    ("VA/Hits/04 Moby - Porcelain.mp3", ("Moby", "Porcelain", "Hits", None)),
    ("Various Artists/Hits/04 Moby - Porcelain.mp3", ("Moby", "Porcelain", "Hits", None)),
    ("Various Artists/Hits/04 Porcelain.mp3", ("", "Porcelain", "Hits", None)),
    ("VV.AA/Hits/04 Porcelain.mp3", ("", "Porcelain", "Hits", None)),
    ("Verschiedene Interpreten/Hits/04 Porcelain.mp3", ("", "Porcelain", "Hits", None)),
    ("Compilations/Hits/04 Porcelain.mp3", ("", "Porcelain", "Hits", None)),
    ("Unknown Artist/Unknown Album/04 Porcelain.mp3", ("", "Porcelain", "Unknown Album", None)),
    # flat
    ("Artist - Title.mp3", ("Artist", "Title", "", None)),
    ("Artist \u2013 Title.mp3", ("Artist", "Title", "", None)),
    ("01 - Artist - Title.mp3", ("Artist", "Title", "", None)),
    ("Artist - Title - Live.mp3", ("Artist", "Title - Live", "", None)),
    ("Artist - Album - 03 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("Title.mp3", ("", "Title", "", None)),
    ("01 Title.mp3", ("", "Title", "", None)),
    # discs
    ("Artist/Album/CD1/01 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/CD 2/1-08 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("Artist/Album/Disc III/08 Title.mp3", ("Artist", "Title", "Album", None)),
    # underscores
    ("Artist/Album/01_Some_Title.mp3", ("Artist", "Some Title", "Album", None)),
    ("Nina_Simone_-_Sinnerman.mp3", ("Nina Simone", "Sinnerman", "", None)),
    # numbers that belong to the title
    ("99 Luftballons.mp3", ("", "99 Luftballons", "", None)),
    ("Nena/99 Luftballons.mp3", ("Nena", "99 Luftballons", "", None)),
    ("Nena/Nena/99 Luftballons.mp3", ("Nena", "99 Luftballons", "Nena", None)),
    ("Nena/Nena/03 99 Luftballons.mp3", ("Nena", "99 Luftballons", "Nena", None)),
    ("7 Seconds.mp3", ("", "7 Seconds", "", None)),
    ("9-5.mp3", ("", "9-5", "", None)),
    ("1999.mp3", ("", "1999", "", None)),
    ("Smashing Pumpkins/Mellon Collie/1979.mp3", ("Smashing Pumpkins", "1979", "Mellon Collie", None)),
    ("01.mp3", ("", "01", "", None)),
    # other alphabets
    ("Кино/Группа крови (1988)/01 - Группа крови.mp3", ("Кино", "Группа крови", "Группа крови", 1988)),
    ("中島みゆき/寒水魚/03 悪女.flac", ("中島みゆき", "悪女", "寒水魚", None)),
    ("Sigur R\u006f\u0301s/Von/02 Do\u0308gun.mp3", ("Sigur R\u00f3s", "D\u00f6gun", "Von", None)),
    # folders of a collection
    ("/home/me/Music/Artist/Album/01 - Title.mp3", ("Artist", "Title", "Album", None)),
    ("/home/me/Music/Title.mp3", ("", "Title", "", None)),
    ("/home/me/Title.mp3", ("", "Title", "", None)),
    ("/Users/me/Downloads/Title.mp3", ("", "Title", "", None)),
    ("../../Title.mp3", ("", "Title", "", None)),
    # Windows
    ("..\\Nina Simone\\Pastel Blues\\08 Sinnerman.mp3", ("Nina Simone", "Sinnerman", "Pastel Blues", None)),
    ("C:\\Music\\03 - Nena - 99 Luftballons.mp3", ("Nena", "99 Luftballons", "", None)),
    # URLs
    ("file:///home/ann/Music/Bj%C3%B6rk/Post/05%20J%C3%B3ga.mp3", ("Björk", "Jóga", "Post", None)),
    ("file:///C:/Music/Bj%C3%B6rk/Post/05%20J%C3%B3ga.mp3", ("Björk", "Jóga", "Post", None)),
    ("http://example.org/music/stream.mp3", ("", "stream", "", None)),
    # without an ending, and next to nothing
    ("Mr. Oizo/Flat Beat", ("Mr. Oizo", "Flat Beat", "", None)),
    ("AC/DC.mp3", ("AC", "DC", "", None)),
    (".mp3", ("", ".mp3", "", None)),
    ("\x07.mp3", ("", "", "", None)),
    ("", ("", "", "", None)),
]


@pytest.mark.parametrize(("path", "names"), LAYOUTS)
def test_a_path_is_read_as_a_person_would(path, names):
    assert names_in_path(path) == PathNames(*names)


def test_the_scan_reads_paths_in_the_same_way():
    for path, (artist, title, album, year) in LAYOUTS:
        assert guess_from_path(path) == Tags(artist, title or "?", album, year=year)


def test_folders_above_the_music_folder_are_ignored():
    path = "/srv/stuff/Artist/Album/01 - Title.mp3"
    assert names_in_path(path, "/srv/stuff") == PathNames("Artist", "Title", "Album")
    assert names_in_path(path, "/srv/stuff/Artist/Album") == PathNames("", "Title")
    assert names_in_path(path, "/elsewhere") == PathNames("Artist", "Title", "Album")


@given(st.lists(st.text(max_size=12), min_size=1, max_size=5))
@settings(max_examples=200)
def test_any_path_gives_clean_texts_and_a_scanned_song_a_title(parts):
    path = "/".join(parts)
    names = names_in_path(path)
    for text in (names.artist, names.title, names.album):
        assert clean_text(text) == text
    assert guess_from_path(path).title
