"""Numbers of a run -> sentences of the report (plain text), and the numbers of the paper."""

import math
from collections.abc import Sequence
from typing import Any

from nearsong.experiment.methods.method import Group, LearnedMethod, ListenerMethod
from nearsong.experiment.methods.registry import LEADING, REPORTED, comparable
from nearsong.experiment.report.playlists import Playlists
from nearsong.experiment.report.reading import Row, Run

# McFee, Barrington and Lanckriet (2012): CAL10K songs, Last.fm listeners, codebook 1024 and tau 1.
PAPER_STATISTICS = {
    "training": {"artists": "806", "songs": "2,122.3 ± 36.3", "relevant": "36.9 ± 16.4"},
    "validation": {"artists": "604", "songs": "1,589.3 ± 38.6", "relevant": "36.4 ± 15.4"},
    "test": {"artists": "605", "songs": "1,607.5 ± 64.3", "relevant": "37.1 ± 16.0"},
}
AUC_EXPLAINED = (
    "AUC is the probability that a relevant song (by an artist that shares many listeners with the query's) ranks "
    "before another song: 0.5 is random, 1 is perfect."
)


def method_name(method: str) -> str:
    """Return the name of a method in text.

    Examples
    --------
    >>> method_name("ppk_mlr"), method_name("something new")
    ('PPK + MLR', 'something new')
    """
    return REPORTED[method].label if method in REPORTED else method


def short_name(method: str) -> str:
    """Return the name of a method in figures."""
    return REPORTED[method].short_label if method in REPORTED else method


def paper_auc(method: str) -> tuple[float, float] | None:
    """Return AUC and standard deviation of a method in the paper."""
    return REPORTED[method].paper_auc if method in REPORTED else None


def is_learned(method: str) -> bool:
    """Return whether a method learns from listeners; the control with shuffled relevance does not."""
    reported = REPORTED.get(method)
    if isinstance(reported, LearnedMethod) and reported.shuffled:
        return False
    return isinstance(reported, ListenerMethod)


def is_beyond_paper(method: str) -> bool:
    """Return whether a method hears more than the codewords of the paper."""
    return method in REPORTED and REPORTED[method].is_beyond_paper


def leading_method(best: Sequence[Row]) -> str | None:
    """Return the learned method that the report is about, chosen by its input, not by its score."""
    present = {record["method"] for record in best}
    return next((method.name for method in LEADING if method.name in present), None)


def unlearned_of(method: str, best: Sequence[Row]) -> str | None:
    """Return the method that a learned method is compared with: the same without learning."""
    return comparable(method, {record["method"] for record in best})


def number(value: Any, digits: int = 3) -> str:
    """Return a number with a number of decimals, or a dash for None and NaN.

    Examples
    --------
    >>> number(0.68), number(float("nan"))
    ('0.680', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:,.{digits}f}"


def plus_minus(mean: float, std: float, digits: int = 3) -> str:
    """Return "mean ± std", or only the mean if there is a single split.

    Examples
    --------
    >>> plus_minus(0.808, 0.005), plus_minus(0.808, float("nan"))
    ('0.808 ± 0.005', '0.808')
    """
    return number(mean, digits) if math.isnan(std) else f"{number(mean, digits)} ± {number(std, digits)}"


def signed(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.128), signed(-0.02), signed(0.0)
    ('+0.128', '−0.020', '0.000')
    """
    text = f"{abs(value):.3f}"
    return text if text == "0.000" else ("+" if value > 0 else "−") + text


def verdict(pair: Row) -> str:
    """Return "above", "below" or "level" (the interval contains 0) for a paired difference."""
    if pair["splits"] < 2:
        return "above" if pair["difference"] > 0 else "below" if pair["difference"] < 0 else "level"
    return "above" if pair["low"] > 0 else "below" if pair["high"] < 0 else "level"


def find_pair(pairs: Sequence[Row], method: str | None, against: str | None, database: str = "known") -> Row | None:
    """Return the paired difference of two methods."""
    key = method, against, database
    return next((pair for pair in pairs if (pair["method"], pair["against"], pair["database"]) == key), None)


def short_list(best: Sequence[Row], pairs: Sequence[Row]) -> list[tuple[str, str, dict[str, Row]]]:
    """Return the comparisons to show: learned methods with the same unlearned, with popularity and with the control.

    Methods beyond the paper are compared with the paper's in a section of their own.

    Returns
    -------
    list of (method, against, dict of database to paired difference)
    """
    chosen = []
    for method in [record["method"] for record in best if is_learned(record["method"])]:
        for against in (unlearned_of(method, best), "popularity", "shuffled"):
            candidates = {database: find_pair(pairs, method, against, database) for database in ("known", "unknown")}
            present = {database: pair for database, pair in candidates.items() if pair is not None}
            if against is not None and present:
                chosen.append((method, against, present))
    return chosen


def difference(pair: Row) -> str:
    """Return a paired difference with its interval, for text."""
    if pair["splits"] == 1:
        return f"{signed(pair['difference'])} in the only split"
    return (
        f"{signed(pair['difference'])}, 95 % confidence interval {signed(pair['low'])} to {signed(pair['high'])}, "
        f"higher in {pair['above']} of {pair['splits']} splits"
    )


def findings(run: Run, best: Sequence[Row], pairs: Sequence[Row], curve: Sequence[str]) -> list[str]:
    """Return the paragraphs of the summary, the main result first.

    Parameters
    ----------
    run : Run
    best : sequence of dict
        ``tables.comparison``.
    pairs : sequence of dict
        ``tables.paired_differences``.
    curve : sequence of str
        The sentences of ``curve_words``.
    """
    records = {record["method"]: record for record in best}
    lead = leading_method(best)
    if lead is None:
        top = best[0]
        headline = (
            f"The run has no learned method. The best AUC is {number(top['known_auc'])}, of "
            f"{method_name(top['method'])}. {AUC_EXPLAINED}"
        )
        return [text for text in (headline, _progress(run)) if text]
    base = unlearned_of(lead, best)
    paragraphs = [
        _headline(records, pairs, lead, base),
        _unseen_artists(records, pairs, lead, base),
        _popularity(records, pairs, lead),
        _shuffled(records, pairs, lead, base),
        " ".join(curve),
        _upper_limits(records, lead),
        _progress(run),
    ]
    return [text for text in paragraphs if text]


def _headline(records: dict[str, Row], pairs: Sequence[Row], lead: str, base: str | None) -> str:
    score, name = number(records[lead]["known_auc"]), method_name(lead)
    text = f"For queries by artists not seen in training, {name} reaches an AUC of {score}"
    if base is None:
        return f"{text}. {AUC_EXPLAINED}"
    text = f"{text}; without learning, {method_name(base)} reaches {number(records[base]['known_auc'])}"
    pair = find_pair(pairs, lead, base)
    if pair is None:
        return f"{text}. {AUC_EXPLAINED}"
    opening = {"above": "Learning from listeners helped.", "below": "Learning from listeners made results worse.",
               "level": "Learning from listeners made no clear difference."}  # fmt: skip
    return f"{opening[verdict(pair)]} {text} (difference {difference(pair)}). {AUC_EXPLAINED}"


def _unseen_artists(records: dict[str, Row], pairs: Sequence[Row], lead: str, base: str | None) -> str:
    if math.isnan(records[lead]["unknown_auc"]):
        return ""
    text = (
        "When the candidates are also by unseen artists, which is harder and closer to real use, it reaches "
        f"{number(records[lead]['unknown_auc'])}"
    )
    pair = find_pair(pairs, lead, base, "unknown")
    if base is None or pair is None:
        return f"{text}."
    relation = {"above": "above", "below": "below", "level": "not clearly different from"}[verdict(pair)]
    return (
        f"{text}, {relation} {method_name(base)} with {number(records[base]['unknown_auc'])} (difference "
        f"{difference(pair)})."
    )


def _popularity(records: dict[str, Row], pairs: Sequence[Row], lead: str) -> str:
    pair = find_pair(pairs, lead, "popularity")
    if pair is None:
        return ""
    relation = {"above": "better", "below": "worse", "level": "not clearly better or worse"}
    return (
        f"Ranking by popularity, without audio, reaches {number(records['popularity']['known_auc'])}; "
        f"{method_name(lead)} is {relation[verdict(pair)]} (difference {difference(pair)})."
    )


def _shuffled(records: dict[str, Row], pairs: Sequence[Row], lead: str, base: str | None) -> str:
    if "shuffled" not in records:
        return ""
    text = f"As a control, learning from shuffled relevance reaches {number(records['shuffled']['known_auc'])}"
    pair = find_pair(pairs, "shuffled", base)
    if base is None or pair is None:
        return f"{text}."
    relation = {"above": "above", "below": "below", "level": "not clearly different from"}[verdict(pair)]
    text = f"{text}, {relation} {method_name(base)}"
    gain = find_pair(pairs, lead, base)
    if gain is None or verdict(gain) != "above":
        return f"{text}."
    if verdict(pair) == "above":
        return (
            f"{text}, so part of the gain does not depend on which artists are related: shuffled relevance still "
            "shows which artists are popular."
        )
    return f"{text}, so the gain comes from the listening data."


def _upper_limits(records: dict[str, Row], lead: str) -> str:
    parts = []
    tags = [record for name, record in records.items() if name in REPORTED and REPORTED[name].group is Group.TAGS]
    if tags and lead not in {record["method"] for record in tags}:
        parts.append(f"human tags reach {number(max(record['known_auc'] for record in tags))}")
    if "ceiling" in records:
        parts.append(
            f"listening data (half of the users predicting the other half) {number(records['ceiling']['known_auc'])}"
        )
    return f"For comparison, {' and '.join(parts)}." if parts else ""


def _progress(run: Run) -> str:
    planned = run.section("settings").get("n_splits")
    finished = len({row["split"] for row in run.picks})
    if isinstance(planned, int) and finished < planned:
        return f"The run is incomplete: {finished} of {planned} splits have results so far."
    if run.unfinished_tasks:
        return f"The run is incomplete: {run.unfinished_tasks} unfinished tasks are omitted."
    return ""


def fraction_in_words(part: float) -> str:
    """Return a share in words where there is a common word for it.

    Examples
    --------
    >>> [fraction_in_words(part) for part in (0.125, 0.251, 0.5, 0.4, 1.0)]
    ['an eighth', 'a quarter', 'half', '40 %', 'all']
    """
    known = {1 / 16: "a sixteenth", 1 / 8: "an eighth", 1 / 4: "a quarter", 1 / 3: "a third", 1 / 2: "half",
             2 / 3: "two thirds", 3 / 4: "three quarters", 1.0: "all"}  # fmt: skip
    for value, name in known.items():
        if abs(part - value) < 0.03 * value + 1e-9:
            return name
    return f"{100 * part:.0f} %"


def curve_words(rows: Sequence[Row], native: float, n_artists: float) -> list[str]:
    """Return sentences on how many artists are enough.

    Parameters
    ----------
    rows : sequence of dict
        The learning curve of one method, ascending ``artists``.
    native : float
        AUC without learning, NaN if it is missing.
    n_artists : float
        Number of all training artists.
    """
    rows = [row for row in rows if not math.isnan(row["known_auc"])]
    if len(rows) < 2:
        return []
    against_native = [] if math.isnan(native) else _against_native(rows, native, n_artists)
    return [*against_native, _saturation(rows)]


def _against_native(rows: Sequence[Row], native: float, n_artists: float) -> list[str]:
    quarter = min(rows[:-1], key=lambda row: abs(math.log(row["artists"] / n_artists * 4)))
    share = fraction_in_words(quarter["artists"] / n_artists)
    side = "above" if quarter["known_auc"] > native else "below"
    sentences = [
        f"With {share} of the training artists ({quarter['artists']:,.0f}) the learned metric reaches "
        f"{number(quarter['known_auc'])}, {side} native ({number(native)})."
    ]
    lasting = [row for i, row in enumerate(rows) if all(later["known_auc"] > native for later in rows[i:])]
    if not lasting:
        sentences.append("No tested number of artists is enough to stay above native.")
    elif lasting[0] is not rows[0]:
        sentences.append(f"It stays above native from {lasting[0]['artists']:,.0f} artists on.")
    return sentences


def _saturation(rows: Sequence[Row]) -> str:
    top = max(row["known_auc"] for row in rows)
    enough = next(row for row in rows if row["known_auc"] >= top - 0.01)
    if enough is not rows[-1]:
        return f"{enough['artists']:,.0f} artists are enough to come within 0.010 of the best AUC ({number(top)})."
    previous, last = rows[-2:]
    return (
        f"The curve has not levelled off: from {previous['artists']:,.0f} to {last['artists']:,.0f} artists AUC "
        f"still rises by {number(last['known_auc'] - previous['known_auc'])}, so more artists may help."
    )


def playlist_words(playlists: Playlists) -> str:
    """Return how all queries changed, not only the examples."""
    total = playlists.more + playlists.same + playlists.fewer
    has_loss = any(playlist.kind == "loss" for playlist in playlists.chosen)
    return (
        f"Of {total:,} test songs, {playlists.more:,} have more relevant songs among their five nearest after "
        f"learning, {playlists.same:,} the same number and {playlists.fewer:,} fewer; the average is "
        f"{playlists.native_hits:.2f} before and {playlists.learned_hits:.2f} after. The examples are chosen by "
        f"rule: the largest gains, a typical query{' and the largest loss' if has_loss else '; no query lost'}."
    )
