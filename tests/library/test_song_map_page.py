"""The map's page in a real browser, where there is one."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from nearsong.library.song_map import write_map

from .test_song_map import NASTY, invented_songs, song

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome", "chrome"])), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the page with")

# Put before a test's script: it may wait, and leaves what it found in the document. Nobody looks at the window, so it
# has no frames to wait for.
BEFORE = """<script>(async () => {
const found = {}, rest = () => new Promise((go) => setTimeout(go, 600));
await rest();
waiting = false;
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
window.cancelAnimationFrame = clearTimeout;
"""
AFTER = """
document.body.append(make("pre", { id: "result" }, JSON.stringify(found)));
})();</script></body>"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Return a function that opens a page and returns its document, what it printed, and what a script found."""
    profile = tmp_path_factory.mktemp("profile")

    def run(page, fragment="", script="", size="1000,700"):
        if script:  # the page runs its own script alone, so another one needs a page that is not as strict
            text = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text(encoding="utf-8"))
            page = page.with_name("probed.html")
            page.write_text(text.replace("</body>", BEFORE + script + AFTER), encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-sync",
        ]
        options += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
        options += [f"--user-data-dir={profile}", f"--window-size={size}", "--enable-logging=stderr"]
        done = subprocess.run(
            [CHROMIUM, *options, "--virtual-time-budget=20000", "--dump-dom", f"{page.as_uri()}{fragment}"],
            capture_output=True,
            timeout=120,
            check=True,
        )
        document = done.stdout.decode("utf-8", "replace")
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
        result = re.search(r'<pre id="result">(.*?)</pre>', document, re.DOTALL)
        return document, said, json.loads(html.unescape(result[1])) if result else None

    return run


def panel_of(document):
    return re.search(r"<aside.*?</aside>", document, re.DOTALL)[0]


def test_a_link_opens_the_map_at_a_song_and_lists_its_nearest(tmp_path, browse):
    songs, positions, near, distances = invented_songs()
    alike = 1 / (1 + distances)
    write_map(tmp_path / "map.html", songs, positions, near, distances, similarities=alike)
    document, said, _ = browse(tmp_path / "map.html", "#select=107")
    assert said == []
    panel = panel_of(document)
    assert ">Tune 7</h2>" in panel
    assert re.findall(r'class="title" dir="auto">([^<]+)<', panel) == [songs[i].title for i in near[7]]
    assert f"{int(100 * alike[7, 0])} %" in panel


def test_nasty_names_are_shown_and_do_nothing(tmp_path, browse):
    songs = [song(i, name, name, name) for i, name in enumerate(NASTY)]
    n = len(songs)
    near = (np.arange(n)[:, None] + np.arange(1, n)) % n
    points = np.random.default_rng(0).random((n, 2))
    write_map(tmp_path / "map.html", songs, points, near, near * 0.1, title=NASTY[2], facts={NASTY[0]: NASTY[2]})
    document, said, _ = browse(tmp_path / "map.html", "#select=0")
    assert said == []
    assert f"<title>{html.escape(NASTY[2], quote=False)}</title>" in document
    assert "<img" not in document
    for name in (NASTY[0], NASTY[2]):
        assert html.escape(name, quote=False) in panel_of(document)


# Every part of the page once, as a hand or a keyboard would.
DRIVE = """
const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const at = (x, y) => { const box = $("stage").getBoundingClientRect(); return { clientX: x + box.left, clientY: y + box.top, bubbles: true, cancelable: true }; };
const hand = (type, x, y, id = 1) => $("top").dispatchEvent(new PointerEvent(type, { ...at(x, y), pointerId: id, pointerType: "mouse" }));
const heading = () => document.querySelector("#panel h2").textContent;
const rows = () => [...$("legend").querySelectorAll("button")].map((row) => row.textContent);
const colourBy = (kind) => { $("colour").value = kind; $("colour").dispatchEvent(new Event("change")); };
found.welcome = heading();

// search: type, go down, choose
$("query").focus(); $("query").value = "tune 5"; $("query").dispatchEvent(new Event("input"));
found.offers = [...$("found").children].map((row) => row.textContent);
key($("query"), "ArrowDown"); found.active = $("query").getAttribute("aria-activedescendant");
key($("query"), "Enter"); await rest();
found.searched = heading(); found.link = location.hash; found.open = !$("found").hidden; found.zoomed = zoom > 1;
$("query").value = "ARTIST  b"; $("query").dispatchEvent(new Event("input")); found.artist = $("found").children[0].textContent;
key($("query"), "Enter"); await rest(); found.highlighted = Array.from(X).filter((_, i) => standsOut(i)).length;
const inside = (i) => screenX(X[i]) > 0 && screenX(X[i]) < width && screenY(Y[i]) > 0 && screenY(Y[i]) < height;
found.framed = Array.from(X).filter((_, i) => standsOut(i) && inside(i)).length; found.frame = centreX;
key(document.body, "Escape"); found.all = Array.from(X).filter((_, i) => standsOut(i)).length;
$("query").value = "no such song"; $("query").dispatchEvent(new Event("input")); found.none = $("found").textContent;
$("query").value = "";

// to the nearest song in the list, and back as browsers go back
location.hash = "#select=150"; await rest();
$("panel").querySelector("#near button").click(); await rest(); found.walked = heading();
history.back(); await rest(); found.back = heading();

// keys on the map
look(0.5, 0.5, 1); $("top").focus(); key($("top"), "ArrowRight"); await rest(); found.right = heading();
key($("top"), "Escape"); await rest(); found.escaped = heading(); found.unlinked = location.hash;
key($("top"), "+"); found.plus = zoom; key($("top"), "0"); await rest(); found.whole = zoom;
key(document.body, "/"); found.slash = document.activeElement.id;

// hand: point, click, drag, wheel, pinch
hand("pointermove", screenX(X[20]), screenY(Y[20])); found.tip = $("tip").textContent; found.tipShown = !$("tip").hidden;
hand("pointerdown", screenX(X[20]), screenY(Y[20])); hand("pointerup", screenX(X[20]), screenY(Y[20])); await rest();
found.clicked = heading();
const before = centreX; for (const [what, x] of [["down", 300], ["move", 330], ["move", 360], ["up", 360]]) hand(`pointer${what}`, x, 200);
await rest(); found.dragged = (before - centreX) * scales()[0]; found.stillChosen = heading();
const fixed = [mapX(250), mapY(180)]; $("top").dispatchEvent(new WheelEvent("wheel", { ...at(250, 180), deltaY: -300 }));
found.wheel = zoom; found.fixed = Math.hypot(screenX(fixed[0]) - 250, screenY(fixed[1]) - 180);
const start = zoom; hand("pointerdown", 200, 200, 1); hand("pointerdown", 300, 200, 2); hand("pointermove", 400, 200, 2);
hand("pointerup", 400, 200, 2); hand("pointerup", 200, 200, 1); found.pinch = zoom / start;

// colours and the legend
found.kinds = [...$("colour").options].map((option) => option.value);
found.legend = rows();
$("legend").querySelector("button").click(); found.pressed = $("legend").querySelector("button").getAttribute("aria-pressed");
found.out = Array.from(X).filter((_, i) => standsOut(i)).length;
colourBy("decade"); found.decades = rows(); colourBy("year"); found.years = $("legend").textContent;
location.hash = "#select=999"; await rest(); found.unknown = $("panel").textContent;

// what is under the pointer, against a look at every song
look(0.5, 0.5, 2.5); found.wrong = 0; found.hits = 0;
for (let t = 0; t < 600; t++) {
  const px = (t * 37) % width, py = (t * 91) % height, aways = Array.from(X, (x, i) => Math.hypot(screenX(x) - px, screenY(Y[i]) - py));
  const least = Math.min(...aways), best = least < 30 ? aways.indexOf(least) : -1;
  found.wrong += songAt(px, py, 30) !== best; found.hits += best >= 0;
}
// every point is drawn where it is said to be
look(0.5, 0.5, 1); await rest();
const paper = rgb(css("--map")), all = base.getImageData(0, 0, $("points").width, $("points").height);
const pixel = (i) => 4 * (Math.floor(screenY(Y[i]) * dense) * all.width + Math.floor(screenX(X[i]) * dense));
found.drawn = Array.from(X).filter((_, i) => paper.some((c, k) => Math.abs(c - all.data[pixel(i) + k]) > 20)).length;
"""  # noqa: E501 - a script is easier to read in its own lines


def test_search_keys_hand_and_legend_do_what_they_say(tmp_path, browse):
    songs, positions, near, distances = invented_songs()
    write_map(tmp_path / "map.html", songs, positions, near, distances)
    _, said, found = browse(tmp_path / "map.html", script=DRIVE)
    assert said == []
    assert found["welcome"] == "60 songs"
    assert found["offers"][:2] == ["Tune 5Artist C", "Tune 50Artist C"]
    assert len(found["offers"]) == 12  # and no more
    assert (found["active"], found["searched"], found["link"]) == ("offer1", "Tune 50", "#select=150")
    assert (found["open"], found["zoomed"]) == (False, True)
    assert (found["artist"], found["highlighted"], found["all"]) == ("Artist Bartist, 20 songs", 20, 60)
    assert (found["framed"], found["frame"]) == (
        20,
        pytest.approx((positions[1, 0] + positions[58, 0]) / 2, abs=1e-3),
    )
    assert found["none"] == "No song or artist has this in its name."
    assert (found["walked"], found["back"]) == (songs[near[50, 0]].title, "Tune 50")
    assert found["right"] == "Tune 51"
    assert (found["escaped"], found["unlinked"]) == ("60 songs", "")
    assert (found["plus"], found["whole"], found["slash"]) == (1.4, 1, "query")
    assert (found["tip"], found["tipShown"], found["clicked"]) == ("Tune 20Artist C1990 · folk", True, "Tune 20")
    assert found["dragged"] == pytest.approx(60, abs=1)
    assert found["stillChosen"] == "Tune 20"
    assert found["wheel"] > 1.3
    assert found["fixed"] < 0.5
    assert found["pinch"] == pytest.approx(2, rel=0.01)
    assert found["kinds"] == ["genre", "artist", "decade", "year"]
    assert found["legend"] == ["folk30", "jazz30"]
    assert (found["pressed"], found["out"]) == ("true", 30)
    assert found["decades"] == ["1970s10", "1980s10", "1990s10", "2000s10", "2010s10", "2020s10"]
    assert found["years"] == "Colours by year19702029"
    assert "There is no song 999 on this map" in found["unknown"]
    assert found["wrong"] == 0
    assert found["hits"] > 20
    assert found["drawn"] == 60


FIT = """
const page = document.documentElement, panel = $("panel");
const over = () => Math.max(page.scrollWidth - innerWidth, page.scrollHeight - innerHeight, panel.scrollWidth - panel.clientWidth);
found.over = [over()];
if (n) { select(0); await rest(); found.over.push(over()); }
found.kinds = [...$("colour").options].map((option) => option.value);
found.text = panel.textContent;
found.stage = $("stage").clientHeight;
"""  # noqa: E501


@pytest.mark.parametrize("n", [0, 12])
def test_few_songs_long_names_and_a_phone_fit_the_screen(n, tmp_path, browse):
    songs = [song(i, "Anunbreakablylongtitle" * 12, "", "", None) for i in range(n)]
    near = np.full((n, 3), -1)
    facts = {"k" * 90: "v" * 200}
    write_map(tmp_path / "map.html", songs, np.full((n, 2), 0.5), near, near * 0.0, title="M" * 200, facts=facts)
    _, said, found = browse(tmp_path / "map.html", script=FIT, size="360,640")
    assert said == []
    assert max(found["over"]) <= 0
    assert found["kinds"] == ["artist"]
    assert found["stage"] > 200
    assert ("No other song is near." if n else "No songs yet") in found["text"]
