"""Home, albums and artists in a real browser: a compilation is one album, and everything can be played from there."""

import shutil
import time

import pytest
from playwright.sync_api import expect

import music_library
from browsing import READY, ask, ids, rows, serious, titles, too_wide
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library
from playing import hold_sound

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
ARTISTS = ("Band A0", "Band A3", "Band A1", "Newcomer")


@pytest.fixture(scope="module")
def with_compilation(trained_file, styled_music, serving, tmp_path_factory):
    """The address of a server that has a compilation of four artists on two discs; somebody played one of them."""
    folder = tmp_path_factory.mktemp("compilation")
    (folder / "music" / "Hits").mkdir(parents=True)
    for number, artist in enumerate(ARTISTS):
        (sound, *_) = sorted((styled_music / music_library.artist_name(number) / "First").iterdir())
        path = shutil.copy(sound, folder / "music" / "Hits" / f"{number}{sound.suffix}")
        disc, track = divmod(3 - number, 2)  # the files are in the order opposite to the tracks'
        tags = Tags(
            artist=artist,
            title=f"Hit {disc + 1}-{track + 1}",
            album="Hits of 1999",
            genre="low hum",
            year=1999,
            track_number=track + 1,
            disc_number=disc + 1,
            album_artist="Various Artists",
        )
        write_tags(path, tags)
    shutil.copy(trained_file, folder / "library.sqlite")
    with Library.open(folder / "library.sqlite") as library:
        library.scan(folder / "music", workers=1)
        library.play_log.record(next(song.id for song in library.songs() if song.title == "Hit 1-1"))
        with serving(library) as address:
            yield address


def queue(page) -> list[str]:
    return page.evaluate(
        "async () => (await import('/static/js/player/player.js')).player.queue.map((song) => song.title)"
    )


HITS = ["Hit 1-1", "Hit 1-2", "Hit 2-1", "Hit 2-2"]


@pytest.mark.parametrize("look", [{}, PHONE], ids=["desk", "phone"])
def test_a_compilation_is_one_album_that_home_leads_to_and_that_plays(visit, with_compilation, look):
    page = visit(with_compilation, "#/", **look)
    expect(page.get_by_role("list", name="Continue").get_by_role("listitem")).to_have_count(1)
    added = page.get_by_role("list", name="Recently added")
    expect(added.get_by_role("link", name="Hits of 1999", exact=True)).to_have_count(1)
    added.get_by_role("link", name="Hits of 1999", exact=True).click()
    expect(page.get_by_role("heading", name="Hits of 1999", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Disc 2")).to_be_visible()
    assert titles(rows(page, "#album-songs")) == HITS
    assert page.locator("#album-songs .row-number").all_inner_texts() == ["1", "2", "1", "2"]
    hold_sound(page)
    page.get_by_role("button", name="Play all").click()
    expect(page.locator("#player-title")).to_have_text("Hit 1-1")
    assert queue(page) == HITS
    page.get_by_role("button", name="Shuffle", exact=True).last.click()
    assert sorted(queue(page)) == HITS
    assert serious(page) == []
    assert too_wide(page) <= 0


def test_an_artist_of_a_compilation_has_a_page_and_leads_to_artists_who_sound_alike(visit, with_compilation):
    page = visit(with_compilation, "#/library/artists")
    page.get_by_role("searchbox", name="Search artists").fill("newcomer")
    expect(page.locator(READY["artists"])).to_have_count(1)
    page.get_by_role("link", name="Newcomer", exact=True).click()
    expect(page.get_by_role("list", name="Appears on").get_by_role("link", name="Hits of 1999")).to_be_visible()
    expect(page.locator("#artist-albums")).to_have_count(0)
    similar = ask(with_compilation, "/artists", search="newcomer")["items"][0]["id"]
    names = [artist["name"] for artist in ask(with_compilation, f"/artists/{similar}")["similar"]]
    shown = page.get_by_role("list", name="Similar artists").locator(".tile-name")
    assert shown.all_inner_texts() == names
    page.get_by_role("list", name="Similar artists").get_by_role("link", name=names[0], exact=True).click()
    expect(page.get_by_role("heading", name=names[0], level=1)).to_be_visible()
    page.get_by_role("button", name="Start radio").click()
    expect(page.locator("#player-title")).to_be_visible()
    assert ids(rows(page, "#artist-songs"))


def test_an_artist_page_lists_all_songs_the_most_played_first_then_by_album(scanned_file, serving, visit, tmp_path):
    shutil.copy(scanned_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library:
        played = max(library.songs(), key=lambda song: (song.artist, song.title))  # the last of its artist
        library.play_log.record(played.id, "me", time.time() - 3600)
        library.play_log.update_history()
        with serving(library) as address:
            for artist in (one["id"] for one in ask(address, "/artists")["items"]):
                songs = [song["id"] for song in ask(address, f"/artists/{artist}")["songs"]]
                assert len(songs) > 1
                page = visit(address, f"#/artist/{artist}")
                expect(rows(page, "#artist-songs")).to_have_count(len(songs))
                with_plays = page.locator("#artist-songs .song-row", has_text="1 play")
                expect(with_plays).to_have_count(int(played.id in songs))
                assert ids(rows(page, "#artist-songs")) == sorted(songs, key=lambda song: song != played.id)
                albums = page.locator("#artist-songs .row-album")
                lefts = albums.evaluate_all("(all) => all.map((one) => Math.round(one.getBoundingClientRect().x))")
                assert len(set(lefts)) == 1  # with plays and without


def test_an_album_starts_a_radio_and_leads_to_albums_that_sound_like_it(visit, with_compilation):
    (album,) = ask(with_compilation, "/albums", search="hits")["items"]
    similar = ask(with_compilation, f"/albums/{album['id']}")["similar"]
    page = visit(with_compilation, f"#/album/{album['id']}")
    hold_sound(page)
    tiles = page.get_by_role("list", name="Similar albums").locator(".tile")
    expect(tiles.locator(".tile-name")).to_have_text([one["name"] for one in similar])
    expect(tiles.locator(".tile-line")).to_have_text([one["artist"] for one in similar])
    with page.expect_request("**/api/v1/radio") as sent:
        page.get_by_role("button", name="Start radio").click()
    assert sent.value.post_data_json == {"album": album["id"], "n": 1}
    expect(page.locator("#player-radio")).to_have_attribute("title", "Radio: Hits of 1999")
    assert page.locator("#player-title").inner_text() in HITS
    page.keyboard.press("q")
    expect(page.locator(".queue-row").nth(3)).to_be_visible()  # what the radio has chosen
    page.keyboard.press("Escape")
    tiles.first.locator(".tile-name").click()
    expect(page.get_by_role("heading", name=similar[0]["name"], level=1)).to_be_visible()
    expect(page.locator(".song-artist")).to_have_text(similar[0]["artist"])
    expect(rows(page, "#album-songs")).to_have_count(similar[0]["song_count"])


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_the_songs_of_an_artist_stand_below_their_heading_and_the_name_beside_the_cover(visit, served, options):
    page = visit(served, f"#/song/{ask(served, '/songs')['items'][0]['id']}/artist", **options)
    heading = page.locator("#artist-songs-title").bounding_box()
    assert page.locator("#artist-songs .cover").first.bounding_box()["x"] == pytest.approx(heading["x"], abs=1)
    if options:
        name, cover = (page.locator(f".album-head {one}").bounding_box() for one in ("h1", ".song-cover"))
        assert name["y"] + name["height"] / 2 == pytest.approx(cover["y"] + cover["height"] / 2, abs=4)


def test_albums_are_found_sorted_and_played_from_the_grid(visit, with_compilation):
    page = visit(with_compilation, "#/library/albums")
    tiles = page.locator(READY["albums"])
    expect(tiles).to_have_count(37)
    page.get_by_label("Sort by").select_option("newest")
    expect(tiles.first).to_contain_text("Hits of 1999")
    page.get_by_role("searchbox", name="Search albums").fill("band a3")
    expect(tiles).to_have_count(1)
    hold_sound(page)
    page.get_by_role("button", name="Play First by Band A3").click()
    expect(page.locator("#player-title")).to_have_text("Song 30")
    page.get_by_role("searchbox", name="Search albums").fill("no such album")
    expect(page.locator("#result-count")).to_contain_text("No albums match “no such album”")


def test_on_a_phone_what_has_no_tab_is_behind_more(visit, served):
    page = visit(served, "#/", **PHONE)
    tabs = page.get_by_role("navigation", name="Views").get_by_role("listitem")
    expect(tabs).to_have_count(5)
    page.get_by_role("button", name="More views").click()
    assert page.get_by_role("menuitem").all_inner_texts() == ["For you", "Find by sound", "Quality", "Settings"]
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    page.get_by_role("button", name="More views").click()
    page.get_by_role("menuitem", name="Find by sound").click()
    expect(page.locator(READY["listen"])).to_be_visible()
