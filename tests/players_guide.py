"""What the guide to players says: which calls of a client were run."""

from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "players.md"


def calls_run(client: str) -> set[str]:
    """Return the calls that the guide's table marks as run for a client."""
    lines = iter(GUIDE.read_text().splitlines())
    head = next(line for line in lines if line.startswith("| call |"))
    column, found = [cell.strip() for cell in head.split("|")].index(client), set()
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 2:
            return found
        if cells[column] == "run":
            found |= {name.strip("`") for name in cells[1].split(", ")}
    return found
