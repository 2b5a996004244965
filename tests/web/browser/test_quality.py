"""Quality, in a real browser: the picture and its numbers, and a training that is started and watched."""

from playwright.sync_api import Page, expect

import music_library
from browsing import LONG, ask, remember, rows
from nearsong.library import Library

NAMES = {
    "random": "Random order",
    "popularity": "Popularity",
    "native": "Sound alone",
    "active": "Model in use",
    "paper": "The paper's method",
    "mlr": "The paper's method, more of the sound",
    "listener_space": "Predicted listeners",
    "combined": "Both together",
    "learned": "Learned, chosen beforehand",
    "ceiling": "Listeners themselves",
}


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_text_contents()


def test_the_picture_and_the_table_say_what_the_report_says(visit, served):
    page = visit(served, "#/quality")
    report = ask(served, "/model")["report"]
    expect(page.locator("#quality-headline")).to_be_visible()
    pictures = page.locator("svg.intervals")
    expect(pictures).to_have_count(2)
    for panel, picture in zip(("known", "unknown"), pictures.all(), strict=True):
        shown = [row for row in report["rows"] if row[panel]]
        assert [NAMES[row["name"]] for row in shown] == picture.locator(".chart-name").all_text_contents()
        numbers = [int(text) for text in picture.locator(".chart-number").all_text_contents()]
        assert numbers == [int(100 * row[panel]["mean"] + 0.5) for row in shown]
        dots = [float(dot.get_attribute("cx")) for dot in picture.locator(".chart-dot").all()]
        means = [row[panel]["mean"] for row in shown]
        order = sorted(range(len(shown)), key=means.__getitem__)
        assert order == sorted(order, key=lambda at: (dots[at], means[at]))
    inside = """() => {
      const names = [...document.querySelectorAll(".quality-panel .chart-name")];
      const left = (node) => node.getBoundingClientRect().left;
      return names.length > 0 && names.every((name) => left(name) >= left(name.closest(".quality-panel")));
    }"""
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        expect(pictures.first).to_be_visible()
        page.wait_for_function(inside)
    page.get_by_text("Show as a table").click()
    for line, row in zip(page.locator(".quality-table tbody tr").all(), report["rows"], strict=True):
        cells = line.locator("td").all_inner_texts()
        for cell, panel in zip(cells, ("known", "unknown"), strict=False):
            found = row[panel]
            wanted = [f"{100 * found[key]:.1f}" for key in ("mean", "low", "high")] if found else ["–"]
            assert all(part in cell for part in wanted)


def test_who_it_was_learned_from_and_what_nobody_played_are_shown(visit, served):
    page = visit(served, "#/quality")
    report, cold = ask(served, "/model")["report"], ask(served, "/model/cold-start")
    facts = page.locator(".facts")
    for name in ("listeners", "artists", "songs"):
        expect(facts).to_contain_text(f"{report[name]:,}")
    sentence = page.locator("#cold-sentence")
    expect(sentence).to_be_visible()
    if cold["never_played"]:
        expect(sentence).to_contain_text(f"of {cold['never_played']} unplayed song")
        expect(sentence).to_contain_text(str(cold["recommended"]))
        expect(rows(page, "#cold-start").first).to_be_visible()


def test_popularity_that_ranks_better_is_said_and_what_cannot_be_told_is_hidden(visit, served):
    page = visit(served, "#/quality")
    expect(page.locator("#cold-sentence")).to_be_visible()
    model, cold = ask(served, "/model"), ask(served, "/model/cold-start")
    rows_of = {row["name"]: row for row in model["report"]["rows"]}
    rows_of["learned"]["unknown"]["mean"], rows_of["popularity"]["unknown"]["mean"] = 0.62, 0.71
    rows_of["learned"]["known"]["mean"], rows_of["popularity"]["known"]["mean"] = 0.8, 0.7
    model["models"].append({**model["models"][-1], "id": 99, "kind": "imported", "is_learned": True, "active": False})
    by_artist = cold | {"seeds": 1, "recommended": 9, "plays_known": False}  # one play here, else only artists
    page.route("**/api/v1/model", lambda route: route.fulfill(json=model))
    page.route("**/api/v1/model/cold-start", lambda route: route.fulfill(json=by_artist))
    page.reload()
    words = page.locator("#popularity-wins")
    expect(words).to_contain_text("better than the model for new artists (71 against 62 of 100).")
    expect(words).not_to_contain_text("known songs")
    expect(page.locator("#cold-start")).to_have_count(0)  # a history of artists does not name songs
    model["report"]["decision"] = "active"  # the model of this training was refused: its own scores count no more
    in_use = rows_of["learned"]["unknown"] | {"mean": 0.6}
    model["report"]["rows"] = [row for row in rows_of.values() if row["name"] != "active"]
    model["report"]["rows"].append(rows_of["learned"] | {"name": "active", "unknown": in_use})
    page.reload()
    expect(words).to_contain_text("better than the model for new artists (71 against 60 of 100).")
    in_use["mean"] = 0.8
    page.reload()
    expect(page.locator("#refusal")).to_be_visible()
    expect(words).to_have_count(0)
    page.get_by_role("link", name="Settings").last.click()
    expect(page.locator("#models")).to_contain_text("Learned from listeners, imported 99")


def test_a_training_shows_how_far_it_is_and_its_model_can_be_left_again(own_server, visit, tmp_path):
    before = ask(own_server, "/model")
    with Library.open(tmp_path / "library.sqlite") as library:  # with the same listens it would be the same model
        library.import_listens(music_library.write_listens(tmp_path / "more.csv", seed=1))
    page = visit(own_server, "#/quality")
    expect(page.locator("#quality-headline")).to_be_visible()
    seen = remember(page, "#training .progress-words")
    page.get_by_role("button", name="Train again").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator("#what-changed")).to_be_visible(timeout=2 * LONG)
    assert len(set(seen())) >= 3
    after = ask(own_server, "/model")
    fresh = {model["id"] for model in after["models"]} - {model["id"] for model in before["models"]}
    assert len(fresh) == 1
    assert {after["active"]["id"]} == fresh
    page.get_by_role("link", name="Settings").last.click()
    models = page.locator("#models .settings-row")
    expect(models).to_have_count(len(after["models"]))
    expect(models.first).to_contain_text("Active")
    expect(models.first).to_contain_text(f"listeners {after['active']['id']}")
    old = before["active"]["id"]
    page.get_by_role("button", name=f"Activate Learned from listeners {old}").click()
    expect(page.locator("#toasts")).to_contain_text("is now active")
    assert ask(own_server, "/model")["active"]["id"] == old
