"""The cover that is drawn where a song has none."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.library.files.drawn_cover import placeholder


def contrast(colour: str) -> float:
    """Return how well white is read on a colour, as WCAG reckons."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_a_drawn_cover_is_plain_svg_that_can_be_read_whatever_the_names(artist, title):
    drawn = placeholder(artist, title)
    assert drawn.media_type == "image/svg+xml"
    assert drawn == placeholder(artist, title)
    root = ElementTree.fromstring(drawn.data)
    always = {"svg", "title", "defs", "linearGradient", "stop", "rect", "circle"}
    parts = {part.tag.removeprefix("{http://www.w3.org/2000/svg}") for part in root.iter()}
    assert parts - always in ({"path"}, {"text"})
    assert not any(name.startswith("on") or "href" in name for part in root.iter() for name in part.attrib)
    colours = [part.attrib["stop-color"] for part in root.iter() if part.tag.endswith("stop")]
    assert len(colours) == 2
    assert min(map(contrast, colours)) > 4.5


@pytest.mark.parametrize(
    ("artist", "title", "letters"),
    [
        ("The Beatles", "Help!", "B"),
        ("Miles Davis", "So What", "MD"),
        ("Crosby, Stills & Nash", "", "CS"),
        ("<script>alert(1)</script>", "", "S"),
        ("(hed) p.e.", "", "HP"),
        ("", "So What", "SW"),
        ("!!!", "<&>", "\u266a"),
        ("ßigmund", "", "S"),
        ("bjo\u0308rk", "", "B"),
        ("Élan \u00e9lan", "", "ÉÉ"),
        ("", "", "\u266a"),
    ],
)
def test_a_drawn_cover_has_the_initials(artist, title, letters):
    root = ElementTree.fromstring(placeholder(artist, title).data)
    assert [part.text for part in root.iter() if part.tag.endswith("title")] == [letters]
    drawn = [part.tag.rpartition("}")[2] for part in root.iter() if part.tag.endswith(("path", "text"))]
    assert drawn == (["text"] if letters == "\u266a" else ["path"] * len(letters))  # no font of the system


def test_an_artist_has_colours_of_its_own_and_a_title_shapes():
    one, other, third = placeholder("Aa", "x"), placeholder("Ab", "x"), placeholder("Aa", "y")
    assert len({one.data, other.data, third.data}) == 3

    def colours(picture):
        return [part.attrib.get("stop-color") for part in ElementTree.fromstring(picture.data).iter()]

    assert colours(one) == colours(third) != colours(other)
