"""Whatever opens is closed by Esc, one thing at a time, the last one first."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from browsing import LONG, READY, ask, drag, open_menu, rows
from playing import hold_sound


def press(page: Page, *, closes: Locator, leaves: Locator | None = None) -> None:
    """Press Esc, which closes one thing and leaves another one open."""
    expect(closes).to_be_visible()
    page.keyboard.press("Escape")
    expect(closes).not_to_be_visible()
    if leaves is not None:
        expect(leaves).to_be_visible()


def opened(page: Page, by: Callable[[], None], shown: Locator, leaves: Locator | None = None) -> None:
    """Open something, and close it by Esc."""
    expect(shown).not_to_be_visible()
    by()
    press(page, closes=shown, leaves=leaves)


def test_on_a_list_escape_closes_menu_reason_offers_and_help(visit, served):
    page = visit(served, f"#/song/{ask(served, '/songs', search='Song 31')['items'][0]['id']}")
    expect(rows(page, "#near-learned")).to_have_count(10)
    row = rows(page, "#near-learned").nth(3)
    opened(page, lambda: open_menu(row), page.get_by_role("menu"))
    opened(page, lambda: row.locator(".row-why").click(), page.locator(".why-body"))
    opened(page, lambda: page.keyboard.press("?"), page.get_by_role("dialog", name="Keyboard shortcuts"))
    page.goto(f"{served}/#/playlists")
    seeds = page.get_by_role("combobox", name="Add a seed")
    opened(page, lambda: seeds.fill("song 3"), page.get_by_role("option").first)
    page.goto(f"{served}/#/settings?section=folders")
    remove = page.locator("#folders").get_by_role("button", name="Remove")
    opened(page, remove.click, page.locator("dialog[open]"))


def test_of_the_player_escape_closes_what_was_opened_last(visit, served):
    page = visit(served, "#/library")
    hold_sound(page)
    rows(page).first.locator(".row-play").click()
    queue, large = page.locator("#queue-panel"), page.locator("#now-playing")
    options = page.get_by_role("dialog", name="Playback options")
    opened(page, page.locator("#options-toggle").click, options)
    opened(page, page.locator("#open-now-playing").click, large)
    page.locator("#queue-toggle").click()
    expect(queue).to_be_visible()
    opened(page, page.locator("#save-queue").click, page.locator("#queue-form"), leaves=queue)
    opened(page, lambda: open_menu(rows(page).nth(2)), page.get_by_role("menu"), leaves=queue)
    opened(page, page.locator("#open-now-playing").click, large, leaves=queue)
    press(page, closes=queue, leaves=page.locator("#player"))


def test_of_the_map_escape_takes_back_the_lasso_the_selection_and_the_card(visit, served):
    page = visit(served, "#/map")
    hold_sound(page)
    canvas = page.locator(READY["map"])
    expect(canvas).to_be_visible(timeout=LONG)
    heading = page.locator("#map-list-title")
    expect(heading).to_have_text("All 72 songs")
    lasso = page.get_by_role("button", name="Select songs with the lasso")
    lasso.click()
    expect(lasso).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(lasso).to_have_attribute("aria-pressed", "false")
    box = canvas.bounding_box()
    left, top = box["x"] + 3, box["y"] + 60
    right, bottom = box["x"] + box["width"] - 3, box["y"] + box["height"] - 3
    drag(page, [(left, top), (right, top), (right, bottom), (left, bottom), (left, top + 9)], shift=True)
    expect(heading).to_contain_text("songs selected")
    press(page, closes=page.locator("#map-picked button").first)
    expect(heading).to_have_text("All 72 songs")
    canvas.focus()
    opened(page, lambda: page.keyboard.press("Enter"), page.get_by_role("region", name="Selected song"))
    expect(page.locator("#player-title")).to_be_visible()
