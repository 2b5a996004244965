"""What tests of the page's player share: what its two audio elements do, and what hands do with it."""

from playwright.sync_api import Page, expect

from browsing import played, rows

LONG_MINUTES = 8
PART_SECONDS = 12


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


def seek(page: Page, seconds: float) -> None:
    page.evaluate("async (to) => (await import('/static/js/player/player.js')).player.seek(to)", seconds)


def queued(page: Page) -> list[str]:
    return page.locator(".queue-names > :first-child").all_inner_texts()
