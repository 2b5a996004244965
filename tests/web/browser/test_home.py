"""Home in a real browser: each section that has something, and where it leads."""

import re
import shutil
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import ask
from nearsong.library import Library
from nearsong.library.maps.cached import draw
from playing import hold_sound

DAY = 86_400
LISTENS = """user,artist,title,plays
me,Band A0,Song 0,40
me,Band A0,Song 1,30
me,Band A3,Song 30,30
me,Band A3,Song 31,20
"""


@pytest.fixture
def home(trained_file, serving, tmp_path):
    """The address of a service whose listener plays four songs, loved another one long ago, and has a queue."""
    (tmp_path / "mine.csv").write_text(LISTENS)
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        library.remove_listens(*(history.id for history in library.listens()))
        library.import_listens(tmp_path / "mine.csv")
        songs = {song.title: song.id for song in library.snapshot().space.songs}
        now = time.time()
        library.play_log.record(songs["Song 31"], "me", at=now - 600)
        for week in range(3):
            library.play_log.record(songs["Song 60"], "me", at=now - 90 * DAY - week * 7 * DAY)
        library.play_log.update_history()
        library.play_queues.save([songs["Song 61"], songs["Song 30"]], 0, 500, "me", "a player")
        draw(library.snapshot(now=True))
        with serving(library) as address:
            yield address


def names(page: Page, section: str) -> Locator:
    return page.locator(f"#home-{section} .tile-name")


def test_home_has_what_to_go_on_with_what_is_near_forgotten_and_unplayed_and_the_map(home, visit):
    page = visit(home, "#/")
    told = ask(home, "/home", listener="me")
    expect(page.locator("#home")).not_to_have_attribute("aria-busy", "true")
    expect(names(page, "continue").first).to_have_text("Song 61")
    lines = page.locator("#home-continue .tile").first.locator(".tile-line")
    expect(lines).to_have_text(["2 songs queued", "from a player"])
    for section in ("for_you", "unplayed"):
        wanted = [one["song"]["title"] for one in told[section]]
        assert wanted
        expect(names(page, section.replace("_", "-"))).to_have_text(wanted)
    expect(names(page, "forgotten")).to_have_text(["Song 60"])
    assert not {"Song 0", "Song 60"} & {one["song"]["title"] for one in told["unplayed"]}
    hold_sound(page)
    page.get_by_role("button", name="Continue the queue from a player").click()
    expect(page.locator("#player-title")).to_have_text("Song 61")
    page.get_by_role("link", name=re.compile("Map of 72 songs")).click()
    expect(page.locator("#map-canvas")).to_be_visible()


def test_the_small_map_shows_its_songs(home, visit):
    page = visit.blank(home)
    with page.expect_response("**/api/v1/map/thumbnail") as answer:
        page.goto(f"{home}/#/")
    assert answer.value.json()["songs"] == 72
    drawn = """() => {
      const canvas = document.querySelector(".home-map-canvas");
      if (!canvas?.width) return false;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value, i) => i % 4 === 3 && value > 0);
    }"""
    page.wait_for_function(drawn)


@pytest.mark.parametrize(
    ("has_titles", "is_played", "title"),
    [
        (True, False, "Played most in the imported histories"),
        (True, True, "Played most here"),
        (False, False, "By artists that most people here play"),
    ],
)
def test_a_newcomer_is_told_whether_songs_or_artists_are_played_most(
    trained_file, serving, visit, tmp_path, has_titles, is_played, title
):
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        library.remove_listens(*(history.id for history in library.listens()))
        songs = library.snapshot().space.songs
        rows = [f"ann,{song.artist},{song.title if has_titles else ''},40" for song in songs]
        (tmp_path / "theirs.csv").write_text("\n".join(["user,artist,title,plays", *rows]))
        library.import_listens(tmp_path / "theirs.csv")
        if is_played:
            library.play_log.record(songs[0].id, "ann", at=time.time() - 600)
        with serving(library) as address:
            page = visit(address, "#/")
            expect(page.locator("#home-for-you-title")).to_have_text(title)
