"""The first visit to the page: bytes, requests, and how long until it can be used, also with a slower processor.

`nearsong serve` answers in a process of its own on a library of random songs; Chromium opens the page with an empty
cache, as it is and with `Emulation.setCPUThrottlingRate` 4. Bytes are those that came over the wire, compressed. The
page can be used when its view has a heading and no outline is left of what is on its way, and the main thread has
answered once after that. One JSON line for each, with medians.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from bench_service import start_service, wait_until_quiet
from random_library import make_library

PROFILES = {
    "smoke": {"case": "first_view_200_songs", "songs": 200, "codewords": 64, "visits": 1},
    "full": {"case": "first_view_5k_songs", "songs": 5_000, "codewords": 256, "visits": 9},
}
SLOWER = {"": 1, "_4x_slower": 4}
"""What is added to the name of the case, and how many times slower the processor is."""

USABLE = """
new Promise((done) => {
  const look = () => {
    const view = document.getElementById("view");
    if (!view?.querySelector("h1") || view.querySelector(".skeletons")) return setTimeout(look, 5);
    requestAnimationFrame(() => setTimeout(() => done(performance.now())));
  };
  look();
})
"""


def visit(browser: Browser, address: str, slower: int) -> dict[str, float]:
    """Open the page as nobody has before, and return what it took."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    wire = context.new_cdp_session(page)
    loaded: list[float] = []
    wire.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    wire.send("Network.enable")
    wire.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(address, wait_until="commit")
    usable = page.evaluate(USABLE)
    page.wait_for_load_state("networkidle")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    return {"kilobytes": sum(loaded) / 1000, "requests": len(loaded), "first_paint_ms": painted, "usable_ms": usable}


def measure(profile: str) -> Iterator[dict[str, object]]:
    case = PROFILES[profile]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_library(folder, case["songs"], case["codewords"])
        service, port = start_service(folder)  # before the browser, which keeps an event loop in this thread
        try:
            wait_until_quiet(service.pid)
            with sync_playwright() as playwright:
                chromium = shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                yield from visits(browser, f"http://127.0.0.1:{port}/", case)
                browser.close()
        finally:
            service.terminate()
            service.wait(timeout=30)


def visits(browser: Browser, address: str, case: dict[str, Any]) -> Iterator[dict[str, object]]:
    visit(browser, address, 1)
    for named, slower in SLOWER.items():
        found = [visit(browser, address, slower) for _ in range(case["visits"])]
        medians = {what: round(float(np.median([one[what] for one in found])), 1) for what in found[0]}
        yield {"case": f"{case['case']}{named}", "visits": len(found), **medians}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    for line in measure(parser.parse_args().profile):
        print(json.dumps(line), flush=True)
