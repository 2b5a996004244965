"""What browser tests share: a browser, pages in which nothing may go wrong, and what hands do in them."""

import asyncio
import base64
import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, JSHandle, Locator, Page, Playwright, expect, sync_playwright

PATIENCE = 120_000
"""Milliseconds that what should appear may take on a busy machine."""

LONG = 300_000
"""The same for work that a process of its own does."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

READY = {
    "home": "#home-added .tile",
    "library": "#songs .song-row",
    "albums": "#albums .tile",
    "artists": "#artists .tile",
    "album": "#album-songs .song-row",
    "artist": "#artist-albums .tile",
    "song": "#near-learned .song-row",
    "for-you": "#for-you-songs .song-row",
    "listen": "#drop-zone",
    "map": "#map-canvas",
    "playlists": "#make-playlist",
    "quality": "#cold-sentence",
    "settings": "#models .settings-row",
}
"""View -> what is on the page when it can be used."""

expect.set_options(timeout=PATIENCE)


class RealBrowser:
    """Chromium for all tests of a session.

    Playwright leaves its event loop marked as the one that runs in this thread; between tests the mark is taken away,
    so that tests that have nothing to do with a browser can run loops of their own.
    """

    def __init__(self) -> None:
        self._playwright: Playwright = sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        options = ["--no-sandbox", "--mute-audio"]
        self.chromium: Browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        self._free: dict[str, list[Page]] = {}
        self.rest()

    def wake(self) -> None:
        asyncio._set_running_loop(self._loop)

    def rest(self) -> None:
        asyncio._set_running_loop(None)

    def take(self, options: dict[str, Any]) -> tuple[str, Page]:
        """Return a page that remembers nothing, one that is free or a new one, and the kind of page it is."""
        kind = repr(sorted(options.items()))
        if self._free.get(kind):
            return kind, self._free[kind].pop()
        context = self.chromium.new_context(accept_downloads=True, **options)
        context.set_default_timeout(PATIENCE)
        return kind, context.new_page()

    def give_back(self, kind: str, page: Page, address: str) -> None:
        """Make a page forget all but the files in its cache, which saves half of the work of opening the next."""
        page.unroute_all(behavior="ignoreErrors")
        page.context.set_offline(False)
        if address.startswith("http"):  # an empty page of the same origin, which can clear what scripts stored
            page.route(f"{address}/empty", lambda route: route.fulfill(body="", content_type="text/html"))
            page.goto(f"{address}/empty")
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
            page.unroute_all(behavior="ignoreErrors")
        page.goto("about:blank")
        page.context.clear_cookies()
        page.mouse.move(0, 0)
        self._free.setdefault(kind, []).append(page)

    def close(self) -> None:
        self.wake()
        self.chromium.close()
        self._playwright.stop()


class Visits:
    """Opens pages that remember nothing of each other; at the end nothing may have gone wrong in any of them."""

    def __init__(self, browser: RealBrowser) -> None:
        self._browser = browser
        self._open: list[tuple[str, Page, str]] = []
        self._listening: list[tuple[Page, str, Callable[[Any], None]]] = []
        self.faults: list[str] = []

    def __call__(self, address: str, hash: str = "#/library", *, allow: Sequence[str] = (), **options: Any) -> Page:
        """Return a page at an address; `allow` has patterns of faults that belong to the test."""
        page = self.blank(address, allow=allow, **options)
        page.goto(f"{address}/{hash}")
        return page

    def blank(self, address: str, *, allow: Sequence[str] = (), **options: Any) -> Page:
        """Return a page that is nowhere yet; from anywhere but `address` it may load nothing."""
        viewport = options.pop("viewport", {"width": 1280, "height": 800})
        scheme, motion = options.pop("color_scheme", "light"), options.pop("reduced_motion", "reduce")
        kind, page = self._browser.take(options)
        self._open.append((kind, page, address))
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme, reduced_motion=motion)
        self._watch(page, address, re.compile("|".join(allow)) if allow else None)
        return page

    def _watch(self, page: Page, address: str, allowed: re.Pattern[str] | None) -> None:
        def note(fault: str) -> None:
            slow = "GL Driver Message" in fault  # what Chromium says of a machine without a graphics card
            if not slow and not (allowed and allowed.search(fault)):
                self.faults.append(f"{fault} at {page.url}")

        def request(asked: Any) -> None:
            if not asked.url.startswith((address, "blob:", "data:")):
                note(f"asks {asked.url}")

        def failed(asked: Any) -> None:
            if asked.failure not in ("net::ERR_ABORTED", None):  # what the page itself no longer wants
                note(f"no answer from {asked.url}: {asked.failure}")

        for event, listener in {
            "console": lambda entry: note(f"console: {entry.text}") if entry.type in ("error", "warning") else None,
            "pageerror": lambda error: note(f"script: {error}"),
            "request": request,
            "requestfailed": failed,
            "response": lambda answer: note(f"{answer.status} {answer.url}") if answer.status >= 400 else None,
            "dialog": lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()),
        }.items():
            page.on(event, listener)  # type: ignore[call-overload]
            self._listening.append((page, event, listener))

    def close(self) -> None:
        for page, event, listener in self._listening:
            if not page.is_closed():
                page.remove_listener(event, listener)
        for kind, page, address in self._open:
            if not page.is_closed():
                self._browser.give_back(kind, page, address)
        assert not self.faults, "\n".join(self.faults)


# ---------------------------------------------------------------- what one sees


def ask(address: str, path: str, **parameters: Any) -> Any:
    """Return what the API says."""
    answer = httpx.get(f"{address}/api/v1{path}", params=parameters, timeout=60)
    answer.raise_for_status()
    return answer.json()


def rows(page: Page, within: str = "#songs") -> Locator:
    return page.locator(f"{within} .song-row")


def ids(shown: Locator) -> list[int]:
    """Return the songs of rows, in their order."""
    return [int(number) for number in shown.evaluate_all("rows => rows.map((row) => row.dataset.songId)")]


def titles(shown: Locator) -> list[str]:
    return shown.locator(".row-title").all_inner_texts()


def too_wide(page: Page) -> int:
    """Return by how many pixels the page would have to be pushed to the side."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def serious(page: Page) -> list[str]:
    """Return what axe-core calls serious or critical."""
    found = Axe().run(page).response["violations"]
    bad = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {', '.join(str(node['target']) for node in one['nodes'][:3])}" for one in bad]


def remember(page: Page, selector: str) -> Callable[[], list[str]]:
    """Write down every text that something on the page has from now on, however short it is there."""
    page.evaluate(
        """(selector) => {
          window.seen = [];
          const look = () => {
            const text = document.querySelector(selector)?.innerText;
            if (text && text !== window.seen.at(-1)) window.seen.push(text);
          };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
          look();
        }""",
        selector,
    )
    return lambda: page.evaluate("window.seen")


def in_turn(page: Page, seen: Callable[[], list[str]], wanted: list[str]) -> None:
    """Wait until the last of some texts was there, and see that they came in this order and no others."""
    page.wait_for_function("(last) => window.seen.includes(last)", arg=wanted[-1])
    assert seen()[: len(wanted)] == wanted


# ---------------------------------------------------------------- what one does


def position(page: Page) -> float:
    """Return how far the player is in its song, in seconds."""
    return page.evaluate("async () => (await import('/static/js/player/player.js')).player.position")


def played(page: Page, least: float) -> None:
    """Wait until the player has come so far in the song."""
    until(page, lambda: position(page) > least)


def sought_back(page: Page, most: float) -> None:
    """Wait until the player is no farther than this in the song."""
    until(page, lambda: position(page) < most)


def until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait for what has to be asked for; `wait_for_function` takes a promise that is to come for a yes."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        page.wait_for_timeout(50)


def open_menu(row: Locator) -> None:
    """Open the menu of a row; scrolling, which closes it, has to be over first."""
    row.evaluate("(row) => row.scrollIntoView({ block: 'center' })")
    row.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    row.locator(".row-more").click()


def carried(page: Page, name: str, data: bytes, kind: str) -> JSHandle:
    """Return what a mouse carries that drags a file."""
    return page.evaluate_handle(
        """([data, name, type]) => {
          const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
          const held = new DataTransfer();
          held.items.add(new File([bytes], name, { type }));
          return held;
        }""",
        [base64.b64encode(data).decode(), name, kind],
    )


def drag_in(page: Page, selector: str, file: Path, kind: str) -> None:
    """Drag a file over the page and let it go on something."""
    held = carried(page, file.name, file.read_bytes(), kind)
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(selector, event, {"dataTransfer": held})


def drag(page: Page, path: Sequence[tuple[float, float]], *, shift: bool = False) -> None:
    """Press the mouse, lead it along a path, and let it go."""
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(*path[0])
    page.mouse.down()
    for point in path[1:]:
        page.mouse.move(*point, steps=6)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")
