"""The library in a real browser: searching, genres, order, and everything by keyboard alone."""

from playwright.sync_api import Page, expect

from browsing import ask, ids, played, rows, titles, until


def full_list(visit, served) -> Page:
    """Return a page that has been scrolled to the end of the library."""
    page = visit(served)
    expect(rows(page)).to_have_count(50)
    page.mouse.wheel(0, 20_000)
    expect(rows(page)).to_have_count(72)
    return page


def test_results_narrow_with_every_letter_and_a_reload_finds_the_same(visit, served):
    page = visit(served)
    expect(rows(page)).to_have_count(50)
    field = page.get_by_role("searchbox", name="Search the library")
    field.press_sequentially("band a")
    expect(page.locator("#result-count")).to_have_text("20 songs")
    expect(rows(page)).to_have_count(20)
    field.press_sequentially("3")
    expect(rows(page)).to_have_count(2)
    assert titles(rows(page)) == ["Song 30", "Song 31"]
    page.reload()
    expect(rows(page)).to_have_count(2)
    expect(field).to_have_value("band a3")
    page.get_by_role("button", name="Clear search").click()
    expect(rows(page)).to_have_count(50)


def test_all_songs_come_as_one_scrolls(visit, served):
    page = full_list(visit, served)
    assert ids(rows(page)) == [song["id"] for song in ask(served, "/songs", limit=200)["items"]]


def test_a_search_also_offers_the_artists_and_albums_of_that_name(visit, served):
    page = visit(served)
    page.locator("#search").fill("band a3")
    expect(rows(page)).to_have_count(2)
    names = page.get_by_role("list", name="Artists and albums").get_by_role("link")
    assert names.all_inner_texts() == ["Band A3", "First"]
    page.locator("#search").fill("song 120")
    expect(rows(page)).to_have_count(1)
    expect(names).to_have_count(0)
    page.locator("#search").fill("band a3")
    names.first.click()
    expect(page.get_by_role("heading", name="Band A3", level=1)).to_be_visible()
    page.go_back()
    names.last.click()
    expect(page.get_by_role("heading", name="First", level=1)).to_be_visible()


def test_a_misspelt_name_finds_the_song_and_says_so(visit, served):
    page = visit(served)
    page.locator("#search").fill("Snog 31")
    expect(page.locator("#result-count")).to_contain_text("similar spelling")
    assert "Song 31" in titles(rows(page))


def test_a_misspelt_artist_is_offered_too(visit, served):
    page = visit(served)
    page.locator("#search").fill("bnad a3")
    expect(page.locator("#result-count")).to_contain_text("similar spelling")
    names = page.get_by_role("list", name="Artists and albums").get_by_role("link")
    expect(names.filter(has_text="Band A3")).to_have_count(1)
    names.filter(has_text="Band A3").click()
    expect(page.get_by_role("heading", name="Band A3", level=1)).to_be_visible()


def test_genres_have_numbers_only_where_those_are_of_what_is_shown(visit, served):
    page = visit(served)
    numbers = page.get_by_role("group", name="Genre").locator(".number")
    expect(numbers.first).to_be_visible()
    page.locator("#search").fill("band a3")
    expect(rows(page)).to_have_count(2)
    expect(numbers).to_have_count(0)
    page.get_by_role("button", name="Clear search").click()
    expect(numbers.first).to_be_visible()


def test_every_tab_says_the_same_of_the_library(visit, served):
    page = visit(served)
    lead = page.locator("#view .lead").first
    said = lead.inner_text()
    for tab in ("Albums", "Artists"):
        page.get_by_role("navigation", name="Library").get_by_role("link", name=tab).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute("aria-current", "page")
        expect(lead).to_have_text(said)


def test_nothing_found_is_reported(visit, served):
    page = visit(served)
    page.locator("#search").fill("xylophone quartet")
    expect(page.locator("#result-count")).to_contain_text("No songs match “xylophone quartet”")
    expect(rows(page)).to_have_count(0)


def test_genres_are_one_tab_stop_and_fade_where_more_are_hidden(visit, served):
    page = visit(served, viewport={"width": 390, "height": 844})
    row = page.get_by_role("group", name="Genre")
    expect(row).to_have_attribute("data-fade", "end")
    page.locator("#sort").focus()
    page.keyboard.press("Tab")
    expect(row.get_by_role("button").first).to_be_focused()
    page.keyboard.press("End")
    expect(row.get_by_role("button").last).to_be_focused()
    expect(row).to_have_attribute("data-fade", "start")
    page.keyboard.press("ArrowLeft")
    expect(row.get_by_role("button").nth(-2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(row.get_by_role("button").nth(-2)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    assert not row.evaluate("(row) => row.contains(document.activeElement)")
    page.keyboard.press("Shift+Tab")
    expect(row.get_by_role("button").nth(-2)).to_be_focused()  # where one was


def test_a_genre_chip_leaves_only_that_genre(visit, served):
    page = visit(served)
    chip = page.get_by_role("group", name="Genre").get_by_role("button", name="mid hiss")
    chip.click()
    expect(page.locator("#result-count")).to_have_text("24 songs")
    genre_of = {song["id"]: song["genre"] for song in ask(served, "/songs", limit=200)["items"]}
    assert {genre_of[song] for song in ids(rows(page))} == {"mid hiss"}
    chip.click()
    expect(rows(page)).to_have_count(50)


def test_genres_that_are_loaded_again_stay_what_may_be_pressed(visit, served):
    page = visit(served)
    chip = page.get_by_role("group", name="Genre").get_by_role("button", name="mid hiss")
    expect(chip).to_be_visible()
    page.evaluate("location.hash = '#/listen'")
    expect(page.locator("#drop-zone")).to_be_visible()
    held = []
    page.route("**/api/v1/genres", lambda route: held.append(route))
    page.evaluate("location.hash = '#/library'")
    until(page, lambda: held)
    chip.evaluate("(chip) => { chip.dataset.same = ''; }")  # those of the visit before are shown at once
    with page.expect_response("**/api/v1/genres"):
        held[0].continue_()
    expect(rows(page)).to_have_count(50)
    expect(chip).to_have_attribute("data-same", "")
    chip.click()
    expect(page.locator("#result-count")).to_have_text("24 songs")


def test_the_order_is_as_chosen(visit, served):
    page = visit(served)
    order = page.get_by_label("Sort by")
    for sort in ("title", "year", "plays", "newest", "artist"):
        wanted = [song["id"] for song in ask(served, "/songs", sort=sort, limit=50)["items"]]
        with page.expect_response(lambda answer, sort=sort: f"sort={sort}" in answer.url):
            order.select_option(sort)
        until(page, lambda wanted=wanted: ids(rows(page)) == wanted)
        if sort == "year":
            years = [int(year) for year in page.locator("#songs .row-year").all_inner_texts()]
            assert years in (sorted(years), sorted(years, reverse=True))
        if sort == "plays":
            plays = [int(note.split()[0]) for note in page.locator("#songs .row-note").all_inner_texts()]
            assert plays == sorted(plays, reverse=True)


def test_an_artists_name_leads_to_the_artist_and_the_albums_to_the_album(visit, served):
    page = visit(served, "#/library?search=band%20a3%20song%2031")
    expect(rows(page)).to_have_count(1)
    rows(page).first.get_by_role("link", name="Band A3").click()
    expect(page.get_by_role("heading", name="Band A3", level=1)).to_be_visible()
    assert "#/artist/ar-" in page.url
    page.get_by_role("list", name="Albums").get_by_role("link", name="First").click()
    expect(rows(page, "#album-songs")).to_have_count(2)
    assert titles(rows(page, "#album-songs")) == ["Song 30", "Song 31"]
    assert "#/album/al-" in page.url
    page.go_back()
    page.go_back()
    expect(rows(page)).to_have_count(1)
    rows(page).first.get_by_role("link", name="First").click()
    expect(page.get_by_role("heading", name="First", level=1)).to_be_visible()


def test_back_from_a_song_finds_the_same_position_in_the_list(visit, served):
    page = full_list(visit, served)
    rows(page).nth(60).scroll_into_view_if_needed()
    rows(page).nth(60).locator(".row-title").click()
    expect(page.locator("#near-learned .song-row")).to_have_count(10)
    page.go_back()
    expect(rows(page)).to_have_count(72)
    expect(rows(page).nth(60)).to_be_in_viewport()


def test_whoever_leaves_in_the_middle_of_scrolling_comes_back_to_the_same_position(visit, served):
    page = full_list(visit, served)
    page.evaluate("() => { scrollTo(0, 1500); location.hash = '#/listen'; }")
    expect(page.locator("#drop-zone")).to_be_visible()
    page.evaluate("() => { scrollTo(0, 0); history.back(); }")
    expect(rows(page)).to_have_count(72)
    page.wait_for_function("() => Math.abs(scrollY - 1500) < 3")
    page.evaluate("() => { scrollTo(0, 1200); history.forward(); }")  # an entry that cannot be written to any more
    expect(page.locator("#drop-zone")).to_be_visible()
    page.go_back()
    expect(rows(page)).to_have_count(72)
    page.wait_for_function("() => Math.abs(scrollY - 1200) < 3")


def test_the_keyboard_alone_finds_and_plays_a_song(visit, served):
    page = visit(served)
    expect(rows(page)).to_have_count(50)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Library")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("song 120")
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Play Song 120 by Band B2")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#player-title")).to_have_text("Song 120")
    played(page, 0.1)


def test_tab_reaches_the_search_and_a_row_and_arrows_go_on(visit, served):
    page = visit(served)
    expect(rows(page)).to_have_count(50)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if "row-play" in reached[-1]:
            break
    assert "search" in reached
    expect(rows(page).nth(0).locator(".row-play")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(rows(page).nth(1).locator(".row-play")).to_be_focused()


def test_the_question_mark_shows_the_keys_and_escape_closes_them(visit, served):
    page = visit(served)
    expect(rows(page)).to_have_count(50)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()


def test_a_menu_opens_moves_and_closes_by_keyboard(visit, served):
    page = visit(served)
    more = rows(page).first.locator(".row-more")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Similar songs")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Start radio")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(more).to_be_focused()
