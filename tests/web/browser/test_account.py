"""Accounts in a real browser: the page says whose it is, secrets are shown once, all can be taken or deleted."""

import shutil
import zipfile

import pytest
from playwright.sync_api import Page, expect

from browsing import rows, serious, too_wide, until
from nearsong.library import Library, token_hash


@pytest.fixture
def people(trained_file, tmp_path, serving):
    """A service with two listeners: (library, address, tokens)."""
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        tokens = {"ada": library.accounts.add("ada", is_admin=True), "ben": library.accounts.add("ben")}
        with serving(library) as address:
            yield library, address, tokens


def log_in(visit, address: str, token: str, view: str = "") -> Page:
    page = visit(address, view, allow=("401",))
    page.locator("#token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#account-link")).to_be_visible()
    return page


def open_library(page: Page) -> None:
    page.get_by_role("link", name="Library", exact=True).click()
    expect(rows(page).first).to_be_visible()


def open_account(page: Page) -> None:
    page.locator("#account-link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Account")


def sound(page: Page) -> None:
    """Check that nothing is inaccessible or too wide, on a phone either."""
    assert serious(page) == []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        until(page, lambda: too_wide(page) == 0)  # the page takes a moment to become another width
    page.set_viewport_size({"width": 1280, "height": 800})


def test_the_page_says_whose_it_is_and_hearts_are_ones_own(people, visit):
    library, address, tokens = people
    page = log_in(visit, address, tokens["ben"])
    expect(page.locator("#account-link")).to_have_text("ben")
    open_library(page)
    expect(page.locator("#scan")).to_have_count(0)  # for admins
    song = int(rows(page).first.get_attribute("data-song-id"))
    rows(page).first.hover()
    rows(page).first.locator(".row-heart").click()
    expect(rows(page).first.locator(".row-heart")).to_have_attribute("aria-pressed", "true")
    page.locator("#sign-out").click()
    expect(page.locator("#token")).to_be_visible()
    assert list(library.reactions.of("ben").hearts) == [song]
    page.locator("#token").fill(tokens["ada"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#account-link")).to_have_text("ada")
    open_library(page)
    expect(rows(page).first.locator(".row-heart")).to_have_attribute("aria-pressed", "false")


def test_a_listener_gets_a_password_for_players_and_a_new_token(people, visit):
    library, address, tokens = people
    page = log_in(visit, address, tokens["ben"])
    open_account(page)
    expect(page.get_by_text("Players cannot connect yet")).to_be_visible()
    page.get_by_role("button", name="Create app password").click()
    shown = page.locator(".secret code").first
    expect(shown).to_be_visible()
    password = shown.inner_text()
    assert next(one.app_password for one in library.accounts.list() if one.name == "ben") == password
    sound(page)
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("Players cannot connect yet")).to_be_visible()
    page.get_by_role("button", name="New token").click()
    token = page.locator(".secret code").last
    expect(token).to_be_visible()
    assert next(one.token_hash for one in library.accounts.list() if one.name == "ben") == token_hash(
        token.inner_text()
    )
    page.reload()  # this browser stays signed in
    expect(page.get_by_role("heading", level=1)).to_have_text("Account")
    expect(page.get_by_role("heading", name="Listeners")).to_have_count(0)


def test_a_listener_takes_everything_and_deletes_it(people, visit):
    library, address, tokens = people
    library.reactions.heart([library.songs()[0].id], "ben")
    page = log_in(visit, address, tokens["ben"])
    open_account(page)
    with page.expect_download() as started:
        page.get_by_role("button", name="Export everything").click()
    with zipfile.ZipFile(started.value.path()) as archive:
        assert archive.testzip() is None
    erase = page.get_by_role("button", name="Delete everything")
    expect(erase).to_be_disabled()
    page.get_by_label("Type ben to delete").fill("be")
    expect(erase).to_be_disabled()
    page.get_by_label("Type ben to delete").fill("ben")
    erase.click()
    expect(page.locator("#token")).to_be_visible()
    assert [one.name for one in library.accounts.list()] == ["ada"]
    assert library.reactions.of("ben").hearts == {}


def test_an_admin_adds_and_removes_listeners(people, visit):
    library, address, tokens = people
    page = log_in(visit, address, tokens["ada"], "#/account")
    open_account(page)
    page.locator("#view").get_by_role("link", name="Settings").click()
    page.get_by_label("Name").fill("Chloé <b>")
    page.get_by_role("button", name="Add listener").click()
    token = page.locator(".secret code").last
    expect(token).to_be_visible()
    expect(page.locator(".account-person")).to_have_count(3)
    made = library.accounts.list()[-1]
    assert (made.name, made.is_admin, made.token_hash) == ("Chloé <b>", False, token_hash(token.inner_text()))
    page.get_by_role("button", name="Make admin: Chloé <b>").click()
    expect(page.locator(".account-person").last).to_contain_text("admin")
    sound(page)
    page.get_by_role("button", name="Delete: ben").click()
    page.keyboard.press("Escape")  # is no yes
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete: ben")).to_be_focused()
    page.get_by_role("button", name="Delete: ben").click()
    page.get_by_role("button", name="Delete all of it").click()
    expect(page.locator(".account-person")).to_have_count(2)
    assert [one.name for one in library.accounts.list()] == ["ada", "Chloé <b>"]
