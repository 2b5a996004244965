"""The first visit to the page: bytes, requests, and how long until it can be used, also with a slower processor.

`nearsong serve` answers in a process of its own on a library of random songs; Chromium opens the page with an empty
cache, as it is and with `Emulation.setCPUThrottlingRate` 4. One JSON line for each library and speed, with medians.

Without a suffix the library has neither albums nor plays, so that home has a heading and advice, but no sections;
`_played` has albums and a listener with 1,000 plays, and home has all its sections with covers.

`usable_ms` is when all that the window shows can be used: the view has a heading, no outline is left of what is on
its way, the sections reach the lower edge of the window or are all there, and the main thread has answered once
after that. Sections further below do not count; `complete_ms` is when they are there, too, and the main thread has
answered. Covers count for neither. `requests_before` came until the page was usable, of which the API answered
`api_requests_before`: none, as the page ends with its first answers. `kilobytes` (compressed) and `requests` are all
that came until the network was idle. `main_ms`, `script_ms`, `style_ms` and `layout_ms` are processor time of the
main thread until the page is usable, with a slower processor several times as much, and `service_ms` that of the
service for the whole visit. `empty_ms` is when a page with nothing but a heading can be used, which the driver of the
browser answers: what the browser alone takes. `ratio` is `usable_ms` to it, in medians of visits that alternate.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import sqlalchemy as sa
from playwright.sync_api import Browser, CDPSession, sync_playwright

from bench_service import processor_seconds, start_service, wait_until_quiet
from nearsong.library import Library
from nearsong.library.store import Store, schema
from random_library import make_library

PROFILES = {
    "smoke": {"case": "first_view_200_songs", "songs": 200, "codewords": 64, "visits": 1},
    "full": {"case": "first_view_5k_songs", "songs": 5_000, "codewords": 256, "visits": 9},
}
LIBRARIES = {"": False, "_played": True}
"""What is added to the name of the case, and whether the library has albums and plays."""

SLOWER = {"": 1, "_4x_slower": 4}
"""What is added to the name of the case, and how many times slower the processor is."""

PLAYS = 1_000
TIMES = {"main_ms": "TaskDuration", "script_ms": "ScriptDuration", "style_ms": "RecalcStyleDuration"}
TIMES |= {"layout_ms": "LayoutDuration"}

EMPTY = "<!doctype html><html lang=en><title>x</title><main id=view><h1>Home</h1></main></html>"

USABLE = """
(isComplete) => new Promise((done) => {
  const isThere = () => {
    const view = document.getElementById("view");
    if (!view?.querySelector("h1") || view.querySelector(".skeletons")) return false;
    const home = document.getElementById("home");
    if (home?.ariaBusy !== "true") return true;
    return !isComplete && home.lastElementChild?.getBoundingClientRect().bottom >= innerHeight;
  };
  const look = () => {
    if (!isThere()) return setTimeout(look, 5);
    requestAnimationFrame(() => setTimeout(() => done(performance.now())));
  };
  look();
})
"""


CAME = """
(before) => performance.getEntriesByType("resource").filter((one) => one.responseEnd <= before).map((one) => one.name)
"""
"""Addresses of what came before a time, beside the page itself."""


def add_plays(folder: Path, n_songs: int) -> None:
    """Give every song an album, and one listener a year of plays of the first tenth of the songs."""
    file = folder / "library.sqlite"
    with closing(Store(file)) as store, store.writing() as connection:
        songs = schema.songs
        album = songs.c.artist + sa.literal(" album ") + sa.cast(songs.c.id % 3, sa.Text)
        connection.execute(songs.update().values(album=album))
    random, now = np.random.default_rng(0), time()
    played = random.integers(1, max(n_songs // 10, 2), size=PLAYS).tolist()
    days = random.uniform(0.1, 365.0, size=PLAYS).tolist()
    with Library.open(file) as library:
        library.play_log.record_all([(song, now - 86_400 * day) for song, day in zip(played, days, strict=True)])


def main_thread(wire: CDPSession) -> dict[str, float]:
    """Return the processor time that the main thread of a page has used, in milliseconds."""
    found = {one["name"]: one["value"] for one in wire.send("Performance.getMetrics")["metrics"]}
    return {name: 1000 * found[metric] for name, metric in TIMES.items()}


def visit(browser: Browser, address: str, slower: int, service: int) -> dict[str, float]:
    """Open the page as nobody has before, and return what it took."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    wire = context.new_cdp_session(page)
    loaded: list[float] = []
    wire.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    wire.send("Network.enable")
    wire.send("Performance.enable", {"timeDomain": "threadTicks"})
    wire.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    served, before = processor_seconds(service), main_thread(wire)
    page.goto(address, wait_until="commit")
    usable = page.evaluate(USABLE, False)
    came = page.evaluate(CAME, usable)
    times = {name: value - before[name] for name, value in main_thread(wire).items()}
    complete = page.evaluate(USABLE, True)
    page.wait_for_load_state("networkidle")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    times["service_ms"] = 1000 * (processor_seconds(service) - served)
    facts = {"kilobytes": sum(loaded) / 1000, "requests": len(loaded), "first_paint_ms": painted}
    facts |= {"requests_before": 1 + len(came), "api_requests_before": sum("/api/v1/" in one for one in came)}
    return {**facts, "usable_ms": usable, "complete_ms": complete, **times}


def visit_empty(browser: Browser, address: str, slower: int) -> float:
    """Return when a page with nothing but a heading can be used."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.route(f"{address}*", lambda route: route.fulfill(body=EMPTY, content_type="text/html"))
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(address, wait_until="commit")
    usable = float(page.evaluate(USABLE, False))
    context.close()
    return usable


def measure(profile: str) -> Iterator[dict[str, object]]:
    case = PROFILES[profile]
    for named, is_played in LIBRARIES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_library(folder, case["songs"], case["codewords"])
            if is_played:
                add_plays(folder, case["songs"])
            service, port = start_service(folder)  # before the browser, which keeps an event loop in this thread
            try:
                wait_until_quiet(service.pid)
                with sync_playwright() as playwright:
                    chromium = shutil.which("chromium")
                    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                    address = f"http://127.0.0.1:{port}/"
                    yield from visits(browser, address, service.pid, {**case, "case": case["case"] + named})
                    browser.close()
            finally:
                service.terminate()
                service.wait(timeout=30)


def visits(browser: Browser, address: str, service: int, case: dict[str, Any]) -> Iterator[dict[str, object]]:
    visit(browser, address, 1, service)
    for named, slower in SLOWER.items():
        found = [
            {**visit(browser, address, slower, service), "empty_ms": visit_empty(browser, address, slower)}
            for _ in range(case["visits"])
        ]
        medians = {what: round(float(np.median([one[what] for one in found])), 1) for what in found[0]}
        medians["ratio"] = round(medians["usable_ms"] / medians["empty_ms"], 2)
        yield {"case": f"{case['case']}{named}", "visits": len(found), **medians}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    for line in measure(parser.parse_args().profile):
        print(json.dumps(line), flush=True)
