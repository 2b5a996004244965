"""The player in a real browser: it plays, seeks by requesting a part of the file, and goes on with the queue."""

import pytest
from playwright.sync_api import Page, expect

from browsing import ids, in_turn, open_menu, played, position, remember, rows, sought_back, titles, until
from playing import LONG_MINUTES, hold_sound, seek

MIN_TITLE_PIXELS = 150  # on a phone that is 390 wide


def open_long(page: Page) -> None:
    """Search for the long song and play it."""
    page.locator("#search").fill("the long one")
    expect(rows(page)).to_have_count(1)
    rows(page).first.locator(".row-line").click(position={"x": 400, "y": 10})
    played(page, 0.2)


def is_later_part(answer) -> bool:
    """Whether a part was sent that begins in the second half of a file; browsers look at its very end anyway."""
    if "/audio" not in answer.url or answer.status != 206:
        return False
    start, total = answer.headers["content-range"].removeprefix("bytes ").split("/")
    return 0.5 < int(start.split("-")[0]) / int(total) < 0.9


def test_a_click_on_a_row_plays_it_and_space_pauses(visit, long_served):
    page = visit(long_served)
    open_long(page)
    expect(page.locator("#player-title")).to_have_text("The long one")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(rows(page).first).to_have_class("song-row with-details is-current is-playing")
    page.get_by_role("heading", name="Library").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    stood = position(page)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    played(page, stood + 0.2)


def test_a_click_on_the_bar_asks_for_that_part_of_the_file_and_plays_from_there(visit, long_served):
    page = visit(long_served)
    open_long(page)
    box = page.locator("#seek").bounding_box()
    with page.expect_response(is_later_part):
        page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    played(page, 0.75 * 60 * LONG_MINUTES)
    assert position(page) < 0.85 * 60 * LONG_MINUTES


def test_the_thumb_of_the_bar_is_where_its_fill_ends(visit, long_served):
    page = visit(long_served)
    open_long(page)
    page.locator("#play-toggle").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    seek(page, 100.4)
    bar = page.locator("#seek")
    until(page, lambda: float(bar.input_value()) == pytest.approx(100.4, abs=0.05))
    part = float(bar.evaluate("bar => parseFloat(bar.style.getPropertyValue('--part'))"))
    most = float(bar.get_attribute("max"))
    assert float(bar.input_value()) / most == pytest.approx(part / 100, abs=1e-4)
    expect(bar).to_have_attribute("aria-valuetext", "1:40 of 8:00")


def test_on_a_phone_a_title_has_the_space_that_buttons_leave(visit, long_served):
    page = visit(long_served, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator("#search").fill("the long one")
    expect(rows(page)).to_have_count(1)
    rows(page).first.locator(".row-play").click()
    title = page.locator("#player-title")
    expect(title).to_have_text("The long one")
    title.evaluate("title => { title.textContent += ', with more words than there is space for'; }")
    assert title.bounding_box()["width"] > MIN_TITLE_PIXELS
    expect(page.locator("#player-heart")).to_be_hidden()
    page.locator("#open-now-playing").click()
    expect(page.locator("#now-heart")).to_be_visible()


def test_keys_seek_ten_seconds_and_by_the_bar(visit, long_served):
    page = visit(long_served)
    open_long(page)
    page.get_by_role("heading", name="Library").focus()
    page.keyboard.press("Shift+ArrowRight")
    played(page, 10)
    page.keyboard.press("Shift+ArrowLeft")
    sought_back(page, 9)
    page.locator("#seek").focus()
    page.keyboard.press("PageUp")  # a tenth of the song
    played(page, 40)
    page.keyboard.press("Home")
    sought_back(page, 9)


def test_the_next_song_follows_by_key_and_by_itself(visit, served):
    page = visit(served)
    expect(rows(page)).to_have_count(50)
    first, second, third = titles(rows(page))[:3]
    seen = remember(page, "#player-title")
    rows(page).first.locator(".row-play").click()
    page.keyboard.press("n")
    in_turn(page, seen, [first, second, third])  # songs here have two seconds


def test_the_queue_shows_what_comes_and_takes_and_loses_songs(visit, long_served):
    page = visit(long_served)
    open_long(page)
    hold_sound(page, but=ids(rows(page))[0])
    page.locator("#search").fill("band a")
    expect(rows(page)).to_have_count(20)
    wanted = titles(rows(page))[3]
    open_menu(rows(page).nth(3))
    page.get_by_role("menuitem", name="Play next").click()
    page.keyboard.press("Escape")
    open_menu(rows(page).nth(5))
    page.get_by_role("menuitem", name="Add to queue").click()
    page.get_by_role("button", name="Queue").click()
    panel = page.get_by_role("complementary", name="Queue")
    queue = panel.locator(".queue-row")
    expect(queue).to_have_count(3)
    expect(queue.nth(1)).to_contain_text(wanted)
    replaced = page.locator(".toast", has_text="Queue replaced.")
    stood = position(page)
    rows(page).first.locator(".row-play").click()
    expect(queue).to_have_count(20)
    replaced.get_by_role("button", name="Undo").click()
    expect(page.locator("#player-title")).to_have_text("The long one")
    expect(queue).to_have_count(3)
    played(page, stood)
    panel.get_by_role("button", name=f"Remove {titles(rows(page))[5]}").click()
    expect(queue).to_have_count(2)
    queue.nth(1).locator(".queue-song").click()
    expect(page.locator("#player-title")).to_have_text(wanted)
    for at in (0, 1):  # a list that can be had again with a click
        rows(page).nth(at).locator(".row-play").click()
        expect(page.locator("#player-title")).to_have_text(titles(rows(page))[at])
    expect(replaced).to_have_count(0)
    page.set_viewport_size({"width": 1024, "height": 800})  # the view beside it has half of that
    page.evaluate("location.hash = '#/song/' + document.querySelector('.song-row').dataset.songId")
    expect(rows(page, "#near-learned")).to_have_count(10)
    assert rows(page, "#near-learned").first.locator(".row-names").bounding_box()["width"] > 120
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_it_goes_on_playing_from_view_to_view(visit, long_served):
    page = visit(long_served)
    open_long(page)
    for view in ("Find by sound", "Playlists", "Library"):
        page.get_by_role("link", name=view, exact=True).click()
        expect(page.get_by_role("heading", name=view, level=1)).to_be_focused()
    played(page, position(page) + 0.1)
    expect(rows(page)).to_have_count(50)


def test_a_song_waits_while_the_service_is_gone_and_no_file_is_blamed(long_server, visit):
    page = visit(long_server, "#/library?search=long%20player", allow=("ERR_INTERNET_DISCONNECTED",))
    expect(rows(page)).to_have_count(3)
    first, second = titles(rows(page))[:2]
    messages = remember(page, "#toasts")
    rows(page).first.locator(".row-play").click()
    expect(page.locator("#player-title")).to_have_text(first)
    page.context.set_offline(True)
    page.keyboard.press("n")
    expect(page.locator("#link-banner")).to_be_visible()
    expect(page.locator("#player-title")).to_have_text(second)
    page.context.set_offline(False)
    played(page, 0.1)
    assert not [text for text in messages() if "cannot be played" in text]
