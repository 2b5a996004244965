"""The queue beside the view, the large view of what plays, and the lock screen."""

import pytest
from playwright.sync_api import expect

from browsing import ask, open_menu, played, rows, serious, until
from playing import PART_SECONDS, play_parts, queued, seek, watch_elements

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LYING = {"width": 844, "height": 390}


def test_the_queue_stands_beside_the_view_and_is_reordered_saved_and_cleared(visit, long_served):
    page = visit(long_served)
    play_parts(page)
    page.locator("#play-toggle").click()
    page.locator("#queue-toggle").click()
    panel = page.get_by_role("complementary", name="Queue")
    view, column = page.locator("main").bounding_box(), panel.bounding_box()
    assert view["x"] + view["width"] <= column["x"] + 1  # it covers nothing
    assert column["y"] + column["height"] <= page.locator("#player").bounding_box()["y"] + 1
    expect(panel.locator(".queue-row")).to_have_count(3)
    last = panel.get_by_role("button", name="Move Part 3:")
    last.focus()
    page.keyboard.press("Alt+ArrowUp")
    assert queued(page) == ["Part 1", "Part 3", "Part 2"]
    expect(last).to_be_focused()
    handle, goal = last.bounding_box(), panel.locator(".queue-row").nth(2).bounding_box()
    page.mouse.move(handle["x"] + 10, handle["y"] + 10)
    page.mouse.down()
    page.mouse.move(goal["x"] + 10, goal["y"] + goal["height"] - 2, steps=5)
    page.keyboard.press("Escape")  # the row goes back, the queue stays open
    page.mouse.up()
    expect(panel).to_be_visible()
    assert queued(page) == ["Part 1", "Part 3", "Part 2"]
    page.mouse.move(handle["x"] + 10, handle["y"] + 10)
    page.mouse.down()
    page.mouse.move(goal["x"] + 10, goal["y"] + goal["height"] - 2, steps=5)
    page.mouse.up()
    until(page, lambda: queued(page) == ["Part 1", "Part 2", "Part 3"])
    panel.locator(".queue-song").nth(1).click()
    expect(panel.locator(".queue-row")).to_have_count(2)
    expect(panel.locator(".queue-sum").first).to_contain_text("1 song to come, ")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("button", name="Save 3 songs, with those played")).to_be_visible()
    page.keyboard.type("Three parts")
    assert serious(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Saved as “Three parts” (3 songs).")
    saved = next(one for one in ask(long_served, "/playlists") if one["name"] == "Three parts")
    songs = ask(long_served, f"/playlists/{saved['id']}")["items"]
    assert [song["title"] for song in songs] == ["Part 1", "Part 2", "Part 3"]
    panel.get_by_role("button", name="Clear").click()
    expect(panel.locator(".queue-row")).to_have_count(1)
    page.locator(".row-more").first.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.goto("about:blank")
    tab = page.context.new_page()
    tab.goto(long_served)
    expect(tab.locator("#player-title")).to_have_text("Part 2")  # the queue outlives its tab
    tab.close()


def test_songs_that_were_skipped_are_not_saved(visit, long_served):
    page = visit(long_served)
    play_parts(page)
    page.locator("#queue-toggle").click()
    panel = page.get_by_role("complementary", name="Queue")
    for title in ("Part 2", "Part 3"):
        page.locator("#next").click()
        expect(page.locator("#player-title")).to_have_text(title)
        played(page, 0.1)
    seek(page, 0)
    page.locator("#play-toggle").click()
    page.locator("#previous").click()
    expect(page.locator("#player-title")).to_have_text("Part 2")
    page.locator("#save-queue").click()
    submit = panel.get_by_role("button", name="Save 2 songs", exact=True)
    expect(submit).to_have_attribute("title", "without 1 skipped")
    page.locator("#queue-name").fill("Not skipped")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Saved as “Not skipped” (2 songs).")
    saved = next(one for one in ask(long_served, "/playlists") if one["name"] == "Not skipped")
    songs = ask(long_served, f"/playlists/{saved['id']}")["items"]
    assert [song["title"] for song in songs] == ["Part 2", "Part 3"]
    page.wait_for_timeout(600)  # the queue is stored when nothing has changed for a while
    page.reload()
    page.locator("#queue-toggle").click()
    expect(page.locator("#save-queue")).to_have_attribute("title", "Save as a playlist, without 1 skipped")
    rows(page).first.locator(".row-play").click()
    expect(page.locator("#player-title")).to_have_text("Part 1")
    expect(page.locator("#save-queue")).to_have_attribute("title", "Save as a playlist")


def test_a_cleared_queue_can_be_had_back_while_its_song_plays_on(visit, long_served):
    page = visit(long_served)
    watch_elements(page)
    play_parts(page)
    page.locator("#queue-toggle").click()
    panel = page.get_by_role("complementary", name="Queue")
    save, clear = panel.get_by_role("button", name="Save"), panel.get_by_role("button", name="Clear")
    saves = save.bounding_box()
    clear.click()
    expect(panel.locator(".queue-row")).to_have_count(1)
    expect(panel).to_contain_text("Nothing comes after this song.")
    expect(clear).to_be_hidden()
    assert save.bounding_box() == saves  # a second click on the same spot saves nothing
    open_menu(rows(page).nth(1))
    page.get_by_role("menuitem", name="Add to queue").click()
    expect(panel.locator(".queue-row")).to_have_count(2)
    page.locator(".toast", has_text="Queue cleared.").get_by_role("button", name="Undo").click()
    until(page, lambda: queued(page) == ["Part 1", "Part 2", "Part 3", "Part 2"])
    assert len(page.evaluate("window.starts")) == 1  # the song was not begun again
    clear.click()
    rows(page).nth(2).locator(".row-play").click()
    expect(page.locator("#player-title")).to_have_text("Part 3")
    page.locator(".toast", has_text="Queue cleared.").get_by_role("button", name="Undo").click()
    expect(page.locator("#player-title")).to_have_text("Part 1")
    until(page, lambda: queued(page) == ["Part 1", "Part 2", "Part 3", "Part 2"])


def test_titles_have_room_in_the_queue_of_a_small_window(visit, long_served):
    page = visit(long_served, viewport={"width": 1024, "height": 768})
    play_parts(page)
    page.locator("#play-toggle").click()
    page.locator("#queue-toggle").click()
    names = page.locator(".queue-names")
    expect(names).to_have_count(3)
    assert names.first.bounding_box()["width"] > 140
    cut = "names => names.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".queue-names > span").evaluate_all(cut) == 0


def test_what_plays_has_the_menu_of_a_song_in_the_bar_and_in_the_large_view(visit, long_served):
    page = visit(long_served)
    play_parts(page)
    page.locator("#play-toggle").click()
    more = page.get_by_role("button", name="More for Part 1")
    menu = page.get_by_role("menu", name="More for Part 1")
    page.locator("#player").locator(more).click()
    for name in ("Similar songs", "Add to playlist", "Show on map", "Less like this"):
        expect(menu.get_by_role("menuitem", name=name)).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("#open-now-playing").click()
    large = page.get_by_role("dialog", name="Now playing")
    large.locator(more).click()
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(large).to_be_visible()
    expect(large.locator(more)).to_be_focused()
    large.locator(more).click()
    menu.get_by_role("menuitem", name="Similar songs").click()
    expect(page.get_by_role("heading", name="Part 1", level=1)).to_be_visible()
    expect(large).to_be_hidden()
    page.go_back()
    expect(rows(page)).to_have_count(3)


SWIPE = """(element, [from, to]) => {
  const touch = (y) => new Touch({ identifier: 1, target: element, clientX: 100, clientY: y });
  const fire = (name, y, touches) => element.dispatchEvent(new TouchEvent(name,
    { touches, changedTouches: [touch(y)], bubbles: true, cancelable: true }));
  fire("touchstart", from, [touch(from)]);
  fire("touchend", to, []);
}"""


def test_on_a_phone_the_bar_opens_a_large_view_that_back_esc_and_a_swipe_close(visit, long_served):
    page = visit(long_served, **PHONE)
    play_parts(page)
    large = page.get_by_role("dialog", name="Now playing")
    box = page.locator(".player-song").bounding_box()
    page.touchscreen.tap(box["x"] + 90, box["y"] + 30)
    expect(large).to_be_visible()
    assert large.bounding_box() == {"x": 0, "y": 0, **PHONE["viewport"]}
    expect(large.get_by_role("heading", name="Part 1")).to_be_in_viewport(ratio=1)
    expect(page.locator("#now-queue")).to_be_in_viewport(ratio=1)
    expect(page.locator("#now-queue")).to_contain_text("Part 2")
    assert serious(page) == []
    large.get_by_role("button", name="Next song").tap()
    expect(large.get_by_role("heading", name="Part 2")).to_be_visible()
    page.locator("#now-queue").tap()
    expect(page.get_by_role("complementary", name="Queue")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Queue")).to_be_hidden()
    expect(large).to_be_visible()
    page.go_back()
    expect(large).to_be_hidden()
    expect(rows(page)).to_have_count(3)  # and the view is the same
    page.locator(".player-song").evaluate(SWIPE, [600, 500])
    expect(large).to_be_visible()
    large.evaluate(SWIPE, [200, 320])
    expect(large).to_be_hidden()
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    expect(large).to_be_hidden()
    expect(page.locator("#open-now-playing")).to_be_focused()
    page.keyboard.press("f")
    page.keyboard.press("/")
    expect(large).to_be_hidden()
    expect(page.locator("#search")).to_be_focused()
    page.locator("#open-now-playing").focus()
    page.keyboard.press("f")
    large.get_by_role("link", name="Parts", exact=True).click()
    expect(page.get_by_role("heading", name="Parts", level=1)).to_be_visible()
    page.keyboard.press("f")
    large.get_by_role("link", name="Part 2").click()
    expect(page.get_by_role("heading", name="Part 2", level=1)).to_be_visible()
    expect(large).to_be_hidden()


@pytest.mark.parametrize("viewport", [LYING, {"width": 932, "height": 430}, {"width": 640, "height": 360}])
def test_on_a_phone_that_lies_on_its_side_cover_and_controls_are_all_in_view(visit, long_served, viewport):
    page = visit(long_served, **(PHONE | {"viewport": viewport}))
    play_parts(page)
    page.locator("#open-now-playing").click()
    cover = page.locator(".now-cover .cover")
    for part in (cover, page.locator(".now-title"), page.locator("#now-seek"), page.locator("#now-queue")):
        expect(part).to_be_in_viewport(ratio=1)
    for name in ("Shuffle", "Previous song", "Pause", "Next song", "Repeat: off"):
        expect(page.get_by_role("dialog").get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    assert cover.bounding_box()["width"] > 0.3 * viewport["width"]
    page.locator("#now-queue").click()
    expect(page.locator("#queue-panel")).to_be_visible()
    expect(page.locator("#now-play-toggle")).to_be_in_viewport(ratio=1)


def test_the_cover_grows_unless_less_motion_is_wanted(visit, long_served):
    opened = """() => {
      document.getElementById("open-now-playing").click();
      return document.querySelector(".now-cover .cover").getAnimations().length;
    }"""
    for motion, wanted in (("no-preference", 1), ("reduce", 0)):
        page = visit(long_served, reduced_motion=motion)
        play_parts(page)
        assert page.evaluate(opened) == wanted


def test_the_lock_screen_shows_the_song_and_its_keys_work(visit, long_served):
    page = visit.blank(long_served, timezone_id="UTC")  # pages of this kind have the script below
    page.add_init_script(
        """window.keys = {}; window.told = null;
        MediaSession.prototype.setActionHandler = (name, run) => { window.keys[name] = run; };
        MediaSession.prototype.setPositionState = (state) => { window.told = state; };"""
    )
    page.goto(f"{long_served}/#/library")
    play_parts(page)
    session = "navigator.mediaSession"
    shown = page.evaluate(f"[{session}.metadata.title, {session}.metadata.artist, {session}.metadata.album]")
    assert shown == ["Part 1", "Long Player", "Parts"]
    assert page.evaluate(f"{session}.metadata.artwork.map((one) => one.sizes)") == ["96x96", "256x256", "512x512"]
    page.evaluate("keys.seekto({ seekTime: 5 })")
    until(page, lambda: page.evaluate("told.position") >= 5)
    assert page.evaluate("told.duration") == pytest.approx(PART_SECONDS, abs=0.1)
    page.evaluate("keys.nexttrack()")
    expect(page.locator("#player-title")).to_have_text("Part 2")
    seek(page, 0)  # else a busy machine is so far in the song that it begins again
    page.evaluate("keys.pause()")
    page.evaluate("keys.previoustrack()")
    expect(page.locator("#player-title")).to_have_text("Part 1")
    page.evaluate("keys.pause()")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert page.evaluate(f"{session}.playbackState") == "paused"
    page.evaluate("keys.play()")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
