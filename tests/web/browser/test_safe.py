"""The page against hostile music, behind a token, and while the service is gone; all in a real browser."""

import csv
import shutil

import httpx
import pytest
import soundfile
from playwright.sync_api import expect

import music_library
from browsing import LONG, READY, ask, open_menu, rows, too_wide, until
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library

HOSTILE = [
    "<img src=x onerror=window.__pwned=1>",
    "<script>window.__pwned=1</script>",
    '"><svg onload=window.__pwned=1>',
    "javascript:window.__pwned=1",
    "' onmouseover=window.__pwned=1 x='",
    "W" * 300,
    "\u202eesrever\u202d \u2067left",
    "<b>${window.__pwned=1}{{7*7}}</b>",
    "a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308" * 12,
    "",
]
WIDTHS = (1280, 390)
TOKEN = "correct-horse-battery-staple-4242"
GONE = ("ERR_CONNECTION_", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED", "ERR_INCOMPLETE_", "ERR_CONTENT_LENGTH_")
"""What Chromium says of a service that ends."""


@pytest.fixture(scope="module")
def hostile(serving, tmp_path_factory):
    """The address of a server whose every name wants to be more than a name."""
    folder = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate(HOSTILE):
        for song in range(2):
            path = folder / "music" / f"{number} <img src=x onerror=__pwned=1>" / f"{song} <script>.flac"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, music_library.sound(number % 3, 10 * number + song), music_library.RATE)
            write_tags(path, Tags(name, f"{name}{song}" if name else "", name, name[:200], 1990))
    listens = folder / "listens.csv"
    with listens.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["user", "artist", "title", "plays"])
        table.writerows([f"user{user}", name, f"{name}0", 9 + user] for user in range(20) for name in HOSTILE if name)
    with Library.open(folder / "library.sqlite") as library:
        library.scan(folder / "music", workers=1)
        library.import_listens(listens)
        with serving(library) as address:
            songs = [song["id"] for song in ask(address, "/songs", limit=100)["items"]]
            for name in HOSTILE[:3]:
                body = {"name": name[:200], "songs": songs}
                httpx.post(f"{address}/api/v1/playlists", json=body).raise_for_status()
            yield address


def test_names_that_are_html_stay_names_in_every_view(visit, hostile):
    page = visit.blank(hostile)
    songs = ask(hostile, "/songs", limit=100)["items"]
    lists = ask(hostile, "/playlists")
    views = {
        "#/": READY["home"],
        "#/library": READY["library"],
        "#/library/albums": READY["albums"],
        "#/library/artists": READY["artists"],
        f"#/song/{songs[0]['id']}/album": READY["album"],
        f"#/song/{songs[0]['id']}/artist": READY["artist"],
        "#/library?search=" + "W" * 200: "#result-count",
        **{f"#/song/{song['id']}": "#near-native .song-row" for song in songs[::3]},
        "#/listen": READY["listen"],
        "#/map": READY["map"],
        f"#/playlists/{lists[0]['id']}": "#draft-songs .song-row",
        "#/quality": READY["quality"],
    }
    for hash, ready in views.items():
        page.goto("about:blank")
        page.goto(f"{hostile}/{hash}")
        expect(page.locator(ready).first).to_be_visible(timeout=LONG)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            until(page, lambda: too_wide(page) <= 0)  # the page takes a moment to become another width
        assert page.evaluate("window.__pwned") is None
        data = "script[type='application/json']"
        assert all("<" not in text for text in page.locator(data).all_text_contents())
        assert (
            page.locator(f"script:not([src]):not({data}), [onerror], [onload], [onmouseover], img[src='x']").count()
            == 0
        )
    assert len(songs) == 20


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_play_and_open_their_menus_panels_and_why(visit, hostile, width):
    page = visit(hostile, viewport={"width": width, "height": 800})
    expect(rows(page)).to_have_count(20)
    for at in (0, 4, 8):  # more messages would lie over a phone's rows
        open_menu(rows(page).nth(at))
        page.get_by_role("menuitem", name="Play next").click()
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row").first).to_be_visible()
    assert too_wide(page) <= 0
    page.keyboard.press("Escape")
    rows(page).nth(2).locator(".row-title").click()
    near = rows(page, "#near-native")
    expect(near.first).to_be_visible()
    near.first.locator(".row-why").click()
    expect(near.first.locator(".why-body")).to_be_visible()
    assert too_wide(page) <= 0
    page.locator("#make-playlist").click()
    expect(page.locator("#draft-songs .song-row").first).to_be_visible()
    assert too_wide(page) <= 0
    assert page.evaluate("window.__pwned") is None


def test_a_file_with_a_hostile_name_is_only_called_that(visit, hostile, tmp_path):
    path = tmp_path / "<img src=x onerror=window.__pwned=1>.wav"
    soundfile.write(path, music_library.sound(0, 5), music_library.RATE)
    page = visit(hostile, "#/listen")
    page.locator("#listen-file").set_input_files(path)
    expect(page.locator("#heard-title")).to_contain_text("<img src=x")
    assert page.evaluate("window.__pwned") is None


def test_with_a_token_the_page_asks_for_it_and_scripts_never_see_it(visit, serving, trained):
    with serving(trained, token=TOKEN) as address:
        page = visit(address, allow=("401",))
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.get_by_label("Token").fill("not the right one")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("Wrong token.")).to_be_visible()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(READY["home"])).to_have_count(12)
        (cookie,) = page.context.cookies()
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert TOKEN not in cookie["value"]
        assert page.evaluate("document.cookie") == ""
        page.context.close()


def test_signing_out_by_keyboard_ends_the_session_and_shows_the_form_again(visit, serving, trained):
    with serving(trained, token=TOKEN) as address:
        page = visit(address, f"?token={TOKEN}", allow=("401",))
        expect(page.locator(READY["home"])).to_have_count(12)
        (cookie,) = page.context.cookies()
        button = page.get_by_role("button", name="Sign out")
        expect(button).to_be_visible()
        page.locator("#help-button").focus()
        page.keyboard.press("Tab")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert page.context.cookies() == []
        kept = {cookie["name"]: cookie["value"]}
        assert httpx.get(f"{address}/api/v1/status", cookies=kept).status_code == 401
        page.goto(address)
        expect(page.get_by_label("Token")).to_be_focused()
        page.context.close()


def test_the_button_to_sign_out_is_where_one_signed_in_and_nowhere_else(visit, serving, trained, served):
    with serving(trained, token=TOKEN) as address:
        page = visit(address, f"?token={TOKEN}")  # which lets in, and is gone from the address
        expect(page.locator(READY["home"])).to_have_count(12)
        assert TOKEN not in page.url
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            expect(page.locator("#sign-out")).to_be_visible()
            until(page, lambda: too_wide(page) == 0)
        page.context.close()
    page = visit(served)
    expect(rows(page).first).to_be_visible()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator("#sign-out")).to_be_hidden()


def test_the_page_reports_that_the_service_is_gone_and_goes_on_when_it_is_back(
    visit, serving, trained_file, tmp_path
):
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        with serving(library) as address:
            page = visit(address, allow=GONE)
            expect(rows(page)).to_have_count(50)
        banner = page.locator("#link-banner")
        page.locator("#search").fill("band a3")
        expect(banner).to_contain_text("nearsong is not responding")
        expect(rows(page)).to_have_count(50)  # what was there stays
        with serving(library, port=int(address.rsplit(":", 1)[1])):
            expect(banner).to_be_hidden()
            expect(rows(page)).to_have_count(2)
            page.context.close()


def test_the_page_reports_a_service_that_takes_requests_and_answers_none(visit, served):
    page = visit.blank(served)
    sooner = "window.setTimeout = (run, wait, ...more) => later(run, wait > 10_000 ? 200 : wait, ...more);"
    page.add_init_script(f"if (!window.isHurried) {{ window.isHurried = true; const later = setTimeout; {sooner} }}")
    page.goto(f"{served}/#/library")
    expect(rows(page)).to_have_count(50)
    page.route("**/api/v1/**", lambda _route: None)
    page.locator("#search").fill("band a3")
    banner = page.locator("#link-banner")
    expect(banner).to_contain_text("nearsong is not responding")
    page.unroute_all(behavior="ignoreErrors")
    expect(banner).to_be_hidden()
    expect(rows(page)).to_have_count(2)
    page.context.close()  # its timers stay hurried


def test_hearts_that_could_not_be_loaded_are_asked_for_again(visit, own_server):
    page, asked = visit.blank(own_server, allow=("503",)), []

    def answer(route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.fulfill(status=503, json={"title": "the library is in use"})
        else:
            route.continue_()

    page.route("**/api/v1/hearts", answer)
    page.goto(f"{own_server}/#/library")
    expect(rows(page).first.locator(".heart")).to_be_visible()
    assert len(asked) > 1
