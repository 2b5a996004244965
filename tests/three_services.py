"""The same listens of one person as three services export them: minutes, other spellings and MBIDs, end times."""

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from recorded_plays import NOON

# title -> its spelling elsewhere; the library has the first two
TITLES = {
    ("Björk", "Jóga"): ("BJORK", "Joga (2009 Remaster)"),
    ("Can", "Vitamin C"): ("CAN", "vitamin c"),
    ("Sigur Rós", "Hoppípolla"): ("Sigur Ros", "Hoppipolla - Remastered"),
    ("Neu!", "Hallogallo"): ("NEU!", "Hallo Gallo"),  # only the MBID says that it is the same
}
MBIDS = {title: f"{number:08d}-1111-4111-8111-111111111111" for number, title in enumerate(TITLES)}
LISTENS = [(title, NOON + 17 + 300 * i) for i, title in enumerate([*TITLES] * 5)]
"""Twenty listens: title and start."""

SAME_BY_NAME = [(title, time) for title, time in LISTENS if title != ("Neu!", "Hallogallo")]
SAME_BY_MBID = [(title, time) for title, time in LISTENS if title == ("Neu!", "Hallogallo")]
LENGTH_MS = 200_000

Listens = Sequence[tuple[tuple[str, str], int]]


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def write_lastfm(path: Path, listens: Listens) -> Path:
    """Write a CSV export: minutes only."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        for (artist, title), time in listens:
            rows.writerow([artist, "", title, moment(time).strftime("%d %b %Y %H:%M")])
    return path


def write_listenbrainz(path: Path, listens: Listens, *, spelled: bool = True) -> Path:
    """Write JSONL with MBIDs, in another spelling and a few seconds later."""
    lines = []
    for title, time in listens:
        artist, name = TITLES[title] if spelled else title
        facts = {"additional_info": {"recording_mbid": MBIDS[title]}}
        lines.append(
            {"listened_at": time + 9, "track_metadata": {"artist_name": artist, "track_name": name, **facts}}
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_spotify(path: Path, listens: Listens) -> Path:
    """Write an extended history: when a stream ended, and how long it played."""
    streams = [
        {
            "ts": moment(time + LENGTH_MS // 1000).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "ms_played": LENGTH_MS,
            "master_metadata_track_name": title,
            "master_metadata_album_artist_name": artist,
        }
        for (artist, title), time in listens
    ]
    path.write_text(json.dumps(streams))
    return path
