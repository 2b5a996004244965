"""A training's report -> words and a table: for the command line, or in the plain words of the page."""

from collections.abc import Callable
from dataclasses import dataclass

from nearsong.library.held_out_report import Estimate, TrainingReport
from nearsong.library.training_data import FEWEST_ARTISTS, FEWEST_LISTENERS

WELL = 100
"""Artists from which learning does well; with fewer, more would help."""

LABELS = {
    "random": "chance",
    "popularity": "popularity alone, no sound",
    "native": "native: sound alone",
    "imported": "imported model",
    "learned": "learned from listeners",
    "ceiling": "half of the listeners predict the others",
}

MEANING = (
    "AUC is the share of pairs (a song that listeners find similar, one that they do not) in the right order: 0.5 is "
    "chance, 1 is perfect. In parentheses: 95 % confidence intervals over artists."
)

PAIRS = (
    "The numbers say how many of 100 pairs (a song that listeners find similar, one that they do not) are in the "
    "right order: 50 is chance, 100 is perfect. In parentheses: what it could have been with other artists."
)

CHOSEN_BEFORE = (
    "The loss and C were chosen earlier, on the same listens, so what was learned looks a little too good here; the "
    "report of the training itself is the stricter one."
)

IMPORTED = (
    "The imported model is scored as it is: if it has learned from these artists, its score is too good, since "
    "nothing was held out from it."
)

SEEN = "The imported model has learned from these very listens: its row is not held out, and too good to count on."

CHOSEN_BEFORE_PLAINLY = (
    "How to learn was chosen earlier, on the same listens, so what was learned looks a little too good here; what "
    "the training itself said is stricter."
)

KEPT = "Nothing new was learned; what answered before goes on answering."

MORE = "Import listening histories of more people, a longer history with times, or more playlists"


@dataclass(frozen=True)
class Words:
    """How to say it: in the words of the trade, or in plain ones.

    Attributes
    ----------
    learned : str
        What was learned, at the start of a sentence.
    it : str
        The same inside of one.
    how : callable
        How it was learned, from a report.
    score, gain : callable
        A score, and a difference of two.
    meaning, chosen_before : str
        What scores mean, and that those of an evaluation look too good.
    to_whom : str
        To whom all songs sound the same.
    larger, sessions : str
        What else may help, where all sounds the same and where one person listens.
    """

    learned: str
    it: str
    how: Callable[[TrainingReport], str]
    score: Callable[[float], str]
    gain: Callable[[float], str]
    meaning: str
    chosen_before: str
    to_whom: str
    larger: str
    sessions: str


OF_THE_TRADE = Words(
    learned="The learned metric",
    it="the learned metric",
    how=lambda report: f" (loss {report.loss}, C {report.C or 0:g})",
    score=lambda score: f"{score:.3f}",
    gain=lambda gain: f"{gain:+.3f}",
    meaning=MEANING,
    chosen_before=CHOSEN_BEFORE,
    to_whom=" to this codebook",
    larger=", or learn a larger codebook from it",
    sessions=" (--listeners sessions)",
)

PLAIN = Words(
    learned="What was learned",
    it="what was learned",
    how=lambda report: "",
    score=lambda score: f"{100 * score:.0f}",
    gain=lambda gain: f"{round(100 * gain):+d}",
    meaning=PAIRS,
    chosen_before=CHOSEN_BEFORE_PLAINLY,
    to_whom="",
    larger="",
    sessions="",
)


def table_rows(report: TrainingReport) -> list[tuple[str, str, str]]:
    """Return the table of scores: a header, then a row for each method; the header alone if nothing was measured.

    Examples
    --------
    >>> from nearsong.library.held_out_report import Estimate, ReportRow, TrainingReport
    >>> native = ReportRow("native", Estimate(0.641, 0.612, 0.67, 99), None)
    >>> for row in table_rows(TrainingReport("learned", "gain", rows=(native,))):
    ...     print(row)
    ('AUC', 'songs it learned from', 'artists never seen')
    ('native: sound alone', '0.641 (0.612 to 0.670)', '')
    """
    rows = [("AUC", "songs it learned from", "artists never seen")]
    rows += [(LABELS.get(row.name, row.name), _score(row.known), _score(row.unknown)) for row in report.rows]
    return rows


def sentences(report: TrainingReport, words: Words = OF_THE_TRADE) -> list[str]:
    """Return what a report says: the decision, what it was learned from, what was gained, and what would help."""
    said = [decision(report, words), learned_from(report)]
    if report.rows:
        said += [words.meaning, *_gains(report, words), *_too_good(report, words), *_beside_others(report, words)]
    said += [advice(report, words), *report.notes]
    return [sentence for sentence in said if sentence]


def decision(report: TrainingReport, words: Words = OF_THE_TRADE) -> str:
    """Say whether something new answers from now on, and why; nothing if nothing was to be decided."""
    artists = f"{_number(report.artists_known, 'artist')} of the library {_has(report.artists_known)}"
    enough = f"{artists} {report.min_listeners} or more listeners"
    if report.unit == "song":
        enough = f"songs of {_number(report.artists_known, 'artist')} have {report.min_listeners} or more listeners"
    why = {
        "gain": f"{words.learned} answers from now on{words.how(report)}: for artists it was not shown it ranks "
        "better than sound alone does.",
        "few_artists": f"Too little to learn from: {enough}, and at least {FEWEST_ARTISTS} are needed.",
        "few_listeners": f"Too little to learn from: {_who_play(report.listeners)} two or more {report.unit}s of the "
        f"library, and at least {FEWEST_LISTENERS} such listeners are needed.",
        "same_sound": f"Nothing to learn from: all songs sound the same{words.to_whom}.",
        "nothing_to_judge": "Nothing can be judged: listeners relate too few of the songs to each other, or all of "
        "them alike.",
        "no_gain": "Learning did not help: artists held out are ranked no better than by sound alone.",
        "worse_on_new": "Learning did not carry over: among songs of artists it never saw, "
        f"{words.it} is worse than sound alone.",
        "only_popularity": "What was learned may be no more than whom everybody listens to: it is not surely above "
        "popularity alone, and not surely better than sound alone among artists it never saw.",
        "asked": "",
    }[report.reason]
    return f"{why} {KEPT}".strip() if report.decision == "native" else why


def learned_from(report: TrainingReport) -> str:
    """Say how many artists, songs and listeners there were."""
    if report.reason in ("few_artists", "few_listeners") or not report.artists:
        return ""
    kinds = [_number(n, kind.removesuffix("s")) for kind, n in report.listener_kinds.items() if n]
    of = f" (of {_and(kinds)})" if kinds else ""
    told = (
        f"{_number(report.artists, 'artist')} with {report.min_listeners} or more listeners each, "
        f"{_number(report.songs, 'song')}, {_number(report.listeners, 'listener')}{of}"
    )
    if report.unit == "song":
        told = (
            f"{_number(report.songs, 'song')} with {report.min_listeners} or more listeners each by "
            f"{_number(report.artists, 'artist')}, {_number(report.listeners, 'listener')}{of}"
        )
    if report.songs < report.songs_known:
        told += f"; a sample, of {_number(report.songs_known, 'song')} by {_number(report.artists_known, 'artist')}"
    times = "once" if report.n_splits == 1 else f"{report.n_splits} times"
    verb = "Learned from" if report.decision == "learned" else "Judged with"
    held = f"; {times}, artists were held out to judge by" if report.n_splits else ""
    return f"{verb} {told}{held}."


def advice(report: TrainingReport, words: Words = OF_THE_TRADE) -> str:
    """Say what would help; nothing if all is well."""
    if report.reason == "few_artists":
        return (
            f"{MORE}, or scan more music by the artists in them: {FEWEST_ARTISTS} artists is the least, {WELL} or "
            "more do well."
        )
    if report.reason == "few_listeners":
        return f"{MORE}; one person's history counts as many listeners if it has times{words.sessions}."
    if report.reason == "same_sound":
        return f"Scan real music{words.larger}."
    if report.reason in ("nothing_to_judge", "no_gain", "worse_on_new", "only_popularity"):
        is_are = "is" if report.artists == 1 else "are"
        few = f"; {WELL} artists or more do well, here {is_are} {report.artists}" if report.artists < WELL else ""
        return f"What would help: {MORE[0].lower()}{MORE[1:]}{few}."
    if report.artists < WELL and report.rows:
        few = "1 artist is little" if report.artists == 1 else f"{report.artists} artists are few"
        return f"{few}: with more it gets better, for new music most of all."
    return ""


def _gains(report: TrainingReport, words: Words) -> list[str]:
    said = []
    for name in ("learned", "imported"):
        known, new = (report.estimate(f"{name} - native", database) for database in ("known", "unknown"))
        songs = "songs it learned from" if name == "learned" else "songs of other artists"
        if known is not None:
            chance = "" if _sure(known) else "; that may be chance"
            said.append(
                f"For artists held out, {songs} are ranked with {_both(report, name, 'known', words)}{chance}."
            )
        if new is not None:
            chance = (
                "" if _sure(new) else "; that may be chance, so do not count on it for music nobody has played yet"
            )
            where = "Songs of artists it never saw" if name == "learned" else "Songs of the artists held out alone"
            said.append(f"{where}: {_both(report, name, 'unknown', words)}{chance}.")
    return said


def _both(report: TrainingReport, name: str, database: str, words: Words) -> str:
    gain = report.estimate(f"{name} - native", database)
    assert gain is not None
    label = "as learned" if name == "learned" else "by the imported model"
    return (
        f"{_said(report, name, database, words)} {label} and {_said(report, 'native', database, words)} by sound "
        f"alone, a difference of {words.gain(gain.mean)} ({words.gain(gain.low)} to {words.gain(gain.high)})"
    )


def _too_good(report: TrainingReport, words: Words) -> list[str]:
    """Say which scores are better than they would be on listens that nobody has looked at."""
    there = {row.name for row in report.rows}
    said = [words.chosen_before] if report.decision == "none" and "learned" in there else []
    if "imported" in there and SEEN not in report.notes:
        said.append(IMPORTED)
    return said


def _beside_others(report: TrainingReport, words: Words) -> list[str]:
    level = []
    for database, where in (("known", "for songs it learned from"), ("unknown", "for artists never seen")):
        over = report.estimate("learned - popularity", database)
        if over is not None and over.low <= 0:
            how = "not surely below" if over.high >= 0 else "above"
            level.append(f"{how} {words.it} {where} ({_said(report, 'popularity', database, words)})")
    said = []
    if level:
        said.append(
            f"Popularity alone, without any sound, is {_and(level)}; but it has nothing to say about a song that "
            "nobody has played."
        )
    ceiling = report.score("ceiling", "known")
    if ceiling is not None:
        half = "One half of the listeners predicts what the other half finds similar"
        said.append(f"{half} with {words.score(ceiling)}.")
    return said


def _sure(estimate: Estimate) -> bool:
    return estimate.low > 0 or estimate.high < 0


def _score(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{estimate.mean:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _said(report: TrainingReport, name: str, database: str, words: Words) -> str:
    score = report.score(name, database)
    return "no score" if score is None else words.score(score)


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}" if n else f"no {what}s"


def _who_play(n: int) -> str:
    return f"{n:,} listeners play" if n > 1 else f"{n or 'no'} listener plays"


def _has(n: int) -> str:
    return "has" if n == 1 else "have"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
