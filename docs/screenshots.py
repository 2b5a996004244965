"""A library, or the address of a service -> a picture of every view: light, dark and on a phone.

``python docs/screenshots.py .demo/library.sqlite docs/figures`` writes ``page-VIEW-MODE.png``. It works on a copy of
the library, so that nothing of what it saves stays there; the copy gets a listener who has played, loved, forgotten
and queued songs, and a map. A file to drop is found beside the library (``new/``).
Needs the development tools (``pip install -e .[dev]``) and a ``chromium``.
"""

import argparse
import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Page, Route, expect, sync_playwright

from nearsong.library import Library
from nearsong.library.maps.cached import draw

MODES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "device_scale_factor": 1.5,
        "is_mobile": True,
        "has_touch": True,
    },
}
TIMEOUT_MILLISECONDS = 120_000
DAY_SECONDS = 86_400
MAX_COLOURS = 256

LARGEST_GENRE = """() => {
  const canvas = document.getElementById("map-canvas"), tip = document.querySelector(".map-tip");
  const box = canvas.getBoundingClientRect(), found = new Map();
  for (let y = box.top + 5; y < box.bottom; y += 10) {
    for (let x = box.left + 5; x < box.right; x += 10) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, pointerType: "mouse" }));
      const genre = tip.hidden ? "" : tip.lastElementChild.textContent.split(" · ")[0];
      if (genre) found.set(genre, [...(found.get(genre) || []), [x, y]]);
    }
  }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  const [points] = [...found.values()].sort((one, other) => other.length - one.length);
  const middle = [0, 1].map((at) => points.map((point) => point[at]).sort((a, b) => a - b)[points.length >> 1]);
  const distances = points.map(([x, y]) => Math.hypot(x - middle[0], y - middle[1])).sort((a, b) => a - b);
  return [...middle, distances[Math.floor(0.7 * distances.length)] + 12];
}"""
"""Centre and radius, in pixels, of the genre that covers the largest area of the map."""


@dataclass(frozen=True)
class Subject:
    """What the pictures are of."""

    address: str
    songs: list[dict[str, Any]]
    file: Path | None
    is_lived_in: bool = False

    def song(self) -> dict[str, Any]:
        """Return a song on which what was learned shows: where listeners agree more often than with sound alone."""

        def agreed(song: dict[str, Any], metric: str) -> int:
            asked = {"seed": song["id"], "n": 6, "metric": metric}
            near = httpx.get(f"{self.address}/api/v1/similar", params=asked, timeout=60).json()["songs"]
            return sum(bool(one["listeners_agree"]) for one in near)

        return max(self.songs[::3], key=lambda song: agreed(song, "active") - agreed(song, "native"))


# ---------------------------------------------------------------- the views


def home(page: Page, subject: Subject) -> None:
    """Show what a visitor sees first, once there is something to continue with."""
    go(page, subject, "#/", SETTLED)
    expect(page.locator("#home")).not_to_have_attribute("aria-busy", "true")
    if subject.is_lived_in:
        for part in ("#home-continue", "#home-for-you", "#home-unplayed", "#home-forgotten", ".home-map-canvas"):
            expect(page.locator(part)).to_be_visible()


def home_below(page: Page, subject: Subject) -> None:
    """Show what stands below on the first page: songs nobody has played, forgotten ones, and the map."""
    home(page, subject)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")


def albums(page: Page, subject: Subject) -> None:
    """Show the albums."""
    go(page, subject, "#/library/albums", "#albums .tile")


def artists(page: Page, subject: Subject) -> None:
    """Show the artists."""
    go(page, subject, "#/library/artists", "#artists .tile")


def album(page: Page, subject: Subject) -> None:
    """Show the album of a song."""
    go(page, subject, f"#/song/{subject.song()['id']}/album", SETTLED)


def artist(page: Page, subject: Subject) -> None:
    """Show the artist of a song."""
    go(page, subject, f"#/song/{subject.song()['id']}/artist", SETTLED)


def settings(page: Page, subject: Subject) -> None:
    """Show the settings, with a folder as it is called at home."""

    def rename(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        for folder in told["folders"]:
            folder["path"] = "/home/me/Music"
        route.fulfill(response=answer, json=told)

    page.route("**/api/v1/folders", rename)
    go(page, subject, "#/settings", SETTLED)
    expect(page.locator(".settings-body[aria-busy]")).to_have_count(0)


def now_playing(page: Page, subject: Subject) -> None:
    """Show the song that plays as large as the window."""
    library(page, subject)
    page.locator("#open-now-playing").click()
    expect(page.locator("#now-playing")).to_be_visible()


def queue(page: Page, subject: Subject) -> None:
    """Show what comes next."""
    library(page, subject)
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row").first).to_be_visible()


def library(page: Page, subject: Subject) -> None:
    """Show the library while a song plays."""
    go(page, subject, library_hash(page, subject), "#songs .song-row")
    page.locator(".row-play").nth(2).click()
    pause(page)


def for_you(page: Page, subject: Subject) -> None:
    """Show what is near to what was played."""
    go(page, subject, "#/for-you", "#for-you-songs .song-row")


def song(page: Page, subject: Subject) -> None:
    """Show a song and what is near it."""
    go(page, subject, f"#/song/{subject.song()['id']}", "#near-learned .song-row")


def why(page: Page, subject: Subject) -> None:
    """Show the reason for one neighbour of a song."""
    song(page, subject)
    page.locator("#near-learned .song-row", has=page.locator(".mark-agree")).first.locator(".row-why").click()
    expect(page.locator(".why-body")).to_be_visible()


def listen(page: Page, subject: Subject) -> None:
    """Drop a file that is not in the library."""
    go(page, subject, "#/listen", "#drop-zone")
    if subject.file is not None:
        page.locator("#listen-file").set_input_files(subject.file)
        expect(page.locator("#near-learned .song-row").first).to_be_visible()


def map_(page: Page, subject: Subject) -> None:
    """Draw around some songs of the map."""
    go(page, subject, "#/map", "#map-canvas")
    page.locator(".map-row").first.wait_for(state="attached")
    x, y, reach = page.evaluate(LARGEST_GENRE)
    page.locator("#map-lasso").click()
    turns = [2 * math.pi * step / 24 for step in range(24)]
    places = [(x + reach * math.cos(turn) * 1.1, y + reach * math.sin(turn)) for turn in turns]
    canvas = page.locator("#map-canvas").bounding_box() or {}
    left, right = canvas["x"] + 4, canvas["x"] + canvas["width"] - 4  # on a phone the genre may be as wide as the map
    places = [(min(max(across, left), right), down) for across, down in places]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()
    expect(page.locator("#map-picked button").first).to_be_visible()


def playlists(page: Page, subject: Subject) -> None:
    """Make a playlist around a song and save it; one of an earlier picture goes."""
    for saved in httpx.get(f"{subject.address}/api/v1/playlists", timeout=60).json():
        httpx.delete(f"{subject.address}/api/v1/playlists/{saved['id']}", timeout=60)
    go(page, subject, "#/playlists", "#make-playlist")
    chosen = subject.song()
    page.get_by_role("combobox", name="Add a seed").fill(f"{chosen['artist']} {chosen['title']}")
    page.get_by_role("option").first.click()
    page.locator("#draft-songs .song-row").first.wait_for(state="attached")
    switch = page.get_by_role("button", name="Songs (")  # on a phone
    if switch.is_visible():
        switch.click()
    expect(page.locator(".result")).to_have_attribute("aria-busy", "false")
    page.get_by_label("Playlist name").fill("A quiet evening")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#playlist-state")).to_have_text("Saved")
    close_messages(page)
    page.evaluate("document.activeElement.blur()")


def quality(page: Page, subject: Subject) -> None:
    """Show the report."""
    go(page, subject, "#/quality", "#cold-sentence")
    expect(page.locator(".chart svg").first).to_be_visible()


def empty(page: Page, subject: Subject) -> None:
    """Show what a library without songs teaches."""
    go(page, subject, "#/", ".steps")


VIEWS: dict[str, Callable[[Page, Subject], None]] = {
    "home": home,
    "home-below": home_below,
    "library": library,
    "albums": albums,
    "artists": artists,
    "album": album,
    "artist": artist,
    "for-you": for_you,
    "song": song,
    "why": why,
    "listen": listen,
    "map": map_,
    "playlists": playlists,
    "quality": quality,
    "settings": settings,
    "now-playing": now_playing,
    "queue": queue,
}
SETTLED = "#view:not([aria-busy]):not(:has(.skeletons)) h1"
"""The heading of a view that has come, with all that it waited for."""


# ---------------------------------------------------------------- hands


def go(page: Page, subject: Subject, hash: str, ready: str) -> None:
    """Open a view and wait until it can be used."""
    page.goto(f"{subject.address}/{hash}")
    expect(page.locator(ready).first).to_be_visible()


def library_hash(page: Page, subject: Subject) -> str:
    """Return where the navigation leads to the library."""
    page.goto(subject.address)
    link = page.locator("#nav-list a[data-view=library]")
    return str(link.get_attribute("href"))


def pause(page: Page) -> None:
    """Stop the music at its beginning, so that every picture is the same."""
    page.evaluate(
        "async () => {"
        " const { player } = await import('/static/js/player/player.js'); player.pause(); player.seek(0); }"
    )
    page.evaluate("document.activeElement.blur()")


def close_messages(page: Page) -> None:
    """Close the messages at the edge."""
    for button in page.locator("#toasts .icon-button").all():
        button.click()


def take(page: Page, path: Path) -> None:
    """Write what the window shows as a small PNG, once its pictures are there."""
    page.mouse.move(1, 1)
    page.wait_for_function(
        "() => [...document.images].filter((one) => { const box = one.getBoundingClientRect();"
        " return box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth && box.width; })"
        ".every((one) => one.complete && one.naturalWidth)"
    )
    page.wait_for_load_state("networkidle")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    seen = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    few = seen.quantize(MAX_COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path} {path.stat().st_size // 1000} kB")


# ---------------------------------------------------------------- the service


@contextmanager
def serving(place: Path) -> Iterator[str]:
    """Run ``nearsong serve`` on a library; give its address."""
    command = [sys.executable, "-u", "-m", "nearsong", "serve", "--library", str(place), "--port", "0"]
    place.parent.mkdir(exist_ok=True)
    usual = os.environ | {"NEARSONG_LIBRARY": str(place.absolute())}  # or the page names this folder
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=usual)
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if "http://" in line), "")
        if not line:
            sys.exit(f"nearsong serve has ended; try it by hand: {' '.join(command)}")
        yield line.split()[-1].rstrip("/")
    finally:
        process.terminate()
        process.wait(30)


def subject_at(address: str, near: Path | None, *, is_lived_in: bool = False) -> Subject:
    """Return what there is to show."""
    songs = httpx.get(f"{address}/api/v1/songs", params={"limit": 200}, timeout=60).json()["items"]
    files = sorted(near.rglob("new/*.*")) if near else []
    return Subject(address, songs, files[0] if files else None, is_lived_in)


def copied(library: Path, folder: Path) -> Path:
    """Return a copy of a library, to which its folder of caches belongs, too."""
    for part in library.parent.glob(f"{library.name}*"):
        (shutil.copytree if part.is_dir() else shutil.copy)(part, folder / part.name)
    return folder / library.name


def lived_in(place: Path) -> None:
    """Give a library a listener who plays some artists, has forgotten others and queued songs, and draw its map."""
    now = time.time()
    with Library.open(place) as library:
        songs = library.snapshot().space.songs
        artists = sorted({song.artist for song in songs})
        played: list[tuple[int, float]] = []
        for at, artist in enumerate(artists):
            own = [song for song in songs if song.artist == artist]
            days = {0: 1, 1: 100}.get(at % 5)  # one artist of five is played now, one was played long ago
            if days is None:
                continue
            for step, song in enumerate(own[: max(2, len(own) // 2)]):
                weeks = (7 * week + step / 2 + at / len(artists) for week in range(4))
                played += [(song.id, now - DAY_SECONDS * (days + day)) for day in weeks]
        library.play_log.record_all(played)
        library.play_log.update_history()
        left = [song.id for song in songs if song.artist == artists[2]]
        library.reactions.heart([played[0][0], left[0]])
        library.play_queues.save(left, 1, 42_000, changed_by="Symfonium")
        draw(library.snapshot(now=True))


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", help="a library's file, or the address of a service that runs")
    parser.add_argument("out", type=Path, help="folder for the pictures")
    parser.add_argument("--only", nargs="*", default=[*VIEWS, "empty"], help="views to take")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if given.what.startswith("http"):
            take_all(subject_at(given.what.rstrip("/"), None), VIEWS, given.out, given.only)
        else:
            place = copied(Path(given.what), Path(folder))
            lived_in(place)
            with serving(place) as address:
                take_all(subject_at(address, Path(given.what).parent, is_lived_in=True), VIEWS, given.out, given.only)
        with serving(Path(folder) / "empty" / "library.sqlite") as address:
            take_all(Subject(address, [], None), {"empty": empty}, given.out, given.only)


def take_all(subject: Subject, views: dict[str, Callable[[Page, Subject], None]], out: Path, only: list[str]) -> None:
    """Take the pictures of some views of a service."""
    expect.set_options(timeout=TIMEOUT_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for mode, look in MODES.items():
            for view, show in views.items():
                if view not in only:
                    continue
                context = browser.new_context(reduced_motion="reduce", **look)
                context.set_default_timeout(TIMEOUT_MILLISECONDS)
                page = context.new_page()
                show(page, subject)
                take(page, out / f"page-{view}-{mode}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
