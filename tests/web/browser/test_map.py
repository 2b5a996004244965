"""The map in a real browser: drawn, hovered, clicked, lassoed, moved by keys, and with 50,000 songs."""

import base64
import json
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import LONG, ask, drag, ids, played
from map_points import CANVAS, where
from playing import hold_sound
from waiting import wait_for


def open_map(visit, address: str, **options) -> Page:
    page = visit(address, "#/map", **options)
    expect(page.locator(CANVAS)).to_be_visible(timeout=LONG)
    expect(page.locator(".map-row").first).to_be_visible()
    return page


def everywhere(page: Page, address: str) -> dict[str, tuple[float, float]]:
    """Return title -> pixel of every song, those under others, too; what the mouse finds tells where the map lies."""
    points, found = ask(address, "/map"), where(page)
    packed = points["positions"]
    raw = np.frombuffer(base64.b64decode(packed["bytes"]), np.uint8).reshape(-1, 2, packed["width"])
    positions = (raw.astype(int) << (8 * np.arange(raw.shape[2]))).sum(axis=2)
    seen = [row for row, title in enumerate(points["titles"]) if title in found]
    pixels = np.array([found[points["titles"][row]] for row in seen])
    lines = [np.polyfit(positions[seen, axis], pixels[:, axis], 1) for axis in (0, 1)]
    pixels = np.column_stack([np.polyval(line, positions[:, axis]) for axis, line in enumerate(lines)])
    return dict(zip(points["titles"], map(tuple, pixels.tolist()), strict=True))


def pack(numbers: np.ndarray, width: int) -> dict[str, object]:
    parts = numbers.reshape(-1, 1) >> (8 * np.arange(width)) & 255
    return {"width": width, "bytes": base64.b64encode(parts.astype(np.uint8).tobytes()).decode()}


def test_the_map_is_drawn_when_it_is_first_asked_for(own_server, visit):
    page = visit(own_server, "#/map")
    expect(page.get_by_role("heading", name="Drawing the map")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator(CANVAS)).to_be_visible(timeout=LONG)
    expect(page.get_by_role("heading", name="All 72 songs")).to_be_visible()
    assert len(where(page)) > 60  # a few may lie under others


def test_hovering_names_a_song_and_a_click_plays_it_and_shows_its_card(visit, served):
    page = open_map(visit, served)
    title, (x, y) = max(where(page).items(), key=lambda one: one[1][0])  # the rightmost stands alone
    song = ask(served, "/songs", search=title)["items"][0]
    page.mouse.move(x, y)
    expect(page.locator(".map-tip")).to_contain_text(title)
    expect(page.locator(".map-tip")).to_contain_text(song["artist"])
    page.mouse.click(x, y)
    card = page.get_by_role("region", name="Selected song")
    expect(card.get_by_role("heading")).to_have_text(title)
    expect(page.locator("#player-title")).to_have_text(title)
    played(page, 0.1)
    card.get_by_role("link", name="Open song").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert page.url.endswith(f"#/song/{song['id']}")


def test_the_whole_map_begins_below_its_search_field(visit, served):
    page = open_map(visit, served)
    field = page.locator(".map-search").bounding_box()
    assert min(y for _, y in everywhere(page, served).values()) > field["y"] + field["height"]


def test_colours_are_by_genre_artist_or_plays_and_a_class_can_stand_out(visit, served):
    page = open_map(visit, served)
    legend = page.locator(".map-classes")
    for genre in ("low hum", "mid hiss", "high pulses"):
        expect(legend.get_by_role("button", name=genre)).to_contain_text("24")
    colour = page.get_by_label("Colour by")
    colour.select_option("artist")
    expect(legend.get_by_role("button").first).to_contain_text("Band")
    expect(legend).to_contain_text("24 other artists")
    colour.select_option("plays")
    expect(legend.get_by_role("button", name="plays or more")).to_be_visible()
    colour.select_option("genre")
    legend.get_by_role("button", name="mid hiss").click()
    expect(page.get_by_role("heading", name="24 songs in view")).to_be_visible()
    genre_of = {song["title"]: song["genre"] for song in ask(served, "/songs", limit=200)["items"]}
    assert {genre_of[title] for title in where(page)} == {"mid hiss"}


GROUPS = """async ([clusters, sizes, width]) => {
  const { Labels } = await import("/static/js/map/drawing/labels.js");
  const { Camera } = await import("/static/js/map/camera.js");
  const genre = sizes.flatMap((songs, group) => Array(songs).fill(group));
  const names = sizes.map((_, group) => `Genre ${group}`);
  const columns = { genreLabels: clusters, genre, genres: names, artistLabels: [], artist: [], artists: [] };
  const camera = new Camera(genre.length);
  camera.fit(width, 700, {});
  const look = { density: 1, left: 0, top: 0, font: "sans-serif", strong: 560, ink: "#000", paper: "#fff" };
  const none = { selected: -1, focus: null, chosen: new Set(), standsOut: () => true };
  const state = { kind: "genre", covered: () => [[0, 0, 320, 56]], ...none };
  const canvas = document.createElement("canvas");
  const grid = { within: (_a, _b, _c, _d, each) => genre.some((_, i) => each(i) === false) }; // all are in view
  const labels = new Labels(canvas, columns, camera, grid, { alone: true });
  const seen = {};
  for (const [name, at] of Object.entries({ whole: [0.5, 0.5, 1], corner: [0.95, 0.95, 8] })) {
    camera.look(...at);
    labels.draw(look, state);
    seen[name] = labels.shown.map(({ text, box }) => [text, ...box]);
  }
  return seen;
}"""
"""Labels of groups with clusters (group, x, y, songs, reach) that have so many songs, at a width of the window."""


@pytest.mark.parametrize("width", [390, 1140])
def test_the_largest_groups_are_named_once_each_and_no_name_covers_another(visit, served, width):
    page = visit(served)
    random = np.random.default_rng(3)
    sizes = [0, *np.linspace(900, 100, 9).astype(int).tolist()]
    corners = [(0.01, 0.01), (0.99, 0.99), (0.5, 0.001), (0.52, 0.02)]  # at the edges, under the search, and too near
    places = corners + random.uniform(0.1, 0.9, size=(5, 2)).tolist()
    first = [[g + 1, *(round(65535 * part) for part in place), 60, 1500] for g, place in enumerate(places)]
    again = [[2, 20_000, 30_000, 40, 1500], [1, 62_000, 62_000, 30, 1500]]  # other heaps of two of them
    seen = page.evaluate(GROUPS, [[*first, *again], sizes, width])
    names = [name for name, *_ in seen["whole"]]
    assert len(set(names)) == len(names)
    assert {f"Genre {g + 1}" for g in range(len(places))} - set(names) <= ({"Genre 4"} if width == 390 else set())
    for _, left, top, right, bottom in seen["whole"]:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= 700
        assert left >= 320 or top >= 56  # not under the search
    for at, (_, left, top, right, bottom) in enumerate(seen["whole"]):
        for _, left_2, top_2, right_2, bottom_2 in seen["whole"][:at]:
            assert right <= left_2 or right_2 <= left or bottom <= top_2 or bottom_2 <= top
    assert sorted(name for name, *_ in seen["corner"]) == ["Genre 1", "Genre 2"]  # at the heap that is in view


CHOSEN = """async (chosen) => {
  const { Labels } = await import("/static/js/map/drawing/labels.js");
  const { Camera } = await import("/static/js/map/camera.js");
  const { Grid } = await import("/static/js/map/grid.js");
  const n = 24, turn = (i) => (2 * Math.PI * i) / 8;
  const x = Float32Array.from({ length: n }, (_, i) => 0.5 + 0.03 * Math.ceil((i + 1) / 8) * Math.cos(turn(i)));
  const y = Float32Array.from({ length: n }, (_, i) => 0.5 + 0.03 * Math.ceil((i + 1) / 8) * Math.sin(turn(i)));
  const columns = {
    x, y, genreLabels: [[1, 32768, 32768, n, 5000]], genre: Array(n).fill(1), genres: ["", "Techno"],
    artistLabels: [], artist: [], artists: [], title: () => "A song",
  };
  const camera = new Camera(n);
  camera.fit(1140, 700, {});
  const look = { density: 1, left: 0, top: 0, font: "sans-serif", strong: 560, ink: "#000", paper: "#fff" };
  const state = { kind: "genre", selected: -1, focus: null, standsOut: () => true, covered: () => [] };
  const labels = new Labels(document.createElement("canvas"), columns, camera, new Grid(x, y), { alone: true });
  labels.draw(look, { ...state, chosen: new Set(chosen) });
  const points = Array.from(x, (_, i) => camera.screen(x[i], y[i]));
  return { named: labels.shown.filter(({ text }) => text === "Techno"), points, radius: camera.radius };
}"""
"""The name of one group of 24 songs in three rings, of which some are chosen."""


def test_no_name_of_a_group_lies_on_a_song_of_a_selection(visit, served):
    page = visit(served)

    def covered(chosen) -> int:
        seen = page.evaluate(CHOSEN, chosen)
        (name,) = seen["named"]
        left, top, right, bottom = name["box"]
        inner = left + 6, top + 3, right - 6, bottom - 3  # the box has room around the letters
        points = [seen["points"][i] for i in chosen or range(24)]
        return sum(inner[0] < x < inner[2] and inner[1] < y < inner[3] for x, y in points)

    assert covered([]) > 0  # on its songs, which spread wider than it
    assert covered(list(range(24))) == 0
    assert covered(list(range(8))) == 0


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_legend_leaves_the_map_free(visit, served, width):
    page = visit(served, "#/map", viewport={"width": width, "height": 800})
    expect(page.locator(CANVAS)).to_be_visible(timeout=LONG)
    stage, legend = (page.locator(part).bounding_box() for part in (CANVAS, ".map-legend"))
    if width == 1440:  # beside the map
        assert legend["x"] >= stage["x"] + stage["width"]
        return
    assert legend["height"] < 50  # folded
    page.locator(".map-legend > summary").click()
    expect(page.locator(".map-classes")).to_be_visible()


@pytest.mark.parametrize("way", ["button", "shift"])
def test_a_lasso_makes_a_playlist_of_exactly_the_songs_inside(visit, served, way):
    page = open_map(visit, served)
    pixels = everywhere(page, served)
    box = page.locator(CANVAS).bounding_box()
    left = box["x"] + 3
    across = sorted(x for x, _ in pixels.values())
    third = len(across) // 3
    widest = third + np.diff(across[third : 2 * third]).argmax()
    right = (across[widest] + across[widest + 1]) / 2  # where it is emptiest
    top, bottom = box["y"] + 3, box["y"] + box["height"] - 3
    inside = {title for title, (x, _) in pixels.items() if left < x < right}
    if way == "button":
        page.get_by_role("button", name="Select songs with the lasso").click()
        expect(page.get_by_text("Draw around the songs you want to select.")).to_be_visible()
    path = [(left, bottom), (right, bottom), (right, top), (left, top), (left, (top + bottom) / 2)]
    drag(page, path, shift=way == "shift")
    expect(page.locator("#map-list-title")).to_have_text(f"{len(inside)} songs selected")
    assert set(page.locator(".map-row-names > :first-child").all_inner_texts()) == inside
    hold_sound(page)
    page.get_by_role("button", name="Radio").click()
    expect(page.locator("#player-radio")).to_have_attribute("title", f"Radio: {len(inside)} songs of the map")
    assert page.locator("#player-title").inner_text() in inside
    page.get_by_role("button", name=f"Create playlist ({len(inside)})").click()
    shown = page.locator("#draft-songs .song-row")
    expect(shown).to_have_count(len(inside))
    assert set(shown.locator(".row-title").all_inner_texts()) == inside
    expect(page.get_by_label("Playlist name")).to_have_value("From the map")


def test_keys_move_and_zoom_the_map_and_enter_plays_its_middle(visit, served):
    page = open_map(visit, served)
    heading = page.locator("#map-list-title")
    expect(heading).to_have_text("All 72 songs")
    page.locator(CANVAS).focus()
    for _ in range(5):
        page.keyboard.press("+")
    expect(heading).to_contain_text("in view")
    listed = page.locator(".map-row").all_inner_texts()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    wait_for(lambda: page.locator(".map-row").all_inner_texts() != listed)
    page.keyboard.press("0")
    expect(heading).to_have_text("All 72 songs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Selected song")).to_be_visible()
    expect(page.locator("#player-title")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Selected song")).to_be_hidden()


def test_a_song_is_found_by_name_and_listed_songs_play(visit, served):
    page = open_map(visit, served)
    page.keyboard.press("/")
    page.keyboard.type("song 120")
    expect(page.get_by_role("option", name="Song 120")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Selected song").get_by_role("heading")).to_have_text("Song 120")
    expect(page.locator("#map-list-title")).to_contain_text("in view")
    row = page.locator(".map-row").first
    title = row.locator(".ellipsis").first.inner_text()
    row.click()
    expect(page.locator("#player-title")).to_have_text(title)


@pytest.fixture(scope="module")
def large_map(served):
    """50,000 songs in twelve heaps, as the service would tell them; their sounds are those of the library."""
    random, n = np.random.default_rng(0), 50_000
    there = np.array([song["id"] for song in ask(served, "/songs", limit=200)["items"]])
    heap = random.integers(12, size=n)
    centres = random.uniform(0.15, 0.85, size=(12, 2))
    pixels = np.clip(centres[heap] + 0.05 * random.standard_normal((n, 2)), 0, 1)
    columns = {
        "ids": pack(there[np.arange(n) % len(there)], 4),
        "positions": pack((pixels * 65535).round().astype(np.int64).ravel(), 2),
        "artist": pack(np.arange(n) // 10, 4),
        "genre": pack(heap + 1, 1),
        "years": pack(1960 + heap, 2),
        "seconds": pack(np.full(n, 200), 2),
        "plays": pack(random.integers(1000, size=n), 2),
    }
    named = {
        "titles": [f"Title {row}" for row in range(n)],
        "artists": [f"Artist {number}" for number in range(n // 10)],
        "genres": ["", *(f"Genre {number}" for number in range(12))],
        "genre_labels": [[g + 1, *(65535 * centres[g]).astype(int).tolist(), 4000, 3000] for g in range(12)],
        "artist_labels": [],
    }
    model = {"id": 1, "kind": "learned"}
    return json.dumps({"model": model, "songs": n, "missing": 0, **columns, **named})


def test_fifty_thousand_songs_load_move_and_can_be_picked(visit, served, large_map):
    page = visit.blank(served)
    page.route("**/api/v1/map", lambda route: route.fulfill(body=large_map, content_type="application/json"))
    page.goto(f"{served}/#/map")
    heading = page.locator("#map-list-title")
    expect(heading).to_have_text("All 50,000 songs", timeout=LONG)
    box = page.locator(CANVAS).bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    for _ in range(6):
        page.mouse.wheel(0, -300)
    expect(heading).to_contain_text("in view")
    picture = page.locator(".map-picture")
    expect(picture).to_have_attribute("style", re.compile("transform: none"))  # drawn anew: the map rests
    before = heading.inner_text()
    drag(page, [middle, (middle[0] - 200, middle[1] - 60)])
    expect(heading).not_to_have_text(before)
    page.locator(CANVAS).focus()
    page.keyboard.press("Enter")
    card = page.get_by_role("region", name="Selected song")
    expect(card.get_by_role("heading")).to_contain_text("Title")
    page.keyboard.press("Escape")
    pixels = where(page, 40)
    title, pixel = next(iter(pixels.items()))
    page.mouse.move(*pixel)
    expect(page.locator(".map-tip")).to_contain_text("Title")
    page.keyboard.press("0")
    box = page.locator(CANVAS).bounding_box()
    corners = [(0.35, 0.1), (0.9, 0.1), (0.9, 0.9), (0.35, 0.9), (0.35, 0.15)]
    path = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    drag(page, path, shift=True)
    expect(page.get_by_role("button", name="Create playlist")).to_be_visible()
    assert title in pixels
    assert ids(page.locator(".song-row")) == []
