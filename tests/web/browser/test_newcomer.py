"""What a newcomer with odd music, a small phone and a service that stops meets, in a real browser."""

import json
import shutil
import time

import httpx
import pytest
from playwright.sync_api import Page, expect

import music_library
from browsing import LONG, ask, drag_in, rows, serious, too_wide
from nearsong.library import Library
from nearsong.web.jobs.scan import Scan

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SMALLEST = PHONE | {"viewport": {"width": 320, "height": 640}}

COLOURS = """() => {
  const style = getComputedStyle(document.documentElement);
  const names = ["bg", "surface", "ink", "muted", "accent", "shadow-2", "map-paper"].map((name) => `--${name}`);
  return [...names, "color-scheme"].map((name) => style.getPropertyValue(name));
}"""

SEEN = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  return [top, bottom, box(".library-tools").bottom, box("#player").top];
}"""

LABELS = """async ([points, width]) => {
  const { Labels } = await import("/static/js/map/drawing/labels.js");
  const { Camera } = await import("/static/js/map/camera.js");
  const written = [], ignore = () => {};
  const own = { measureText: (text) => ({ width: 6 * text.length }), fillText: (...what) => written.push(what) };
  const context = new Proxy(own, { get: (_, name) => own[name] ?? ignore, set: () => true });
  const [x, y] = [0, 1].map((part) => points.map((point) => point[part]));
  const columns = { x, y, title: (i) => `Song ${i}`, genreLabels: [], artistLabels: [], genre: [], artist: [] };
  const grid = { within: (_a, _b, _c, _d, each) => points.forEach((_, i) => each(i)) };
  const camera = new Camera(points.length);
  camera.fit(width, 600, {});
  const state = { kind: "plays", standsOut: () => true, selected: -1, chosen: new Set(), covered: () => [] };
  const labels = new Labels({ getContext: () => context }, columns, camera, grid, { alone: true });
  labels.draw({ density: 1, left: 0, top: 0, font: "sans-serif", strong: 560 }, state);
  return { written, at: points.map(([x, y]) => camera.screen(x, y)), radius: camera.radius };
}"""


@pytest.fixture
def scanned(scanned_file, serving, tmp_path):
    """The address of a server with such a library, which may be changed."""
    library_file = shutil.copy(scanned_file, tmp_path / "library.sqlite")
    with Library.open(library_file) as library, serving(library) as address:
        yield address


def choose(page: Page, label: str, title: str) -> None:
    page.get_by_role("combobox", name=label).fill(title)
    page.get_by_role("option", name=title).first.click()


# ---------------------------------------------------------------- colours and messages


def test_dark_by_the_system_and_dark_by_choice_are_the_same_colours(visit, served):
    by_choice = visit(served, color_scheme="light")
    expect(rows(by_choice)).to_have_count(50)
    light = by_choice.evaluate(COLOURS)
    for _ in range(2):
        by_choice.locator("#theme-toggle").click()
    by_system = visit(served, color_scheme="dark")
    expect(rows(by_system)).to_have_count(50)
    assert light != by_choice.evaluate(COLOURS) == by_system.evaluate(COLOURS)
    by_system.emulate_media(color_scheme="light")
    expect(by_system.locator("html")).to_have_attribute("data-theme", "light")
    assert by_system.evaluate(COLOURS) == light
    bars = "document.querySelector('meta[name=theme-color][media=all]').content"
    assert by_choice.evaluate(bars) != by_system.evaluate(bars)


@pytest.mark.parametrize(("look", "most"), [({}, 3), (PHONE, 1)], ids=["desk", "phone"])
def test_messages_leave_space_for_the_rows(visit, served, look, most):
    page = visit(served, "#/playlists", **look)
    choose(page, "Add a seed", "Song 31")
    expect(rows(page, "#draft-songs")).to_have_count(25)
    if look:
        page.locator("#side-songs").click()
    shown = page.evaluate(  # at once: a message goes after some seconds
        """() => Array.from({ length: 4 }, () => {
          document.querySelectorAll("#draft-songs .row-remove")[1].click();
          return document.querySelectorAll(".toast").length;
        })"""
    )
    assert shown == [min(n, most) for n in (1, 2, 3, 4)]
    expect(rows(page, "#draft-songs")).to_have_count(21)


# ---------------------------------------------------------------- playlists


def test_buttons_that_do_different_things_have_different_names(visit, served):
    page = visit(served, "#/playlists")
    choose(page, "Add a seed", "Song 31")
    expect(rows(page, "#draft-songs")).to_have_count(25)
    names = page.locator("#view button").evaluate_all("all => all.map((one) => one.ariaLabel || one.textContent)")
    assert sorted(names) == sorted(set(names))
    page.get_by_role("button", name="Remove seed Song 31").click()
    expect(page.locator(".seed")).to_have_count(0)


def test_a_walk_that_cannot_be_as_long_as_asked_says_so_until_it_is_changed_by_hand(visit, served):
    page = visit(served, "#/playlists")
    page.get_by_role("radio", name="From song to song").check()
    choose(page, "First song", "Song 31")
    choose(page, "Last song", "Song 120")
    page.get_by_label("Number of songs").fill("200")
    page.get_by_label("Number of songs").press("Tab")
    note = page.locator(".playlist-notes")
    expect(note).to_contain_text("of 200 songs")
    there = rows(page, "#draft-songs").count()
    assert 2 < there <= 72
    expect(note).to_contain_text(f"The playlist has {there} of 200 songs")
    expect(page.locator("#playlist-facts")).to_contain_text(f"{there} songs")
    page.locator("#draft-songs .row-remove").nth(1).click()
    expect(note).to_be_empty()


def test_many_saved_playlists_can_be_read_on_a_phone(own_server, visit):
    for at in range(9):
        made = httpx.post(f"{own_server}/api/v1/playlists", json={"name": f"Playlist number {at}", "songs": [1, 2]})
        made.raise_for_status()
    page = visit(own_server, "#/playlists", **PHONE)
    expect(page.locator(".saved-list")).to_have_count(9)
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".saved-list .ellipsis").evaluate_all(cut) == 0
    assert too_wide(page) <= 0


# ---------------------------------------------------------------- work that takes long


def test_a_map_being_drawn_says_how_long_it_takes_and_moves_while_nothing_is_counted(visit, served):
    job = {"id": "a1", "kind": "map", "state": "running", "stage": "Drawing the map", "done": 0, "total": 72}
    job |= {"started": time.time() - 75, "ended": None, "notes": [], "error": None, "result": None}
    page = visit.blank(served)
    page.route("**/api/v1/map", lambda route: route.fulfill(json=job, status=202))
    event = f"event: progress\ndata: {json.dumps(job)}\n\n"
    page.route("**/api/v1/jobs/a1/events", lambda route: route.fulfill(body=event, content_type="text/event-stream"))
    page.route("**/api/v1/jobs/a1", lambda route: route.fulfill(json=job))
    page.goto(f"{served}/#/map")
    expect(page.locator(".map-lead")).to_contain_text("takes a few seconds")
    bar = page.get_by_role("progressbar", name="Drawing the map")
    expect(bar).to_have_class("bar unknown")
    assert bar.get_attribute("aria-valuenow") is None
    expect(page.locator(".progress-words")).to_have_text("Drawing the map")
    expect(page.get_by_text("1 min so far")).to_be_visible()
    job["done"] = 36
    expect(bar).to_have_attribute("aria-valuenow", "50")
    expect(page.locator(".progress-words")).to_contain_text("36 of 72")


def test_names_on_the_map_hide_no_song_and_a_phone_has_some_too(visit, served):
    points = [[(i * 37 % 100) / 100, (i * 61 % 97) / 97] for i in range(50)]
    page = visit(served)
    for width in (390, 900):
        seen = page.evaluate(LABELS, [points, width])
        assert len(seen["written"]) >= 8
        for text, left, y in seen["written"]:
            for px, py in seen["at"]:
                apart = px + seen["radius"] <= left or px - seen["radius"] >= left + 6 * len(text)
                assert apart or abs(py - y) > seen["radius"], text


def test_a_scan_reports_files_that_cannot_be_analysed(visit, served):
    page = visit(served)
    say = "async (job) => (await import('/static/js/views/library/scan_note.js')).sayScanned(job)"
    for result, text in (
        (
            {"added": 0, "unreadable": 1, "set_aside": 0},
            "No new songs. 1 file could not be read. Settings says which",
        ),
        ({"added": 51, "unreadable": 0, "set_aside": 0}, "51 new songs added."),
    ):
        page.evaluate(say, {"state": "done", "result": result, "words": Scan.result_words(result)})
        expect(page.locator(".toast").last).to_contain_text(text)


def test_too_little_to_learn_from_is_reported_once_and_more_can_be_given_at_once(scanned, visit, tmp_path):
    page = visit(scanned, "#/quality")
    drag_in(page, ".listens-drop", music_library.write_listens(tmp_path / "plays.csv", n_users=5), "text/csv")
    page.get_by_role("button", name="Train now").click(timeout=LONG)
    expect(page.locator("#refusal")).to_be_focused(timeout=LONG)
    expect(page.get_by_text("Too little data")).to_have_count(1)
    page.get_by_text("Add a listening history").click()
    expect(page.locator("#more-listens .listens-drop")).to_be_visible()


# ---------------------------------------------------------------- little space, no service


def test_the_smallest_phone_has_space_for_a_song_and_the_maps_tools(scanned, visit):
    song = ask(scanned, "/songs")["items"][0]["id"]
    page = visit(scanned, f"#/song/{song}", **SMALLEST)
    expect(rows(page, "#near-native")).to_have_count(10)
    assert too_wide(page) <= 0
    page.goto(f"{scanned}/#/map")
    colours, tools = page.locator(".map-legend > summary"), page.locator(".map-tools")
    expect(colours).to_be_visible(timeout=LONG)
    box, other = colours.bounding_box(), tools.bounding_box()
    assert box["width"] >= 44
    assert box["x"] + box["width"] <= other["x"]
    assert serious(page) == []


@pytest.mark.parametrize("look", [{}, PHONE], ids=["desk", "phone"])
def test_what_has_the_focus_is_never_under_the_player_or_the_search(visit, served, look):
    page = visit(served, **look)
    expect(rows(page)).to_have_count(50)
    rows(page).first.locator(".row-play").click()
    expect(page.locator("#player")).to_be_visible()
    rows(page).first.locator(".row-more").focus()
    for key, times in (("Tab", 36), ("Shift+Tab", 30)):
        for _ in range(times):
            page.keyboard.press(key)
            top, bottom, low, high = page.evaluate(SEEN)
            assert low <= top < bottom <= high


def test_a_view_asked_for_while_the_service_is_gone_comes_when_it_is_back(visit, served):
    page = visit(served, allow=("ERR_INTERNET_DISCONNECTED",))
    expect(rows(page)).to_have_count(50)
    page.context.set_offline(True)
    page.get_by_role("link", name="Quality").click()
    expect(page.get_by_role("heading", name="nearsong is not responding")).to_be_visible()
    expect(page.locator("#link-banner")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("#cold-sentence")).to_be_visible()
    expect(page.locator("#link-banner")).to_be_hidden()
