"""The report against numbers computed here by hand, and what it does with runs that lack things or lie broken."""

import csv
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

from nearsong.errors import InvalidInputError
from nearsong.experiment.report import tables
from nearsong.experiment.report.playlists import example_playlists
from nearsong.experiment.report.reading import Showcase, read_run
from nearsong.experiment.report.report import write_report
from written_runs import HOSTILE, full_rows, pick, showcase_arrays, write_run


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A run with everything, its rows, and its page."""
    rng = np.random.default_rng(0)
    folder, rows = tmp_path_factory.mktemp("full") / "run", full_rows(rng)
    header = {
        "nearsong": "9.9",
        "dataset": {"name": HOSTILE, "content": "frames", "fingerprint": "f00", "n_songs": 300, "notes": [HOSTILE]},
        "settings": {"n_splits": 3, "seed": 3, "n_relevant": 10, "min_plays": 10, "min_listeners": 100, "x": HOSTILE},
        "statistics": {"experiment_artists": 100, "codebook_frames": 12345},
    }
    write_run(folder, rows, header=header, tail='{"kind": "pick", "task": "torn", "spl')
    np.savez(folder / "showcase.npz", **showcase_arrays(rng))
    return folder, rows, write_report(folder)


def read_csv(page, name):
    with (page.parent / "tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


class Text(HTMLParser):
    """Checks that tags nest and collects text and tags."""

    VOID = ("meta", "br", "img")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


# Numbers


def test_a_methods_scores_are_mean_and_deviation_over_splits_of_its_chosen_configuration(full):
    _, rows, page = full
    picks = [row for row in rows if row["kind"] == "pick" and row["method"] == "ppk_mlr"]
    by_configuration = {}
    for row in picks:
        by_configuration.setdefault((row["codebook"], row["tau"]), []).append(row)
    best = max(by_configuration.values(), key=lambda own: np.mean([row["validation"]["known"]["auc"] for row in own]))
    record = next(record for record in read_csv(page, "comparison") if record["method"] == "ppk_mlr")
    assert (int(record["codebook"]), int(record["tau"])) == (best[0]["codebook"], best[0]["tau"])
    for database in ("known", "unknown"):
        for score in ("auc", "mrr", "ndcg", "map", "precision_at_k"):
            values = [row["test"][database][score] for row in best]
            assert float(record[f"{database}_{score}"]) == pytest.approx(np.mean(values))
            assert float(record[f"{database}_{score}_std"]) == pytest.approx(np.std(values, ddof=1))
    shown = f"{np.mean([row['test']['known']['auc'] for row in best]):.3f} ± "
    assert shown in page.read_text()


def test_the_configuration_is_chosen_by_validation_even_where_test_says_otherwise(tmp_path):
    rows = []
    for split in range(4):
        rows.append(pick(split, "native", 0.60, codebook=256, tau=1, validation=0.70))
        rows.append(pick(split, "native", 0.90, codebook=512, tau=1, validation=0.69))
    best = tables.comparison(read_run(write_run(tmp_path, rows)))
    assert [(record["codebook"], record["known_auc"]) for record in best] == [(256, pytest.approx(0.60))]


def test_a_configuration_measured_on_few_splits_does_not_win_by_luck(tmp_path):
    rows = [pick(split, "native", 0.6, codebook=256, tau=1) for split in range(4)]
    rows.append(pick(0, "native", 0.9, codebook=512, tau=1))
    assert tables.comparison(read_run(write_run(tmp_path, rows)))[0]["codebook"] == 256


def test_equally_good_configurations_go_to_the_smaller_codebook_and_tau(tmp_path):
    rows = [pick(0, "native", 0.6, codebook=c, tau=t) for c in (512, 256) for t in (8, 2)]
    record = tables.comparison(read_run(write_run(tmp_path, rows)))[0]
    assert (record["codebook"], record["tau"]) == (256, 2)


def test_paired_differences_are_the_paired_t_interval_of_scipy(full):
    _, rows, page = full
    chosen = {record["method"]: (record["codebook"], record["tau"]) for record in read_csv(page, "comparison")}

    def aucs(method, database):
        own = [row for row in rows if row["kind"] == "pick" and row["method"] == method]
        own = [row for row in own if (str(row["codebook"] or ""), str(row["tau"] or "")) == chosen[method]]
        return [row["test"][database]["auc"] for row in own]

    table = read_csv(page, "paired_differences")
    methods = len(chosen)
    assert len(table) == 2 * methods * (methods - 1)
    for record in table:
        first, second = (aucs(record[key], record["database"]) for key in ("method", "against"))
        result = stats.ttest_rel(first, second)
        interval = result.confidence_interval(0.95)
        assert float(record["difference"]) == pytest.approx(np.mean(first) - np.mean(second))
        assert float(record["low"]) == pytest.approx(interval.low)
        assert float(record["high"]) == pytest.approx(interval.high)
        assert int(record["above"]) == sum(a > b for a, b in zip(first, second, strict=True))


def test_methods_are_compared_on_the_splits_both_have():
    pair = tables.paired_difference({0: 0.7, 1: 0.8, 2: 0.1}, {1: 0.6, 0: 0.6, 9: 0.9})
    assert pair["splits"] == 2
    assert pair["difference"] == pytest.approx(0.15)
    assert tables.paired_difference({0: 0.5}, {1: 0.5}) is None


def test_statistics_dimensions_and_curve_are_means_over_splits(full):
    _, _, page = full
    training = read_csv(page, "statistics")[0]
    assert float(training["songs"]) == pytest.approx(101)
    assert float(training["songs_std"]) == pytest.approx(1)
    assert float(training["relevant"]) == pytest.approx(10.5)
    assert float(training["relevant_std_songs"]) == pytest.approx(2)
    dimensions = {(row["codebook"], row["tau"]): row for row in read_csv(page, "effective_dimension")}
    assert float(dimensions["512", "4"]["dimension"]) == pytest.approx(512 / 8 / 4 + 1)
    assert float(dimensions["512", "4"]["dimension_std"]) == pytest.approx(1)
    curve = {row["artists"]: row for row in read_csv(page, "learning_curve")}
    assert float(curve["20"]["known_auc"]) == pytest.approx(0.71)
    assert float(curve["20"]["known_auc_std"]) == pytest.approx(0.01)
    fits = read_csv(page, "convergence")[0]
    assert (fits["fits"], fits["rounds"], fits["seconds"]) == ("12", "8.0", "0.5")
    assert "2,122.3 ± 36.3" in page.read_text()


# Reading


def test_rows_of_unfinished_tasks_and_torn_lines_are_left_out(tmp_path):
    rows = [pick(0, "native", 0.6), {"kind": "done", "task": "0-native-None-None"}, pick(1, "native", 0.9)]
    run = read_run(write_run(tmp_path, rows, done=False, tail='{"kind": "pick", "sp'))
    assert [row["split"] for row in run.picks] == [0]
    assert (run.unreadable_lines, run.unfinished_tasks) == (1, 1)


def test_a_task_that_broke_off_and_was_repeated_counts_once_by_its_later_rows(tmp_path):
    run = read_run(write_run(tmp_path, [pick(0, "native", 0.1), pick(0, "native", 0.6)]))
    assert [row["test"]["known"]["auc"] for row in run.picks] == [0.6]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: folder.rmdir(), "Folder not found: "),
        (lambda folder: None, "has no run.json; give the folder of a run"),
        (lambda folder: (folder / "run.json").write_text("{}"), "has no results.jsonl; give the folder of a run"),
        (lambda folder: write_run(folder, [], header=["a list"]), 'has no "settings"; give the folder of a run'),
        (lambda folder: (write_run(folder, []), (folder / "run.json").write_text("{")), "cannot be read as JSON"),
        (lambda folder: write_run(folder, []), "has no results of a method yet"),
        (lambda folder: write_run(folder, [pick(0, "native", 0.6)], done=False), "has no results of a method yet"),
        (lambda folder: write_run(folder, [], tail='{"a": 1}\n'), 'line 1 has no "kind" and "task"'),
        (
            lambda folder: write_run(folder, [], tail='{"kind": "pick", "task": "t", "split": 0}\n'),
            'a valid "method"',
        ),
    ],
)
def test_a_folder_that_is_no_run_is_refused_in_one_line(tmp_path, prepare, message):
    folder = tmp_path / "run"
    folder.mkdir()
    prepare(folder)
    with pytest.raises(InvalidInputError, match=message) as error:
        write_report(folder)
    assert "\n" not in str(error.value)
    assert not (folder / "report").exists()


# The page


def test_figures_tables_and_page_exist(full):
    _, _, page = full
    names = {"comparison", "codebooks", "effective_dimension", "learning_curve", "map", "close_up_1", "fits"}
    drawn = {path.stem for path in (page.parent / "figures").glob("*.png")}
    assert names <= drawn
    assert drawn == {path.stem for path in (page.parent / "figures").glob("*.svg")}
    assert {path.stem for path in (page.parent / "tables").iterdir()} == {
        "choices", "comparison", "configurations", "convergence", "effective_dimension", "learning_curve",
        "paired_differences", "playlists", "statistics",
    }  # fmt: skip
    assert page.read_text().count("<svg") == len(drawn)


def test_the_page_needs_nothing_from_elsewhere(full):
    parsed = Text(full[2].read_text())
    for name, value in parsed.attributes:
        if name in ("src", "href", "xlink:href", "data", "srcset", "action"):
            assert value.startswith(("#", "data:image/png;base64,")), (name, value)
    assert not {"script", "link", "iframe", "object", "img"} & set(parsed.tags)
    assert re.search(r"https?://|@import|url\((?!#)", full[2].read_text()) is None


def test_hostile_titles_reach_the_page_as_text_only(full):
    text = full[2].read_text()
    parsed = Text(text)
    assert "script" not in parsed.tags
    assert "<i>Artist" not in text
    assert "<b>Roll" not in text
    assert HOSTILE in parsed.text
    assert "Rock & <b>Roll</b>" in parsed.text
    assert "\u202e" not in text
    assert "\x00" not in text


def test_names_inside_inlined_figures_are_unique_and_found(full):
    parsed = Text(full[2].read_text())
    ids = [value for name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = [value[1:] for name, value in parsed.attributes if name in ("href", "xlink:href") and value[0] == "#"]
    links += re.findall(r"url\(#([^)]*)\)", full[2].read_text())
    assert set(links) <= set(ids)


def test_light_and_dark_pages_define_every_colour_that_is_used(full):
    text = full[2].read_text()
    light, dark = re.search(r":root \{(.*?)\}.*?prefers-color-scheme: dark.*?:root \{(.*?)\}", text, re.S).groups()
    used = set(re.findall(r"var\((--\w+)\)", text))
    assert used <= set(re.findall(r"(--\w+):", light)) == set(re.findall(r"(--\w+):", dark))


def test_the_same_run_gives_the_same_report(full, tmp_path):
    _, rows, _ = full
    small = write_run(tmp_path / "run", [row for row in rows if row["kind"] == "pick"])
    first, second = write_report(small, tmp_path / "a"), write_report(small, tmp_path / "b")
    for path in sorted(first.parent.rglob("*.*")):
        assert path.read_bytes() == (second.parent / path.relative_to(first.parent)).read_bytes(), path


def test_an_unfinished_run_says_so(tmp_path):
    header = {"settings": {"n_splits": 5}}
    page = write_report(write_run(tmp_path, [pick(0, "native", 0.6), pick(1, "native", 0.6)], header=header))
    assert "2 of 5 splits have results so far" in page.read_text()


# What a run may lack


def test_a_single_split_of_vectors_has_no_deviations_codebooks_or_songs(tmp_path):
    rows = [pick(0, "native_vectors", 0.6, unknown=0.61), pick(0, "vectors_mlr", 0.7, unknown=0.69, learned=True)]
    page = write_report(write_run(tmp_path, rows))
    text = Text(page.read_text()).text
    assert "±" not in text
    assert "nan" not in text.lower()
    assert "Learning from listeners helped." in text
    assert "in the only split" in text
    for absent in ("Codebook", "t-SNE", "playlists", "Learning curve", "Relevant songs per query", "Paper"):
        assert absent not in text
    assert {path.stem for path in (page.parent / "figures").iterdir()} == {"comparison"}


def test_a_single_method_without_learning_is_reported_as_such(tmp_path):
    text = Text(write_report(write_run(tmp_path, [pick(0, "random", 0.5)])).read_text()).text
    assert "The run has no learned method." in text


def test_unknown_methods_are_shown_under_their_own_name(tmp_path):
    page = write_report(write_run(tmp_path, [pick(s, "<new>", 0.7) for s in range(2)]))
    assert "&lt;new&gt;" in page.read_text()


def test_a_damaged_showcase_is_reported_and_left_out(tmp_path):
    write_run(tmp_path, [pick(0, "native", 0.6)])
    (tmp_path / "showcase.npz").write_bytes(b"PK nothing")
    text = Text(write_report(tmp_path).read_text()).text
    assert "showcase.npz cannot be read" in text


def test_a_showcase_whose_arrays_do_not_fit_is_reported_and_left_out(tmp_path):
    arrays = showcase_arrays(np.random.default_rng(1))
    arrays["relevant"] = arrays["relevant"][:, :-1]
    np.savez(tmp_path / "showcase.npz", **arrays)
    write_run(tmp_path, [pick(0, "native", 0.6)])
    assert "relevant has shape (12, 59) for 12 queries and 60 songs" in write_report(tmp_path).read_text()


@pytest.mark.parametrize("columns", [0, 1])
def test_a_learned_space_of_rank_0_or_1_makes_no_trouble(tmp_path, columns):
    arrays = showcase_arrays(np.random.default_rng(1))
    arrays["learned"] = arrays["learned"][:, :columns]
    arrays["genre"][:] = ""
    np.savez(tmp_path / "showcase.npz", **arrays)
    text = Text(write_report(write_run(tmp_path, [pick(0, "native", 0.6)])).read_text()).text
    assert ("t-SNE" in text) == (columns == 1)
    assert ("colours show the most frequent artists" in text) == (columns == 1)


# Playlists


def test_playlists_are_the_nearest_songs_and_the_worst_query_is_among_them():
    arrays = showcase_arrays(np.random.default_rng(4), n_queries=30)
    arrays.pop("song_id")
    showcase = Showcase(**{**arrays, **{k: arrays[k].tolist() for k in ("title", "artist", "genre")}})
    playlists = example_playlists(showcase)
    database = np.flatnonzero(~showcase.is_test)
    gains = {}
    for row, query in enumerate(showcase.queries):
        hits = []
        for space in (showcase.native, showcase.learned):
            nearest = database[np.argsort(np.linalg.norm(space[database] - space[query], axis=1))][:5]
            hits.append(int(showcase.relevant[row, nearest].sum()))
            for playlist in playlists.chosen:
                if playlist.query == query:
                    shown = playlist.native if space is showcase.native else playlist.learned
                    assert shown == nearest.tolist()
        gains[int(query)] = hits[1] - hits[0]
    changes = np.array(list(gains.values()))
    assert (playlists.more, playlists.same, playlists.fewer) == (
        (changes > 0).sum(), (changes == 0).sum(), (changes < 0).sum()
    )  # fmt: skip
    by_kind = {playlist.kind: gains[playlist.query] for playlist in playlists.chosen}
    assert by_kind["loss"] == changes.min() < 0
    assert gains[playlists.chosen[0].query] == changes.max()
    artists = [showcase.artist[playlist.query] for playlist in playlists.chosen]
    assert len(artists) == len(set(artists))


def test_relevant_songs_are_marked_on_the_page_as_in_the_table(full):
    page = full[2]
    records = read_csv(page, "playlists")
    marks = sum(record[name] == "True" for record in records for name in ("native_relevant", "learned_relevant"))
    assert page.read_text().count('aria-label="relevant"') == marks > 0
