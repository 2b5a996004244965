"""From song to song: without a pause, crossed, equally loud, shuffled, repeated, and asleep at last."""

import math

import pytest
from playwright.sync_api import expect

from browsing import played, rows, serious, sought_back, titles, until
from playing import (
    PART_SECONDS,
    crossing,
    faded,
    hold_sound,
    play_parts,
    queued,
    seek,
    volumes,
    watch_elements,
)


def test_the_next_song_is_loaded_in_the_other_element_and_starts_as_the_first_ends(visit, long_served):
    page = visit(long_served)
    watch_elements(page)
    play_parts(page)
    seek(page, PART_SECONDS - 2)
    expect(page.locator("#player-title")).to_have_text("Part 2")
    played(page, 0.1)
    first, second = page.evaluate("window.starts")
    assert (first["element"], second["element"]) == (0, 1)
    assert second["ready"] >= 3  # it had what it needed to play on
    assert second["left"] is None or second["left"] < 0.2  # None: it has ended


def test_songs_cross_and_are_equally_loud_as_the_options_say(visit, long_served):
    page = visit(long_served)
    watch_elements(page)
    play_parts(page)
    assert volumes(page) == [pytest.approx(0.25, abs=0.01)]  # ReplayGain of the song: -6 dB, and 6 dB below
    page.locator("#options-toggle").click()
    options = page.get_by_role("dialog", name="Playback options")
    expect(options).to_be_focused()
    options.get_by_role("button", name="By album").click()
    assert volumes(page) == [pytest.approx(0.125, abs=0.01)]
    options.get_by_role("button", name="Off", exact=True).click()
    assert volumes(page) == [1]
    options.get_by_label("Crossfade").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(options).to_contain_text("3 s")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(page.locator("#options-toggle")).to_be_focused()
    seek(page, PART_SECONDS - 3.5)
    expect(page.locator("#player-title")).to_have_text("Part 2")
    crossing(page)
    until(page, lambda: volumes(page) == [1])
    page.reload()
    page.locator("#options-toggle").click()
    expect(options).to_contain_text("3 s")
    expect(options.get_by_role("button", name="Off", exact=True)).to_have_attribute("aria-pressed", "true")


def test_quiet_songs_are_raised_within_the_headroom_and_no_gain_makes_a_song_clip(visit, served):
    page = visit(served)
    gains = page.evaluate(
        """async () => {
          const { gainOf } = await import("/static/js/player/deck.js");
          const song = (gain, peak, kind = "track") => ({ [`${kind}_gain`]: gain, [`${kind}_peak`]: peak });
          return [
            gainOf(song(0, 0.9), "track"), gainOf(song(3, 0.9), "track"), gainOf(song(20, 0.1), "track"),
            gainOf(song(20, 1.25), "track"), gainOf(song(3, 1.6), "track"), gainOf(song(-6, null), "album"),
            gainOf(song(-14, 1, "album"), "track"), gainOf(song(null, null), "album"), gainOf(song(-6, 1), "off"),
          ];
        }"""
    )
    decibels = [-6, -3, 0, 20 * math.log10(1 / 1.25), 20 * math.log10(1 / 1.6), -12, -20, -6, 0]
    assert gains == pytest.approx([10 ** (each / 20) for each in decibels], abs=1e-4)


def test_what_is_shuffled_or_repeated_stays_so_after_a_reload(visit, long_served):
    page = visit(long_served)
    hold_sound(page)
    page.locator("#search").fill("band a")
    expect(rows(page)).to_have_count(20)
    in_order = titles(rows(page))
    rows(page).nth(4).locator(".row-play").click()
    page.keyboard.press("q")
    expect(page.locator(".queue-row")).to_have_count(16)
    assert queued(page) == in_order[4:]
    page.keyboard.press("s")
    until(page, lambda: queued(page) != in_order[4:])
    page.locator("#play-toggle").click()
    expect(page.locator("#shuffle")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("r")
    page.keyboard.press("r")
    mixed = queued(page)
    assert (mixed[0], sorted(mixed)) == (in_order[4], sorted(in_order[4:]))
    page.wait_for_timeout(600)  # it is stored when nothing has changed for a while
    page.reload()
    page.keyboard.press("q")
    expect(page.locator(".queue-row")).to_have_count(16)
    assert queued(page) == mixed
    expect(page.get_by_role("button", name="Repeat: this song")).to_be_visible()
    page.locator("#shuffle").click()
    until(page, lambda: queued(page) == in_order[4:])


def test_a_song_or_all_of_them_are_repeated(visit, long_served):
    page = visit(long_served)
    play_parts(page)
    for _ in range(2):
        page.locator("#repeat").click()
    expect(page.locator("#repeat")).to_have_attribute("aria-label", "Repeat: this song")
    seek(page, PART_SECONDS - 1)
    sought_back(page, 5)
    expect(page.locator("#player-title")).to_have_text("Part 1")
    page.locator("#repeat").click()
    page.locator("#repeat").click()
    expect(page.locator("#repeat")).to_have_attribute("aria-label", "Repeat: all")
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(page.locator("#player-title")).to_have_text("Part 3")
    seek(page, PART_SECONDS - 1)
    expect(page.locator("#player-title")).to_have_text("Part 1")


def test_the_sleep_timer_fades_and_pauses_at_the_end_of_the_song_or_after_minutes(visit, long_served):
    page = visit(long_served)
    watch_elements(page)
    play_parts(page)
    page.locator("#options-toggle").click()
    page.get_by_label("Sleep timer").select_option(label="In 30 minutes")
    expect(page.locator("#sleep-left")).to_have_text("30 min left")
    page.get_by_label("Sleep timer").select_option(label="At the end of this song")
    expect(page.get_by_role("button", name="Playback options: stops after this song")).to_be_visible()
    page.keyboard.press("Escape")
    seek(page, PART_SECONDS - 3)
    faded(page, 0.2)
    expect(page.locator(".toast")).to_contain_text("Sleep timer: paused.")
    expect(page.locator("#player-title")).to_have_text("Part 2")  # is next, and waits
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.locator("#play-toggle").click()
    played(page, 0.2)
    assert volumes(page) == [pytest.approx(0.25, abs=0.01)]
    page.evaluate("async () => (await import('/static/js/player/sleep.js')).sleep.set(2 / 60)")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Playback options", exact=True)).to_be_visible()
