"""``python -m torture [ATTACK ...]``: run attacks; exit 0 if everything held, 1 if something broke."""

import argparse
import sys
from pathlib import Path

from torture.attack import Workshop
from torture.campaign import run_attacks
from torture.defects import put_back_defects
from torture.registry import ATTACKS
from torture.report import write_report

DEFAULT_SEED = 20261117


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"of {', '.join(ATTACKS)}; by default all")
    parser.add_argument("--profile", choices=("smoke", "full"), default="full", help="how much is tried")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of every random choice")
    parser.add_argument("--folder", type=Path, default=Path(".torture"), help="where it works, and continues")
    parser.add_argument("--minutes", type=float, help="start no trial after this time; the next run continues")
    parser.add_argument("--trials", default="", metavar="KEY", help="run only trials whose keys begin so")
    parser.add_argument("--defects", action="store_true", help="put defects back one by one; each must be found")
    parser.add_argument("--report", action="store_true", help="only print the results so far, as Markdown")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.attacks) - set(ATTACKS))
    if unknown:
        parser.error(f"unknown attack: {', '.join(unknown)}; choose from {', '.join(ATTACKS)}.")
    names = options.attacks or list(ATTACKS)
    folder = options.folder.resolve()
    if options.report:
        print(write_report(folder))
        return 0
    if options.defects:
        return 1 if put_back_defects(names, folder / "defects", options.seed) else 0
    workshop = Workshop(folder=folder, profile=options.profile, seed=options.seed)
    n_broken = run_attacks(
        [ATTACKS[name] for name in names], workshop, minutes=options.minutes, trials=options.trials
    )
    print("Everything held." if not n_broken else f"{n_broken} broken.")
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
