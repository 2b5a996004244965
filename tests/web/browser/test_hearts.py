"""Hearts, "Less like this" and skips in a real browser."""

import shutil
from itertools import product

import httpx
from playwright.sync_api import Page, expect

from browsing import ask, in_turn, open_menu, played, remember, rows, serious, titles, too_wide, until
from library_store import store_of
from nearsong.library import Library
from nearsong.listens.records import Action


def told(file) -> list[tuple[Action, str]]:
    """What listeners told, and of which song."""
    with Library.open(file) as library, store_of(library) as store:
        return [(row.action, row.track.title) for row in store.reactions.all()]


def hearts(address: str) -> list[int]:
    return [heart["song_id"] for heart in ask(address, "/hearts")]


def heart(page: Page, row: int):
    return rows(page).nth(row).locator(".row-heart")


def test_a_heart_is_given_in_a_row_and_shows_wherever_the_song_is(own_server, visit):
    page = visit(own_server)
    expect(rows(page)).to_have_count(50)
    title = titles(rows(page))[1]
    song = int(rows(page).nth(1).get_attribute("data-song-id"))
    rows(page).nth(1).hover()
    expect(heart(page, 1)).to_have_attribute("aria-pressed", "false")
    expect(heart(page, 1)).to_have_attribute("aria-label", f"Heart {title}")
    heart(page, 1).click()
    expect(heart(page, 1)).to_have_attribute("aria-pressed", "true")
    until(page, lambda: hearts(own_server) == [song])
    expect(page.locator("#player")).to_be_hidden()  # a heart does not play the song
    page.reload()
    expect(heart(page, 1)).to_have_attribute("aria-pressed", "true")
    expect(heart(page, 0)).to_have_attribute("aria-pressed", "false")
    rows(page).nth(1).locator(".row-title").click()
    expect(page.locator("#song-heart")).to_have_attribute("aria-pressed", "true")
    page.locator("#song-heart").click()
    expect(page.locator("#song-heart")).to_have_attribute("aria-pressed", "false")
    until(page, lambda: hearts(own_server) == [])


def test_the_bar_and_the_key_h_heart_the_song_that_plays(own_server, visit):
    page = visit(own_server, "#/library?search=song%20350")
    expect(rows(page)).to_have_count(1)
    song = int(rows(page).first.get_attribute("data-song-id"))
    rows(page).first.locator(".row-play").click()
    bar = page.locator("#player-heart")
    expect(bar).to_have_attribute("aria-pressed", "false")
    bar.focus()
    page.keyboard.press("Enter")
    expect(bar).to_have_attribute("aria-pressed", "true")
    expect(heart(page, 0)).to_have_attribute("aria-pressed", "true")
    until(page, lambda: hearts(own_server) == [song])
    page.get_by_role("heading", name="Library").focus()
    page.keyboard.press("h")
    expect(bar).to_have_attribute("aria-pressed", "false")
    until(page, lambda: hearts(own_server) == [])


def test_the_menu_gives_hearts_and_asks_for_less_like_this(own_server, visit, tmp_path):
    page = visit(own_server)
    expect(rows(page)).to_have_count(50)
    first, second = titles(rows(page))[:2]
    open_menu(rows(page).first)
    page.get_by_role("menuitem", name="Give a heart").click()
    expect(heart(page, 0)).to_have_attribute("aria-pressed", "true")
    open_menu(rows(page).first)
    expect(page.get_by_role("menuitem", name="Remove heart")).to_be_visible()
    page.keyboard.press("Escape")
    open_menu(rows(page).nth(1))
    page.get_by_role("menuitem", name="Less like this").click()
    expect(page.locator(".toast")).to_contain_text(f"Less like “{second}” from now on.")
    assert told(tmp_path / "library.sqlite") == [(Action.HEART, first), (Action.SKIP, second)]


def test_the_chip_hearts_lists_what_has_one_the_newest_first_and_home_leads_there(own_server, visit):
    page = visit(own_server)
    expect(rows(page)).to_have_count(50)
    wanted = titles(rows(page))[:3]
    for row in (1, 0, 2):
        rows(page).nth(row).hover()
        heart(page, row).click()
        expect(heart(page, row)).to_have_attribute("aria-pressed", "true")
    until(page, lambda: len(hearts(own_server)) == 3)
    chip = page.locator("#only-hearts")
    expect(page.locator(".genre-chips > *").first).to_have_text("Hearts")
    chip.click()
    expect(rows(page)).to_have_count(3)
    newest = [wanted[2], wanted[0], wanted[1]]
    assert titles(rows(page)) == newest
    expect(page.get_by_label("Sort by")).to_have_value("hearted")
    expect(page).to_have_url(f"{own_server}/#/library?hearts=1")
    page.reload()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(rows(page)).to_have_count(3)
    assert titles(rows(page)) == newest
    page.get_by_label("Sort by").select_option("artist")
    until(page, lambda: titles(rows(page)) == wanted)
    chip.click()
    expect(rows(page)).to_have_count(50)
    expect(page.get_by_label("Sort by")).to_have_value("artist")
    page.goto(f"{own_server}/#/")
    row = page.locator("#home-hearts")
    expect(row.locator(".tile-name")).to_have_text(newest)
    row.get_by_role("link", name="Your hearts: show all").click()
    expect(rows(page)).to_have_count(3)
    for song in hearts(own_server):
        httpx.delete(f"{own_server}/api/v1/songs/{song}/heart")
    page.reload()
    expect(page.locator("#result-count")).to_contain_text("No songs with a heart.")
    page.get_by_role("button", name="Show all songs").click()
    expect(rows(page)).to_have_count(50)
    expect(chip).to_have_attribute("aria-pressed", "false")


def test_a_menu_that_is_opened_before_the_hearts_are_there_gets_them(own_server, visit):
    page = visit.blank(own_server)
    held = []
    page.route("**/api/v1/hearts", lambda route: held.append(route))
    page.goto(f"{own_server}/#/library")
    expect(rows(page)).to_have_count(50)
    until(page, lambda: held)
    open_menu(rows(page).first)
    expect(page.get_by_role("menuitem", name="Play next")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Give a heart")).to_have_count(0)
    held[0].continue_()
    page.get_by_role("menuitem", name="Give a heart").click()
    expect(heart(page, 0)).to_have_attribute("aria-pressed", "true")


def test_a_heart_that_cannot_be_given_is_taken_back(own_server, visit):
    page = visit(own_server, allow=["503"])
    problem = '{"type": "urn:nearsong:busy", "title": "Busy", "status": 503, "detail": "the library is in use."}'
    page.route("**/api/v1/songs/*/heart", lambda route: route.fulfill(status=503, body=problem))
    expect(rows(page)).to_have_count(50)
    rows(page).first.hover()
    heart(page, 0).click()
    expect(page.locator(".toast")).to_contain_text("The library is in use.")
    expect(heart(page, 0)).to_have_attribute("aria-pressed", "false")


def test_a_song_left_early_is_a_skip_and_one_that_was_not_played_is_none(long_server, visit, tmp_path):
    page = visit(long_server, "#/library?search=long%20player")
    expect(rows(page)).to_have_count(3)
    reported: list[dict] = []
    page.on("request", lambda sent: reported.append(sent.post_data_json) if sent.url.endswith("/skips") else None)
    rows(page).first.locator(".row-play").click()
    played(page, 1.0)
    page.locator("#next").click()
    expect(page.locator("#player-title")).to_have_text("Long 2")
    until(page, lambda: told(tmp_path / "library.sqlite") == [(Action.SKIP, "Long 1")])
    assert 0.5 < reported[0]["seconds"] < 30
    page.locator("#play-toggle").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.reload()  # closing the page is no skip
    expect(page.locator("#player-title")).to_have_text("Long 2")
    page.locator("#next").click()  # it has not sounded since
    expect(page.locator("#player-title")).to_have_text("Long 3")
    page.locator("#previous").click()  # nor is going back
    page.wait_for_timeout(300)
    assert len(reported) == 1


def test_songs_that_end_by_themselves_are_not_skipped(own_server, visit, tmp_path):
    page = visit(own_server)
    expect(rows(page)).to_have_count(50)
    rows(page).first.locator(".row-play").click()  # songs here have two seconds
    until(page, lambda: ask(own_server, "/status")["played"] >= 2)
    page.keyboard.press(" ")
    assert told(tmp_path / "library.sqlite") == []


def test_a_song_that_cannot_be_played_is_not_skipped(own_server, visit, tmp_path):
    page = visit(own_server, allow=["404", "audio"])
    expect(rows(page)).to_have_count(50)
    first = int(rows(page).first.get_attribute("data-song-id"))
    page.route(f"**/songs/{first}/audio", lambda route: route.fulfill(status=404, body="{}"))
    wanted, seen = titles(rows(page))[:2], remember(page, "#player-title")
    rows(page).first.locator(".row-play").click()
    in_turn(page, seen, wanted)
    page.keyboard.press(" ")
    assert told(tmp_path / "library.sqlite") == []


def test_a_server_that_records_nothing_shows_no_hearts(trained_file, serving, visit, tmp_path):
    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library, serving(library, plays=False) as address:
        page = visit(address)
        expect(rows(page)).to_have_count(50)
        rows(page).first.locator(".row-play").click()
        expect(page.locator("#player-title")).to_be_visible()
        expect(page.locator(".heart:visible")).to_have_count(0)
        open_menu(rows(page).first)
        expect(page.get_by_role("menuitem", name="Play next")).to_be_visible()
        expect(page.get_by_role("menuitem", name="Less like this")).to_have_count(0)
        page.context.close()


def test_hearts_can_be_seen_by_all_in_both_themes(own_server, visit):
    page = visit(own_server)
    expect(rows(page)).to_have_count(50)
    open_menu(rows(page).nth(1))
    page.get_by_role("menuitem", name="Give a heart").click()
    rows(page).nth(1).locator(".row-play").click()
    page.keyboard.press(" ")  # one song for all looks
    for theme, width in product(("light", "dark"), (1280, 390)):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        expect(heart(page, 1)).to_be_visible()
        if width > 720:  # on a phone it is in the large view
            expect(page.locator("#player-heart")).to_be_visible()
        until(page, lambda: too_wide(page) == 0)
        assert serious(page) == []
