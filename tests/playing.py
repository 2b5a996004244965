"""What tests of the page's player share: what its two audio elements do, and what hands do with it."""

import re

from playwright.sync_api import Page, expect

from browsing import played, rows

LONG_MINUTES = 8
PART_SECONDS = 60
"""Longer than all that a test does before it jumps to the end, on a busy machine too."""


def watch_elements(page: Page) -> None:
    """Write down each start of an audio element, and how far the other one was."""
    page.evaluate(
        """() => {
          window.elements = [];
          window.starts = [];
          const play = HTMLMediaElement.prototype.play;
          HTMLMediaElement.prototype.play = function () {
            if (!window.elements.includes(this)) window.elements.push(this);
            const other = window.elements.find((one) => one !== this);
            const left = other && !other.paused ? other.duration - other.currentTime : null;
            window.starts.push({ element: window.elements.indexOf(this), ready: this.readyState, left });
            return play.call(this);
          };
        }"""
    )


def volumes(page: Page) -> list[float]:
    """The volumes of the elements that play."""
    return page.evaluate("window.elements.filter((one) => !one.paused).map((one) => one.volume)")


def play_parts(page: Page) -> None:
    """Play the three parts, in order."""
    page.locator("#search").fill("long player part")
    expect(rows(page)).to_have_count(3)
    rows(page).first.locator(".row-play").click()
    expect(page.locator("#player-title")).to_have_text("Part 1")
    played(page, 0.2)


def hold_sound(page: Page, but: int = 0) -> None:
    """Let no song sound from now on, but one: those of two seconds end before a busy machine has looked."""
    page.route(re.compile(rf"/api/v1/songs/(?!{but}/)\d+/audio"), lambda _route: None)


def crossing(page: Page) -> None:
    """Wait until both elements play, and neither is at its full volume; the page looks at each frame."""
    page.wait_for_function(
        """() => {
          const on = window.elements.filter((one) => !one.paused);
          return on.length === 2 && on.every((one) => one.volume > 0 && one.volume < 1);
        }"""
    )


def faded(page: Page, most: float) -> None:
    """Wait until what plays is this quiet, but not silent; the page looks at each frame."""
    page.wait_for_function(
        "(most) => window.elements.some((one) => !one.paused && one.volume > 0 && one.volume < most)", arg=most
    )


def seek(page: Page, seconds: float) -> None:
    page.evaluate("async (to) => (await import('/static/js/player/player.js')).player.seek(to)", seconds)


def queued(page: Page) -> list[str]:
    return page.locator(".queue-names > :first-child").all_inner_texts()
