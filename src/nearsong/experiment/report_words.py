"""Numbers of a run -> sentences a person reads, and the paper's numbers to set beside them. Plain text only."""

import math
from collections.abc import Sequence
from typing import Any

from nearsong.experiment.report_playlists import Playlists
from nearsong.experiment.report_run import Row, Run

METHOD_NAMES = {
    "random": "Random",
    "popularity": "Popularity alone, no audio",
    "native": "Native histograms",
    "native_ppk": "Native PPK",
    "tfidf": "TF-IDF",
    "mlr": "MLR",
    "ppk_mlr": "PPK + MLR",
    "averaged": "MLR averaged over C",
    "shuffled": "MLR on shuffled relevance",
    "gmm": "Gaussian mixtures",
    "smd": "Auto-tags (SMD)",
    "smd_mlr": "Auto-tags + MLR",
    "tags_cosine": "Human tags, cosine",
    "tags_tfidf": "Human tags, TF-IDF",
    "tags_mlr": "Human tags + MLR",
    "ceiling": "Listeners themselves: Jaccard from half of the users",
    "native_vectors": "Native vectors",
    "vectors_mlr": "Vectors + MLR",
}
FIGURE_NAMES = {**METHOD_NAMES, "ceiling": "Listeners themselves (half of them)"}
# A learned method -> the same without learning, the first that a run has.
UNLEARNED = {
    "ppk_mlr": ("native", "native_ppk"),
    "averaged": ("native", "native_ppk"),
    "mlr": ("native",),
    "vectors_mlr": ("native_vectors",),
    "smd_mlr": ("smd",),
    "tags_mlr": ("tags_cosine", "tags_tfidf"),
}
_LEADING = ("ppk_mlr", "vectors_mlr", "averaged", "mlr", "smd_mlr", "tags_mlr")
REPRESENTATIONS = ("native", "tfidf", "mlr", "ppk_mlr")

# McFee, Barrington and Lanckriet (2012): CAL10K songs, Last.fm listeners, codebook 1024 and tau 1.
PAPER_AUC = {
    "native": (0.680, 0.006),
    "ppk_mlr": (0.808, 0.005),
    "tags_cosine": (0.834, 0.005),
    "tags_tfidf": (0.771, 0.004),
    "tags_mlr": (0.907, 0.008),
}
PAPER_STATISTICS = {
    "training": {"artists": "806", "songs": "2,122.3 ± 36.3", "relevant": "36.9 ± 16.4"},
    "validation": {"artists": "604", "songs": "1,589.3 ± 38.6", "relevant": "36.4 ± 15.4"},
    "test": {"artists": "605", "songs": "1,607.5 ± 64.3", "relevant": "37.1 ± 16.0"},
}
SCORE_EXPLAINED = (
    "The score, AUC, is the chance that a song which listeners relate to the query is placed before one they do not: "
    "0.5 is guessing, 1 is perfect."
)


def method_name(method: str) -> str:
    """Return how a method is called in text.

    Examples
    --------
    >>> method_name("ppk_mlr"), method_name("something new")
    ('PPK + MLR', 'something new')
    """
    return METHOD_NAMES.get(method, method)


def leading_method(best: Sequence[Row]) -> str | None:
    """Return the learned method the report is about, by what it learns from; scores have no say."""
    present = {record["method"] for record in best}
    return next((method for method in _LEADING if method in present), None)


def unlearned_of(method: str, best: Sequence[Row]) -> str | None:
    """Return the method that is this one without learning."""
    present = {record["method"] for record in best}
    return next((other for other in UNLEARNED.get(method, ()) if other in present), None)


def number(value: Any, digits: int = 3) -> str:
    """Return a number with that many decimals, a dash if there is none.

    Examples
    --------
    >>> number(0.68), number(float("nan"))
    ('0.680', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:,.{digits}f}"


def plus_minus(mean: float, std: float, digits: int = 3) -> str:
    """Return "mean ± std", or the mean alone where a single split has no spread.

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
    """Say in a word what a paired difference shows: "above", "below" or "level" (the interval contains 0)."""
    if pair["splits"] < 2:
        return "above" if pair["difference"] > 0 else "below" if pair["difference"] < 0 else "level"
    return "above" if pair["low"] > 0 else "below" if pair["high"] < 0 else "level"


def find_pair(pairs: Sequence[Row], method: str | None, against: str | None, database: str = "known") -> Row | None:
    """Return the paired difference of two methods."""
    wanted = method, against, database
    return next((pair for pair in pairs if (pair["method"], pair["against"], pair["database"]) == wanted), None)


def short_list(best: Sequence[Row], pairs: Sequence[Row]) -> list[tuple[str, str, dict[str, Row]]]:
    """Return the comparisons worth reading: each learned method with its unlearned one, popularity and shuffled.

    Returns
    -------
    list of (method, against, dict of database to paired difference)
    """
    chosen = []
    for method in [record["method"] for record in best if record["method"] in UNLEARNED]:
        for against in (unlearned_of(method, best), "popularity", "shuffled"):
            found = {database: find_pair(pairs, method, against, database) for database in ("known", "unknown")}
            present = {database: pair for database, pair in found.items() if pair is not None}
            if against is not None and present:
                chosen.append((method, against, present))
    return chosen


def _splits(pair: Row) -> str:
    if pair["splits"] == 1:
        return "in the only split"
    interval = f"95 % interval {signed(pair['low'])} to {signed(pair['high'])}"
    return f"{interval}, higher in {pair['above']} of {pair['splits']} splits"


def _difference(pair: Row) -> str:
    return f"{signed(pair['difference'])} ({_splits(pair)})"


def findings(run: Run, best: Sequence[Row], pairs: Sequence[Row], curve: Sequence[str]) -> list[str]:
    """Say what was found, the main thing first; one paragraph an entry.

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
        first = (
            f"The best score is that of {method_name(top['method'])}: {number(top['known_auc'])}. {SCORE_EXPLAINED}"
        )
        return [text for text in (f"The run has no learned method. {first}", _progress(run)) if text]
    words = [_headline(records, pairs, lead, unlearned_of(lead, best)), _never_saw(records, pairs, lead, best)]
    words.append(_popularity(records, pairs, lead))
    words.append(_shuffled(records, pairs, lead, unlearned_of(lead, best)))
    words.append(" ".join(curve))
    words.append(_limits(records, lead))
    words.append(_progress(run))
    return [text for text in words if text]


def _headline(records: dict[str, Row], pairs: Sequence[Row], lead: str, base: str | None) -> str:
    record, name = records[lead], method_name(lead)
    if base is None:
        return f"{name} scores {number(record['known_auc'])} on songs by artists it never heard. {SCORE_EXPLAINED}"
    pair = find_pair(pairs, lead, base)
    opening = {"above": "Learning from listeners helped.", "below": "Learning from listeners made it worse.",
               "level": "Learning from listeners made no clear difference."}  # fmt: skip
    text = (
        f"Asked with a song by an artist it never heard, the learned similarity ({name}) scores "
        f"{number(record['known_auc'])}; the same sound without learning ({method_name(base)}) scores "
        f"{number(records[base]['known_auc'])}."
    )
    if pair is None:
        return f"{text} {SCORE_EXPLAINED}"
    return f"{opening[verdict(pair)]} {text} The difference is {_difference(pair)}. {SCORE_EXPLAINED}"


def _never_saw(records: dict[str, Row], pairs: Sequence[Row], lead: str, best: Sequence[Row]) -> str:
    record, base = records[lead], unlearned_of(lead, best)
    if math.isnan(record["unknown_auc"]):
        return ""
    text = (
        "Harder, and closer to real use: when the songs to recommend are also by artists it never saw, it scores "
        f"{number(record['unknown_auc'])}"
    )
    pair = find_pair(pairs, lead, base, "unknown")
    if base is None or pair is None:
        return text + "."
    ending = {"above": "still above", "below": "below", "level": "not clearly different from"}[verdict(pair)]
    return (
        f"{text}, {ending} {method_name(base)} with {number(records[base]['unknown_auc'])}: "
        f"a difference of {_difference(pair)}."
    )


def _popularity(records: dict[str, Row], pairs: Sequence[Row], lead: str) -> str:
    pair = find_pair(pairs, lead, "popularity")
    if pair is None:
        return ""
    relation = {"above": "beats it", "below": "falls short of it", "level": "is not clearly better or worse"}
    return (
        "A recommender that ignores sound and always offers the best-known artists scores "
        f"{number(records['popularity']['known_auc'])}. {method_name(lead)} {relation[verdict(pair)]}: "
        f"{_difference(pair)}."
    )


def _shuffled(records: dict[str, Row], pairs: Sequence[Row], lead: str, base: str | None) -> str:
    if "shuffled" not in records:
        return ""
    own, text = records["shuffled"], "As a check, the same learning was fed relations dealt out at random"
    pair = find_pair(pairs, "shuffled", base)
    if base is None or pair is None:
        return f"{text}: it scores {number(own['known_auc'])}."
    comparison = {"above": "above", "below": "below", "level": "level with"}[verdict(pair)]
    text += f": it scores {number(own['known_auc'])}, {comparison} {method_name(base)}"
    gained = find_pair(pairs, lead, base)
    if gained is None or verdict(gained) != "above":
        return f"{text}."
    if verdict(pair) == "above":
        return (
            f"{text}, so part of the gain is not owed to who goes with whom: relations dealt out at random still "
            "tell which artists are popular."
        )
    return f"{text}, so the gain comes from what listeners do."


def _limits(records: dict[str, Row], lead: str) -> str:
    parts = []
    tags = [records[method] for method in ("tags_mlr", "tags_cosine", "tags_tfidf") if method in records]
    if tags and lead not in {record["method"] for record in tags}:
        parts.append(f"tags written by people reach {number(max(record['known_auc'] for record in tags))}")
    if "ceiling" in records:
        parts.append(
            f"listeners themselves (one half predicting the other) {number(records['ceiling']['known_auc'])}"
        )
    return f"How far there is to go: {' and '.join(parts)}." if parts else ""


def _progress(run: Run) -> str:
    planned = run.section("settings").get("n_splits")
    finished = len({row["split"] for row in run.picks})
    if isinstance(planned, int) and finished < planned:
        return f"The run is not complete: {finished} of {planned} splits have results so far."
    if run.unfinished_tasks:
        return f"The run is not complete: {run.unfinished_tasks} begun tasks are unfinished and left out."
    return ""


def fraction_in_words(part: float) -> str:
    """Return a share the way people say it.

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


def curve_words(rows: Sequence[Row], native: float, everything: float) -> list[str]:
    """Say how many artists are enough.

    Parameters
    ----------
    rows : sequence of dict
        The learning curve of one method, ascending ``artists``.
    native : float
        The AUC without learning, NaN if unknown.
    everything : float
        All the training artists there were.
    """
    rows = [row for row in rows if not math.isnan(row["known_auc"])]
    if len(rows) < 2:
        return []
    words = []
    quarter = min(rows[:-1], key=lambda row: abs(math.log(row["artists"] / everything * 4)))
    share = fraction_in_words(quarter["artists"] / everything)
    with_share = f"With {share} of the artists ({quarter['artists']:,.0f})"
    if not math.isnan(native):
        side = "above" if quarter["known_auc"] > native else "below"
        words.append(f"{with_share} the learned metric was {side} native: {number(quarter['known_auc'])} against "
                     f"{number(native)}.")  # fmt: skip
        lasting = [row for i, row in enumerate(rows) if all(later["known_auc"] > native for later in rows[i:])]
        if not lasting:
            words.append("No number of artists tried was enough to stay above native.")
        elif lasting[0] is not rows[0]:
            words.append(f"From {lasting[0]['artists']:,.0f} artists on it stays above.")
    top = max(row["known_auc"] for row in rows)
    enough = next(row for row in rows if row["known_auc"] >= top - 0.01)
    if enough is rows[-1]:
        before = rows[-2]
        gain = rows[-1]["known_auc"] - before["known_auc"]
        words.append(f"The curve has not levelled off: from {before['artists']:,.0f} to {rows[-1]['artists']:,.0f} "
                     f"artists it still gains {number(gain)}, so more may help further.")  # fmt: skip
    else:
        words.append(f"{enough['artists']:,.0f} artists are enough to come within 0.010 of the best ({number(top)}).")
    return words


def playlist_words(playlists: Playlists) -> str:
    """Say how all the queries fared, not only the shown ones."""
    total = playlists.more + playlists.same + playlists.fewer
    return (
        f"Of {total:,} test songs, {playlists.more:,} have more relevant songs among their first five after "
        f"learning, {playlists.same:,} as many and {playlists.fewer:,} fewer; on average {playlists.native_hits:.2f} "
        f"before and {playlists.learned_hits:.2f} after. The examples were picked by rule: the largest gains, a "
        "middling one, "
        + ("and the largest loss." if any(p.why == "got worse" for p in playlists.chosen) else "and no query lost.")
    )
