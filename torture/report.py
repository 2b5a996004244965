"""results.jsonl -> Markdown tables, for `docs/reliability.md`."""

from pathlib import Path
from typing import Any

from torture.attack import BrokenError, Workshop
from torture.campaign import Results


def write_report(folder: Path) -> str:
    """Return the results of a folder: for each attack how many trials held, and its figures."""
    from torture.registry import ATTACKS

    results = Results(folder)
    runs = sorted({(row["profile"], row["seed"]) for row in results.rows})
    lines: list[str] = []
    for profile, seed in runs:
        lines += [
            f"Profile {profile}, seed {seed}",
            "",
            "| attack | trials | broken | minutes | figures |",
            "|---|---|---|---|---|",
        ]
        for kind in ATTACKS.values():
            attack = kind(Workshop(folder=folder, profile=profile, seed=seed))
            rows = list(results.of(attack).values())
            if rows:
                lines.append(_line(attack, rows))
        lines.append("")
    return "\n".join(lines)


def _line(attack: Any, rows: list[dict[str, Any]]) -> str:
    broken = [row for row in rows if "broken" in row]
    minutes = sum(row["seconds"] for row in rows) / 60
    try:
        figures = attack.verdict([row["figures"] for row in rows if "broken" not in row])
    except BrokenError as error:
        figures = {"falls short": str(error)}
    words = "; ".join(f"{name} {_value(value)}" for name, value in figures.items())
    return f"| {attack.name} | {len(rows):,} | {len(broken)} | {minutes:.0f} | {words} |"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(part)}" for name, part in value.items())
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
