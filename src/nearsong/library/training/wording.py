"""A training report -> verdict, table and sentences: technical for the command line, plain for the page."""

from collections.abc import Callable
from dataclasses import dataclass

from nearsong.library.training.coverage.words import last_fit, left_out
from nearsong.library.training.coverage.words import number as _number
from nearsong.library.training.report import Estimate, ReportRow, TrainingReport
from nearsong.library.training.settings import MIN_ACTIVE_LISTENERS, MIN_ARTISTS

RECOMMENDED_ARTISTS = 100
"""With fewer artists, the advice is to add some."""

LABELS = {
    "random": "Chance",
    "popularity": "Popularity",
    "native": "Sound alone",
    "imported": "Imported model",
    "active": "Model in use",
    "paper": "Paper: PPK + MLR",
    "mlr": "All encoders + MLR",
    "listener_space": "Listener space",
    "combined": "Combined",
    "learned": "Learned: best by validation",
    "ceiling": "Listeners themselves",
}

METHOD_NAMES = {
    "paper": "PPK + MLR as in the paper",
    "mlr": "MLR on all encoders",
    "listener_space": "the listener space",
    "combined": "the listener space combined with MLR",
}
"""Methods as they are called within a sentence."""

MEANING = (
    "AUC is the share of pairs (a song that listeners find similar and one of the others) in the right order: 0.5 is "
    "chance, 1 is perfect. In parentheses: 95 % confidence intervals over artists. Terciles: AUC among songs of "
    "similar popularity, for known songs / unseen artists."
)

PAIRS = (
    "Scores are how many of 100 pairs are in the right order (a song that listeners find similar before one of the "
    "others): 50 is chance, 100 is perfect. In parentheses: the range to expect with other artists."
)

CHOSEN_BEFORE = (
    "The method and its parameters were chosen earlier on the same listens, so the learned scores are slightly too "
    "high; the report of the training itself is stricter."
)

IMPORTED = (
    "The imported model is scored unchanged: if it was trained on these artists, its score is too high, because none "
    "were held out."
)

SEEN = "The imported model was trained on these listens, so its scores are too high: nothing was held out."

CHOSEN_BEFORE_PLAINLY = (
    "The settings were chosen earlier on the same listens, so the learned scores are slightly too high; the report "
    "of the training itself is stricter."
)

UNCHANGED = "The active model is unchanged."

SAME_DATA = "Nothing has changed since the last training, so there is nothing new to learn."

MORE = "Import listening histories of more people, longer histories with times, or more playlists"


@dataclass(frozen=True)
class Words:
    """Terms of a report: technical or plain.

    Attributes
    ----------
    learned : str
        The term for the learned model, at the start of a sentence.
    it : str
        The same within a sentence.
    how : callable
        Formats the selected hyperparameters of a report.
    score, gain : callable
        Format a score, and a difference of scores.
    meaning, chosen_before : str
        Explain the scores, and why those of an evaluation are too high.
    to_codebook : str
        Suffix for "all songs sound the same" that names the encoder's codebook.
    codebook_advice, sessions_option : str
        Advice on options, for songs that all sound the same and for the history of a single person.
    """

    learned: str
    it: str
    how: Callable[[TrainingReport], str]
    score: Callable[[float], str]
    gain: Callable[[float], str]
    meaning: str
    chosen_before: str
    to_codebook: str
    codebook_advice: str
    sessions_option: str


TECHNICAL = Words(
    learned="The learned model",
    it="the learned model",
    how=lambda report: f" ({', '.join(_parameters(report))})" if report.choice else "",
    score=lambda score: f"{score:.3f}",
    gain=lambda gain: f"{gain:+.3f}",
    meaning=MEANING,
    chosen_before=CHOSEN_BEFORE,
    to_codebook=" to this codebook",
    codebook_advice=", or learn a larger codebook from it",
    sessions_option=" (--listeners sessions)",
)

PLAIN = Words(
    learned="The learned model",
    it="the learned model",
    how=lambda report: "",
    score=lambda score: f"{100 * score:.0f}",
    gain=lambda gain: f"{round(100 * gain):+d}",
    meaning=PAIRS,
    chosen_before=CHOSEN_BEFORE_PLAINLY,
    to_codebook="",
    codebook_advice="",
    sessions_option="",
)


def table_rows(report: TrainingReport) -> list[tuple[str, str, str, str]]:
    """Return the table of scores: a header, then a row for each method; the header alone if nothing was measured.

        The last column has the means within popularity terciles, against known songs and among unseen artists.

    Examples
    --------
        >>> from nearsong.library.training.report import Estimate, ReportRow, TrainingReport
    >>> native = ReportRow("native", Estimate(0.641, 0.612, 0.67, 99), None)
        >>> for row in table_rows(TrainingReport("learned", "gain", rows=(native,))):
        ...     print(row)
        ('AUC', 'known songs', 'unseen artists', 'terciles')
        ('Sound alone', '0.641 (0.612 to 0.670)', '', '')
    """
    rows = [("AUC", "known songs", "unseen artists", "terciles")]
    for row in report.rows:
        rows += [(LABELS.get(row.name, row.name), _score(row.known), _score(row.unknown), _terciles(row))]
    return rows


def sentences(report: TrainingReport, words: Words = TECHNICAL) -> list[str]:
    """Return the report in sentences: the verdict first, then the data, the gains, comparisons and advice."""
    lines = [verdict(report, words), learned_from(report), _left_out(report)]
    if report.rows:
        lines += [words.meaning, _why(report, words), *_gains(report, words)]
        lines += [*_active_gain(report, words), *_caveats(report, words)]
        lines += _comparisons(report, words)
    lines += [advice(report, words), *report.notes]
    return [line for line in lines if line]


def verdict(report: TrainingReport, words: Words = TECHNICAL) -> str:
    """Return the result of a training in one or two sentences; empty for an evaluation, which decides nothing."""
    scores = _pairs(report)
    artists = f"{_number(report.artists_known, 'artist')} of the library {_has(report.artists_known)}"
    enough = f"{artists} {report.min_listeners} or more listeners"
    if report.unit == "song":
        enough = f"songs of {_number(report.artists_known, 'artist')} have {report.min_listeners} or more listeners"
    result = {
        "gain": f"Better{scores}. {words.learned} is now active{words.how(report)}.",
        "few_artists": f"Too little data: {enough}; at least {MIN_ARTISTS} are needed.",
        "few_listeners": f"Too little data: {_listeners_who_play(report.listeners)} two or more {report.unit}s of "
        f"the library; at least {MIN_ACTIVE_LISTENERS} such listeners are needed.",
        "same_sound": f"Nothing to learn: all songs sound the same{words.to_codebook}.",
        "nothing_to_judge": "No result: listeners connect too few of the songs, or all of them equally.",
        "no_gain": f"No improvement{scores}.",
        "worse_on_new": f"Not better: for unseen artists, {words.it} ranks worse than sound alone.",
        "only_popularity": "Not clearly better: it may have learned only what is popular. It is not reliably above "
        "popularity alone, nor above sound alone for unseen artists.",
        "not_better": f"Not better than the model in use, so it stays{_against_active(report)}.",
        "same_data": SAME_DATA,
        "asked": "",
    }[report.reason]
    return f"{result} {UNCHANGED}".strip() if report.decision == "native" else result


def _pairs(report: TrainingReport) -> str:
    """Return the held-out scores as pairs out of 100, for the verdict."""
    learned, native = report.score("learned"), report.score("native")
    in_use = report.score("active")
    if learned is not None and in_use is not None and report.reason == "gain":
        return f": {100 * learned:.0f} of 100 pairs in the right order, was {_was(learned, in_use)}"
    if learned is None or native is None:
        return " than sound alone" if report.reason == "gain" else " over sound alone"
    return f": {100 * learned:.0f} of 100 pairs in the right order, was {100 * native:.0f} by sound alone"


def _was(learned: float, in_use: float) -> str:
    """Return the score of the model in use; with tenths where whole pairs would be the same."""
    is_same = f"{100 * learned:.0f}" == f"{100 * in_use:.0f}"
    return f"{100 * in_use:.1f} (now {100 * learned:.1f})" if is_same else f"{100 * in_use:.0f}"


def _against_active(report: TrainingReport) -> str:
    """Return the held-out scores of the model in use and the new one, as pairs out of 100."""
    learned, in_use = report.score("learned"), report.score("active")
    if learned is None or in_use is None:
        return ""
    return f": {100 * in_use:.0f} of 100 pairs in the right order, the new one {100 * learned:.0f}"


def learned_from(report: TrainingReport) -> str:
    """Return the number of artists, songs and listeners that it was chosen on, and that the model learned from."""
    if report.reason in ("few_artists", "few_listeners") or not report.artists:
        return ""
    kinds = [_number(n, kind.removesuffix("s")) for kind, n in report.listener_kinds.items() if n]
    of = f" ({_and(kinds)})" if kinds else ""
    data = (
        f"{_number(report.artists, 'artist')} with {report.min_listeners} or more listeners each, "
        f"{_number(report.songs, 'song')}, {_number(report.listeners, 'listener')}{of}"
    )
    if report.unit == "song":
        data = (
            f"{_number(report.songs, 'song')} with {report.min_listeners} or more listeners each by "
            f"{_number(report.artists, 'artist')}, {_number(report.listeners, 'listener')}{of}"
        )
    if report.songs < report.songs_known:
        data += f"; a sample, of {_number(report.songs_known, 'song')} by {_number(report.artists_known, 'artist')}"
    times = "once" if report.n_splits == 1 else f"{report.n_splits} times"
    held_out = f"; artists were held out {times}" if report.n_splits else ""
    if report.decision != "learned":
        return f"Measured on {data}{held_out}."
    if report.coverage is None or report.coverage.used.songs == report.songs:
        return f"Learned from {data}{held_out}."
    chosen = "Chosen and measured on" if len(report.validation) > 1 else "Measured on"
    return f"{last_fit(report.coverage, method=report.method)} {chosen} {data}{held_out}."


def _left_out(report: TrainingReport) -> str:
    """Return what a model did not learn from, and why; empty if nothing was learned, or nothing left out."""
    if report.decision != "learned" or report.coverage is None:
        return ""
    return left_out(report.coverage, method=report.method)


def advice(report: TrainingReport, words: Words = TECHNICAL) -> str:
    """Return what would improve the result; empty if nothing is missing."""
    if report.reason == "few_artists":
        return (
            f"{MORE}, or scan more music by the artists in them: {MIN_ARTISTS} artists are the minimum, "
            f"{RECOMMENDED_ARTISTS} or more are better."
        )
    if report.reason == "few_listeners":
        return f"{MORE}; one person's history counts as many listeners if it has times{words.sessions_option}."
    if report.reason == "same_sound":
        return f"Scan real music{words.codebook_advice}."
    if report.reason in ("nothing_to_judge", "no_gain", "worse_on_new", "only_popularity"):
        few = (
            f". {RECOMMENDED_ARTISTS} or more artists are best; this library has {report.artists}"
            if report.artists < RECOMMENDED_ARTISTS
            else ""
        )
        return f"What would help: {MORE[0].lower()}{MORE[1:]}{few}."
    if report.artists < RECOMMENDED_ARTISTS and report.rows:
        few = _number(report.artists, "artist")
        return f"More than {few} would give better results, especially for new music."
    return ""


def _why(report: TrainingReport, words: Words) -> str:
    """Say which method was chosen, and by which scores; empty if there was no choice."""
    if report.method is None or len(report.validation) < 2:
        return ""
    name = METHOD_NAMES[report.method]
    others = {method: score for method, score in report.validation.items() if method != report.method}
    second = max(others, key=lambda method: others[method])
    text = (
        f"Of {len(report.validation)} methods, {name} ranks the songs of validation artists best, known and unseen "
        f"artists counting the same: {words.score(report.validation[report.method])}, before {METHOD_NAMES[second]} "
        f"with {words.score(others[second])}."
    )
    over = report.estimate(f"{report.method} - paper", "known")
    fresh = report.estimate(f"{report.method} - paper", "unknown")
    if over is not None:
        also = "" if fresh is None else f", {words.gain(fresh.mean)} for unseen artists"
        text += f" On test artists it is {words.gain(over.mean)} from the paper's method for known songs{also}."
    return text


def _parameters(report: TrainingReport) -> list[str]:
    """Return the method and its parameters in words."""
    named = {
        "loss": "loss {}",
        "C": "C {:g}",
        "penalty": "penalty {:g}",
        "centroid_share": "centroid share {:g}",
        "sound_weight": "sound weight {:g}",
        "metric_weight": "MLR weight {:g}",
        "pretrained_ratio": "pretrained weight {:g}",
    }
    method = METHOD_NAMES.get(report.method or "", "")
    own = [text.format(report.choice[name]) for name, text in named.items() if name in report.choice]
    return [method, *own] if method else own


def _gains(report: TrainingReport, words: Words) -> list[str]:
    lines = []
    for name in ("learned", "imported"):
        known_songs = "known songs" if name == "learned" else "songs by other artists"
        unseen_songs = "unseen artists" if name == "learned" else "the held-out artists alone"
        for database, where, doubt in (
            ("known", f"Held-out artists against {known_songs}", "may be chance"),
            ("unknown", f"Among songs by {unseen_songs}", "may be chance, so do not rely on it for new music"),
        ):
            gain = report.estimate(f"{name} - native", database)
            if gain is None:
                continue
            label = "learned" if name == "learned" else "imported model"
            lines.append(
                f"{where}: {_mean(report, name, database, words)} {label}, "
                f"{_mean(report, 'native', database, words)} sound alone, difference {words.gain(gain.mean)} "
                f"({words.gain(gain.low)} to {words.gain(gain.high)}){'' if _is_sure(gain) else f'; {doubt}'}."
            )
    return lines


def _active_gain(report: TrainingReport, words: Words) -> list[str]:
    """Compare with the model in use."""
    known, unknown = (report.estimate("learned - active", database) for database in ("known", "unknown"))
    if known is None:
        return []
    fresh = "" if unknown is None else f"; for unseen artists {words.gain(unknown.mean)}"
    return [
        f"Against the model in use, learned again from what it knew without the held-out artists: "
        f"{_mean(report, 'active', 'known', words)}, difference {words.gain(known.mean)} "
        f"({words.gain(known.low)} to {words.gain(known.high)}){fresh}."
    ]


def _caveats(report: TrainingReport, words: Words) -> list[str]:
    """Return notes on scores that are too high because they were not measured on unused listens."""
    methods = {row.name for row in report.rows}
    lines = [words.chosen_before] if report.decision == "none" and "learned" in methods else []
    if "imported" in methods and SEEN not in report.notes:
        lines.append(IMPORTED)
    return lines


def _comparisons(report: TrainingReport, words: Words) -> list[str]:
    """Compare with popularity, unless it is clearly worse, and with how well listeners predict each other."""
    level = []
    for database, where in (("known", "for known songs"), ("unknown", "for unseen artists")):
        over = report.estimate("learned - popularity", database)
        if over is not None and over.low <= 0:
            how = "not clearly below" if over.high >= 0 else "above"
            level.append(f"{how} {words.it} {where} ({_mean(report, 'popularity', database, words)})")
    lines = []
    if level:
        lines.append(
            f"Popularity alone, without audio, is {_and(level)}; but it cannot rank songs that nobody has played."
        )
    ceiling = report.score("ceiling", "known")
    if ceiling is not None:
        lines.append(f"Half of the listeners predict the other half with a score of {words.score(ceiling)}.")
    return lines


def _is_sure(estimate: Estimate) -> bool:
    return estimate.low > 0 or estimate.high < 0


def _score(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{estimate.mean:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _terciles(row: ReportRow) -> str:
    estimates = (row.known_terciles, row.unknown_terciles)
    if not any(estimates):
        return ""
    return " / ".join("-" if estimate is None else f"{estimate.mean:.3f}" for estimate in estimates)


def _mean(report: TrainingReport, name: str, database: str, words: Words) -> str:
    score = report.score(name, database)
    return "no score" if score is None else words.score(score)


def _listeners_who_play(n: int) -> str:
    return f"{n:,} listeners play" if n > 1 else f"{n or 'no'} listener plays"


def _has(n: int) -> str:
    return "has" if n == 1 else "have"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
