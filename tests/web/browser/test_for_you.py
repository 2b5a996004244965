"""For you, radio and "not like" in a real browser."""

import shutil
import time
from itertools import product

import httpx
import pytest
from playwright.sync_api import Page, expect

from browsing import ask, open_menu, played, position, rows, serious, too_wide, until
from nearsong.library import Library
from playing import hold_sound, queued

PLAYED = (1, 7, 13, 19)
LIST = "#for-you-songs"


@pytest.fixture
def listened(trained_file, serving, tmp_path):
    """A server whose listener has played four songs."""
    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library:
        for song in PLAYED:
            library.play_log.record(song, "me", time.time() - 3600)
        with serving(library) as address:
            yield address


def asked_radio(page: Page) -> list[dict]:
    """What the page asks a radio for from now on."""
    asked: list[dict] = []
    page.on("request", lambda sent: asked.append(sent.post_data_json) if sent.url.endswith("/radio") else None)
    return asked


def ids(songs: list[dict]) -> list[int]:
    return [one["song"]["id"] for one in songs]


def row_ids(page: Page, list_id: str) -> list[int]:
    return [int(row.get_attribute("data-song-id")) for row in rows(page, list_id).all()]


def test_beside_the_queue_reasons_are_not_cut_in_a_window_of_1024_pixels(listened, visit):
    page = visit(listened, "#/for-you", viewport={"width": 1024, "height": 768})
    hold_sound(page)
    rows(page, LIST).first.locator(".row-play").click()
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row").first).to_be_visible()
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"
    reasons = page.locator(".because")
    expect(reasons.first).to_contain_text("Because you play Song")
    assert reasons.evaluate_all(cut) == []


def test_songs_for_the_listener_say_why_and_can_be_played_hidden_and_refused(listened, visit):
    found = ask(listened, "/for-you", n=50)
    page = visit(listened, "#/for-you")
    expect(page.locator("#for-you-lead")).to_contain_text("From 4 plays of yours")
    assert row_ids(page, LIST) == ids(found["songs"])
    first, second, third = found["songs"][:3]
    expect(rows(page, LIST).first.locator(".because")).to_have_text(f"Because you play {first['because']['title']}")
    rows(page, LIST).first.get_by_role("button", name="Hide").click()
    expect(page.locator(".toast")).to_contain_text("is hidden here.")
    expect(rows(page, LIST).first).to_have_attribute("data-song-id", str(second["song"]["id"]))
    page.get_by_role("button", name="Undo").click()
    expect(rows(page, LIST).first).to_have_attribute("data-song-id", str(first["song"]["id"]))
    rows(page, LIST).first.get_by_role("button", name="Hide").click()
    rows(page, LIST).first.get_by_role("button", name=f"Less like {second['song']['title']}").click()
    expect(rows(page, LIST).first).to_have_attribute("data-song-id", str(third["song"]["id"]))
    expect(rows(page, LIST).first.locator(".row-play")).to_be_focused()
    page.reload()
    expect(rows(page, LIST).first).to_be_visible()
    assert not {first["song"]["id"], second["song"]["id"]} & {*row_ids(page, LIST)}
    page.get_by_role("button", name="Show 1 hidden song").click()
    until(page, lambda: first["song"]["id"] in row_ids(page, LIST))
    hold_sound(page)  # what is played changes the list
    page.get_by_role("button", name="Play all").click()
    expect(page.locator("#player")).to_be_visible()
    page.get_by_role("button", name="Include songs I know").click()
    known = ids(ask(listened, "/for-you", n=50, include_played=True)["songs"])
    assert {*PLAYED} <= {*known}
    until(page, lambda: row_ids(page, LIST) == known)


def test_less_like_this_is_offered_also_if_the_hearts_arrive_after_the_songs(listened, visit):
    page = visit.blank(listened)
    held = []
    page.route("**/api/v1/hearts", lambda route: held.append(route))
    page.goto(f"{listened}/#/for-you")
    less = rows(page, LIST).locator(".row-less")
    expect(less.first).to_be_attached()
    until(page, lambda: held)
    expect(less.first).to_be_hidden()
    n = less.count()
    rows(page, LIST).first.get_by_role("button", name="Hide").click()
    expect(less).to_have_count(n - 1)
    held[0].continue_()
    expect(less.first).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(less).to_have_count(n)
    expect(less.first).to_be_visible()  # also in the row that was away


def test_who_has_played_nothing_is_told_how_to_begin(own_server, visit):
    page = visit(own_server, "#/for-you")
    expect(page.locator("#for-you-lead")).to_contain_text(ask(own_server, "/for-you", n=50)["notes"][0])
    expect(rows(page, LIST).first.locator(".because")).to_have_count(0)
    page.locator("#for-you-lead").get_by_role("link", name="import your listening history").click()
    expect(page.locator("#settings-histories h3")).to_be_in_viewport()
    assert page.url.endswith("#/settings?section=histories")


def test_who_has_only_skipped_is_told_that_the_songs_are_unlike_those(trained_file, serving, visit, tmp_path):
    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library, serving(library) as address:
        library.reactions.skip(1, "me", time.time() - 3600)
        page = visit(address, "#/for-you")
        expect(page.locator("#for-you-lead")).to_contain_text("only skipped songs")
        expect(page.locator("#for-you-lead")).not_to_contain_text("songs that others play")


def test_a_radio_follows_hearts_and_skips_and_survives_a_reload(long_server, visit):
    page = visit(long_server, "#/library?search=long%201")
    asked = asked_radio(page)
    expect(rows(page).first.locator(".row-title")).to_have_text("Long 1")
    song = int(rows(page).first.get_attribute("data-song-id"))
    open_menu(rows(page).first)
    page.get_by_role("menuitem", name="Start radio").click()
    expect(page.locator("#player-radio")).to_be_visible()
    expect(page.locator("#player-title")).to_have_text("Long 1")
    page.locator("#play-toggle").click()  # so that it does not go on to the next song by itself
    until(page, lambda: len(asked) == 1)
    assert (asked[0]["seeds"], asked[0]["heard"]) == ([song], [{"song_id": song, "reaction": "played"}])
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row")).to_have_count(4)
    page.locator("#player-heart").click()
    until(page, lambda: len(asked) == 2)
    assert asked[1]["heard"] == [{"song_id": song, "reaction": "liked"}]
    expect(page.locator(".queue-row")).to_have_count(4)  # the others were replaced
    page.get_by_role("slider", name="Familiar to surprising").focus()
    page.keyboard.press("End")
    until(page, lambda: len(asked) == 3)
    assert [one["surprise"] for one in asked] == [0, 0, 1]
    expect(page.get_by_role("slider", name="Familiar to surprising")).to_be_focused()
    page.reload()
    expect(page.locator("#player-radio")).to_be_visible()
    page.locator("#play-toggle").click()
    played(page, position(page) + 0.5)
    page.locator("#next").click()
    until(page, lambda: any(one["heard"][0]["reaction"] == "skipped" for one in asked))
    assert asked[-1]["shuffle"] == asked[0]["shuffle"]
    assert asked[-1]["surprise"] == 1
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row")).to_have_count(4)
    page.locator("#clear-queue").click()
    until(page, lambda: asked[-1]["shuffle"] != asked[0]["shuffle"])
    expect(page.locator(".queue-row")).to_have_count(4)  # it has chosen again
    shown = queued(page)
    rows(page).first.locator(".row-play").click()
    expect(page.locator("#player-radio")).to_be_hidden()
    page.locator(".toast", has_text="Queue replaced.").get_by_role("button", name="Undo").click()
    expect(page.locator("#player-radio")).to_be_visible()
    assert queued(page) == shown
    page.get_by_role("button", name="Stop radio").click()
    expect(page.locator("#player-radio")).to_be_hidden()
    expect(page.locator("#stop-radio")).to_have_count(0)


def radio_of_long_songs(page: Page) -> list[str]:
    """Start a radio from a long song, the only one that sounds, and hear a little; return what is queued after it."""
    row = rows(page).first
    expect(row.locator(".row-title")).to_have_text("Long 1")
    hold_sound(page, but=int(row.get_attribute("data-song-id")))
    open_menu(row)
    page.get_by_role("menuitem", name="Start radio").click()
    page.locator("#queue-toggle").click()
    expect(page.locator(".queue-row")).to_have_count(4)
    played(page, 0.2)
    return queued(page)[1:]


def wait_for_ever(page: Page) -> None:
    """Take away the limit of time of a radio that chooses, which a busy machine may not keep."""
    page.evaluate(
        """() => {
          const later = window.setTimeout;
          window.setTimeout = (run, wait, ...more) => (wait === 1500 ? 0 : later(run, wait, ...more));
        }"""
    )


def test_the_song_after_a_skip_is_chosen_by_the_skip(long_server, visit):
    page = visit(long_server, "#/library?search=long%201")
    before = radio_of_long_songs(page)
    wait_for_ever(page)
    held = []
    page.route("**/api/v1/radio", lambda route: held.append(route))
    page.locator("#next").click()
    until(page, lambda: held)
    expect(page.locator("#next")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#player-title")).to_have_text("Long 1")
    asked = held[0].request.post_data_json
    assert asked["heard"][-1]["reaction"] == "skipped"
    chosen = next(one for one in ask(long_server, "/songs")["items"] if one["title"] not in [*before, "Long 1"])
    answer = httpx.post(f"{long_server}/api/v1/radio", json=asked, timeout=60).json()
    held[0].fulfill(json=answer | {"songs": [answer["songs"][0] | {"song": chosen}]})
    expect(page.locator("#player-title")).to_have_text(chosen["title"])
    expect(page.locator("#next")).to_have_attribute("aria-busy", "false")


def test_a_skip_does_not_wait_long_and_pressed_twice_it_does_not_wait(long_server, visit):
    page = visit(long_server, "#/library?search=long%201")
    first, *_ = radio_of_long_songs(page)
    page.route("**/api/v1/radio", lambda _route: None)  # it never answers
    page.locator("#next").click()
    expect(page.locator("#player-title")).to_have_text(first)
    page.locator("#previous").click()
    expect(page.locator("#player-title")).to_have_text("Long 1")
    played(page, 0.2)
    wait_for_ever(page)
    for _ in range(2):
        page.locator("#next").click()
    expect(page.locator("#player-title")).to_have_text(first)


def test_a_radio_starts_from_a_playlist_and_says_what_is_not_there(own_server, visit):
    page = visit(own_server, allow=("404",))
    expect(rows(page)).to_have_count(50)
    song = ask(own_server, "/songs", search="song 31")["items"][0]
    body = {"name": "Two", "songs": [song["id"], 5]}
    playlist = httpx.post(f"{own_server}/api/v1/playlists", json=body).json()["id"]
    asked = asked_radio(page)
    start = "async (from) => (await import('/static/js/player/radio.js')).startRadio(from)"
    page.evaluate(start, {"playlist": playlist, "label": "Two"})
    expect(page.locator("#player-radio")).to_have_attribute("title", "Radio: Two")
    until(page, lambda: len(asked) >= 2)
    assert asked[0]["playlist"] == playlist
    assert {*asked[1]["seeds"]} == {song["id"], 5}
    page.evaluate(start, {"album": "no such album"})
    expect(page.locator(".toast").last).to_contain_text("Album not found")


def test_a_radio_of_two_second_songs_never_ends(listened, visit):
    page = visit(listened, "#/for-you")
    expect(rows(page, LIST).first).to_be_visible()
    asked = asked_radio(page)
    page.locator("#radio-for-you").click()
    until(page, lambda: len(asked) >= 3)
    assert asked[0]["seeds"] == row_ids(page, LIST)[:5]
    heard = [one["song_id"] for one in asked[-1]["heard"]]
    assert len(heard) == len({*heard}) > 3
    page.locator("#play-toggle").click()


def test_similar_songs_stay_away_from_a_song(served, visit):
    page = visit(served, "#/song/1")
    expect(rows(page, "#near-learned")).to_have_count(10)
    page.locator("#not-like").click()
    expect(page.get_by_role("combobox", name="Not like which song?")).to_be_focused()
    second = ask(served, "/similar", seed=1, n=10)["songs"][1]["song"]
    near = second["title"]
    page.keyboard.type(near)
    expect(page.get_by_role("option").first).to_contain_text(near)
    page.keyboard.press("Enter")
    expected = ids(ask(served, "/similar", seed=1, n=10, without=second["id"])["songs"])
    until(page, lambda: row_ids(page, "#near-learned") == expected)
    assert expected != ids(ask(served, "/similar", seed=1, n=10)["songs"])
    page.get_by_role("button", name=f"Allow {near} again").click()
    until(page, lambda: row_ids(page, "#near-learned") == ids(ask(served, "/similar", seed=1, n=10)["songs"]))
    expect(page.get_by_role("combobox", name="Not like which song?")).to_be_focused()


def test_recommendations_and_radio_can_be_used_by_all_in_both_themes(listened, visit):
    page = visit(listened, "#/for-you")
    expect(rows(page, LIST).first).to_be_visible()
    page.locator("#radio-for-you").click()
    expect(page.locator("#player-radio")).to_be_visible()
    page.locator("#play-toggle").click()
    page.locator("#queue-toggle").click()
    faults = []
    for theme, width in product(("light", "dark"), (1280, 390)):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 844})
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        expect(page.locator("#stop-radio")).to_be_visible()
        until(page, lambda: too_wide(page) == 0)
        faults += serious(page)
    page.keyboard.press("Escape")
    page.goto(f"{listened}/#/song/1")
    page.locator("#not-like").click()
    page.keyboard.type("song")
    page.get_by_role("option").first.click()
    expect(page.locator(".not-seeds .seed")).to_have_count(1)
    until(page, lambda: too_wide(page) == 0)
    faults += serious(page)
    assert faults == []
