"""A person's way through the page in Firefox: search, a song, its sound, a heart, a playlist; nothing goes wrong."""

import pytest

from browsing import ask
from firefox import FIREFOX, Firefox
from waiting import wait_for

HEARD = "!['', 'Song 31'].includes(document.querySelector('#player-title').textContent)"
"""It has been played to its end, as the next one is on: Firefox plays to nothing here, faster than the music."""

NO_CARD = "Failed to create WebGL context"
"""What Firefox says of a machine without a graphics card; the map is drawn without it."""


@pytest.mark.skipif(FIREFOX is None, reason="needs firefox-esr (Debian's package of this name)")
def test_a_song_is_found_heard_hearted_and_made_a_playlist_of(own_server, tmp_path):
    profile = tmp_path / "firefox"
    profile.mkdir()
    with Firefox(profile) as browser:
        browser.open(own_server)
        browser.click("#nav-list a[data-view=library]")
        browser.write("#search", "song 31")
        browser.until("document.querySelector('#songs .row-title')?.textContent === 'Song 31'")
        browser.click("#songs .row-title")
        browser.until("document.querySelectorAll('#near-learned .song-row').length === 10")
        assert browser.text("h1") == "Song 31"
        browser.click("#play-song")
        browser.until(HEARD)
        browser.click("#song-heart")
        browser.until("document.querySelector('#song-heart').ariaPressed === 'true'")
        song = ask(own_server, "/songs", search="Song 31")["items"][0]["id"]
        wait_for(lambda: [heart["song_id"] for heart in ask(own_server, "/hearts")] == [song])
        browser.click("#make-playlist")
        browser.until("document.querySelectorAll('#draft-songs .song-row').length === 25")
        browser.write("#playlist-name", "Heard in Firefox")
        browser.click("#save-playlist")
        browser.until("document.querySelector('#playlist-state').textContent === 'Saved'")
        assert [one["name"] for one in ask(own_server, "/playlists")] == ["Heard in Firefox"]
        browser.click("#nav-list a[data-view=map]")
        browser.until("document.querySelectorAll('.map-row').length > 0")
        assert [one for one in browser.complaints(own_server) if NO_CARD not in one] == []
