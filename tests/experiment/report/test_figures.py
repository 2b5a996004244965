"""Figures draw the numbers they are given, take any text as text, and leave the caller's settings alone."""

import math
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.experiment.report import drawing, figures
from nearsong.experiment.report.html import figure as inlined
from nearsong.experiment.report.map import dense_regions, position_labels, song_groups, songs_on_map, tsne_map
from nearsong.experiment.report.reading import Showcase

NAN = math.nan


def method(name, known, unknown=NAN, std=0.01, paper=NAN, learned=False):
    return {
        "name": name, "learned": learned, "known_auc": known, "known_auc_std": std, "unknown_auc": unknown,
        "unknown_auc_std": NAN if math.isnan(unknown) else std, "paper": paper,
    }  # fmt: skip


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def songs(n, genre=("a", "b")):
    names = [f"song {i}" for i in range(n)]
    kinds = [genre[i % len(genre)] for i in range(n)]
    nothing = np.zeros((n, 1))
    return Showcase(names, [f"artist {i}" for i in range(n)], kinds, np.zeros(n, bool), nothing, nothing,
                    np.zeros(0, np.int64), np.zeros((0, n), bool))  # fmt: skip


def test_the_comparison_writes_every_method_and_mean(tmp_path):
    rows = [method("best", 0.81234, 0.7, paper=0.8, learned=True), method("other", 0.6)]
    svg = drawing.save(figures.comparison_figure(rows, [("Random", "known", 0.5)]), tmp_path, "comparison")
    assert {"best", "other", "0.812", "0.700", "0.600", "Random", "paper"} <= set(texts(svg))
    assert "nan" not in texts(svg)
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "comparison.svg").read_text(encoding="utf-8") == svg


def test_without_a_second_database_or_paper_neither_is_named(tmp_path):
    rows = [method("only", 0.7, std=NAN)]
    found = texts(drawing.save(figures.comparison_figure(rows, []), tmp_path, "comparison"))
    assert "unseen artists" not in found
    assert "paper" not in found


def test_lines_of_the_grid_pass_through_the_means():
    rows = [{"codebook": c, "tau": 1, "known_auc": c / 1000, "known_auc_std": NAN} for c in (512, 256)]
    axes = figures.grid_figure([("Native", rows)]).axes[0]
    line = axes.lines[0]
    np.testing.assert_allclose(np.array(line.get_xdata(), float), [256, 512])
    np.testing.assert_allclose(np.array(line.get_ydata(), float), [0.256, 0.512])


def test_error_bars_of_the_dimensions_are_one_deviation():
    rows = [{"codebook": 256, "tau": t, "dimension": 90 / t, "dimension_std": 5.0} for t in (1, 2)]
    axes = figures.dimension_figure(rows).axes[0]
    bars = axes.collections[0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], [[85, 95], [40, 50]])


def test_the_curve_shows_both_databases_and_their_native_levels():
    rows = [
        {"artists": n, "known_auc": 0.6 + n / 1000, "known_auc_std": 0.01, "unknown_auc": 0.5, "unknown_auc_std": NAN}
        for n in (50, 100)
    ]
    axes = figures.curve_figure(rows, {"known": 0.62, "unknown": 0.61}, "Native").axes[0]
    heights = [list(np.unique(line.get_ydata())) for line in axes.lines]
    assert [0.62] in heights
    assert [0.61] in heights
    assert [0.5] in heights


def test_titles_with_dollars_tags_and_foreign_letters_are_drawn_as_they_are(tmp_path):
    points = np.array([[0.0, 0.0], [0.3, 0.6], [1.0, 1.0], [0.5, 0.1]])
    showcase = songs(4)
    titles = ["$\\frac{", "<script>x</script>", "\u97f3\u697d", "\u0939\u093f\u0928\u094d\u0926\u0940"]
    showcase.title[:] = titles
    region = dense_regions(points, ["a"] * 4, showcase.artist, 1.8)[0]
    drawn = figures.close_up_figure(showcase, range(4), points, region, ["a"] * 4, ["a"])
    svg = drawing.save(drawn, tmp_path, "close_up")
    assert "<script>" not in svg
    assert {f"artist {i} – {titles[i]}" for i in region.songs} == set(texts(svg))


def test_drawing_leaves_the_callers_settings_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    drawing.save(figures.comparison_figure([method("only", 0.7)], []), tmp_path, "comparison")
    assert dict(matplotlib.rcParams) == before


def test_maps_frame_and_number_their_regions(tmp_path):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(centre, 1, (40, 2)) for centre in ((0, 0), (30, 0), (0, 30))])
    groups = ["a"] * 40 + ["b"] * 40 + ["c"] * 40
    regions = dense_regions(points, groups, [f"artist {i}" for i in range(120)], 1.8)
    assert sorted(region.group for region in regions) == ["a", "b", "c"]
    svg = drawing.save(figures.map_figure([("Map", points)], groups, ["a", "b", "c"], regions), tmp_path, "map")
    assert {"1", "2", "3", "Map"} <= set(texts(svg))
    assert "data:image/png;base64," in svg  # thousands of points stay one image


def test_an_inlined_figure_follows_the_page_but_its_text_is_untouched():
    text = '<text id="a" style="fill: #22262b">id="a" #22262b</text>'
    svg = f'<?xml version="1.0"?><svg xmlns="x" viewBox="0 0 1 1">{text}</svg>'
    page = inlined(svg, "map", 'A "map"')
    assert '<text id="map-a" style="fill: var(--ink)">id="a" #22262b</text>' in page
    assert 'aria-label="A &quot;map&quot;"' in page


# Maps


def test_near_songs_stay_near_on_the_map_and_it_is_the_same_every_time():
    rng = np.random.default_rng(1)
    vectors = np.vstack([rng.normal(0, 1, (30, 60)), rng.normal(20, 1, (30, 60))]) * 1e-9
    layout = tsne_map(vectors)
    middles = layout[:30].mean(axis=0), layout[30:].mean(axis=0)
    own = np.linalg.norm(layout - np.repeat(middles, 30, axis=0), axis=1)
    other = np.linalg.norm(layout - np.repeat(middles[::-1], 30, axis=0), axis=1)
    assert (own < other).all()
    np.testing.assert_array_equal(layout, tsne_map(vectors))


@pytest.mark.parametrize("shape", [(10, 3), (40, 0)])
def test_too_little_makes_no_map(shape):
    assert tsne_map(np.random.default_rng(0).standard_normal(shape)) is None


def test_many_songs_are_thinned_the_same_way_every_time():
    chosen = songs_on_map(10_000)
    assert chosen.size == 3000
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, songs_on_map(10_000))


def test_small_groups_are_the_others_and_artists_stand_in_for_missing_genres():
    groups, order, kind = song_groups(songs(10, genre=("x", "x", "y", "z", "")), 2)
    assert (groups[:5], order, kind) == (
        ["x", "x", "y", "all others", "all others"],
        ["x", "y", "all others"],
        "genre",
    )
    assert song_groups(songs(3, genre=("",)), 6)[1:] == (["artist 0", "artist 1", "artist 2"], "artist")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_labels_stay_inside_and_cover_neither_each_other_nor_points(seed, n):
    rng = np.random.default_rng(seed)
    points = rng.uniform([5, 5], [495, 285], (n, 2))
    widths, height = rng.uniform(30, 200, n), 11.0
    labels = position_labels(points, list(widths), height, (500.0, 290.0))
    boxes = {label.song: (label.x, label.y, label.x + widths[label.song], label.y + height) for label in labels}
    assert len(boxes) == len(labels)
    for song, (left, bottom, right, top) in boxes.items():
        assert min(left, bottom) >= 0
        assert right <= 500
        assert top <= 290
        for other, (a, b, c, d) in boxes.items():
            assert other == song or right <= a or c <= left or top <= b or d <= bottom
        for i, (x, y) in enumerate(points):
            assert i == song or not (left < x < right and bottom < y < top)


def test_a_lonely_point_is_labelled_right_next_to_itself():
    (label,) = position_labels(np.array([[50.0, 50.0]]), [40.0], 10.0, (200.0, 100.0))
    assert (label.x, label.y, label.leader) == (55.0, 45.0, None)
