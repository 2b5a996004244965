"""The page that `nearsong map` writes, opened from a file: the map of the service, without a service."""

import html
import json
import re
import shutil

import numpy as np
import pytest
from playwright.sync_api import expect

from browsing import LONG, ask, drag, serious, too_wide
from map_points import CANVAS, where
from nearsong.library import Library
from nearsong.library.maps.page import write_map
from page_songs import NASTY, invented_songs, song

NAVIGATION_PIXELS = 216  # which the service's page has at its left, and an exported map has not
LEGEND = """() => [...document.querySelectorAll(".map-class")].map((row) => [
  row.innerText, getComputedStyle(row.querySelector(".map-dot")).backgroundColor])"""


@pytest.fixture
def open_file(visit):
    """Return a function that opens a file in the browser; it may request nothing else."""

    def open_(path, fragment="", **options):
        page = visit.blank(path.as_uri(), **options)
        page.goto(f"{path.as_uri()}{fragment}")
        expect(page.locator("html")).to_have_attribute("data-ready", "yes")
        return page

    return open_


@pytest.fixture
def invented(tmp_path):
    """A map of 60 songs in a wave, and its songs and neighbours."""
    songs, positions, near, distances = invented_songs()
    write_map(tmp_path / "map.html", songs, positions, near, 1 / (1 + distances), facts={"Songs": 60})
    return tmp_path / "map.html", songs, near


def data_of(path):
    found = re.search(r'<script type="application/json" id="map-data">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(found[1])


def inside_canvas(page):
    """Return title -> pixel inside the map."""
    box = page.locator(CANVAS).bounding_box()
    return {title: (round(x - box["x"], 6), round(y - box["y"], 6)) for title, (x, y) in where(page).items()}


def test_it_is_the_map_of_the_service(trained_file, served, visit, open_file, tmp_path):
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        file = library.map(tmp_path / "map.html")
    size = {"width": 1500, "height": 800}
    service = visit(served, "#/map", viewport=size)
    expect(service.locator(CANVAS)).to_be_visible(timeout=LONG)
    expect(service.locator(".map-row").first).to_be_visible()
    exported = open_file(file, viewport=size | {"width": size["width"] - NAVIGATION_PIXELS})
    expect(exported.locator(".map-row").first).to_be_visible()
    columns, of_service = data_of(file), ask(served, "/map")
    shared = set(of_service) - {"model", "missing"}
    assert {name: columns[name] for name in shared} == {name: of_service[name] for name in shared}
    for kind in ("genre", "artist", "plays"):
        for page in (service, exported):
            page.get_by_label("Colour by").select_option(kind)
        assert exported.evaluate(LEGEND) == service.evaluate(LEGEND)
    assert inside_canvas(exported) == inside_canvas(service)
    assert exported.locator("#map-list-title").inner_text() == service.locator("#map-list-title").inner_text()


def test_songs_are_found_by_mouse_search_list_and_link(invented, open_file):
    file, songs, near = invented
    page = open_file(file, "#select=107")
    card, title = page.get_by_role("region", name="Selected song"), page.locator("#map-list-title")
    expect(card.get_by_role("heading")).to_have_text("Tune 7")
    expect(title).to_have_text("Similar songs")
    similar = page.locator(".map-row-names > :first-child").all_inner_texts()
    assert similar == [songs[row].title for row in near[7]]
    assert page.locator(".map-row-note").first.inner_text() == "very close"  # 1 / 1.1 is above 0.7
    page.locator(".map-row").first.click()
    expect(card.get_by_role("heading")).to_have_text(similar[0])
    page.go_back()
    expect(card.get_by_role("heading")).to_have_text("Tune 7")
    page.keyboard.press("/")
    page.keyboard.type("tune 50")
    expect(page.get_by_role("option", name="Tune 50")).to_be_visible()
    page.keyboard.press("Enter")
    expect(card.get_by_role("heading")).to_have_text("Tune 50")
    assert page.url.endswith("#select=150")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.keyboard.press("0")
    expect(title).to_have_text("All 60 songs")
    x, y = where(page)["Tune 20"]
    page.mouse.move(x, y)
    expect(page.locator(".map-tip")).to_have_text("Tune 20Artist Cfolk · 1990")
    page.mouse.click(x, y)
    expect(card.get_by_role("heading")).to_have_text("Tune 20")
    page.evaluate("location.hash = '#select=999'")
    missing = "Song 999 is not on this map. Search for it by name."
    expect(page.locator("#view").get_by_text(missing)).to_be_visible()
    expect(page.locator("#announcer")).to_have_text(missing)
    expect(page.get_by_role("status").filter(has_text=missing)).to_have_count(0)  # read out once


def test_the_search_offers_ten_songs_by_title_or_artist_and_says_if_there_are_none(invented, open_file):
    page = open_file(invented[0])
    offers, field = page.locator(".picker-row"), page.get_by_label("Search the map")
    page.keyboard.press("/")
    page.keyboard.type("tune 5")
    expect(page.locator(".picker-title").nth(0)).to_have_text("Tune 5")
    expect(page.locator(".picker-title").nth(1)).to_have_text("Tune 50")
    expect(offers).to_have_count(10)
    page.keyboard.press("ArrowDown")
    expect(offers.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator(".map-card h2")).to_have_text("Tune 50")
    field.fill("ARTIST  b")
    expect(page.locator(".picker-artist")).to_have_text(["Artist B"] * 10)
    field.fill("no such song")
    expect(page.locator(".picker-none")).to_have_text("No match for “no such song”.")


def test_enter_takes_the_song_that_was_typed_though_the_list_still_shows_another(invented, open_file):
    page = open_file(invented[0])
    field = page.get_by_label("Search the map")
    field.fill("tune 7")
    expect(page.locator(".picker-title").first).to_have_text("Tune 7")
    field.evaluate(
        """(field) => {
          field.value = "tune 50";
          field.dispatchEvent(new InputEvent("input"));
          field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
        }"""
    )
    expect(page.locator(".map-card h2")).to_have_text("Tune 50")


PINCH = """([x, y]) => {
  const canvas = document.getElementById("map-canvas");
  const touch = (type, pointerId, clientX) => canvas.dispatchEvent(
    new PointerEvent(type, { pointerId, clientX, clientY: y, pointerType: "touch", bubbles: true }));
  touch("pointerdown", 1, x - 50);
  touch("pointerdown", 2, x + 50);
  touch("pointermove", 2, x + 150);
  touch("pointerup", 2, x + 150);
  touch("pointerup", 1, x - 50);
}"""


def test_drag_wheel_and_pinch_move_the_map_under_the_hand(invented, open_file):
    page = open_file(invented[0], viewport={"width": 760, "height": 520})  # the mouse goes over all of it four times
    whole = where(page, 6)
    assert len(whole) == 60  # every song is where the mouse finds it
    x, y = whole["Tune 30"]
    drag(page, [(x, y), (x + 60, y + 20)])
    dragged = where(page, 6)
    assert dragged["Tune 30"] == pytest.approx((x + 60, y + 20), abs=3)
    expect(page.locator(".map-card")).to_be_hidden()  # it was no click

    def width(points):
        return points["Tune 33"][0] - points["Tune 27"][0]

    page.mouse.move(*dragged["Tune 30"])
    page.mouse.wheel(0, -300)
    expect(page.locator("#map-list-title")).to_contain_text("in view")
    rolled = where(page, 6)
    assert rolled["Tune 30"] == pytest.approx(dragged["Tune 30"], abs=3)
    assert width(rolled) > 1.3 * width(dragged)
    page.evaluate(PINCH, rolled["Tune 30"])
    assert width(where(page, 6)) == pytest.approx(2 * width(rolled), rel=0.05)


def test_a_lasso_lists_the_songs_inside_and_a_class_stands_out(invented, open_file):
    page = open_file(invented[0])
    points = where(page)
    (left, _), (right, _) = points["Tune 20"], points["Tune 30"]
    box = page.locator(CANVAS).bounding_box()
    top, bottom = box["y"] + 60, box["y"] + box["height"] - 3
    inside = {name for name, (x, y) in points.items() if left - 3 < x < right + 3 and top < y < bottom}
    page.get_by_role("button", name="Select songs with the lasso").click()
    drag(page, [(left - 3, bottom), (right + 3, bottom), (right + 3, top), (left - 3, top), (left - 3, bottom - 20)])
    expect(page.locator("#map-list-title")).to_have_text(f"{len(inside)} songs selected")
    assert set(page.locator(".map-row-names > :first-child").all_inner_texts()) == inside
    page.get_by_role("button", name="Clear selection").click()
    page.locator(".map-classes").get_by_role("button", name="jazz").click()
    expect(page.locator("#map-list-title")).to_have_text("30 songs in view")


def test_names_are_shown_as_text_and_run_nothing(open_file, tmp_path):
    songs = [song(i, name, name, name) for i, name in enumerate(NASTY)]
    n = len(songs)
    near = (np.arange(n)[:, None] + np.arange(1, n)) % n
    points = np.random.default_rng(0).random((n, 2))
    facts = {NASTY[0]: NASTY[2]}
    write_map(tmp_path / "map.html", songs, points, near, np.full(near.shape, 0.5), title=NASTY[2], facts=facts)
    page = open_file(tmp_path / "map.html", "#select=0")
    assert page.title() == NASTY[2]
    assert page.locator("img").count() == 0
    expect(page.locator(".map-card h2")).to_have_text(NASTY[0])
    for text in (NASTY[0], NASTY[2]):
        assert html.escape(text, quote=False) in page.locator(".map-about").inner_html()


@pytest.mark.parametrize("n", [0, 12])
def test_long_names_fit_a_phone(n, open_file, tmp_path):
    songs = [song(i, "Anunbreakablylongtitle" * 12, "", "", None) for i in range(n)]
    near = np.full((n, 3), -1)
    facts = {"k" * 90: "v" * 200}
    write_map(tmp_path / "map.html", songs, np.full((n, 2), 0.5), near, near * 0.0, title="M" * 200, facts=facts)
    page = open_file(tmp_path / "map.html", "#select=0" if n else "", viewport={"width": 360, "height": 640})
    page.locator(".map-about summary").click()
    assert too_wide(page) <= 0
    assert serious(page) == []
    assert page.locator(CANVAS).bounding_box()["height"] > 200
    assert page.locator("#map-colour option").all_text_contents() == ["Plays"]  # there are no genres, no artists
    if n:
        page.get_by_role("button", name="Similar songs").click()
        expect(page.get_by_text("No similar songs.")).to_be_visible()
    else:
        expect(page.locator("#map-list-title")).to_have_text("All 0 songs")


def test_its_policy_allows_only_its_own_scripts_and_styles(invented, open_file):
    page = open_file(invented[0], allow=["Content Security Policy"])
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "document.title = 'owned'";
          document.body.append(script);
        }"""
    )
    assert page.title() == "Map of songs"
    assert page.locator("link[rel=icon]").get_attribute("href").startswith("data:image/svg+xml;base64,")
