"""A map of many songs in a browser without a graphics card: time of a frame while it moves, against an empty canvas.

A page as `nearsong map` writes it, with songs in forty heaps, is dragged around and zoomed in and out by events of
the mouse, one before every frame; the time of a frame is that between two calls of `requestAnimationFrame`. An empty
canvas of the same size that is cleared before every frame is measured before and after it in the same browser. One
JSON line for the browser as it is (60 frames a second at most), one for frames as fast as it can draw them. The
points are drawn anew in some frames only, which the slowest tenth shows.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from nearsong.library.maps.page import write_map
from nearsong.library.records import Song

PROFILES = {
    "smoke": {"case": "map_page_3k_songs", "songs": 3_000, "frames": 12},
    "full": {"case": "map_page_50k_songs", "songs": 50_000, "frames": 240},
}
WINDOW = {"width": 1440, "height": 900}
WITHOUT_CARD = ["--no-sandbox", "--disable-gpu"]
SPEEDS = {"": [], "_unlimited": ["--disable-frame-rate-limit", "--disable-gpu-vsync"]}
"""What is added to the name of the case, and to the browser's options."""

N_HEAPS = 40

EMPTY = """<!doctype html><style>body { margin: 0 } canvas { display: block; width: 100vw; height: 100vh }</style>
<canvas></canvas>"""

FRAMES = """async ([frames, move]) => {
  const canvas = document.querySelector("#map-canvas") ?? document.querySelector("canvas");
  const context = canvas.id ? null : canvas.getContext("2d");
  const { width, height } = canvas.getBoundingClientRect();
  if (context) Object.assign(canvas, { width, height });
  const pointer = (name, x, y) => canvas.dispatchEvent(
    new PointerEvent(name, { clientX: x, clientY: y, pointerId: 7, bubbles: true }));
  const steps = {
    empty: () => context.clearRect(0, 0, width, height),
    pan: (frame) => {
      const turn = frame / 30;
      pointer("pointermove", width / 2 + 240 * Math.sin(turn), height / 2 + 160 * Math.sin(0.7 * turn));
    },
    zoom: (frame) => canvas.dispatchEvent(new WheelEvent("wheel", {
      clientX: width / 2, clientY: height / 2, deltaY: frame % 120 < 60 ? -18 : 18, cancelable: true })),
  };
  if (move === "pan") pointer("pointerdown", width / 2, height / 2);
  const times = [];
  let frame = 0;
  await new Promise((done) => {
    const next = (now) => {
      times.push(now);
      if (times.length > frames) return done();
      steps[move](frame++);
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  if (move === "pan") pointer("pointerup", width / 2, height / 2);
  return times.slice(1).map((time, at) => time - times[at]);
}"""


def write_songs(path: Path, n: int) -> None:
    """Write a map of random songs; every heap has a genre."""
    random = np.random.default_rng(0)
    heap = random.integers(N_HEAPS, size=n)
    centres = random.uniform(0.1, 0.9, size=(N_HEAPS, 2))
    positions = np.clip(centres[heap] + 0.03 * random.standard_normal((n, 2)), 0, 1)
    songs = [
        Song(id=i + 1, path="", artist=f"Artist {i // 12}", title=f"Song {i}", genre=f"Genre {heap[i]}")
        for i in range(n)
    ]
    write_map(path, songs, positions, np.full((n, 1), -1), np.zeros((n, 1)))


def frames(page: Page, n: int, move: str) -> list[float]:
    found: list[float] = page.evaluate(FRAMES, [n, move])
    return found


def measure_in(browser: Browser, file: Path, n_frames: int) -> dict[str, Any]:
    page = browser.new_page(viewport=WINDOW)
    empty: list[float] = []
    moved: dict[str, list[float]] = {}

    def measure_empty() -> None:
        page.set_content(EMPTY)
        empty.extend(frames(page, n_frames, "empty"))

    measure_empty()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    page.wait_for_selector(".map-row")
    painter = page.locator(".map-stage").get_attribute("data-painter")
    for move in ("pan", "zoom"):
        frames(page, min(30, n_frames), move)
        moved[move] = frames(page, n_frames, move)
    page.goto("about:blank")
    measure_empty()
    page.close()
    return {"painter": painter, **summary(empty, moved)}


def summary(empty: list[float], moved: dict[str, list[float]]) -> dict[str, object]:
    usual = float(np.median(empty))
    figures: dict[str, object] = {"empty_canvas_ms": round(usual, 2)}
    for move, times in moved.items():
        median, slow = np.quantile(times, [0.5, 0.9])
        figures |= {f"{move}_ms": round(median, 2), f"{move}_slowest_tenth_ms": round(slow, 2)}
        figures[f"{move}_over_empty_canvas"] = round(median / usual, 2)
    return figures


def measure(profile: str) -> Iterator[dict[str, object]]:
    case = PROFILES[profile]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "map.html"
        write_songs(file, case["songs"])
        for named, options in SPEEDS.items():
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=[*WITHOUT_CARD, *options]
            )
            yield {
                "case": f"{case['case']}{named}",
                "songs": case["songs"],
                **measure_in(browser, file, case["frames"]),
            }
            browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    for line in measure(parser.parse_args().profile):
        print(json.dumps(line), flush=True)
