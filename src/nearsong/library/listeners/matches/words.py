"""How much of a listening history the library has -> that in words, and what to do where it is little."""

from nearsong.library.listeners.matches.records import MatchReport
from nearsong.names import count

MAX_NAMED_TRACKS = 5
LOW_SHARE = 0.1
"""Below this share of matched plays a report says what can be done."""


def match_sentences(report: MatchReport) -> list[str]:
    """Return how much of a history the library has; where that is little, what is missing and what to do.

    Parameters
    ----------
    report : MatchReport

    Returns
    -------
    list of str
        Empty without plays, such as for hearts alone.

    Examples
    --------
    >>> from nearsong.library.listeners.matches.records import WAYS
    >>> ways = dict(zip(WAYS, (2, 0, 0, 0)))
    >>> unmatched = [("Can - Yoo Doo Right", 5), ("Neu!", 4)]
    >>> for line in match_sentences(MatchReport(0, 9, ways, ways, unmatched))[:-1]:
    ...     print(line)
    None of 2 track names is in the library (9 plays).
    Most played: Can - Yoo Doo Right (5); Neu! (4).
    The library has no songs yet.
    """
    if not report.plays:
        return []
    if not report.names_matched:
        sentences = [_nothing(report)]
    else:
        ways = [f"{n:,} by {way}" for way, n in report.names_by_way.items() if n and way != "not found"]
        names = f"{count(report.names_matched, 'track name')}: {', '.join(ways)}"
        sentences = [f"{share_words(report.share)} of {count(report.plays, 'play')} found in the library ({names})."]
    if unmatched := report.most_played_unmatched[:MAX_NAMED_TRACKS]:
        most_played = "; ".join(f"{name} ({plays:,.0f})" for name, plays in unmatched)
        before = f"{count(report.names_unmatched, 'track name')} not found. " if report.names_matched else ""
        sentences.append(f"{before}Most played: {most_played}.")
    return sentences if report.share >= LOW_SHARE else [*sentences, *_next_steps(report)]


def share_words(share: float) -> str:
    """Return a share in percent; not 0 % for a little, nor 100 % for nearly all.

    >>> [share_words(share) for share in (0, 0.001, 0.5, 0.999, 1)]
    ['0%', 'less than 1%', '50%', 'more than 99%', '100%']
    """
    if 0 < share < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.99 < share < 1 else f"{share:.0%}"


def _nothing(report: MatchReport) -> str:
    plays = count(report.plays, "play")
    if report.names_unmatched == 1:
        return f"The only track name is not in the library ({plays})."
    return f"None of {report.names_unmatched:,} track names is in the library ({plays})."


def _next_steps(report: MatchReport) -> list[str]:
    if not report.songs:
        return [
            "The library has no songs yet.",
            "Next: scan a folder of music. The history stays, and is matched again after each scan.",
        ]
    which = ": " if report.artists == len(report.common_artists) else ", such as "
    by = f" by {count(report.artists, 'artist')}{which}{', '.join(report.common_artists)}" if report.artists else ""
    library = f"The library has {count(report.songs, 'song')}{by or ', none of which names its artist'}."
    if report.is_swapped:
        return [
            library,
            "Next: artist and title seem to be swapped; exchange these columns and import the file again.",
        ]
    if not report.artists:
        return [library, "Next: give the files artist and title tags, and scan again."]
    return [
        library,
        "Next: scan the folder that has this music, or import the history of somebody who plays what is here. "
        "Histories are matched again after each scan.",
    ]
