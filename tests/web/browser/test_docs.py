"""The API's own page: every call is there, and its form sends it."""

import pytest
from playwright.sync_api import expect

from browsing import LONG, ask, serious, too_wide


@pytest.mark.parametrize("width", [1280, 390])
def test_every_call_is_listed_with_a_form_that_sends_it(visit, served, width):
    page = visit.blank(served, viewport={"width": width, "height": 800})
    page.goto(f"{served}/docs")
    described = page.evaluate("async () => (await (await fetch('/openapi.json')).json()).paths")
    n_calls = sum(len(operations) for operations in described.values())
    expect(page.locator("details")).to_have_count(n_calls, timeout=LONG)
    call = page.locator("details", has=page.get_by_text("/api/v1/songs", exact=True)).first
    call.locator("summary").click()
    call.get_by_label("search").fill("Song 31")
    call.get_by_role("button", name="Send").click()
    expect(call.locator("form pre")).to_contain_text("200", timeout=LONG)
    expect(call.locator("form pre")).to_contain_text(
        f'"id": {ask(served, "/songs", search="Song 31")["items"][0]["id"]}'
    )
    assert serious(page) == []
    assert too_wide(page) <= 0
    closed = page.locator("details:not([open]) summary")
    while closed.count():
        closed.first.click()
    expect(page.locator("details form")).to_have_count(n_calls)


def test_a_body_and_an_address_are_sent_as_they_are_written(visit, served):
    page = visit.blank(served, allow=("404",))
    page.goto(f"{served}/docs")
    call = page.locator("details", has=page.get_by_text("/api/v1/songs/{song_id}", exact=True)).first
    call.locator("summary").click()
    call.get_by_label("song_id").fill("999999")
    call.get_by_role("button", name="Send").click()
    expect(call.locator("form pre")).to_contain_text("404", timeout=LONG)
