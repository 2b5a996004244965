"""What is played in a real browser is noted in the library; what is jumped over is not."""

import shutil

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

import music_library
from browsing import ask, in_turn, played, remember, rows, titles, until
from library_store import recorded_plays
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library

SECONDS = 120

FAKE = """async (takes) => {
  const { ListenMeter } = await import('/static/js/player/listen_meter.js');
  const real = performance.now.bind(performance);
  let clock = 1000;
  performance.now = () => clock;
  const audio = Object.assign(new EventTarget(), { currentTime: 0, seeking: false, playbackRate: 1 });
  const tell = (name) => audio.dispatchEvent(new Event(name));
  const heard = [];
  const onHeard = (song, seconds) => heard.push([song, step, seconds]);
  const meter = new ListenMeter(audio, { length: () => takes.length, onListen: onHeard });
  meter.begin('song');
  let step = 0;
  for (const [what, value] of takes.steps) {
    if (what === 'play') {
      tell('playing');
      for (let part = 0; part < value; part += 1) {
        audio.currentTime += 0.25;
        clock += 250;
        tell('timeupdate');
      }
      tell('pause');
    } else {
      audio.seeking = true;
      audio.currentTime = value;
      tell('timeupdate');
      tell('seeking');
      audio.seeking = false;
      tell('timeupdate');
      tell('seeked');
      clock += 10_000;
    }
    step += 1;
  }
  performance.now = real;
  return heard;
}"""


def reported(length: float, steps: list[tuple[str, float]]) -> list[tuple[str, int, float]]:
    """In which step half of the song or four minutes were played, and how long ago that began; step by step."""
    need, listened, done, found = min(length / 2, 240), 0.0, False, []
    clock = began = 0.0
    for number, (what, value) in enumerate(steps):
        if what == "seek":
            clock += 10
            if value < 0.5 and done:
                listened, done = 0.0, False
        for _ in range(int(value) if what == "play" else 0):
            began = clock if listened == 0 else began
            listened, clock = listened + 0.25, clock + 0.25
            if listened >= need and not done:
                done = True
                found.append(("song", number, clock - began))
    return found


def test_only_what_is_played_counts_as_listened_however_one_jumps(visit, served):
    page, random = visit(served), np.random.default_rng(3)
    times = 0
    for _ in range(40):
        length = float(random.choice([4, 30, 200, 900]))
        steps = [
            ("play", int(random.integers(0, 3 * length)))
            if random.random() < 0.6
            else ("seek", int(4 * random.choice([0, random.random() * length])) / 4)
            for _ in range(12)
        ]
        found = [tuple(one) for one in page.evaluate(FAKE, {"length": length, "steps": steps})]
        assert found == reported(length, steps)
        times += len(found)
    assert times > 40


def noted(file) -> list[str]:
    """The titles that were played."""
    with Library.open(file) as library:
        return [play.track.title for play in recorded_plays(library)]


def posts(page: Page) -> list[dict]:
    """What the page tells of plays from now on."""
    found: list[dict] = []
    page.on("request", lambda asked: found.append(asked.post_data_json) if asked.url.endswith("/plays") else None)
    return found


def until_noted(page: Page, address: str, n: int) -> None:
    until(page, lambda: ask(address, "/status")["played"] >= n)


def test_songs_that_are_played_through_are_noted_once_each_and_reported(own_server, visit, tmp_path):
    page = visit(own_server)
    expect(rows(page)).to_have_count(50)
    reported = posts(page)
    first = titles(rows(page))[:3]
    rows(page).first.locator(".row-play").click()  # songs here have two seconds
    until_noted(page, own_server, 3)
    page.keyboard.press(" ")
    assert noted(tmp_path / "library.sqlite")[:3] == first
    assert len(reported) == len({one["song_id"] for one in reported})
    assert all(
        0.5 <= one["seconds"] < 60 for one in reported
    )  # of songs of two seconds, on a machine that may be busy
    n = ask(own_server, "/status")["played"]
    page.get_by_role("link", name="Quality").click()
    expect(page.locator("#played-note")).to_contain_text(f"{n} plays recorded here and in your players")
    expect(page.locator("#played-note")).to_contain_text("nearsong serve --no-plays turns this off")


def test_a_song_that_is_listened_to_again_is_reported_again(own_server, visit, tmp_path):
    page = visit(own_server, "#/library?search=song%20350")
    expect(rows(page)).to_have_count(1)
    reported = posts(page)
    rows(page).first.locator(".row-play").click()
    until_noted(page, own_server, 1)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()  # it has ended
    page.locator("#play-toggle").click()
    until(page, lambda: len(reported) == 2)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert len(noted(tmp_path / "library.sqlite")) == 1  # within half a minute it is one play


@pytest.fixture
def long_server(trained_file, serving, tmp_path):
    """A server that has a song of two minutes."""
    file = tmp_path / "music" / "Long Player" / "The long one.wav"
    file.parent.mkdir(parents=True)
    soundfile.write(file, music_library.sound(0, 7, SECONDS), music_library.RATE)
    write_tags(file, Tags("Long Player", "The long one", "Long", "low hum", 2001))
    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library:
        library.scan(tmp_path / "music", workers=1)
        with serving(library) as address:
            yield address


def test_who_jumps_to_the_end_has_not_listened_to_the_song(long_server, visit, tmp_path):
    page = visit(long_server, "#/library?search=the%20long%20one")
    expect(rows(page)).to_have_count(1)
    reported = posts(page)
    rows(page).first.locator(".row-play").click()
    played(page, 0.3)
    page.evaluate(f"async () => (await import('/static/js/player/player.js')).player.seek({SECONDS - 1})")
    played(page, SECONDS - 0.5)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()  # it has ended
    assert reported == []
    assert noted(tmp_path / "library.sqlite") == []


@pytest.fixture
def forgetful_server(trained_file, serving, tmp_path):
    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library, serving(library, plays=False) as address:
        yield address


def test_a_server_that_keeps_no_plays_is_sent_none(forgetful_server, visit):
    page = visit(forgetful_server)
    expect(rows(page)).to_have_count(50)
    reported, wanted = posts(page), titles(rows(page))[:3]
    seen = remember(page, "#player-title")
    rows(page).first.locator(".row-play").click()
    in_turn(page, seen, wanted)  # two were played
    page.get_by_role("link", name="Quality").click()
    expect(page.locator("#played-note")).to_contain_text("Plays are not recorded: the server was started with")
    assert reported == []


def test_a_play_that_cannot_be_noted_disturbs_nobody(own_server, visit, tmp_path):
    page = visit(own_server, allow=["503"])
    problem = '{"type": "urn:nearsong:busy", "title": "Busy", "status": 503, "detail": "later"}'
    page.route("**/api/v1/plays", lambda route: route.fulfill(status=503, body=problem))
    expect(rows(page)).to_have_count(50)
    reported, wanted = posts(page), titles(rows(page))[:3]
    seen = remember(page, "#player-title")
    rows(page).first.locator(".row-play").click()
    in_turn(page, seen, wanted)
    assert len(reported) >= 2
    expect(page.locator(".toast")).to_have_count(0)
    assert noted(tmp_path / "library.sqlite") == []
