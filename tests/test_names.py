"""Names and the keys they are compared by."""

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nearsong.names import artist_key, primary_artist, title_key

# pieces that the rules look at, put together at random
PIECES = (
    "Song_the_(_)_[_]_ - _ _feat._feat_ft_Featuring_of_Remaster_Remastered_2011_Live_Mono_/_;_\\_|_6_pt._&_&amp_É_мир"
    "_歌_（_）_–_!_\x00_\n_A_b_,"
)
LISTS = st.lists(st.sampled_from(PIECES.split("_")), max_size=9)
NAMES = st.one_of(LISTS.map("".join), LISTS.map(" ".join), st.text())


def artist_key_letter_by_letter(name):
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).lower())
    words = re.sub(r"[-\u2010-\u2015\u2212]", " ", plain).replace("&", " and ")
    remaining = "".join(letter for letter in words if letter.isalnum() or letter.isspace())
    return re.sub(r"^(the )+(?=.)", "", " ".join(remaining.split())) or " ".join(plain.split())


# Artists


@given(NAMES)
@settings(max_examples=400)
@example("\x1c\x85-")
@example("The the THE x")
def test_the_quick_way_to_an_artists_key_changes_no_key(name):
    assert artist_key(name) == artist_key_letter_by_letter(name)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Santana feat. Rob Thomas", "Santana"),
        ("Santana Feat Rob Thomas", "Santana"),
        ("Santana ft. Rob Thomas", "Santana"),
        ("Santana ft.Rob Thomas", "Santana"),
        ("Santana Featuring Rob Thomas & Others", "Santana"),
        ("Santana (feat. Rob Thomas)", "Santana"),
        ("Santana [Ft Rob Thomas]", "Santana"),
        ("Miles Davis; John Coltrane", "Miles Davis"),
        ("Miles Davis;John Coltrane", "Miles Davis"),
        ("Miles Davis / John Coltrane", "Miles Davis"),
        ("Miles Davis // John Coltrane", "Miles Davis"),
        ("Сплин; БИ-2", "Сплин"),
        ("初音ミク feat. 鏡音リン", "初音ミク"),
        ("  Björk ", "Björk"),
        ("; Björk", "Björk"),
    ],
)
def test_guests_and_second_artists_are_cut_off(name, first):
    assert primary_artist(name) == first


@pytest.mark.parametrize(
    "name",
    [
        "Earth, Wind & Fire",
        "Tyler, The Creator",
        "AC/DC",
        "Simon & Garfunkel",
        "Simon &amp; Garfunkel",
        "Crosby, Stills, Nash and Young",
        "Featuring Nobody",
        "Feat. Nobody",
        "6 ft Deep",
        "Daft Punk",
        "Defeater",
        "浜田麻里",
        "/",
        "",
    ],
)
def test_names_that_only_look_like_several_artists_stay_undivided(name):
    assert primary_artist(name) == name


@given(NAMES)
@settings(max_examples=300)
@example("A; feat. B; C")
def test_a_primary_artist_is_one_artist_and_a_piece_of_the_name(name):
    first = primary_artist(name)
    assert first in name
    assert first == first.strip()
    assert bool(first) == bool(name.strip())
    assert primary_artist(first) == first


# Titles


@pytest.mark.parametrize(
    "title",
    [
        "Heart of Gold",
        "  heart  of GOLD",
        "Heart of Gold!",
        "Heart-of-Gold",
        "heart_of_gold_(remastered)",
        "Héart of Gold",
        "Heart of Gold (Remastered)",
        "Heart of Gold (Remastered 2011)",
        "Heart of Gold (2011 Remastered Version)",
        "Heart of Gold (2011 Digital Remaster)",
        "Heart of Gold (24-Bit Remastered)",
        "Heart of Gold (50th Anniversary Edition Remaster)",
        "Heart of Gold - 2009 Remaster",
        "Heart of Gold \u2013 Remastered 2009",
        "Heart of Gold - Mono / Remastered",
        "Heart of Gold [Mono]",
        "Heart of Gold (Mono Version)",
        "Heart of Gold (Stereo Mix)",
        "Heart of Gold (Album Version)",
        "Heart of Gold [Explicit]",
        "Heart of Gold (Explicit Album Version)",
        "Heart of Gold (Bonus Track)",
        "Heart of Gold (Japanese Bonus Track)",
        "Heart of Gold (1972)",
        "Heart of Gold - 1972",
        "Heart of Gold (feat. James Taylor, Linda Ronstadt)",
        "Heart of Gold feat. James Taylor",
        "Heart of Gold ft James Taylor",
        "Heart of Gold [Featuring James Taylor]",
        "Heart of Gold（feat. James Taylor）",
        "Heart of Gold (feat. James Taylor) [Remastered] - 2009 Remaster",
        "Heart of Gold (Remastered",
    ],
)
def test_releases_of_a_recording_share_a_key(title):
    assert title_key(title) == "heart of gold"


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Song (Live)", "song live"),
        ("Song [Live / Remastered]", "song live"),
        ("Song - Live at Wembley - Remastered 2011", "song live at wembley"),
        ("Song (Live, 1999)", "song live 1999"),
        ("Song feat. Someone (Live)", "song live"),
        ("Song (feat. Someone) [Other Remix]", "song other remix"),
        ("Song ft Someone - Other Remix", "song other remix"),
        ("Song (Radio Edit)", "song radio edit"),
        ("Song - Acoustic", "song acoustic"),
        ("Song (Instrumental)", "song instrumental"),
        ("Song (Demo)", "song demo"),
        ("Song (Single Version)", "song single version"),
        ("Song (2018 Mix)", "song 2018 mix"),
        ("Song (Remixed and Remastered)", "song remixed and remastered"),
        ("Song (AC/DC Cover)", "song acdc cover"),
        ("Song, Pt. 2", "song part 2"),
        ("Song, Part 2", "song part 2"),
        ("(I Can't Get No) Satisfaction - Mono", "i cant get no satisfaction"),
        ("The End", "the end"),
        ("Rock & Roll", "rock and roll"),
    ],
)
def test_recordings_keep_what_distinguishes_them(title, key):
    assert title_key(title) == key


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("1999", "1999"),
        ("Stereo", "stereo"),
        ("Remastered", "remastered"),
        ("(Remastered)", "remastered"),
        ("(feat. X)", "feat x"),
        ("Bonus Track", "bonus track"),
        ("A Feat of Strength", "a feat of strength"),
        ("6 ft Under", "6 ft under"),
        ("Опт", "опт"),
        ("Группа крови", "группа крови"),
        ("さくら", "さくら"),
        ("???", "???"),
        ("_", "_"),
        ("(...)", "(...)"),
        ("", ""),
        (" \t", ""),
    ],
)
def test_titles_that_only_look_like_notes_on_a_release_stay(title, key):
    assert title_key(title) == key


@given(NAMES)
@settings(max_examples=400)
@example("(feat b) (feat c)")
@example("a feat - feat b")
@example("great-feat x")
@example("a feat of feat b")
@example("p.t.")
def test_the_title_key_of_a_title_key_is_itself(title):
    key = title_key(title)
    assert title_key(key) == key
    assert key == " ".join(key.split())
    assert bool(key) == bool(title.strip())
