"""An environment with nearsong -> what each package takes on disk, as a table in Markdown: `make size`.

Run it with the Python of the environment. Counted are nearsong and all that it requires without extras, which is what
`pip install` adds to an empty environment; what else is there, such as pip, is one row of its own. Sizes are those of
the files that pip recorded, in MB of 10^6 bytes; bytecode is what pip compiles while it installs.
"""

import argparse
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from typing import NamedTuple

MB = 1e6

MAX_MB = 650.0
"""What an installation without extras may take, with bytecode."""


class Size(NamedTuple):
    """The bytes of a package, and how many of them are bytecode."""

    name: str
    n_bytes: int
    n_bytecode: int


def size_of(package: Distribution) -> Size:
    """Return what a package takes; files that were removed since count nothing."""
    n_bytes = n_bytecode = 0
    for file in package.files or []:
        path = package.locate_file(file)
        try:
            size = path.stat().st_size  # type: ignore[attr-defined]
        except OSError:
            continue
        n_bytes += size
        n_bytecode += size if file.suffix == ".pyc" else 0
    return Size(package.name, n_bytes, n_bytecode)


def canonical(name: str) -> str:
    """Return the name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required_by(name: str, packages: Mapping[str, Distribution]) -> set[str]:
    """Return a package and those of some that it requires without extras, directly or not."""
    found: set[str] = set()
    pending = [name]
    while pending:
        package = packages.get(pending.pop())  # None: for another system or version of Python
        if package is None or canonical(package.name) in found:
            continue
        found.add(canonical(package.name))
        for line in package.requires or []:
            requirement, _, marker = line.partition(";")
            if "extra" not in marker:
                pending.append(canonical(re.match(r"[\w.-]+", requirement).group()))  # type: ignore[union-attr]
    return found


def total(name: str, sizes: Iterable[Size]) -> Size:
    """Return the sum of some sizes, under a name."""
    listed = list(sizes)
    return Size(name, sum(size.n_bytes for size in listed), sum(size.n_bytecode for size in listed))


def table(sizes: list[Size], own: Size, n_shown: int) -> str:
    """Return the largest packages, the sum of the others, the total, and what the environment has by itself."""
    sizes = sorted(sizes, key=lambda size: (-size.n_bytes, size.name))
    shown, rest = sizes[:n_shown], sizes[n_shown:]
    shown += [total(f"{len(rest)} others", rest), total("**together**", sizes), own]
    rows = [f"| {name} | {all_ / MB:.1f} | {(all_ - code) / MB:.1f} |" for name, all_, code in shown]
    return "\n".join(["| package | MB | without bytecode |", "|---|---|---|", *rows])


def main() -> None:
    """Print the table; exit with 1 if the installation is larger than ``--limit`` MB."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=20, help="packages to name (default: 20)")
    parser.add_argument("--limit", type=float, default=MAX_MB, help=f"MB, with bytecode (default: {MAX_MB:g})")
    arguments = parser.parse_args()
    packages = {canonical(package.name): package for package in distributions()}
    needed = required_by("nearsong", packages)
    if not needed:
        raise SystemExit("nearsong is not installed here.")
    sizes = [size_of(packages[name]) for name in needed]
    others = sorted(packages.keys() - needed)
    named = ", ".join(others) if len(others) <= 3 else f"{len(others)} packages"
    own = total(f"not of nearsong: {named or 'nothing'}", [size_of(packages[name]) for name in others])
    print(table(sizes, own, arguments.top))
    if total("", sizes).n_bytes > arguments.limit * MB:
        raise SystemExit(f"The installation is larger than {arguments.limit:g} MB; see the table for what is large.")


if __name__ == "__main__":
    main()
