"""A song and its neighbours in a real browser, and a file outside the library."""

import re

import httpx
import pytest
import soundfile
from playwright.sync_api import expect

import music_library
from browsing import PATIENCE, ask, carried, drag_in, ids, in_turn, open_menu, played, remember, rows, titles, until
from playing import hold_sound

NEAR, NATIVE = "#near-learned", "#near-native"
BARS = {"very close": (60, 100), "close": (40, 80), "loose": (20, 55), "far": (10, 30)}  # percent


@pytest.fixture(scope="module")
def song(served):
    """A song whose neighbours differ with the filters."""
    return ask(served, "/songs", search="Song 31")["items"][0]


@pytest.fixture
def unheard(tmp_path):
    """A function that writes a file in a style, which is in nobody's library."""

    def write(style):
        path = tmp_path / f"never heard {style}.wav"
        soundfile.write(path, music_library.sound(style, 9876), music_library.RATE)
        return path

    return write


def test_a_song_shows_both_lists_side_by_side_and_where_listeners_agree(visit, served, song):
    page = visit(served, f"#/song/{song['id']}")
    for column, metric in ((NEAR, "active"), (NATIVE, "native")):
        expect(rows(page, column)).to_have_count(10)
        songs = ask(served, "/similar", seed=song["id"], n=10, metric=metric)["songs"]
        assert ids(rows(page, column)) == [near["song"]["id"] for near in songs]
        marked = [row.locator(".mark-agree").count() == 1 for row in rows(page, column).all()]
        assert marked == [bool(near["listeners_agree"]) for near in songs]
        shown = page.locator(f"{column} .closeness")
        for text, near in zip(shown.all_inner_texts(), songs, strict=True):
            word, number = text.strip().split(", ")
            assert word.strip() == near["closeness_word"]
            assert re.fullmatch(r"(nearer than [\d.]+% of all pairs of songs|as near as a song to itself)", number)
        assert shown.first.get_attribute("title").startswith(("Nearer than", "As near"))
        assert shown.first.get_attribute("title").endswith("; number 1 of 10")
        bars = shown.locator(".bar > span").evaluate_all(
            "bars => bars.map((bar) => bar.getBoundingClientRect().width)"
        )
        assert bars == sorted(bars, reverse=True)
        whole = shown.first.locator(".bar").bounding_box()["width"]
        parts = [100 * bar / whole for bar in bars]
        words = [near["closeness_word"] for near in songs]
        assert [parts[0], parts[-1]] == pytest.approx([BARS[words[0]][1], BARS[words[-1]][0]], abs=2)
        for part, word in zip(parts, words, strict=True):  # a bar never says another thing than its word
            assert BARS[word][0] - 2 <= part <= BARS[word][1] + 2
    left, right = (page.locator(f"{column}").bounding_box() for column in (NEAR, NATIVE))
    assert left["x"] + left["width"] <= right["x"]
    assert page.locator(".mark-agree").count() > 0
    assert page.locator(".mark-both").count() > 0
    expect(page.locator(".both-legend")).to_have_text(["In both lists"] * 2)  # what the mark means


def test_words_set_the_range_of_a_bar_and_the_order_in_the_list_its_length(visit, served, song):
    page = visit(served, f"#/song/{song['id']}")
    marks = page.evaluate(
        """async () => {
          const { closenessMarks } = await import("/static/js/songs/closeness.js");
          const near = (closeness, closeness_word, similarity) => ({ closeness, closeness_word, similarity });
          const told = (list) => closenessMarks(list).map((node) => [
            node.title, node.firstChild.firstChild.textContent,
            Math.round(parseFloat(node.lastChild.style.getPropertyValue("--part"))),
          ]);
          return [
            told([
              near(0.62, "close", 0.99), near(0.61, "close", 0.9899), near(0.61, "close", 0.9899),
              near(0.58, "close"),
            ]),
            told([near(0.6, "close"), near(0.6, "close")]),
            told([near(0.3, "loose"), near(0.5, "close"), near(0.45, "loose")]),
            told([near(0.95, "very close"), near(0.9, "very close"), near(0.75, "very close")]),
            told([near(0.95, "very close"), near(0.69, "close"), near(0.49, "loose"), near(0.1, "far")]),
            told([near(0.71, "very close"), near(0.2, "far"), near(0.1, "far")]),
          ];
        }"""
    )
    near = "Nearer than 98% of all pairs of songs; number"
    assert marks == [
        [
            ["Nearer than 99% of all pairs of songs; number 1 of 4", "close", 80],
            [f"{near} 2 to 3 of 4", "close", 70],
            [f"{near} 2 to 3 of 4", "close", 70],
            ["Number 4 of 4", "close", 40],
        ],
        [["Number 1 to 2 of 2", "close", 80]] * 2,  # equally near: nothing separates them
        [["Number 3 of 3", "loose", 20], ["Number 1 of 3", "close", 80], ["Number 2 of 3", "loose", 55]],
        [
            ["Number 1 of 3", "very close", 100],
            ["Number 2 of 3", "very close", 90],
            ["Number 3 of 3", "very close", 60],
        ],
        [
            ["Number 1 of 4", "very close", 100],
            ["Number 2 of 4", "close", 72],
            ["Number 3 of 4", "loose", 51],
            ["Number 4 of 4", "far", 10],
        ],
        [["Number 1 of 3", "very close", 100], ["Number 2 of 3", "far", 25], ["Number 3 of 3", "far", 10]],
    ]


def test_only_a_history_that_names_songs_tells_that_one_was_not_played(visit, served, song):
    told = ask(served, f"/songs/{song['id']}") | {"plays": 0}
    page = visit.blank(served)
    page.route(f"**/api/v1/songs/{song['id']}", lambda route: route.fulfill(json=told))
    for known in (True, False):
        told["plays_known"] = known
        page.goto("about:blank")
        page.goto(f"{served}/#/song/{song['id']}")
        expect(page.get_by_role("heading", level=1)).to_have_text(song["title"])
        expect(page.get_by_role("list", name="About the song").get_by_text("not played")).to_have_count(int(known))


def test_names_have_room_in_two_narrow_columns_and_on_a_phone_the_songs_begin_soon(visit, served, song):
    page = visit(served, f"#/song/{song['id']}", viewport={"width": 1024, "height": 768})
    for column in (NEAR, NATIVE):
        expect(rows(page, column)).to_have_count(10)
        names = rows(page, column).first.locator(".row-names").bounding_box()
        assert names["width"] > 140
        mark = rows(page, column).first.locator(".closeness").bounding_box()
        assert mark["y"] >= names["y"] + names["height"]
        assert mark["x"] == pytest.approx(names["x"], abs=1)
    page.set_viewport_size({"width": 390, "height": 844})
    chips = page.locator(".near-tools > .cluster")
    until(page, lambda: chips.bounding_box()["height"] < 60)  # one line, that scrolls


def explained(served, song):
    """Return a song, the rank of a similar one by another artist, that one, and why: with a sound that both have."""
    for seed in [song, *ask(served, "/songs", limit=40)["items"]]:
        for at, near in enumerate(ask(served, "/similar", seed=seed["id"], n=10)["songs"]):
            why = ask(served, "/why", query=seed["id"], other=near["song"]["id"])
            if why["listeners"] and any(sound["examples"] for sound in why["similarities"]):
                return seed, at, near["song"], why
    raise AssertionError("no two similar songs of different artists share a sound")


def test_why_opens_with_one_sentence_and_the_shared_moment_and_folds_the_details_away(visit, served, song):
    song, at, other, why = explained(served, song)
    page = visit(served, f"#/song/{song['id']}")
    row = rows(page, NEAR).nth(at)
    row.get_by_role("button", name="Why is").click()
    panel = row.locator(".why")
    expect(panel.locator(".why-lead")).to_have_text(why["lead"])
    shared = panel.get_by_text(f"{why['listeners']['shared']} play both.")
    expect(shared).to_be_hidden()

    status = panel.get_by_role("status")
    seen = remember(page, ".moment-status")
    panel.get_by_role("button", name="Hear what they share").click()
    expect(status).to_have_text("At 0:00 and 0:00")
    heard = " ".join(seen())
    assert heard.index(f"{song['title']} at 0:00") < heard.index(f"{other['title']} at 0:00")
    panel.get_by_role("button", name="Hear what they share").click()
    expect(status).to_contain_text(song["title"])
    panel.get_by_role("button", name="Stop").click()
    expect(status).to_be_empty()

    panel.get_by_text("Details").click()
    expect(shared).to_be_visible()
    for sound in why["similarities"][:1]:
        expect(panel).to_contain_text(sound["words"], ignore_case=True)
    example = panel.locator(".sound-examples button").first
    expect(example).to_be_visible()
    hold_sound(page)
    example.click()
    expect(page.locator("#player-title")).to_have_text(example.inner_text())
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(row.get_by_role("button", name="Why is")).to_be_focused()


def test_the_menu_of_a_neighbour_asks_about_it_instead(visit, served, song):
    page = visit(served, f"#/song/{song['id']}")
    expect(page.get_by_role("heading", level=1)).to_have_text(song["title"])
    expect(rows(page, NEAR)).to_have_count(10)
    title, number = titles(rows(page, NEAR))[0], ids(rows(page, NEAR))[0]
    open_menu(rows(page, NEAR).first)
    page.get_by_role("menuitem", name="Similar songs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert page.url.endswith(f"#/song/{number}")
    wanted = [near["song"]["id"] for near in ask(served, "/similar", seed=number, n=10)["songs"]]
    expect(rows(page, NEAR).first).to_have_attribute("data-song-id", str(wanted[0]))
    assert ids(rows(page, NEAR)) == wanted


def test_filters_and_show_more_change_the_lists(visit, served, song):
    page = visit(served, f"#/song/{song['id']}")
    expect(rows(page, NEAR)).to_have_count(10)
    with page.expect_response(lambda answer: "new_artists=true" in answer.url):
        page.get_by_role("button", name="Other artists only").click()
    artists = page.locator(f"{NEAR} .row-artist")
    expect(artists.filter(has_text=song["artist"])).to_have_count(0)
    page.get_by_role("button", name="One song per artist").click()
    until(page, lambda: len(set(artists.all_inner_texts())) == 10)
    page.get_by_role("button", name="Show more").click()
    until(page, lambda: len(set(artists.all_inner_texts())) == 20)
    expect(rows(page, NEAR)).to_have_count(20)


def test_neighbours_play_one_after_the_other(visit, served, song):
    page = visit(served, f"#/song/{song['id']}")
    expect(rows(page, NEAR)).to_have_count(10)
    near = titles(rows(page, NEAR))
    seen = remember(page, "#player-title")
    rows(page, NEAR).nth(2).locator(".row-play").click()
    in_turn(page, seen, near[2:4])


def test_a_song_that_is_not_there_is_reported(visit, served):
    page = visit(served, "#/song/999999", allow=("404",))
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    page.get_by_role("link", name="Go to library", exact=True).click()
    expect(rows(page)).to_have_count(50)


@pytest.mark.parametrize("style", range(3))
def test_a_file_outside_the_library_finds_its_own_kind_and_nothing_is_stored(visit, served, unheard, style):
    before = ask(served, "/status")["songs"]
    page = visit(served, "#/listen")
    expect(page.locator("#drop-zone")).to_be_visible()
    seen = remember(page, ".listen-progress")
    page.locator("#listen-file").set_input_files(unheard(style))
    expect(rows(page, NEAR)).to_have_count(10)
    expect(page.locator("#kept")).to_have_text("The file was analysed and deleted.")
    expect(page.locator("#same-sound")).to_have_count(0)
    assert any("Analysing" in text for text in seen())
    genre_of = {song["id"]: song["genre"] for song in ask(served, "/songs", limit=200)["items"]}
    found = [genre_of[song] for song in ids(rows(page, NEAR))]
    assert found.count(music_library.STYLES[style]) >= 9
    assert ask(served, "/status")["songs"] == before == 72
    rows(page, NEAR).first.get_by_role("button", name="Why is").click()
    expect(rows(page, NEAR).first.locator(".why-lead")).to_be_visible()
    expect(page.locator(NATIVE).get_by_role("button", name="Why is")).to_have_count(0)
    alone = page.get_by_role("region", name="Similar sound").locator("#by-sound-alone")
    expect(alone).to_have_text("By sound alone: what listeners play has no part in it.")
    page.get_by_role("button", name=f"Play never heard {style}").click()
    played(page, 0.1)


def test_a_file_with_the_sound_of_a_song_of_the_library_is_recognised(visit, served, unheard):
    file, same = unheard(1), ask(served, "/songs")["items"][0]
    files = {"file": (file.name, file.read_bytes())}
    sent = httpx.post(f"{served}/api/v1/query?n=10", files=files, timeout=PATIENCE / 1000)
    answer = sent.raise_for_status().json()
    answer["native"][0] |= {"closeness": 0.99999, "song": same}
    page = visit(served, "#/listen")
    page.route(re.compile("/api/v1/query"), lambda route: route.fulfill(json=answer))
    page.locator("#listen-file").set_input_files(file)
    expect(page.locator("#same-sound")).to_have_text(f"It sounds the same as {same['title']} in the library.")
    page.locator("#same-sound").get_by_role("link").click()
    expect(page.get_by_role("heading", name=same["title"], level=1)).to_be_visible()


def test_a_file_dropped_on_any_view_is_analysed_and_can_start_a_playlist(visit, served, unheard):
    page = visit(served, "#/quality")
    expect(page.get_by_role("heading", name="Quality")).to_be_visible()
    file = unheard(1)
    held = carried(page, file.name, file.read_bytes(), "audio/wav")
    page.dispatch_event("#view", "dragenter", {"dataTransfer": held})
    expect(page.get_by_text("Drop to find similar songs")).to_be_visible()
    drag_in(page, "#view", file, "audio/wav")
    expect(page.get_by_text("Drop to find similar songs")).to_be_hidden()
    expect(rows(page, NEAR)).to_have_count(10)
    nearest = ids(rows(page, NEAR))[0]
    page.get_by_role("button", name="Create playlist").click()
    expect(page.locator("#draft-songs .song-row")).to_have_count(25, timeout=2 * PATIENCE)
    assert ids(page.locator("#draft-songs .song-row"))[0] == nearest


def test_what_is_no_audio_is_refused_in_plain_words(visit, served, tmp_path):
    page = visit(served, "#/listen", allow=("422", "415", "400"))
    expect(page.locator("#drop-zone")).to_be_visible()
    text = tmp_path / "letter.txt"
    text.write_text("Dear listener, this is no song.")
    drag_in(page, "#drop-zone", text, "text/plain")
    expect(page.locator("#listen-error")).to_contain_text("“letter.txt” is not an audio file")
    drag_in(page, "#drop-zone", text, "audio/mpeg")  # it only says that it is one: the service listens and finds out
    expect(page.locator("#listen-error")).not_to_contain_text("Choose a song")
    words = page.locator("#listen-error").inner_text()
    assert "letter.txt" in words
    assert "Traceback" not in words
    page.locator("#listen-file").set_input_files({"name": "empty.mp3", "mimeType": "audio/mpeg", "buffer": b""})
    expect(page.locator("#listen-error")).to_contain_text("is empty")
