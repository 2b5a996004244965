"""A song of a foreign format in a real browser while it is converted: it plays, and can be sought in."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import expect

import foreign_music
from browsing import played, position, rows, until
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library
from nearsong.web.settings import ServeSettings
from running_service import running

STEP_SECONDS, STEP_HERTZ, N_STEPS = 10, 400, 6
"""The song is a scale: its tone says which part of it sounds."""

N_FREE = 10
"""Blocks of a second and a half, which are converted at once: more than a browser waits for before it plays."""


def write_scale(path: Path) -> Path:
    """Write a song in a format that no browser plays."""
    times = np.arange(N_STEPS * STEP_SECONDS * foreign_music.RATE) / foreign_music.RATE
    tones = np.sin(2 * np.pi * STEP_HERTZ * (1 + times // STEP_SECONDS) * times)
    soundfile.write(path, (8_000 * tones).astype(np.int16), foreign_music.RATE, format="AIFF", subtype="PCM_16")
    write_tags(path, Tags("Foreigners", "The scale", "Formats", "low hum", 2001))
    return path


@pytest.fixture
def held(foreign_file, tmp_path, monkeypatch):
    """A service that converts the beginning of the scale, and the rest when told to: (address, is it, go on)."""
    with ExitStack() as stack:
        library = stack.enter_context(Library.open(foreign_music.move_library(foreign_file, tmp_path)))
        gate = Path(f"{write_scale(tmp_path / 'music' / 'The scale.aiff')}.go")
        library.scan(tmp_path / "music", workers=1)
        server = running(library, ServeSettings(port=0))
        conversions = server.service.conversions
        convert = partial(foreign_music.convert_in_steps, n_free=N_FREE)
        monkeypatch.setattr(conversions._workers, "_function", convert)
        address = stack.enter_context(server)
        stack.callback(gate.touch)
        yield address, lambda: conversions.n_active == 1, gate.touch


def play_scale(page):
    page.evaluate(
        """() => {
          const play = HTMLMediaElement.prototype.play;
          HTMLMediaElement.prototype.play = function () { window.element = this; return play.call(this); };
        }"""
    )
    page.locator("#search").fill("the scale")
    expect(rows(page)).to_have_count(1)
    rows(page).first.locator(".row-play").click()


def listen(page) -> None:
    """Look at the sound of the song from now on."""
    page.evaluate(
        """() => {
          const context = new AudioContext();
          window.analyser = new AnalyserNode(context, { fftSize: 8192 });
          context.createMediaElementSource(window.element).connect(window.analyser).connect(context.destination);
        }"""
    )


def step_that_sounds(page) -> int | None:
    """Return which tone of the scale sounds, from 0; None for silence."""
    hertz = page.evaluate(
        """() => {
          const { analyser } = window;
          const levels = new Float32Array(analyser.frequencyBinCount);
          analyser.getFloatFrequencyData(levels);
          const loudest = levels.indexOf(Math.max(...levels));
          return levels[loudest] > -60 ? (loudest * analyser.context.sampleRate) / analyser.fftSize : 0;
        }"""
    )
    return round(hertz / STEP_HERTZ) - 1 if hertz else None


def test_it_plays_before_its_conversion_has_ended(visit, held):
    address, is_converting, _ = held
    page = visit(address)
    play_scale(page)
    played(page, 1.0)
    assert is_converting()


def test_the_bar_seeks_to_what_is_not_converted_yet(visit, held):
    address, is_converting, go_on = held
    page = visit(address)
    play_scale(page)
    played(page, 0.5)
    listen(page)
    until(page, lambda: step_that_sounds(page) == 0)
    box = page.locator("#seek").bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    assert 40 < position(page) < 50  # where it will go on
    assert is_converting()
    go_on()
    until(page, lambda: step_that_sounds(page) == 4)
    assert 40 < position(page) < 55
    page.keyboard.press("Home")
    until(page, lambda: step_that_sounds(page) == 0)
    assert position(page) < 15


def test_a_song_that_was_left_in_the_middle_goes_on_there(visit, held):
    address, is_converting, go_on = held
    page = visit(address)
    play_scale(page)
    played(page, 2.0)
    page.keyboard.press("Space")
    left_at = position(page)
    stored = "() => JSON.parse(localStorage.getItem('nearsong.queue') ?? '{}').position"
    until(page, lambda: (page.evaluate(stored) or 0) > left_at - 0.1)
    page.reload()
    expect(page.locator("#player-title")).to_have_text("The scale")
    until(page, lambda: position(page) > left_at - 0.1)
    assert is_converting()
    go_on()
    page.get_by_role("button", name="Play", exact=True).click()
    played(page, left_at + 0.5)
