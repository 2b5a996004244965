"""Settings in a real browser: each is changed as a person would, after a question where something is lost."""

import shutil

import httpx
import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from browsing import LONG, ask, serious, too_wide, until
from nearsong.library import AutomaticRun, AutomationState, Library
from waiting import wait_for

ZERO = "user,artist,title,plays\nann,Neu!,Hallogallo,9\nann,Kraftwerk,Autobahn,4\n"


@pytest.fixture
def server(trained_file, serving, tmp_path, styled_music):
    """The library and address of a service that may run by itself; folders may be chosen beside that of the music."""
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        run = AutomaticRun(time=1_790_000_000.0, task="train", state="done", words="Better: 76 of 100 pairs.")
        library.automation.write(AutomationState().with_run(run))
        with serving(library, automatic=True, allowed_folders=(styled_music.parent,)) as address:
            yield library, address


def sound(page: Page) -> None:
    """Check that nothing is inaccessible or too wide, on a phone either."""
    assert serious(page) == []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        until(page, lambda: too_wide(page) == 0)
    page.set_viewport_size({"width": 1280, "height": 800})


def answer(page: Page, action: str) -> None:
    """Answer the question that is open with yes."""
    expect(page.locator("dialog[open]")).to_be_visible()
    assert serious(page) == []
    page.locator("dialog[open]").get_by_role("button", name=action).click()


def test_a_folder_is_removed_after_a_question_and_added_again_by_choosing_it(server, visit, styled_music):
    library, address = server
    page = visit(address, "#/settings?section=folders", allow=("409",))
    folder = page.locator("#folders .settings-row")
    expect(folder).to_contain_text("72 songs")
    remove = page.get_by_role("button", name=f"Remove {styled_music}")
    remove.click()
    expect(page.locator("dialog[open]")).to_contain_text("Its 72 songs leave the library")
    page.keyboard.press("Escape")
    expect(remove).to_be_focused()
    assert library.status().songs == 72
    remove.click()
    answer(page, "Remove folder")
    expect(page.get_by_text("No folder yet")).to_be_visible()
    assert (library.folders, library.status().songs) == ([], 0)
    add = page.get_by_role("button", name="Add a folder")
    add.click()
    expect(page.get_by_role("dialog", name="Choose a folder")).to_be_visible()
    page.keyboard.press("Escape")
    expect(add).to_be_focused()
    add.click()
    choice = page.get_by_role("dialog", name="Choose a folder")
    choice.get_by_role("button", name=styled_music.name, exact=True).click()
    expect(choice.locator(".folder-here")).to_have_text(str(styled_music))
    sound(page)
    choice.get_by_role("button", name="Up one folder").click()
    expect(choice.locator(".folder-here")).to_have_text(str(styled_music.parent))
    choice.get_by_role("button", name=styled_music.name, exact=True).click()
    expect(choice.locator(".folder-here")).to_have_text(str(styled_music))
    with page.expect_request(lambda sent: "/api/v1/files" in sent.url, timeout=LONG):  # problems may have been found
        choice.get_by_role("button", name="Add this folder").click()
    expect(folder).to_contain_text("72 songs", timeout=LONG)
    assert library.folders == [str(styled_music)]


def test_a_history_of_which_nothing_is_here_says_so_with_names_and_is_removed(server, visit, tmp_path):
    library, address = server
    (tmp_path / "strange.csv").write_text(ZERO)
    page = visit(address, "#/settings")
    rows = page.locator("#histories .settings-row")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("of the plays are in the library")
    page.set_input_files("#listens-file", tmp_path / "strange.csv")
    box = page.get_by_role("dialog", name="Imported, but nothing matches")
    expect(box).to_be_visible(timeout=LONG)
    for words in (
        "None of 2 track names",
        "Neu! - Hallogallo (9)",
        "The library has 72 songs by 36 artists",
        "Next: ",
    ):
        expect(box).to_contain_text(words)
    expect(page.locator(".toast-good")).to_have_count(0)
    sound(page)
    box.get_by_role("link", name="Histories").click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("of ann")
    expect(rows.first.locator(".note.warn")).to_contain_text("None of 2 track names is in the library (13 plays).")
    page.get_by_role("button", name="Remove strange.csv").click()
    answer(page, "Remove history")
    expect(rows).to_have_count(1)
    assert len(library.listens()) == 1


def test_a_history_of_which_hardly_anything_is_here_says_so_too_with_the_next_steps(own_server, visit, tmp_path):
    (tmp_path / "strange.csv").write_text(ZERO + "ann,Band A0,Song 0,1\n")
    page = visit(own_server, "#/settings")
    page.set_input_files("#listens-file", tmp_path / "strange.csv")
    box = page.get_by_role("dialog", name="Imported, but little matches")
    expect(box).to_be_visible(timeout=LONG)
    for words in (
        "7% of 14 plays found in the library",
        "Neu! - Hallogallo (9)",
        "The library has 72 songs",
        "Next: ",
    ):
        expect(box).to_contain_text(words)
    expect(page.locator(".toast-good")).to_have_count(0)


def test_a_history_that_is_removed_while_the_page_is_drawn_anew_is_gone_from_it(server, visit, tmp_path):
    library, address = server
    (tmp_path / "strange.csv").write_text(ZERO)
    library.import_listens(tmp_path / "strange.csv")
    page = visit(address, "#/settings")
    rows = page.locator("#histories .settings-row")
    expect(rows).to_have_count(2)
    page.evaluate("document.getElementById('histories').dataset.visit = 'first'")
    page.get_by_role("button", name="Remove strange.csv").click()
    page.evaluate("location.hash = '#/settings?section=histories'")  # the question is still open
    expect(page.locator("#histories:not([data-visit]) .settings-row")).to_have_count(2)
    answer(page, "Remove history")
    expect(rows).to_have_count(1)


def test_two_models_are_seen_side_by_side_and_one_is_removed(server, visit):
    library, address = server
    page = visit(address, "#/settings?section=models")
    page.get_by_role("button", name="Compare Sound alone 1").click()
    box = page.get_by_role("dialog", name="Two models side by side")
    compared = ask(address, "/model/compare", first=2, second=1)
    for words in compared["words"]:
        expect(box).to_contain_text(words)
    for model in compared["models"]:
        expect(box.locator("table")).to_contain_text(f"{100 * model['known']['mean']:.1f}")
    sound(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove Sound alone 1").click()
    answer(page, "Remove model")
    expect(page.locator("#models .settings-row")).to_have_count(1)
    assert [row.id for row in library.models()] == [2]


def test_the_schedule_is_saved_or_discarded_and_says_what_was_done(server, visit):
    library, address = server
    page = visit(address, "#/settings?section=schedule")
    plays, save = page.get_by_label("Train after"), page.get_by_role("button", name="Save", exact=True)
    expect(plays).to_have_value("300")
    expect(page.locator(".settings-body[aria-busy]")).to_have_count(0)
    section = page.locator("#settings-schedule")
    until(page, lambda: abs(section.bounding_box()["y"]) < 60)  # also if those above it were loaded later
    expect(save).to_be_disabled()
    plays.fill("7")
    expect(page.get_by_text("Not saved yet")).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(plays).to_have_value("300")
    plays.fill("8")
    page.get_by_label("Quiet hours from").fill("01:30")
    save.click()
    expect(page.locator("#toasts")).to_contain_text("Schedule saved.")
    expect(save).to_be_disabled()
    settings = library.automation.settings()
    assert (settings.new_listens, settings.quiet_from, settings.new_songs) == (8, "01:30", 100)
    page.get_by_text("What it did").click()
    expect(page.locator("#automation-runs li")).to_contain_text("Training, 21 Sept 2026")
    page.get_by_label("Watch the folders").uncheck()
    until(page, lambda: not library.automation.settings().watch)
    page.get_by_label("Scan new music and learn").uncheck()
    expect(page.locator("#automation-words")).to_contain_text("Off: it neither scans nor trains by itself.")
    expect(plays).to_be_hidden()
    expect(page.locator("#settings-phone")).to_contain_text("Only this computer can reach nearsong.")


def test_a_file_that_cannot_be_read_is_listed_with_its_reason(own_server, visit, tmp_path):
    broken = tmp_path / "music" / "Broken.flac"
    broken.parent.mkdir()
    broken.write_text("no music at all")
    with Library.open(tmp_path / "library.sqlite") as library:
        library.scan(broken.parent, workers=1)
        ((path, reason),) = library.unreadable()
    page = visit(own_server, "#/settings?section=files")
    files = page.locator("#files-unreadable")
    expect(files.locator("summary")).to_have_text("1 file could not be read")
    expect(files.locator("li")).to_have_count(1)
    expect(files.locator(".settings-path")).to_have_text(path)
    assert path == str(broken)
    why = files.locator("li p").last.inner_text()
    assert len(why) > 5
    assert reason.endswith(why[1:])
    expect(page.get_by_role("button", name="Try them again")).to_be_visible()


def test_a_file_that_was_set_aside_is_listed_with_its_reason(own_server, visit, tmp_path):
    silent = tmp_path / "music" / "Silence.wav"
    silent.parent.mkdir()
    soundfile.write(silent, np.zeros(44_100), 22_050)
    with Library.open(tmp_path / "library.sqlite") as library:
        library.scan(silent.parent, workers=1)
    page = visit(own_server, "#/settings?section=files")
    files = page.locator("#files-aside")
    expect(files.locator("summary")).to_have_text("1 file is no song")
    expect(files.locator(".settings-path")).to_have_text([str(silent)])
    expect(files.locator("li p").last).to_have_text("Is silent.")
    expect(page.get_by_role("button", name="Try them again")).to_have_count(0)  # it would be silent again
    sound(page)


def test_the_folders_are_watched_or_not_as_their_own_switch_says(server, visit):
    library, address = server
    page = visit(address, "#/settings?section=folders")
    switch = page.locator("#settings-folders").get_by_role("switch", name="Watch the folders")
    expect(switch).to_be_checked()
    for watch in (False, True):
        switch.click()
        expect(switch).to_be_checked(checked=watch)
        until(page, lambda wanted=watch: library.automation.settings().watch == wanted)
        page.reload()
        expect(switch).to_be_checked(checked=watch)


def test_where_the_service_has_a_network_address_a_code_has_it(trained, serving, visit, monkeypatch):
    monkeypatch.setattr("nearsong.web.api.settings.connection._network_address", lambda: "192.0.2.7")
    token = "correct-horse-battery-staple-4242"
    with serving(trained, host="0.0.0.0", token=token) as address:
        page = visit(address, "#/settings", allow=("401",))
        page.locator("#token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Settings").click()
        found = httpx.get(f"{address}/api/v1/connection", headers={"Authorization": f"Bearer {token}"}).json()
        assert found["address"].startswith("http://192.0.2.7:")
        code = page.get_by_role("img", name=f"QR code of {found['address']}")
        expect(code).to_be_visible()
        until(page, lambda: code.evaluate("(picture) => picture.naturalWidth") > 0)
        expect(page.locator("#settings-phone")).to_contain_text(found["address"])
        page.context.close()


def test_a_listener_sees_only_what_is_theirs_and_a_section_that_fails_can_be_loaded_again(server, visit):
    library, address = server
    library.accounts.add("ada", is_admin=True)
    token = library.accounts.add("ben")
    wait_for(lambda: httpx.get(f"{address}/api/v1/status").status_code == 401)  # it has noticed
    page = visit(address, "#/settings", allow=("401", "503"))
    page.locator("#token").fill(token)
    page.route("**/api/v1/connection", lambda route: route.fulfill(status=503, json={"detail": "busy just now."}))
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#home-added")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.locator("#settings-phone")).to_contain_text("Busy just now.")
    page.unroute("**/api/v1/connection")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#settings-phone")).to_contain_text("nearsong serve --host 0.0.0.0")
    titles = page.locator(".settings-section h3").all_inner_texts()
    assert titles == ["Account", "Phone and players", "Your listening histories"]
    expect(page.locator("#settings-account")).to_contain_text("Signed in as ben.")
    expect(page.get_by_text("No listening history yet")).to_be_visible()
    sound(page)
