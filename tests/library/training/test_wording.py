import re
from dataclasses import replace

import pytest

from nearsong.library.training.coverage.records import Count, Coverage
from nearsong.library.training.report import Estimate, ReportRow, TrainingReport
from nearsong.library.training.wording import (
    CHOSEN_BEFORE,
    CHOSEN_BEFORE_PLAINLY,
    IMPORTED,
    MEANING,
    PAIRS,
    PLAIN,
    SEEN,
    sentences,
    table_rows,
)


def near(mean: float, half: float) -> Estimate:
    return Estimate(mean, mean - half, mean + half, 90)


GOOD = TrainingReport(
    "learned",
    "gain",
    min_listeners=3,
    n_splits=8,
    artists=412,
    songs=2000,
    listeners=1300,
    artists_known=412,
    songs_known=2000,
    listener_kinds={"users": 0, "sessions": 312, "playlists": 4},
    rows=(
        ReportRow("random", near(0.5, 0.01), near(0.5, 0.01)),
        ReportRow("popularity", near(0.65, 0.03), near(0.66, 0.03)),
        ReportRow("native", near(0.641, 0.03), near(0.626, 0.03)),
        ReportRow("learned", near(0.767, 0.03), near(0.673, 0.03)),
        ReportRow("ceiling", near(0.814, 0.03), None),
    ),
    differences=(
        ReportRow("learned - native", near(0.126, 0.02), near(0.047, 0.03)),
        ReportRow("learned - popularity", near(0.117, 0.03), near(0.013, 0.005)),
    ),
    method="paper",
    choice={"loss": "auc", "C": 1000.0},
    validation={"paper": 0.72, "listener_space": 0.7},
    loss="auc",
    C=1000.0,
)


def text(report: TrainingReport) -> str:
    return "\n".join(sentences(report))


def test_a_good_result_is_stated_plainly():
    wording = text(GOOD)
    assert wording.startswith(
        "Better: 77 of 100 pairs in the right order, was 64 by sound alone. The learned model is now active "
        "(PPK + MLR as in the paper, loss auc, C 1000)."
    )
    assert "Learned from 412 artists with 3 or more listeners each, 2,000 songs, 1,300 listeners" in wording
    assert "(312 sessions and 4 playlists)" in wording
    assert "artists were held out 8 times." in wording
    assert MEANING in wording
    assert "0.5 is chance" in wording
    assert "0.767 learned, 0.641 sound alone, difference +0.126 (+0.106 to +0.146)." in wording
    assert "Among songs by unseen artists: 0.673 learned, 0.626 sound alone" in wording
    assert "predict the other half with a score of 0.814" in wording
    for word in ("chance,", "Popularity alone", "few", "would help"):
        assert word not in wording.replace("0.5 is chance,", "")


def test_the_table_has_a_row_for_everything_that_was_measured():
    header, *rows = table_rows(GOOD)
    assert header == ("AUC", "known songs", "unseen artists", "terciles")
    assert [row[0] for row in rows] == [
        "Chance",
        "Popularity",
        "Sound alone",
        "Learned: best by validation",
        "Listeners themselves",
    ]
    assert rows[3][1:] == ("0.767 (0.737 to 0.797)", "0.673 (0.643 to 0.703)", "")
    within = replace(GOOD.rows[3], known_terciles=near(0.7, 0.1))
    assert table_rows(replace(GOOD, rows=(within,)))[1][3] == "0.700 / -"
    assert rows[4][2] == ""
    assert table_rows(TrainingReport("native", "few_artists"))[1:] == []


def test_the_chosen_method_and_why_is_said_in_words():
    over = ReportRow("listener_space - paper", near(0.05, 0.01), near(0.06, 0.01))
    chosen = {"penalty": 0.3, "centroid_share": 0.8, "sound_weight": 0.25}
    report = replace(
        GOOD,
        method="listener_space",
        choice=chosen,
        validation={"paper": 0.7, "mlr": 0.71, "listener_space": 0.75},
        differences=(*GOOD.differences, over),
    )
    wording = text(report)
    assert "(the listener space, penalty 0.3, centroid share 0.8, sound weight 0.25)" in wording
    assert (
        "Of 3 methods, the listener space ranks the songs of validation artists best, known and unseen artists "
        "counting the same: 0.750, before MLR on all encoders with 0.710. On test artists it is +0.050 from the "
        "paper's method for known songs, +0.060 for unseen artists." in wording
    )
    assert "Of 2 methods, PPK + MLR as in the paper ranks" in text(GOOD)
    assert "methods" not in text(replace(GOOD, validation={"paper": 0.72}))


def with_differences(native_new: Estimate, over_popularity: Estimate) -> TrainingReport:
    rows = (
        ReportRow("learned - native", near(0.126, 0.02), native_new),
        ReportRow("learned - popularity", near(0.117, 0.03), over_popularity),
    )
    return replace(GOOD, differences=rows)


def test_a_gain_that_may_be_chance_is_called_that():
    wording = text(with_differences(near(0.01, 0.02), near(0.1, 0.02)))
    assert "; may be chance, so do not rely on it for new music." in wording
    known = (ReportRow("learned - native", near(0.01, 0.02), None),)
    assert "+0.010 (-0.010 to +0.030); may be chance." in text(replace(GOOD, differences=known))


def test_popularity_is_named_where_it_does_as_well():
    level = text(with_differences(near(0.05, 0.02), near(0.01, 0.02)))
    assert "Popularity alone, without audio, is not clearly below the learned model for unseen artists" in level
    below = text(with_differences(near(0.05, 0.02), near(-0.05, 0.02)))
    assert "is above the learned model for unseen artists (0.660); but it cannot rank" in below


@pytest.mark.parametrize(
    ("reason", "why", "help_"),
    [
        ("no_gain", "No improvement: 77 of 100 pairs", "What would help: import listening histories"),
        ("worse_on_new", "Not better: for unseen artists", "What would help"),
        ("only_popularity", "may have learned only what is popular", "What would help"),
        ("nothing_to_judge", "No result", "What would help"),
        ("same_sound", "all songs sound the same", "Scan real music"),
    ],
)
def test_a_metric_that_is_not_taken_has_a_reason_and_an_advice(reason, why, help_):
    wording = sentences(replace(GOOD, decision="native", reason=reason))
    assert why in wording[0]
    assert wording[0].endswith("The active model is unchanged.")
    assert "native metric" not in wording[0]
    assert wording[1].startswith("Measured on 412 artists")
    assert wording[-1].startswith(help_)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(14, "14 artists of the library have 3 or"), (1, "1 artist of the library has 3 or"), (0, "no artists of the")],
)
def test_too_few_artists_are_counted_and_it_says_how_many_are_needed(n, expected):
    report = TrainingReport("native", "few_artists", min_listeners=3, artists=n, artists_known=n)
    wording = sentences(report)
    assert expected in wording[0]
    assert "at least 25 are needed. The active model is unchanged." in wording[0]
    assert wording[1].startswith(
        "Import listening histories of more people, longer histories with times, or more playl"
    )
    assert len(wording) == 2


@pytest.mark.parametrize(
    ("n", "unit", "expected"),
    [
        (3, "artist", "3 listeners play two or more artists of the library; at least 5 such listeners are needed."),
        (1, "song", "1 listener plays two or more songs of the library; at least 5 such listeners are needed."),
        (0, "song", "no listener plays two or more songs of the library; at least 5 such listeners are needed."),
    ],
)
def test_too_few_listeners_are_counted(n, unit, expected):
    wording = sentences(TrainingReport("native", "few_listeners", unit, min_listeners=2, artists=40, listeners=n))
    assert wording[0].startswith(f"Too little data: {expected}")
    assert "--listeners sessions" in wording[-1]


def test_few_artists_are_called_few_though_it_worked():
    assert "More than 60 artists would give better results" in text(replace(GOOD, artists=60))


def test_one_of_something_is_not_called_several():
    kinds = {"users": 1, "sessions": 1, "playlists": 1}
    one = replace(GOOD, artists=1, songs=1, listeners=1, artists_known=1, songs_known=2, listener_kinds=kinds)
    for report in (one, replace(one, unit="song"), replace(one, decision="native", reason="no_gain")):
        wording = text(replace(report, min_listeners=1))
        assert "(1 user, 1 session and 1 playlist)" in wording
        assert "1 or more listeners" in wording
        assert not re.search(r"\b1 (artist|song|listener|user|session|playlist|time)s\b|\bare 1\b", wording)
    assert "More than 1 artist would give better results" in text(one)
    few = TrainingReport("native", "few_artists", unit="song", min_listeners=1, artists=1, artists_known=1)
    assert "songs of 1 artist have 1 or more listeners" in text(few)


def test_a_sample_is_called_a_sample_and_songs_are_called_songs():
    wording = text(replace(GOOD, songs_known=9300, artists_known=1200, unit="song", n_splits=1))
    assert "Learned from 2,000 songs with 3 or more listeners each by 412 artists" in wording
    assert "a sample, of 9,300 songs by 1,200 artists; artists were held out once" in wording
    few = TrainingReport("native", "few_artists", unit="song", min_listeners=3, artists=9, artists_known=9)
    assert "songs of 9 artists have 3 or more listeners" in sentences(few)[0]


def test_an_evaluation_decides_nothing_and_names_an_imported_model():
    rows = (*GOOD.rows, ReportRow("imported", near(0.7, 0.01), near(0.69, 0.01)))
    differences = (ReportRow("imported - native", near(0.06, 0.01), near(0.06, 0.1)),)
    report = replace(GOOD, decision="none", reason="asked", rows=rows, differences=differences)
    wording = text(report)
    assert wording.startswith("Measured on 412 artists")
    assert "0.700 imported model, 0.641 sound alone" in wording
    assert "Among songs by the held-out artists alone: 0.690 imported model, 0.626 sound alone" in wording
    assert "now active" not in wording
    assert "Imported model" in [row[0] for row in table_rows(report)]


def test_an_imported_model_that_may_know_these_artists_is_called_too_good():
    rows = (*GOOD.rows, ReportRow("imported", near(0.7, 0.01), near(0.69, 0.01)))
    report = replace(GOOD, decision="none", reason="asked", rows=rows)
    assert IMPORTED in sentences(report)
    assert SEEN not in sentences(report)
    seen = sentences(replace(report, notes=(SEEN,)))
    assert IMPORTED not in seen
    assert seen.count(SEEN) == 1
    assert "trained on these listens" in SEEN
    assert "nothing was held out" in SEEN
    assert "if it was trained on these artists" in IMPORTED
    assert IMPORTED not in sentences(GOOD)


def test_an_evaluation_says_that_loss_and_c_were_chosen_on_the_same_listens():
    asked = replace(GOOD, decision="none", reason="asked")
    assert CHOSEN_BEFORE in sentences(asked)
    assert "slightly too high" in CHOSEN_BEFORE
    assert CHOSEN_BEFORE not in sentences(GOOD)  # a training chooses on artists that it does not judge by
    nothing_learned = tuple(row for row in GOOD.rows if row.name != "learned")
    assert CHOSEN_BEFORE not in sentences(replace(asked, rows=nothing_learned, differences=()))


def test_notes_come_last():
    assert (
        sentences(replace(GOOD, notes=("2 of 8 splits could not be used.",)))[-1]
        == "2 of 8 splits could not be used."
    )


REASONS = (
    *("gain", "few_artists", "few_listeners", "same_sound", "nothing_to_judge", "no_gain", "worse_on_new"),
    *("only_popularity", "asked"),
)


@pytest.mark.parametrize("decision", ["learned", "native", "none"])
@pytest.mark.parametrize("reason", REASONS)
def test_every_report_can_be_put_in_words(decision, reason):
    for report in (GOOD, TrainingReport("native", "asked")):
        decided = replace(report, decision=decision, reason=reason)
        for sentence in [*sentences(decided), *sentences(decided, PLAIN)]:
            assert sentence.endswith(".")
            assert sentence[0].isupper() or sentence[0].isdigit()
            assert "  " not in sentence


@pytest.mark.parametrize("decision", ["learned", "native", "none"])
@pytest.mark.parametrize("reason", REASONS)
def test_plain_words_are_plain_and_say_as_much(decision, reason):
    report = replace(with_differences(near(0.05, 0.02), near(0.01, 0.02)), decision=decision, reason=reason)
    of_the_trade, plain = sentences(report), sentences(report, PLAIN)
    assert len(plain) == len(of_the_trade)
    for words in plain:
        assert not re.search(r"AUC|\bloss\b|metric|\bC\b|Jaccard|codebook|--|confidence|0\.\d", words)


def test_plain_words_count_pairs():
    wording = "\n".join(sentences(GOOD, PLAIN))
    assert wording.startswith(
        "Better: 77 of 100 pairs in the right order, was 64 by sound alone. The learned model is"
    )
    assert PAIRS in wording
    assert "77 learned, 64 sound alone, difference +13 (+11 to +15)." in wording
    assert "Among songs by unseen artists: 67 learned, 63 sound alone, difference +5 (+2" in wording
    assert "predict the other half with a score of 81." in wording
    asked = sentences(replace(GOOD, decision="none", reason="asked"), PLAIN)
    assert CHOSEN_BEFORE_PLAINLY in asked


def test_a_model_of_more_songs_than_were_chosen_on_says_both():
    coverage = Coverage(
        min_listeners=2,
        used=Count(9_000, 20_000),
        ranked=Count(9_000, 20_000),
        library=Count(9_500, 21_000),
        left_out={"unplayed": Count(500, 1_000)},
    )
    report = TrainingReport(
        "learned",
        "gain",
        artists=1_900,
        songs=2_000,
        listeners=700,
        min_listeners=20,
        n_splits=3,
        artists_known=1_900,
        songs_known=2_000,
        method="combined",
        validation={"mlr": 0.7, "combined": 0.8},
        coverage=coverage,
    )
    lines = sentences(report)
    assert lines[1] == (
        "Learned from 20,000 songs by 9,000 artists with 2 or more listeners. Chosen and measured on 1,900 artists "
        "with 20 or more listeners each, 2,000 songs, 700 listeners; artists were held out 3 times."
    )
    assert lines[2].startswith("Left out: 1,000 songs by 500 artists that nobody here plays")
    rejected = sentences(replace(report, decision="native", reason="no_gain"))
    assert not any(line.startswith(("Learned", "Left out")) for line in rejected)
