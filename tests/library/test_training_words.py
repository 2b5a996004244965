import re
from dataclasses import replace

import pytest

from nearsong.library.held_out_report import Estimate, ReportRow, TrainingReport
from nearsong.library.training_words import (
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
    loss="auc",
    C=1000.0,
)


def text(report: TrainingReport) -> str:
    return "\n".join(sentences(report))


def test_a_good_result_is_said_plainly():
    said = text(GOOD)
    assert said.startswith("The learned metric answers from now on (loss auc, C 1000)")
    assert "Learned from 412 artists with 3 or more listeners each, 2,000 songs, 1,300 listeners" in said
    assert "(of 312 sessions and 4 playlists)" in said
    assert "8 times, artists were held out to judge by." in said
    assert MEANING in said
    assert "0.5 is chance" in said
    assert "0.767 as learned and 0.641 by sound alone, a difference of +0.126 (+0.106 to +0.146)." in said
    assert "Songs of artists it never saw: 0.673 as learned and 0.626 by sound alone" in said
    assert "predicts what the other half finds similar with 0.814" in said
    for word in ("chance,", "Popularity alone", "few", "would help"):
        assert word not in said.replace("0.5 is chance,", "")


def test_the_table_has_a_row_for_everything_that_was_measured():
    header, *rows = table_rows(GOOD)
    assert header == ("AUC", "songs it learned from", "artists never seen")
    assert [row[0].split(":")[0] for row in rows] == [
        "chance",
        "popularity alone, no sound",
        "native",
        "learned from listeners",
        "half of the listeners predict the others",
    ]
    assert rows[3][1:] == ("0.767 (0.737 to 0.797)", "0.673 (0.643 to 0.703)")
    assert rows[4][2] == ""
    assert table_rows(TrainingReport("native", "few_artists"))[1:] == []


def with_differences(native_new: Estimate, over_popularity: Estimate) -> TrainingReport:
    rows = (
        ReportRow("learned - native", near(0.126, 0.02), native_new),
        ReportRow("learned - popularity", near(0.117, 0.03), over_popularity),
    )
    return replace(GOOD, differences=rows)


def test_a_gain_that_may_be_chance_is_called_that():
    said = text(with_differences(near(0.01, 0.02), near(0.1, 0.02)))
    assert "that may be chance, so do not count on it for music nobody has played yet" in said
    known = (ReportRow("learned - native", near(0.01, 0.02), None),)
    assert "+0.010 (-0.010 to +0.030); that may be chance." in text(replace(GOOD, differences=known))


def test_popularity_is_named_where_it_does_as_well():
    level = text(with_differences(near(0.05, 0.02), near(0.01, 0.02)))
    assert (
        "Popularity alone, without any sound, is not surely below the learned metric for artists never seen" in level
    )
    below = text(with_differences(near(0.05, 0.02), near(-0.05, 0.02)))
    assert "is above the learned metric for artists never seen (0.660); but it has nothing to say" in below


@pytest.mark.parametrize(
    ("reason", "why", "help_"),
    [
        ("no_gain", "Learning did not help", "What would help: import listening histories"),
        ("worse_on_new", "Learning did not carry over", "What would help"),
        ("only_popularity", "may be no more than whom everybody listens to", "What would help"),
        ("nothing_to_judge", "Nothing can be judged", "What would help"),
        ("same_sound", "all songs sound the same", "Scan real music"),
    ],
)
def test_a_metric_that_is_not_taken_has_a_reason_and_an_advice(reason, why, help_):
    said = sentences(replace(GOOD, decision="native", reason=reason))
    assert why in said[0]
    assert said[0].endswith("Nothing new was learned; what answered before goes on answering.")
    assert "native metric" not in said[0]
    assert said[1].startswith("Judged with 412 artists")
    assert said[-1].startswith(help_)


@pytest.mark.parametrize(
    ("n", "told"),
    [(14, "14 artists of the library have 3 or"), (1, "1 artist of the library has 3 or"), (0, "no artists of the")],
)
def test_too_few_artists_are_counted_and_it_says_how_many_are_needed(n, told):
    report = TrainingReport("native", "few_artists", min_listeners=3, artists=n, artists_known=n)
    said = sentences(report)
    assert told in said[0]
    assert "at least 25 are needed. Nothing new was learned; what answered before goes on answering." in said[0]
    assert said[1].startswith("Import listening histories of more people, a longer history with times, or more playl")
    assert len(said) == 2


@pytest.mark.parametrize(
    ("n", "unit", "told"),
    [
        (
            3,
            "artist",
            "3 listeners play two or more artists of the library, and at least 5 such listeners are needed.",
        ),
        (1, "song", "1 listener plays two or more songs of the library, and at least 5 such listeners are needed."),
        (0, "song", "no listener plays two or more songs of the library, and at least 5 such listeners are needed."),
    ],
)
def test_too_few_listeners_are_counted(n, unit, told):
    said = sentences(TrainingReport("native", "few_listeners", unit, min_listeners=2, artists=40, listeners=n))
    assert said[0].startswith(f"Too little to learn from: {told}")
    assert "--listeners sessions" in said[-1]


def test_few_artists_are_called_few_though_it_worked():
    assert "60 artists are few" in text(replace(GOOD, artists=60))


def test_one_of_something_is_not_called_several():
    kinds = {"users": 1, "sessions": 1, "playlists": 1}
    one = replace(GOOD, artists=1, songs=1, listeners=1, artists_known=1, songs_known=2, listener_kinds=kinds)
    for report in (one, replace(one, unit="song"), replace(one, decision="native", reason="no_gain")):
        said = text(replace(report, min_listeners=1))
        assert "(of 1 user, 1 session and 1 playlist)" in said
        assert "1 or more listeners" in said
        assert not re.search(r"\b1 (artist|song|listener|user|session|playlist|time)s\b|\bare 1\b", said)
    assert "1 artist is little: with more it gets better" in text(one)
    few = TrainingReport("native", "few_artists", unit="song", min_listeners=1, artists=1, artists_known=1)
    assert "songs of 1 artist have 1 or more listeners" in text(few)


def test_a_sample_is_called_a_sample_and_songs_are_called_songs():
    said = text(replace(GOOD, songs_known=9300, artists_known=1200, unit="song", n_splits=1))
    assert "Learned from 2,000 songs with 3 or more listeners each by 412 artists" in said
    assert "a sample, of 9,300 songs by 1,200 artists; once, artists were held out" in said
    few = TrainingReport("native", "few_artists", unit="song", min_listeners=3, artists=9, artists_known=9)
    assert "songs of 9 artists have 3 or more listeners" in sentences(few)[0]


def test_an_evaluation_decides_nothing_and_names_an_imported_model():
    rows = (*GOOD.rows, ReportRow("imported", near(0.7, 0.01), near(0.69, 0.01)))
    differences = (ReportRow("imported - native", near(0.06, 0.01), near(0.06, 0.1)),)
    report = replace(GOOD, decision="none", reason="asked", rows=rows, differences=differences)
    said = text(report)
    assert said.startswith("Judged with 412 artists")
    assert "0.700 by the imported model and 0.641 by sound alone" in said
    assert "Songs of the artists held out alone: 0.690 by the imported model and 0.626 by sound alone" in said
    assert "answers from now on" not in said
    assert "imported model" in [row[0] for row in table_rows(report)]


def test_an_imported_model_that_may_know_these_artists_is_called_too_good():
    rows = (*GOOD.rows, ReportRow("imported", near(0.7, 0.01), near(0.69, 0.01)))
    report = replace(GOOD, decision="none", reason="asked", rows=rows)
    assert IMPORTED in sentences(report)
    assert SEEN not in sentences(report)
    seen = sentences(replace(report, notes=(SEEN,)))
    assert IMPORTED not in seen
    assert seen.count(SEEN) == 1
    assert "learned from these very listens" in SEEN
    assert "not held out" in SEEN
    assert "if it has learned from these artists" in IMPORTED
    assert IMPORTED not in sentences(GOOD)


def test_an_evaluation_says_that_loss_and_c_were_chosen_on_the_same_listens():
    asked = replace(GOOD, decision="none", reason="asked")
    assert CHOSEN_BEFORE in sentences(asked)
    assert "a little too good" in CHOSEN_BEFORE
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
    said = "\n".join(sentences(GOOD, PLAIN))
    assert said.startswith("What was learned answers from now on: for artists it was not shown it ranks better than")
    assert PAIRS in said
    assert "are ranked with 77 as learned and 64 by sound alone, a difference of +13 (+11 to +15)." in said
    assert "Songs of artists it never saw: 67 as learned and 63 by sound alone, a difference of +5 (+2" in said
    assert "predicts what the other half finds similar with 81." in said
    asked = sentences(replace(GOOD, decision="none", reason="asked"), PLAIN)
    assert CHOSEN_BEFORE_PLAINLY in asked
