"""Every view, light, dark and on a phone: no errors, no serious fault for readers who need help, nothing too wide."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from browsing import LONG, READY, ask, open_menu, rows, serious, too_wide, until
from nearsong.web import pages
from playing import hold_sound

WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TOUCHED = {"has_touch": True, "is_mobile": True}
MODES = {
    "light": {"viewport": WIDE, "color_scheme": "light"},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "phone": {"viewport": NARROW, "color_scheme": "light", **TOUCHED},
    "small phone, dark": {"viewport": {"width": 360, "height": 640}, "color_scheme": "dark", **TOUCHED},
}
FIRST_VIEW = 300_000
FIRST_REQUESTS = 120
FIRST_FILES = 4  # one style sheet, the theme, the page and its view
MIN_TITLE_PIXELS = 100  # a few words, before a title is cut
WIDTHS = """(selector) => [...document.querySelectorAll(selector)]
  .filter((title) => title.checkVisibility())
  .map((title) => title.getBoundingClientRect().width)"""
CUT = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"
NAVIGATION = "async () => (await import('/static/js/core/router.js')).VIEWS.map(({ name, hash }) => [name, hash])"


@pytest.mark.parametrize("mode", MODES)
def test_every_view_is_sound_accessible_and_fits(visit, served, mode):
    page = visit.blank(served, **MODES[mode])
    song = ask(served, "/songs", search="Song 31")["items"][0]["id"]
    page.goto(served)
    navigation = dict(page.evaluate(NAVIGATION))
    assert len(navigation) > 5
    hashes = navigation | {"albums": "#/library/albums", "artists": "#/library/artists", "song": f"#/song/{song}"}
    hashes |= {"album": f"#/song/{song}/album", "artist": f"#/song/{song}/artist"}
    faults = []
    for view, hash in hashes.items():
        page.goto(f"{served}/{hash}")
        expect(page.locator(READY.get(view, "#view:not([aria-busy]) h1")).first).to_be_visible(timeout=LONG)
        expect(page.locator(".skeletons")).to_have_count(0)
        faults += [f"{view}: {fault}" for fault in serious(page)]
        faults += [f"{view}: {too_wide(page)} pixels too wide"] if too_wide(page) > 0 else []
    assert faults == []


@pytest.mark.parametrize(
    ("hash", "answers", "box", "ready"),
    [
        ("#/library", "**/api/v1/songs?*", ".skeleton-rows", READY["library"]),
        ("#/library/albums", "**/api/v1/albums?*", ".skeleton-cards", READY["albums"]),
        ("#/", "**/api/v1/home*", ".skeleton-cards", READY["home"]),
    ],
)
def test_while_a_list_loads_its_outlines_are_there(visit, served, hash, answers, box, ready):
    page, held, is_let_go = visit(served, "#/listen"), [], False
    expect(page.locator(READY["listen"])).to_be_visible()
    page.route(answers, lambda route: route.continue_() if is_let_go else held.append(route))
    page.evaluate("(hash) => { location.hash = hash; }", hash)
    expect(page.locator(f"{box} .skeleton").first).to_be_visible()
    expect(page.locator(ready)).to_have_count(0)
    until(page, lambda: held)
    is_let_go = True
    for route in held:
        route.continue_()
    expect(page.locator(ready).first).to_be_visible()
    expect(page.locator(".skeletons")).to_have_count(0)


def test_no_title_is_cut_to_a_letter_in_a_window_of_1024_pixels(visit, served):
    page = visit.blank(served, viewport={"width": 1024, "height": 768})

    def lengthen(route) -> None:
        answer = route.fetch()
        text = (
            answer.text()
            .replace('"Song ', '"A title that has many words, Song ')
            .replace('"First"', f'"{"First " * 9}"')
        )
        route.fulfill(response=answer, body=text)

    page.route(re.compile("/api/v1/(songs|albums|artists|home|for-you|playlists/draft)"), lengthen)
    song = ask(served, "/songs", search="Song 31")["items"][0]["id"]
    hold_sound(page)
    page.goto(f"{served}/#/playlists")
    page.get_by_role("combobox", name="Add a seed").fill("song 31")
    page.get_by_role("option").first.click()
    expect(rows(page, "#draft-songs")).to_have_count(25)
    rows(page, "#draft-songs").first.locator(".row-play").click()
    views = {
        "playlists": "#draft-songs .row-title",
        "library": "#songs .row-title",
        "library/albums": "#albums .tile-name",
        "": "#home .tile-name",
        "for-you": "#for-you-songs .row-title",
        f"song/{song}/album": "#album-songs .row-title, .home-section .tile-name",
        f"song/{song}/artist": "#artist-songs .row-title, .home-section .tile-name",
    }
    for opened in (False, True):
        if opened:
            page.locator("#queue-toggle").click()
            expect(page.locator(".queue-row").first).to_be_visible()
        for hash, titles in views.items():
            page.evaluate("(hash) => { location.hash = `#/${hash}`; }", hash)
            expect(page.locator(titles).first).to_be_visible()
            assert min(page.evaluate(WIDTHS, titles)) >= MIN_TITLE_PIXELS, (hash, opened)


def test_the_details_of_a_reason_can_be_read_in_a_window_of_1024_pixels(visit, served):
    song = ask(served, "/songs", search="Song 31")["items"][0]["id"]
    page = visit(served, f"#/song/{song}", viewport={"width": 1024, "height": 768})
    rows(page, "#near-native").nth(3).locator(".row-why").click()
    page.locator(".why-details summary").click()
    names = page.locator(".sound-line dt")
    expect(names.first).to_be_visible()
    assert names.evaluate_all(CUT) == []
    assert page.locator(".sound-examples .chip span").evaluate_all(CUT) == []


def test_all_of_the_navigation_can_be_reached_in_a_low_window(visit, served):
    page = visit(served, viewport={"width": 844, "height": 390})
    hold_sound(page)
    rows(page).first.locator(".row-play").click()
    expect(page.locator("#player")).to_be_visible()
    theme, player = page.locator("#theme-toggle"), page.locator("#player").bounding_box()
    page.mouse.move(40, 150)
    page.mouse.wheel(0, 1000)
    until(page, lambda: theme.bounding_box()["y"] + theme.bounding_box()["height"] <= player["y"])
    settings = page.get_by_role("link", name="Settings")
    expect(settings).to_be_in_viewport(ratio=1)
    settings.click()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()


@pytest.mark.parametrize("mode", ["light", "dark", "phone"])
def test_what_opens_is_accessible_and_fits_too(visit, served, mode):
    page = visit(served, "#/playlists", **MODES[mode])
    faults = []

    def look(what: str) -> None:
        faults.extend(f"{what}: {fault}" for fault in serious(page))
        if too_wide(page) > 0:
            faults.append(f"{what}: {too_wide(page)} pixels too wide")

    page.get_by_role("combobox", name="Add a seed").fill("song 3")
    expect(page.get_by_role("option").first).to_be_visible()
    look("offers")
    page.get_by_role("option").first.click()
    expect(rows(page, "#draft-songs")).to_have_count(25)
    look("playlist")
    if "phone" in mode:
        page.get_by_role("button", name="Songs (25)").click()
    page.get_by_role("button", name="Play all").click()
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row").first).to_be_visible()
    look("queue")
    page.keyboard.press("Escape")
    open_menu(rows(page, "#draft-songs").first)
    expect(page.get_by_role("menu")).to_be_visible()
    look("menu")
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#/song/' + document.querySelector('.song-row').dataset.songId")
    expect(rows(page, "#near-learned")).to_have_count(10)
    rows(page, "#near-learned").nth(3).locator(".row-why").click()
    expect(page.locator(".why-body")).to_be_visible()
    look("why")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    look("keys")
    assert faults == []


def test_the_page_for_the_token_is_accessible(visit, serving, trained):
    with serving(trained, token="correct-horse-battery-staple-4242") as address:
        page = visit(address)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert serious(page) == []
        page.context.close()


def test_the_first_view_is_small_and_comes_from_here_alone(visit, served):
    page = visit.blank(served)
    asked, loaded = {}, []
    wire = page.context.new_cdp_session(page)
    wire.on("Network.requestWillBeSent", lambda event: asked.update({event["requestId"]: event["request"]["url"]}))
    wire.on("Network.loadingFinished", lambda event: loaded.append((event["requestId"], event["encodedDataLength"])))
    wire.send("Network.enable")
    wire.send("Network.clearBrowserCache")
    page.goto(served)
    expect(page.locator(READY["home"])).to_have_count(12)
    page.wait_for_load_state("networkidle")
    assert all(url.startswith((served, "data:", "blob:")) for url in asked.values())
    assert 20 < len(loaded) < FIRST_REQUESTS
    assert page.evaluate("document.fonts.check('16px Inter')")  # the page's own font is among them
    sizes = sorted(((size, asked[request]) for request, size in loaded), reverse=True)
    assert sum(size for size, _ in sizes) < FIRST_VIEW, sizes[:8]


def test_no_request_stands_between_the_page_and_its_first_view(visit, served, monkeypatch):
    monkeypatch.setattr(pages, "PATIENCE_SECONDS", 300.0)
    page, held, files = visit.blank(served), [], []
    page.route("**/api/**", lambda route: held.append(route))  # none is answered
    page.on("request", lambda asked: files.append(asked.url) if "/static/" in asked.url else None)
    page.goto(served, wait_until="commit")
    expect(page.locator(READY["home"])).to_have_count(12)
    expect(page.locator(".skeletons")).to_have_count(0)
    assert len([file for file in files if file.endswith((".js", ".css"))]) <= FIRST_FILES, files
    asked = {urlsplit(route.request.url).path for route in held}
    assert not asked & {"/api/v1/status", "/api/v1/home"}
    for route in held:
        route.continue_()


def test_light_and_dark_are_different_and_a_choice_stays(visit, served):
    page = visit(served, color_scheme="light")
    expect(rows(page)).to_have_count(50)
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light, root = page.evaluate(ground), page.locator("html")
    toggle = page.locator("#theme-toggle")
    toggle.click()
    toggle.click()
    expect(toggle).to_have_attribute("aria-label", "Theme: dark")
    expect(root).not_to_have_css("background-color", light)
    page.reload()
    expect(rows(page)).to_have_count(50)
    expect(toggle).to_have_attribute("aria-label", "Theme: dark")
    expect(root).not_to_have_css("background-color", light)
