"""What is missing teaches, in a real browser: no songs, no listens, nothing learned."""

import re
import shutil

import pytest
from playwright.sync_api import expect

import music_library
from browsing import LONG, READY, ask, drag_in, remember, rows
from nearsong.library import Library


@pytest.fixture
def empty(serving, tmp_path):
    """The address of a server without songs."""
    with Library.open(tmp_path / "library.sqlite") as library, serving(library) as address:
        yield address


@pytest.fixture
def scanned(scanned_file, serving, tmp_path):
    """The address of a server with songs of a few artists, and no listens."""
    library_file = shutil.copy(scanned_file, tmp_path / "library.sqlite")
    with Library.open(library_file) as library, serving(library) as address:
        yield address


def test_without_songs_every_view_leads_to_the_first_step(empty, visit):
    page = visit(empty, allow=("409",))
    expect(page.get_by_role("heading", name="Getting started")).to_be_visible()
    expect(page.locator(".command code")).to_have_text(
        re.compile(r"^nearsong scan --library \S+/library\.sqlite FOLDER$")
    )
    for hash in ("#/", "#/library/albums", "#/listen", "#/playlists", "#/song/1"):
        page = visit(empty, hash, allow=("409",))
        expect(page.get_by_role("heading", name="Getting started")).to_be_visible()
    page.goto(f"{empty}/#/map")
    expect(page.get_by_role("heading", name="No songs on the map yet")).to_be_visible()
    page.goto(f"{empty}/#/quality")
    expect(page.get_by_role("heading", name="No music yet")).to_be_visible()


def test_a_folder_typed_into_the_page_becomes_a_library(empty, visit, styled_music, tmp_path):
    shutil.copytree(styled_music / "Band A0", tmp_path / "music" / "Band A0")
    page = visit(empty, allow=("422", "409", "400"))
    folder = page.get_by_label("Folder on the computer that runs nearsong")
    folder.fill(str(tmp_path / "not there"))
    page.get_by_role("button", name="Scan", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Folder not found")
    seen = remember(page, ".progress-words")
    folder.fill(str(tmp_path / "music"))
    page.get_by_role("button", name="Scan", exact=True).click()
    expect(page.locator(READY["home"])).to_have_count(1, timeout=LONG)
    assert seen()
    assert ask(empty, "/status")["songs"] == 2


def test_without_listens_a_history_that_is_dropped_is_read_and_learning_comes_next(scanned, visit, tmp_path):
    history = music_library.write_listens(tmp_path / "plays.csv", n_users=30)
    page = visit(scanned, "#/")
    expect(page.get_by_role("heading", name="Next: import a listening history")).to_be_visible()
    expect(page.locator("#next-step code")).to_have_text(re.compile(r"^nearsong listens import --library \S+ FILE$"))
    drag_in(page, ".listens-drop", history, "text/csv")
    expect(page.get_by_role("heading", name="Next: train a model")).to_be_visible(timeout=LONG)
    expect(page.locator("#toasts")).to_contain_text("of the plays match songs in the library")
    assert ask(scanned, "/status")["users"] == 30
    page.get_by_role("link", name="Train").click()
    expect(page.get_by_text("no model is trained yet")).to_be_visible()
    expect(page.get_by_role("button", name="Train now")).to_be_enabled()


def test_without_a_model_a_song_shows_sound_alone_and_says_how_to_get_more(scanned, visit):
    song = ask(scanned, "/songs")["items"][0]
    page = visit(scanned, f"#/song/{song['id']}")
    expect(rows(page, "#near-native")).to_have_count(10)
    expect(page.locator("#near-learned")).to_have_count(0)
    note = page.get_by_role("complementary", name="How to improve these results")
    expect(note).to_contain_text("Import a listening history")
    expect(note.locator("code")).to_have_text(re.compile(r"^nearsong listens import --library \S+ FILE$"))
    page.goto(f"{scanned}/#/quality")
    expect(page.get_by_role("heading", name="No listening history yet")).to_be_visible()


def test_a_file_that_is_no_history_is_reported_in_plain_words(scanned, visit, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear listener,\nthis is no history.\n")
    page = visit(scanned, allow=("422", "415", "400"))
    drag_in(page, ".listens-drop", letter, "text/plain")
    expect(page.locator(".toast-bad")).to_be_visible(timeout=LONG)
    assert "Traceback" not in page.locator(".toast-bad").inner_text()
    expect(page.get_by_role("heading", name="Next: import a listening history")).to_be_visible()


def test_without_words_find_by_sound_gives_the_commands_that_get_them(visit, served):
    page = visit(served, "#/listen")
    words = page.get_by_role("region", name="Find by words")
    expect(words.locator("code")).to_have_text(
        re.compile(r"encoders install musicnn && nearsong encoders add .*musicnn && nearsong scan")
    )
    expect(words.get_by_role("textbox")).to_have_count(0)
