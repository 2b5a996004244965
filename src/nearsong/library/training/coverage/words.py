"""What a training learned from and left out -> sentences."""

from dataclasses import replace

from nearsong.library.training.coverage.records import Count, Coverage

RANKED_ONLY = ("paper", "mlr")
"""Methods that learn from rankings only."""


def number(n: int, what: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> number(1, "song"), number(2000, "song"), number(0, "song")
    ('1 song', '2,000 songs', 'no songs')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}" if n else f"no {what}s"


def counted(count: Count) -> str:
    """Return a count in words, songs first."""
    return f"{number(count.songs, 'song')} by {number(count.artists, 'artist')}"


def last_fit(coverage: Coverage, *, method: str | None) -> str:
    """Return what the model that is used now learned from.

    Parameters
    ----------
    coverage : Coverage
    method : str or None
        How it learned: rankings (MLR) may be of fewer songs.
    """
    used = coverage.ranked if method in RANKED_ONLY else coverage.used
    listeners = f"{coverage.min_listeners} or more listeners" if coverage.min_listeners > 1 else "listeners"
    text = f"Learned from {counted(used)} with {listeners}"
    if method == "combined" and coverage.ranked.songs < used.songs:
        text += f" (MLR from {counted(coverage.ranked)} of them)"
    return f"{text}."


def left_out(coverage: Coverage, *, method: str | None) -> str:
    """Return what was left out, and why; empty if nothing was."""
    if method in RANKED_ONLY and coverage.ranked.songs < coverage.used.songs:
        coverage = _without_unranked(coverage)
    few = f"fewer than {number(coverage.min_listeners, 'listener')}"
    reasons = {
        "unplayed": "{} that nobody here plays, so listeners say nothing about them",
        "few_listeners": f"{{}} with {few}, too few to compare",
        "not_reached": "{} beyond what a training has time for, or not analysed",
        "further": "{} by the same artists, who have enough without them",
    }
    parts = []
    for reason, text in reasons.items():
        count = coverage.left_out.get(reason, Count(0, 0))
        if count.songs:
            what = counted(count) if count.artists else number(count.songs, "further song")
            parts.append(text.format(what))
    return f"Left out: {'; '.join(parts)}." if parts else ""


def _without_unranked(coverage: Coverage) -> Coverage:
    """Count songs that are used but not ranked as left out."""
    used, ranked, others = coverage.used, coverage.ranked, dict(coverage.left_out)
    reason = "further" if used.artists == ranked.artists else "not_reached"
    before = others.get(reason, Count(0, 0))
    others[reason] = Count(before.artists + used.artists - ranked.artists, before.songs + used.songs - ranked.songs)
    return replace(coverage, used=ranked, left_out=others)
