"""Playlists in a real browser: made, tuned, moved about, saved, taken home as files, walked, deleted."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import ask, drag, ids, in_turn, open_menu, remember, rows, titles, until
from nearsong.library import FILTERS
from playing import hold_sound

LIST = "#draft-songs"


@pytest.fixture
def made(visit, served):
    """A page with a playlist of eight songs around one."""
    page = visit(served, "#/playlists")
    choose(page, "Add a seed", "Song 31")
    expect(rows(page, LIST)).to_have_count(25)
    number(page, "Number of songs", 8)
    expect(rows(page, LIST)).to_have_count(8)
    return page


def test_the_settings_of_a_playlist_are_called_those_of_a_playlist(visit, served):
    page = visit(served, "#/playlists")
    expect(page.get_by_role("form", name="Playlist settings")).to_contain_text("Stay near these songs")


def is_draft(answer) -> bool:
    return answer.url.endswith("/playlists/draft")


def choose(page: Page, label: str, title: str) -> None:
    """Pick a song in a field that finds songs."""
    page.get_by_role("combobox", name=label).fill(title)
    page.get_by_role("option", name=title).first.click()


def number(page: Page, label: str, value: int) -> None:
    page.get_by_label(label).fill(str(value))
    page.get_by_label(label).press("Tab")


def turn(page: Page, dial: str, value: float) -> None:
    """Turn a dial, and wait for the list that is made anew."""
    with page.expect_response(is_draft):
        page.get_by_label(dial, exact=True).fill(str(value))
    expect(page.locator(".result")).to_have_attribute("aria-busy", "false")


def save(page: Page, name: str) -> int:
    page.get_by_label("Playlist name").fill(name)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#playlist-state")).to_have_text("Saved")
    return int(page.url.rsplit("/", 1)[1])


def export(page: Page, kind: str, folder: Path) -> Path:
    """Export through the menu, and return the file that was downloaded."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=kind).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def middle(part: Locator) -> tuple[float, float]:
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_playlist_grows_from_a_song_and_its_dials_change_it(visit, served):
    page = visit(served, "#/playlists")
    expect(page.get_by_role("heading", name="Create a playlist")).to_be_visible()
    choose(page, "Add a seed", "Song 31")
    expect(rows(page, LIST)).to_have_count(25)
    number(page, "Number of songs", 10)
    expect(rows(page, LIST)).to_have_count(10)
    defaults = ask(served, "/status")["playlist_defaults"]
    assert page.get_by_label("Variety").input_value() == f"{defaults['diversity']:g}"
    between = page.get_by_label("Minimum songs between songs of one artist").input_value()
    assert int(between) + 1 == defaults["artist_gap"]
    near = ids(rows(page, LIST))
    turn(page, "Variety", 1)
    with_variety = ids(rows(page, LIST))
    assert with_variety != near
    turn(page, "Variety", 0)
    turn(page, "Drift", 1)
    number(page, "Minimum songs between songs of one artist", 9)
    artists = page.locator(f"{LIST} .row-artist")
    until(page, lambda: len(set(artists.all_inner_texts())) == 10)
    expect(rows(page, LIST)).to_have_count(10)


def test_only_some_genres_may_come(made):
    made.locator(".filters summary").click()
    made.get_by_role("checkbox", name="low hum").check()
    expect(made.locator(".filters summary")).to_contain_text("low hum")
    rows(made, LIST).first.locator(".row-title").wait_for()
    with made.expect_response(is_draft):
        made.get_by_role("button", name="Create playlist").click()
    genre_of = {song["id"]: song["genre"] for song in ask(made.url.split("/#")[0], "/songs", limit=200)["items"]}
    until(made, lambda: {genre_of[song] for song in ids(rows(made, LIST))} == {"low hum"})
    expect(rows(made, LIST)).to_have_count(8)


def test_songs_move_by_keys_and_by_hand_and_can_be_removed_and_had_back(made):
    before = titles(rows(made, LIST))
    rows(made, LIST).nth(0).locator(".row-drag").focus()
    made.keyboard.press("ArrowDown")
    made.keyboard.press("ArrowDown")
    moved = [before[1], before[2], before[0], *before[3:]]
    assert titles(rows(made, LIST)) == moved
    expect(rows(made, LIST).nth(2).locator(".row-drag")).to_be_focused()
    rows(made, LIST).nth(6).scroll_into_view_if_needed()
    start, end = middle(rows(made, LIST).nth(6).locator(".row-drag")), middle(rows(made, LIST).nth(3))
    drag(made, [start, (start[0], end[1] - 10)])
    dragged = [*moved[:3], moved[6], *moved[3:6], moved[7]]
    assert titles(rows(made, LIST)) == dragged
    rows(made, LIST).nth(1).get_by_role("button", name="Remove").click()
    expect(rows(made, LIST)).to_have_count(7)
    made.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(rows(made, LIST)).to_have_count(8)
    assert titles(rows(made, LIST)) == dragged


def test_a_saved_playlist_is_there_for_everybody_until_it_is_deleted(made, visit, served):
    wanted = ids(rows(made, LIST))
    saved = save(made, "For the evening")
    other = visit(served, "#/playlists")
    other.get_by_role("link", name="For the evening").click()
    expect(rows(other, LIST)).to_have_count(8)
    assert ids(rows(other, LIST)) == wanted
    made.reload()
    expect(made.get_by_label("Playlist name")).to_have_value("For the evening")
    assert ids(rows(made, LIST)) == wanted
    rows(made, LIST).first.get_by_role("button", name="Remove").click()
    expect(made.locator("#playlist-state")).to_have_text("Unsaved changes")
    save(made, "For the night")
    open_menu(rows(made, LIST).nth(2))
    made.get_by_role("menuitem", name="Create playlist").click()
    expect(rows(made, LIST)).to_have_count(25)
    expect(made.locator("#playlist-state")).to_have_text("Unsaved")  # a playlist of its own
    made.locator(".toast", has_text="New playlist from").get_by_role("button", name="Undo").click()
    expect(made.get_by_label("Playlist name")).to_have_value("For the night")
    assert [song["id"] for song in ask(served, f"/playlists/{saved}")["items"]] == wanted[1:]
    made.get_by_role("button", name="Delete playlist").click()
    expect(made.get_by_text("“For the night” deleted.")).to_be_visible()
    assert saved not in [one["id"] for one in ask(served, "/playlists")]


def test_a_saved_playlist_shows_its_songs_first_and_its_settings_when_asked_for(made, visit, served):
    saved = save(made, "To listen to")
    page = visit(served, f"#/playlists/{saved}")
    expect(page.locator(LIST).first).to_be_visible()
    expect(page.locator("#make-playlist")).to_be_hidden()
    page.get_by_text("Make another one from songs and settings").click()
    expect(page.locator("#make-playlist")).to_be_visible()
    songs, settings = (page.locator(part).bounding_box() for part in (".result", ".recipe"))
    assert songs["y"] < settings["y"]


def test_a_playlist_starts_a_radio_from_its_songs(made):
    hold_sound(made)
    songs = ids(rows(made, LIST))
    with made.expect_request("**/api/v1/radio") as sent:
        made.locator("#playlist-radio").click()
    assert sent.value.post_data_json["seeds"] == songs
    expect(made.locator("#player-title")).to_have_text(titles(rows(made, LIST))[0])
    expect(made.locator("#player-radio")).to_be_visible()
    made.keyboard.press("q")
    expect(made.locator(".queue-row").nth(3)).to_be_visible()  # what the radio has chosen, not the rest of the list
    queued = made.locator(".queue-row .queue-title")
    expect(made.locator("#stop-radio")).to_be_visible()
    assert queued.count() < len(songs)


def test_songs_and_albums_are_added_to_a_saved_playlist_once_unless_asked_again(made, served):
    saved, wanted = save(made, "To grow"), ids(rows(made, LIST))
    made.goto(f"{served}/#/library")
    expect(rows(made)).to_have_count(50)
    song = next(song for song in ids(rows(made)) if song not in wanted)
    row = made.locator(f"[data-song-id='{song}']")
    for answer in ("added to “To grow”.", "is on “To grow” already."):
        open_menu(row)
        made.get_by_role("menuitem", name="Add to playlist").click()
        made.get_by_role("menuitem", name="To grow").click()
        expect(made.locator(".toast", has_text=answer)).to_be_visible()
    made.locator(".toast", has_text="already").get_by_role("button", name="Add again").click()
    grown = [*wanted, song, song]
    until(made, lambda: [one["id"] for one in ask(served, f"/playlists/{saved}")["items"]] == grown)
    made.locator(".toast", has_text="added to “To grow”.").get_by_role("button", name="Show").click()
    expect(rows(made, LIST)).to_have_count(len(wanted) + 2)
    expect(made.locator("#playlist-state")).to_have_text("Saved")
    made.goto(f"{served}/#/song/{song}/album")
    made.get_by_role("button", name="Add to playlist").click()
    made.get_by_role("menuitem", name="New playlist").click()
    made.locator(".toast", has_text="New playlist").get_by_role("button", name="Show").click()
    album = {one["id"] for disc in ask(served, f"/songs/{song}/album")["discs"] for one in disc["songs"]}
    expect(rows(made, LIST)).to_have_count(len(album))
    assert set(ids(rows(made, LIST))) == album


@pytest.mark.parametrize("stored", [True, False])
def test_an_exported_m3u8_has_the_files_in_the_order_shown(made, served, tmp_path, stored):
    """As saved, for a phone: relative to the music folder; unsaved, for this machine: absolute."""
    folder = Path()
    if stored:
        save(made, "To take away")
        (known,) = ask(served, "/status")["folders"]
        folder = Path(known)
    path = export(made, "M3U8, for most players" if stored else "M3U8 for this machine", tmp_path)
    if stored:
        expect(made.get_by_text("Put the file into your music folder")).to_be_visible()
    assert path.suffix == ".m3u8"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#EXTM3U"
    files = [folder / line for line in lines if line and not line.startswith("#")]
    assert all(Path(line).is_absolute() != stored for line in lines if line and not line.startswith("#"))
    assert all(file.is_file() for file in files)
    assert [str(file) for file in files] == [ask(served, f"/songs/{song}")["path"] for song in ids(rows(made, LIST))]
    named = [line.split(",", 1)[1] for line in lines if line.startswith("#EXTINF")]
    assert [name.split(" - ")[1] for name in named] == titles(rows(made, LIST))


@pytest.mark.parametrize(
    ("kind", "line"), [("M3U8, for most players", "/away/One.flac"), ("PLS", "File1=s3://away/One.flac")]
)
def test_an_export_whose_paths_are_absolute_says_so(made, tmp_path, kind, line):
    made.route("**/api/v1/playlists/export", lambda route: route.fulfill(body=f"#EXTM3U\nTitle1=/One\n{line}\n"))
    export(made, kind, tmp_path)
    expect(made.get_by_text("the file has absolute paths: it is for this machine only.")).to_be_visible()
    expect(made.get_by_text("Put the file into your music folder")).to_have_count(0)


def test_an_exported_jspf_has_the_songs_in_the_order_shown(made, tmp_path):
    path = export(made, "JSPF", tmp_path)
    assert path.suffix == ".jspf"
    tracks = json.loads(path.read_text(encoding="utf-8"))["playlist"]["track"]
    assert [track["title"] for track in tracks] == titles(rows(made, LIST))
    for track in tracks:
        location = track["location"][0] if isinstance(track["location"], list) else track["location"]
        assert Path(unquote(urlsplit(location).path)).is_file()


@pytest.mark.parametrize("way", ["there", "and back"])
def test_a_walk_begins_here_and_ends_there(visit, served, way):
    page = visit(served, "#/playlists")
    page.get_by_role("radio", name="From song to song").check()
    choose(page, "First song", "Song 31")
    choose(page, "Last song", "Song 110")
    expect(rows(page, LIST).last).to_contain_text("Song 110")
    number(page, "Number of songs", 7)
    expect(rows(page, LIST)).to_have_count(7)
    if way == "and back":
        with page.expect_response(is_draft):
            page.get_by_role("button", name="Swap").click()
        expect(rows(page, LIST).first).to_contain_text("Song 110")
    shown = titles(rows(page, LIST))
    ends = ["Song 31", "Song 110"]
    assert [shown[0], shown[-1]] == (ends if way == "there" else ends[::-1])
    assert len(set(shown)) == 7


def test_a_playlist_plays_in_its_order(made):
    shown = titles(rows(made, LIST))
    seen = remember(made, "#player-title")
    made.get_by_role("button", name="Play all").click()
    made.keyboard.press("n")
    in_turn(made, seen, shown[:2])


def test_a_playlist_is_shuffled_and_queued_like_an_album(made):
    shown = titles(rows(made, LIST))
    hold_sound(made)
    made.locator(".result").get_by_role("button", name="Shuffle").click()
    expect(made.locator("#player-title")).to_be_visible()
    assert made.locator("#player-title").inner_text() in shown
    expect(made.locator("#shuffle")).to_have_attribute("aria-pressed", "true")
    heights = made.locator(".result-actions > :visible").evaluate_all("all => all.map((one) => one.offsetTop)")
    assert max(heights) - min(heights) < 30  # one line: the songs begin soon
    made.get_by_role("button", name="Add to queue").click()
    expect(made.locator(".toast")).to_contain_text("8 songs added to the queue.")


def test_each_filter_of_the_library_has_its_control_on_the_page(visit, served):
    page = visit(served, "#/song/31")
    page.locator(".near-tools .chip").first.wait_for()
    shown = controls(page)
    page = visit(served, "#/playlists")
    page.locator(".filters summary").click()
    expect(page.locator(".filters-body")).to_be_visible()
    assert sorted(shown + controls(page)) == sorted(f"filter-{filter.name}" for filter in FILTERS)
    assert page.locator(".filters-body [id^=filter-]:visible").count() == len(FILTERS) - len(shown)


def controls(page: Page) -> list[str]:
    return page.locator("[id^=filter-]").evaluate_all("nodes => nodes.map((node) => node.id)")


def test_filters_are_sent_as_they_are_set_and_told_in_words(made):
    made.locator(".filters summary").click()
    made.get_by_label("Unplayed songs only").check()
    number(made, "From year", 1980)
    number(made, "Max length", 600)
    made.get_by_label("Excluded artists").fill("Band A3\n\n Earth, Wind & Fire ")
    made.get_by_label("Excluded artists").press("Tab")
    expect(made.locator(".filters summary")).to_contain_text(
        "· unplayed, since 1980, at most 600 s, without Band A3, Earth, Wind & Fire"
    )
    with made.expect_request(is_draft) as request:
        made.get_by_role("button", name="Create playlist").click()
    assert request.value.post_data_json["filters"] == {
        "fewer_plays": 1e-9,
        "year_from": 1980,
        "max_seconds": 600,
        "exclude_artists": ["Band A3", "Earth, Wind & Fire"],
    }
    made.get_by_label("Unplayed songs only").uncheck()
    number(made, "From year", "")
    made.reload()
    expect(made.locator(".filters summary")).to_contain_text("· at most 600 s, without Band A3, Earth, Wind & Fire")
