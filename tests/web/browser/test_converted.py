"""Songs in formats that no browser knows, in a real browser: they play like all others, and can be sought in."""

from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

import foreign_music
from browsing import played, rows, sought_back
from nearsong.library import Library


@pytest.fixture(scope="module")
def foreign_served(foreign_file, serving, tmp_path_factory):
    """A server whose library has songs of foreign formats: (address, library)."""
    library_file = foreign_music.move_library(foreign_file, tmp_path_factory.mktemp("foreign"))
    with ExitStack() as stack:
        library = stack.enter_context(Library.open(library_file))
        yield stack.enter_context(serving(library)), library


def show_foreigners(page):
    page.locator("#search").fill("foreigners")
    expect(rows(page)).to_have_count(len(foreign_music.SONGS))


@pytest.mark.parametrize("title", ["AIFF", "Apple Lossless", "WMA"])
def test_a_song_of_a_foreign_format_plays(visit, foreign_served, title):
    page = visit(foreign_served[0])
    show_foreigners(page)
    row = rows(page).filter(has_text=title).first
    with page.expect_response(lambda answer: "/audio" in answer.url) as answer:
        row.locator(".row-play").click()
    assert answer.value.headers["content-type"] == "audio/flac"
    expect(page.locator("#player-title")).to_have_text(title)
    played(page, 1.0)
    length = page.evaluate("async () => (await import('/static/js/player/player.js')).player.duration")
    assert length == pytest.approx(foreign_music.SECONDS, abs=0.2)


def test_the_bar_seeks_in_it(visit, foreign_served):
    page = visit(foreign_served[0])
    show_foreigners(page)
    rows(page).filter(has_text="AIFF").first.locator(".row-play").click()
    played(page, 0.1)
    page.keyboard.press("Space")
    page.locator("#seek").focus()
    page.keyboard.press("End")
    played(page, foreign_music.SECONDS - 0.5)
    page.keyboard.press("Home")
    sought_back(page, 0.5)


def test_a_song_that_cannot_be_converted_is_reported(visit, foreign_served, tmp_path):
    address, library = foreign_served
    song = library.snapshot().song(foreign_music.number_of(library, "WMA"))
    with open(song.path, "rb") as file:
        complete = file.read()
    page = visit(address, allow=["422", "/audio"])
    show_foreigners(page)
    try:
        with open(song.path, "wb") as file:
            file.write(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11 and nothing else")
        rows(page).filter(has_text="WMA").first.locator(".row-play").click()
        expect(page.get_by_text("“WMA” cannot be played: the file is missing or cannot be read.")).to_be_visible()
    finally:
        with open(song.path, "wb") as file:
            file.write(complete)
