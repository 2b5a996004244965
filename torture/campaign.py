"""Attacks -> results.jsonl, one line a trial; a run that was stopped continues after its last line."""

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torture.attack import Attack, BrokenError, Trial, Workshop

ROOT = Path(__file__).resolve().parents[1]


class Results:
    """The lines of one folder, by attack, profile, seed and trial."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        self.rows: list[dict[str, Any]] = []
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    self.rows.append(json.loads(line))
                except ValueError:  # the last line of a run that was killed
                    continue

    def of(self, attack: Attack) -> dict[str, dict[str, Any]]:
        """Return the rows of an attack by trial."""
        mine = (attack.name, attack.workshop.profile, attack.workshop.seed)
        return {row["trial"]: row for row in self.rows if (row["attack"], row["profile"], row["seed"]) == mine}

    def add(self, row: dict[str, Any]) -> None:
        """Write a row."""
        self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def run_attacks(kinds: Sequence[type[Attack]], workshop: Workshop, *, minutes: float | None = None) -> int:
    """Run attacks one after the other; return how many trials and verdicts found something broken.

    Parameters
    ----------
    kinds : sequence of type
    workshop : Workshop
    minutes : float, optional
        No trial is started after this time; the next run continues.
    """
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    results = Results(workshop.folder)
    n_broken = 0
    for kind in kinds:
        attack = kind(workshop)
        print(f"{attack.name}: {attack.title} (seed {workshop.seed})", flush=True)
        n_broken += _run_attack(attack, results, deadline)
    return n_broken


def _run_attack(attack: Attack, results: Results, deadline: float) -> int:
    trials = list(attack.trials())
    done = results.of(attack)
    pending = [trial for trial in trials if trial.key not in done]
    started = time.monotonic()
    if pending:
        try:
            attack.set_up()
            for row in _rows(attack, pending, deadline):
                results.add(row)
                _show(row, len(results.of(attack)), len(trials))
        finally:
            attack.tear_down()
    rows = list(results.of(attack).values())
    broken = [row for row in rows if "broken" in row]
    for row in broken:
        print(f"  BROKEN {row['trial']}: {row['broken']}", flush=True)
    n_broken = len(broken)
    figures: dict[str, Any] = {}
    if len(rows) < len(trials):
        print(f"  {len(rows)} of {len(trials)} trials; run again to continue.", flush=True)
    else:
        try:
            figures = attack.verdict([row["figures"] for row in rows if "broken" not in row])
        except BrokenError as error:
            print(f"  BROKEN {attack.name}: {error}", flush=True)
            n_broken += 1
    seconds = time.monotonic() - started
    print(f"  {len(rows) - len(broken)} of {len(rows)} trials held, {seconds:.0f} s. {_words(figures)}", flush=True)
    return n_broken


def _rows(attack: Attack, trials: Sequence[Trial], deadline: float) -> Iterator[dict[str, Any]]:
    """Run trials, some at a time, and yield their rows in order."""
    lanes = ThreadPoolExecutor(attack.lanes)
    try:
        running = [lanes.submit(_run_trial, attack, trial, deadline) for trial in trials]
        yield from (row for future in running if (row := future.result()) is not None)
    finally:
        lanes.shutdown(cancel_futures=True)  # what runs is waited for: it ends its processes itself


def _run_trial(attack: Attack, trial: Trial, deadline: float) -> dict[str, Any] | None:
    """Return the row of a trial; None if there is no time left for it."""
    started = time.monotonic()
    if started > deadline:
        return None
    workshop = attack.workshop
    row: dict[str, Any] = {
        "attack": attack.name,
        "profile": workshop.profile,
        "seed": workshop.seed,
        "trial": trial.key,
    }
    try:
        row["figures"] = attack.run(trial, workshop.random(attack.name, trial.key))
    except BrokenError as error:
        row["broken"] = str(error)
    except Exception as error:  # the attack itself, or an unforeseen way to break
        traceback.print_exc()
        row["broken"] = f"{type(error).__name__}: {error}"
    return row | {
        "seconds": round(time.monotonic() - started, 2),
        "commit": commit(),
        "python": sys.version.split()[0],
    }


def commit() -> str:
    """Return the commit that is attacked; empty outside a repository."""
    git = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return git.stdout.strip()


def _show(row: dict[str, Any], n_done: int, n_trials: int) -> None:
    state = f"broken: {row['broken']}" if "broken" in row else "held"
    print(f"  {n_done}/{n_trials} {row['trial']}: {state} ({row['seconds']} s)", flush=True)


def _words(figures: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures.items())
