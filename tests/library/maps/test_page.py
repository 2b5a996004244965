import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.maps.bundle import bundle, static_text
from nearsong.library.maps.page import check_page, write_map
from page_songs import NASTY, invented_songs, song


def written(path, *arguments, **options):
    write_map(path, *arguments, **options)
    return path.read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="map-data">(.*?)</script>', page, re.DOTALL)[1])


def unpacked(column):
    raw = np.frombuffer(base64.b64decode(column["bytes"]), dtype=np.uint8).reshape(-1, column["width"])
    return (raw.astype(np.int64) << (8 * np.arange(column["width"]))).sum(axis=1)


# ---- what is in the file


def test_the_page_holds_songs_positions_and_neighbours(tmp_path):
    songs, positions, near, distances = invented_songs()
    alike = 1 / (1 + distances)
    options = {"facts": {"model": 3}, "plays": {songs[4].id: 2.6}}
    data = data_of(written(tmp_path / "map.html", songs, positions, near, alike, **options))
    assert data["titles"] == [song.title for song in songs]
    assert unpacked(data["ids"]).tolist() == [song.id for song in songs]
    assert unpacked(data["years"]).tolist() == [song.year for song in songs]
    assert [data["artists"][i] for i in unpacked(data["artist"])] == [song.artist for song in songs]
    assert [data["genres"][i] for i in unpacked(data["genre"])] == [song.genre for song in songs]
    assert set(unpacked(data["seconds"])) == {61}
    np.testing.assert_allclose(unpacked(data["positions"]).reshape(-1, 2) / 65535, positions, atol=1e-5)
    np.testing.assert_array_equal(unpacked(data["similar"]["rows"]).reshape(near.shape), near)
    np.testing.assert_allclose(unpacked(data["similar"]["closeness"]).reshape(near.shape) / 65535, alike, atol=1e-5)
    assert unpacked(data["plays"]).tolist() == [3 if row == 4 else 0 for row in range(len(songs))]
    assert data["facts"] == [["model", "3"]]


def test_a_song_is_not_its_own_neighbour(tmp_path):
    songs, positions, near, distances = invented_songs(8)
    with_itself = np.column_stack([np.arange(8), near])
    zeros = np.zeros((8, 1))
    page = written(tmp_path / "map.html", songs, positions, with_itself, np.hstack([zeros, 1 / (1 + distances)]))
    listed = unpacked(data_of(page)["similar"]["rows"]).reshape(8, 6)
    assert (listed[:, 0] == 8).all()  # nobody
    np.testing.assert_array_equal(listed[:, 1:], near)


def test_spellings_of_an_artist_and_a_genre_are_one_group(tmp_path):
    songs = [
        replace(song(i, artist=artist, genre=genre), artist_key=key)
        for i, (artist, genre, key) in enumerate(
            [("The Sea", "Folk", "sea"), ("Sea", "folk", "sea"), ("The Sea", "Folk", "sea"), ("Sky", "", "sky")]
        )
    ]
    data = data_of(written(tmp_path / "map.html", songs, np.zeros((4, 2)), np.zeros((4, 0)), np.zeros((4, 0))))
    assert data["artists"] == ["", "The Sea", "Sky"]
    assert unpacked(data["artist"]).tolist() == [1, 1, 1, 2]
    assert data["genres"] == ["", "Folk"]
    assert unpacked(data["genre"]).tolist() == [1, 1, 1, 0]


def test_no_name_can_leave_its_element(tmp_path):
    songs = [song(i, name, name, name) for i, name in enumerate(NASTY)]
    n = len(songs)
    options = {"title": NASTY[0], "facts": {NASTY[0]: NASTY[2]}}
    page = written(tmp_path / "map.html", songs, np.zeros((n, 2)), np.zeros((n, 0)), np.zeros((n, 0)), **options)
    assert page.count("<script") == 3
    assert page.count("</script") == 3
    assert "onerror=" not in page.replace('"document.title', "").split('id="map-data"')[0]
    assert data_of(page)["titles"][:3] == NASTY[:3]
    assert data_of(page)["titles"][3] == NASTY[3]
    assert max(map(len, data_of(page)["titles"])) <= 300


def test_the_page_asks_nothing_of_the_network_and_runs_only_its_own_script(tmp_path):
    songs, positions, near, distances = invented_songs()
    page = written(tmp_path / "map.html", songs, positions, near, distances)
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name of a format, which nobody fetches
    assert (
        re.findall(r"<(?:link|img|iframe|audio|video|object|embed|source)\b[^>]*(?:src|href)=\"(?!data:)", page) == []
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'" in policy
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        contents = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in contents]
        allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
        assert f"{directive} {allowed};" in policy
    assert "/music/" not in page  # where the files are is nobody's business


def test_a_map_replaces_the_old_one_completely(tmp_path, monkeypatch):
    songs, positions, near, distances = invented_songs()
    path = tmp_path / "map.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.raises(LibraryError, match=r"map cannot be written \(No space left on device\)"):
            write_map(path, songs, positions, near, distances)
    assert path.read_text() == "old"
    write_map(path, songs, positions, near, distances)
    assert path.read_text().startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["map.html"]
    for name in ("a\0b.html", "x" * 300):
        with pytest.raises(LibraryError, match="the map cannot be written"):
            write_map(tmp_path / name, songs, positions, near, distances)


def test_a_path_where_no_page_can_be_is_refused_in_one_line_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for path, message in (
        (".", r"^\. is a folder; name a file, such as map\.html\.$"),
        ("", r"^\. is a folder; name a file, such as map\.html\.$"),
        ("..", r"^\.\. is a folder; name a file, such as \.\./map\.html\.$"),
        ("/", r"^/ is a folder; name a file, such as /map\.html\.$"),
        (tmp_path, r"is a folder; name a file, such as .*/map\.html\.$"),
        ("none/map.html", r"^Folder not found: none\. Create it, or write map\.html elsewhere\.$"),
        ("file/map.html", r"^Folder not found: file\. Create it, or write map\.html elsewhere\.$"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            check_page(path)
        with pytest.raises(InvalidInputError, match=message):
            write_map(path, [], [], [], [])
    check_page("map.html")
    check_page("file")
    check_page(tmp_path / "map.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_the_same_songs_give_the_same_bytes(tmp_path):
    songs, positions, near, distances = invented_songs()
    first = written(tmp_path / "a.html", songs, positions, near, distances)
    assert written(tmp_path / "b.html", songs, positions, near, distances) == first


def test_what_does_not_fit_is_refused(tmp_path):
    songs, positions, near, distances = invented_songs(8)
    alike = 1 / (1 + distances)
    path = tmp_path / "map.html"
    with pytest.raises(InvalidInputError, match=r"positions has shape \(7, 2\) or values outside 0 to 1"):
        write_map(path, songs, positions[1:], near, distances)
    with pytest.raises(InvalidInputError, match="values outside 0 to 1"):
        write_map(path, songs, positions * np.nan, near, distances)
    with pytest.raises(InvalidInputError, match=r"neighbours has shape \(8, 5\) and closeness \(8, 4\)"):
        write_map(path, songs, positions, near, distances[:, 1:])
    with pytest.raises(InvalidInputError, match="names a song outside 0 to 7"):
        write_map(path, songs, positions, near + 8, distances)
    for wrong in (-alike, alike + 1, alike * np.nan):
        with pytest.raises(InvalidInputError, match="closeness has a value below 0, above 1"):
            write_map(path, songs, positions, near, wrong)
    with pytest.raises(InvalidInputError, match="number is below 0"):
        write_map(path, [replace(songs[0], id=-4), *songs[1:]], positions, near, distances)
    assert not path.exists()


def test_a_bundle_holds_every_module_once_before_those_that_import_it():
    script = bundle("map/exported.js")
    modules = re.findall(r'^modules\["([^"]+)"\] = ', script, re.MULTILINE)
    assert len(modules) == len(set(modules)) > 10
    assert modules[-1] == "map/exported.js"
    for read in re.finditer(r'= modules\["([^"]+)"\];', script):
        assert script.index(f'modules["{read[1]}"] = ') < read.start()
    assert re.findall(r"^(?:import|export)\b", script, re.MULTILINE) == []
    assert re.findall(r"</script|<!--|/api/v1", script) == []


def colour_distance(first, second, cones):
    """Return how far two colours are apart (OKLab) for eyes with such cones (a matrix on linear RGB)."""
    to_lms = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]]
    to_lms.append([0.0883024619, 0.2817188376, 0.6299787005])
    to_lab = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]]
    to_lab.append([0.0259040371, 0.7827717662, -0.8086757660])

    def lab(colour):
        rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return np.array(to_lab) @ np.cbrt(np.array(to_lms) @ np.clip(np.array(cones) @ linear, 0, 1))

    return np.linalg.norm(lab(first) - lab(second))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_twelve_colours_stay_apart_for_the_colour_blind(theme):
    # full dichromacy after Machado, Oliveira and Fernandes (2009)
    no_red = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    no_green = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    no_blue = [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    template = static_text("js/map/colours.js")
    line = re.search(rf"CATEGORIES = {{.*?{theme}: \[(.*?)\]", template, re.DOTALL)[1]
    colours = re.findall(r"#[0-9a-f]{6}", line)
    assert len(colours) == 12
    pairs = [(a, b) for i, a in enumerate(colours) for b in colours[:i]]
    for cones, least in ((np.eye(3), 0.15), (no_red, 0.1), (no_green, 0.1), (no_blue, 0.06)):
        assert min(colour_distance(a, b, cones) for a, b in pairs) > least
